"""Transforms that FX keeps in its package ``experimental``."""
