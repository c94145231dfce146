"""A graph becomes a listing: text, layout, sections, facts.

Knows no producer and no debugger.
"""
