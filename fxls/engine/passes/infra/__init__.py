"""Passes and how they are put in a row."""
