"""Generated code as a value: the source, its global names, and where it names nodes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from types import NoneType
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

import fxls.engine._pytree as fx_pytree
from fxls.engine.lasting import lasting
from fxls.engine.torch_private import pytree

if TYPE_CHECKING:
    from fxls.listing import Mark

__all__ = ["INDENT", "STANDARD_GLOBALS", "MarkedCode", "PythonCode"]

INDENT = "    "
"""One level of the generated code."""

STANDARD_GLOBALS: dict[str, Any] = {
    "inf": math.inf,
    "nan": math.nan,
    "NoneType": NoneType,
    "torch": torch,
    "device": torch.device,
    "fx_pytree": fx_pytree,
    "pytree": pytree,
}
"""Global names that every generated function has: what `repr` writes and cannot read,
and what the overridden parts of a `CodeGen` may call."""


@lasting("fxls.engine.graph")
@dataclass(slots=True)
class PythonCode:
    """A generated function: its source, and the values of its global names."""

    src: str
    globals: dict[str, Any]
    _lineno_map: dict[int, int | None] = field(default_factory=dict[int, "int | None"])
    """Line of the function, its ``def`` being line 0, to the place of the node."""
    _prologue_start: int = 0
    """The line of ``def``, counted from one."""


class MarkedCode(NamedTuple):
    """A generated function, and where its text names which node.

    - Lines and columns count from zero, as everywhere in fxls.
    - A node is named by its place in the graph.
    """

    code: PythonCode
    marks_below: Callable[[int], tuple[Mark, ...]]
    """The marks, in the order of the text, with so many lines above it."""
    lines: tuple[int, ...]
    """Per node: the line whose statement it is; for a placeholder the line of ``def``."""
    definition: int
    """The line of ``def``."""

    @property
    def marks(self) -> tuple[Mark, ...]:
        """The marks, in the order of the text."""
        return self.marks_below(0)
