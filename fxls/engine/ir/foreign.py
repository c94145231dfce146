"""Graphs of torch.fx, which look like ours and are not: said where one is handed in."""

from __future__ import annotations

from typing import Any

__all__ = ["noted", "refuse_foreign"]


def noted(node: Any, key: str) -> Any:
    """What a node says under a key, be it ours or, for who only reads, of torch.fx."""
    own = getattr(node, "noted", None)
    return node.meta.get(key) if own is None else own(key)


def refuse_foreign(value: object) -> None:
    """Raise TypeError for a graph, a node or a module of torch.fx, and for nothing else.

    The module is the same for both sides; its graph is not, and what is written on the
    copy of a graph would be lost: so the program says when it crosses.
    """
    for base in type(value).__mro__:
        if base.__module__.startswith("torch.fx."):
            raise TypeError(
                f"this {base.__name__} is of torch.fx, and fxls.engine takes its own:"
                " cross over with fxls.engine.from_torch_fx(module)"
            )
