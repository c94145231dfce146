"""Edits that repair what a compiler could not do."""
