"""Specifications of nested values."""

from __future__ import annotations

from fxls.engine import _pytree
from fxls.engine.torch_private import pytree

__all__ = ["TreeSpec", "_deregister_pytree_flatten_spec"]

TreeSpec = pytree.TreeSpec


def _deregister_pytree_flatten_spec(cls: type) -> None:
    """Forget what `register_pytree_flatten_spec` was told of a class."""
    _pytree.forget(cls)
