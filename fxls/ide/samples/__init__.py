"""Guessing example inputs for a class."""
