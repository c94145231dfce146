"""Searches for patterns in graphs: what they matched, and what they nearly matched."""
