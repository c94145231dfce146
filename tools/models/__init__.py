"""Traces models of libraries under torch.fx and under fxls.engine: docs/models.md."""
