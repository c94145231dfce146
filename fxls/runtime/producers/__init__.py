"""Whoever makes graphs is hooked here, and what they make becomes listings."""
