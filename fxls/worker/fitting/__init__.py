"""Example inputs that fit a model, found by calling it."""
