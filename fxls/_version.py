"""The version of fxls."""

__version__ = "0.1.0"
