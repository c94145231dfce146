"""Passes for graphs of one family of operators."""
