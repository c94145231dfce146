"""An entry: a Python expression that builds a model and, as a call, its inputs.

Shared by `ide`, which finds entries in a text, and by the worker, which evaluates
them. Imports nothing but `text`.
"""

from __future__ import annotations

import enum

import msgspec

from fxls.text import Span

__all__ = ["ORDER", "Entry", "Kind", "Producer"]


class Kind(enum.Enum):
    """How fxls came to know of an entry."""

    COMMENT = "comment"
    """``# fxls: Model()(x)`` in the file."""
    PROJECT = "project"
    """``[tool.fxls] entries`` in pyproject.toml."""
    CLASS = "class"
    """A module class whose constructor needs no arguments."""
    COMMAND = "command"
    """Somebody asked for it: on the command line, or by a request."""


class Producer(enum.Enum):
    """Who makes the graph of an entry."""

    ENGINE = "engine"
    EXPORT = "export"
    """torch.export; the entry must give example inputs."""
    COMPILE = "compile"
    """torch.compile; as above. It may capture more than one graph."""

    @property
    def title(self) -> str:
        """What it is called where people read it."""
        return "fxls.engine" if self is Producer.ENGINE else f"torch.{self.value}"


ORDER = (Producer.ENGINE, Producer.EXPORT, Producer.COMPILE)
"""In which producers are tried, unless somebody says otherwise."""


class Entry(msgspec.Struct, frozen=True):
    """An expression to evaluate in the namespace of a file.

    When the outermost expression is a call whose callee is itself a call (or a name
    that is a module), the callee builds the model and the arguments of the call are
    its example inputs: ``Net(3)(torch.randn(1, 3))``. Otherwise the whole expression
    builds the model and shapes stay unknown. The worker decides by the value: an
    expression `f(x)` is a model with inputs when `f` is a module.
    """

    path: str
    """The absolute path of the file in whose namespace the expression is evaluated."""
    expression: str
    kind: Kind
    span: Span | None = None
    """Where the expression stands in the file, for messages about it."""
    producer: Producer | None = None
    """Who makes the graph; None for the first one that captures the model."""

    @property
    def name(self) -> str:
        """What tells it from the other entries of its file, for a person to read."""
        if self.producer is None:
            return self.expression
        return f"[{self.producer.value}] {self.expression}"
