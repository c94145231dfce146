"""Replacing the matches of a pattern."""
