"""Trials of programs whose releases have no tests: what their documentation shows."""
