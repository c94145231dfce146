"""Passes for graphs of whatever operators."""
