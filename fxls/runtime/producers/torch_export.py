"""The programs that torch.export makes are listings, with what their inputs are."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from fxls.listing import How, Parent
from fxls.runtime.faults import logging_faults
from fxls.runtime.hooks import Hook
from fxls.runtime.producers.capture import (
    Capture,
    hushed,
    is_hushed,
    note_capture,
    parents_by,
    published_as,
)
from fxls.runtime.torch_private import fx

__all__ = ["ExportedPrograms", "note_program"]

_Root = tuple[str, str]
"""Module and qualified name of what was traced."""


class ExportedPrograms:
    """What makes listings of exported programs, by its hooks."""

    def __init__(self, root_of: Callable[[Any], _Root | None]) -> None:
        """`root_of` says what a graph module was made of."""
        self._root_of = root_of

    def hooks(self) -> tuple[Hook, ...]:
        """What makes programs: of models, of other programs and of files."""
        without = "programs of torch.export are no listings"
        return (
            Hook(
                "torch.export.exported_program",
                without,
                {
                    "ExportedProgram.__init__": _init,
                    "ExportedProgram.module": self._module,
                    "ExportedProgram.run_decompositions": lambda f: _passing(
                        self._making(f)
                    ),
                },
            ),
            Hook("torch.export._trace", without, {"_export": self._making}),
            Hook(
                "torch._export.serde.serialize",
                without,
                {"ExportedProgramDeserializer.deserialize": self._making},
            ),
        )

    def _making(self, original: Any) -> Any:
        """A function of torch's that makes a program of a module, of another program or
        of a file; the graphs on its way are no listings.
        """

        @functools.wraps(original)
        def making(first: Any, *args: Any, **kwargs: Any) -> Any:
            token = _made_of.set(self._root(first))
            try:
                with hushed():
                    return original(first, *args, **kwargs)
            finally:
                _made_of.reset(token)

        return making

    def _module(self, original: Any) -> Any:
        @functools.wraps(original)
        def module(program: Any, *args: Any, **kwargs: Any) -> Any:
            if is_hushed():
                return original(program, *args, **kwargs)
            with hushed():
                made = original(program, *args, **kwargs)
            with logging_faults(
                "the module of a program of torch.export is no listing"
            ):
                root = self._root(program)
                parents = parents_by(program.graph_module._graph, How.HOLDS)
                capture = Capture("torch.export", "module", root, _OF_MODULE, parents)
                note_capture(made, capture)
                made.recompile()
            return made

        return module

    def _root(self, first: Any) -> _Root | None:
        """What a program was made of, or a graph module that one is made of."""
        root: _Root | None = None
        with logging_faults("a program of torch.export is called after its nodes"):
            made = getattr(first, "graph_module", first)
            if isinstance(made, fx.GraphModule):
                root = self._root_of(made)
        return root


def note_program(program: Any) -> Any:
    """Let the listing of a program's graph say what the program is; returns its module."""
    signature = program.graph_signature
    lines = ["Inputs:", *map(_line, signature.input_specs)]
    lines += ["Outputs:", *map(_line, signature.output_specs)]
    header = tuple((line,) for line in lines)
    root = _made_of.get() or published_as(program.graph_module).root
    parents = _parents.get()
    capture = Capture("torch.export", "", root, header, parents)
    note_capture(program.graph_module, capture)
    return program.graph_module


def _passing(original: Any) -> Any:
    """A function of torch's that makes a program of a program, by passes."""

    @functools.wraps(original)
    def passing(program: Any, *args: Any, **kwargs: Any) -> Any:
        token = _parents.set(parents_by(program.graph_module._graph))
        try:
            return original(program, *args, **kwargs)
        finally:
            _parents.reset(token)

    return passing


def _init(original: Any) -> Any:
    @functools.wraps(original)
    def init(program: Any, *args: Any, **kwargs: Any) -> None:
        with hushed():  # torch compiles the graph before it is known what it is
            original(program, *args, **kwargs)
        with (
            logging_faults("a program of torch.export is no listing"),
            hushed(when=False),
        ):
            note_program(program).recompile()

    return init


def _line(spec: Any) -> str:
    kind = spec.kind.name.lower().replace("_", " ")
    name = getattr(spec.arg, "name", None) or repr(getattr(spec.arg, "value", "?"))
    return f"  {name}: {kind}" + (f" {spec.target}" if spec.target else "")


_OF_MODULE = (
    ("It is the module of the program, and holds what the program is given.",),
)

_made_of: ContextVar[_Root | None] = ContextVar("fxls_made_of", default=None)
"""What the graph came from that is being exported."""

_parents: ContextVar[tuple[Parent, ...]] = ContextVar("fxls_parents", default=())
"""The program that another one is being made of."""
