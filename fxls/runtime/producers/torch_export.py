"""The programs that torch.export makes are listings, with what their inputs are."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextvars import ContextVar
from typing import Any

import torch

from fxls.engine.written_class import written_class
from fxls.listing import How, Parent
from fxls.runtime.faults import logging_faults
from fxls.runtime.hooks import Hook, around
from fxls.runtime.producers.capture import (
    Capture,
    hushed,
    is_hushed,
    note_capture,
    parents_by,
    published_as,
)
from fxls.runtime.producers.program_inputs import (
    Taking,
    note_inputs,
    note_taking,
    taking_of,
)
from fxls.runtime.torch_private import fx

__all__ = ["ExportedPrograms", "note_program"]

_Root = tuple[str, str]
"""Module and qualified name of what was traced."""


class ExportedPrograms:
    """What makes listings of exported programs, by its hooks."""

    def __init__(
        self,
        root_of: Callable[[Any], _Root | None],
        runs_code: Callable[[], bool] = lambda: False,
    ) -> None:
        """`root_of` says what a graph module was made of; `runs_code` whether somebody
        looks into code that runs, as debuggers and rules do.
        """
        self._root_of = root_of
        self._runs_code = runs_code

    def hooks(self) -> tuple[Hook, ...]:
        """What makes programs: of models, of other programs and of files."""
        return (
            Hook(
                "torch.export.exported_program",
                _PROGRAMS,
                {"ExportedProgram.__init__": around(_init, _PROGRAMS)},
            ),
            Hook(
                "torch.export.exported_program",
                _MODULES,
                {"ExportedProgram.module": around(self._module, _MODULES)},
            ),
            Hook(
                "torch.export.exported_program",
                _PASSED,
                {"ExportedProgram.run_decompositions": around(self._passing, _PASSED)},
            ),
            Hook(
                "torch.export.unflatten",
                _UNFLATTENED,
                {
                    "UnflattenedModule.__init__": around(
                        self._unflattening, _UNFLATTENED
                    )
                },
            ),
            Hook(
                "torch.export._trace",
                _WAY.format("a program"),
                {"_export": around(self._making, _WAY.format("a program"))},
            ),
            Hook(
                "torch.export.unflatten",
                _INTERPRETED,
                {"InterpreterModule.__init__": around(self._made_part, _INTERPRETED)},
            ),
            Hook(
                "torch._export.serde.serialize",
                _WAY.format("a program of a file"),
                {
                    "ExportedProgramDeserializer.deserialize": around(
                        self._making, _WAY.format("a program of a file")
                    )
                },
            ),
        )

    def _making(self, *args: Any, **kwargs: Any) -> Generator[None, Any, Any]:
        """What makes a program of a module, of another program or of a file; the graphs
        on its way are no listings.
        """
        first = args[0] if args else kwargs.get("mod")
        token, taking = _made_of.set(self._root(first)), _taking.set(_taking_of(first))
        try:
            with hushed():
                return (yield)
        finally:
            _taking.reset(taking)
            _made_of.reset(token)

    def _passing(
        self, program: Any, /, *_: Any, **__: Any
    ) -> Generator[None, Any, Any]:
        """What makes a program of a program, by passes."""
        parents: tuple[Parent, ...] = ()
        with logging_faults(_PASSED):
            parents = parents_by(program.graph_module._graph)
        token, made_of = _parents.set(parents), _made_of.set(self._root(program))
        taking = _taking.set(_taking_of(program))
        try:
            with hushed():
                return (yield)
        finally:
            _taking.reset(taking)
            _parents.reset(token)
            _made_of.reset(made_of)

    def _module(self, program: Any, /, *_: Any, **__: Any) -> Generator[None, Any, Any]:
        if is_hushed():
            return (yield)
        with hushed():
            made = yield
        root = self._root(program)
        parents = parents_by(program.graph_module._graph, How.HOLDS)
        capture = Capture("torch.export", "module", root, _OF_MODULE, parents)
        note_capture(made, capture)
        note_taking(made._graph, _taking_of(program))
        made.recompile()
        return made

    def _unflattening(
        self, module: Any, program: Any, /, *_: Any, **__: Any
    ) -> Generator[None]:
        with hushed():  # parts are compiled before it is known whose they are
            yield
        self._let_code_run(module)
        root = self._root(program)
        parents = parents_by(program.graph_module._graph)
        for path, part in module.named_modules():
            # The one of each part is in no table of submodules.
            made = part.__dict__.get("graph_module")
            if isinstance(made, fx.GraphModule):
                stage = f"unflattened, {path}" if path else "unflattened"
                head = ((_OF_PART.format(path or "root"),),)
                note_capture(made, Capture("torch.export", stage, root, head, parents))
                with hushed(when=False):
                    made.recompile()

    def _made_part(self, module: Any, /, *_: Any, **__: Any) -> Generator[None]:
        yield
        self._let_code_run(module)

    def _let_code_run(self, module: Any) -> None:
        """What runs its graph node by node runs its code, which does the same, where
        somebody looks into that.
        """
        if self._runs_code() and hasattr(module, "_run_with_interpreter"):
            module._run_with_interpreter = False

    def _root(self, first: Any) -> _Root | None:
        """What a program was made of, or a graph module that one is made of."""
        root: _Root | None = None
        with logging_faults("a program of torch.export is called after its nodes"):
            made = getattr(first, "graph_module", first)
            if isinstance(made, fx.GraphModule):
                root = self._root_of(made)
            elif isinstance(made, torch.nn.Module):
                kind = written_class(type(made))
                root = (kind.__module__, kind.__qualname__)
        return root


def note_program(program: Any, made_of: Any = None) -> Any:
    """Let the listing of a program's graph say what the program is; returns its module.

    `made_of` is the model, or the function, where torch was not watched on its way.
    """
    signature = program.graph_signature
    lines = ["Inputs:", *map(_line, signature.input_specs)]
    lines += ["Outputs:", *map(_line, signature.output_specs)]
    header = tuple((line,) for line in lines)
    root = _made_of.get() or published_as(program.graph_module).root
    parents = _parents.get()
    held = {id(one): one.numel() for one in program.parameters()}
    count = sum(held.values())
    capture = Capture("torch.export", "", root, header, parents, parameters=count)
    note_capture(program.graph_module, capture)
    with logging_faults(_INPUTS):
        note_inputs(program, _taking.get() or taking_of(made_of))
    return program.graph_module


def _taking_of(made_of: Any) -> Taking | None:
    with logging_faults(_INPUTS):
        return taking_of(made_of)
    return None


def _init(program: Any, /, *_: Any, **__: Any) -> Generator[None]:
    with hushed():  # torch compiles the graph before it is known what it is
        yield
    with hushed(when=False):
        note_program(program).recompile()


def _line(spec: Any) -> str:
    kind = spec.kind.name.lower().replace("_", " ")
    name = getattr(spec.arg, "name", None) or repr(getattr(spec.arg, "value", "?"))
    return f"  {name}: {kind}" + (f" {spec.target}" if spec.target else "")


_PROGRAMS = "programs of torch.export are no listings"
_MODULES = "the modules of programs of torch.export are no listings"
_UNFLATTENED = "the parts of unflattened programs do not say what they are"
_INTERPRETED = "in what `unflatten` of torch.export gives, breakpoints stop nothing"
_PASSED = "decomposed programs of torch.export do not say what they were made from"
_INPUTS = "inputs of programs of torch.export have no origins"
_WAY = "graphs that torch.export makes on its way to {} are listings"

_OF_MODULE = (
    ("It is the module of the program, and holds what the program is given.",),
)

_OF_PART = "It is the code of the {} of the unflattened program."

_made_of: ContextVar[_Root | None] = ContextVar("fxls_made_of", default=None)
"""What the graph came from that is being exported."""

_taking: ContextVar[Taking | None] = ContextVar("fxls_exported_taking", default=None)
"""How that takes its inputs."""

_parents: ContextVar[tuple[Parent, ...]] = ContextVar("fxls_parents", default=())
"""The program that another one is being made of."""
