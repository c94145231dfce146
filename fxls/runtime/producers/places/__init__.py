"""The expressions of the source that nodes and breaks are of, from what torch notes."""
