"""Flattening the nested inputs of a generated function by a specification."""

from __future__ import annotations

from typing import Any

import torch.utils._pytree as pytree

__all__ = ["tree_flatten_spec"]


def tree_flatten_spec(tree: Any, spec: pytree.TreeSpec) -> list[Any]:
    """The leaves of a value that has the structure of `spec`, in order."""
    return spec.flatten_up_to(tree)
