"""Transforms of graphs, and questions about them, under the names that FX gave them."""
