"""A graph as Python text, with the place of every name."""
