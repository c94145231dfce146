"""Edits of a source that repair what a compiler could not do there."""
