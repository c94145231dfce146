"""Writes scripts that need torch alone and show a fault, for `fxls compare`."""
