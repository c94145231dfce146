"""Example inputs that fit a model."""
