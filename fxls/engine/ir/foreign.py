"""Graphs of torch.fx, which look like ours and are not: said where one is handed in."""

from __future__ import annotations

__all__ = ["refuse_foreign"]


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
