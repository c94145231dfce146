"""Entry comments: found, checked, written."""
