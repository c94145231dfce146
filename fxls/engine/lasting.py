"""Names that outlive a process, and so never change: pickles and generated code hold them.

What torch.fx has too is called by torch.fx's module and name (`fxls.engine.graph.CodeGen`);
what is ours alone is reached as an attribute of `fxls.engine`. A pickle says nothing of
the file that holds the code, which may move.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["lasting"]

T = TypeVar("T")


def lasting(module: str, name: str | None = None) -> Callable[[T], T]:
    """Call a class or function by a name that lasts: ``module.name``.

    `name` is by default the one that it is defined by. Importing it by that name has to
    lead to the same object.
    """

    def renamed(value: T) -> T:
        target: Any = value
        target.__module__ = module
        if name is not None:
            target.__qualname__ = name
        return value

    return renamed
