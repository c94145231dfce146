"""fxls: the code that PyTorch graph tools generate, as first-class source code.

Importing this package imports neither torch nor a protocol.
"""

from fxls._version import __version__

__all__ = ["__version__"]
