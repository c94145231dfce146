"""What inductor's code costs more than it might, and torch tells its log of performance
hints or nobody: operators that it has no code for, and copies, for the record.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from typing import Any

from fxls.installed_torch import private
from fxls.record import Remark, Subject
from fxls.runtime.faults import logging_faults
from fxls.runtime.hooks import Hook, around
from fxls.runtime.producers.places.node_places import NodePlaces, bare
from fxls.runtime.record.recorder import Recorder
from fxls.runtime.torch_private import compile_id, is_compiling

__all__ = ["Costs"]

_FALLBACKS = "operators that inductor has no code for are not recorded"
_COPIES = "copies that inductor makes are not recorded"
_MOST = 200
"""So many remarks are made of a compilation."""
_LONGEST = 500


class Costs:
    """Hears what inductor falls back to while it lowers a node, by its hooks."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._places = NodePlaces()
        self._here = threading.local()
        """The compilation of this thread, and what was said of it, as `said`."""

    def hooks(self) -> tuple[Hook, ...]:
        """Where inductor says it, and where it copies for a kernel of a library."""
        copied = around(self._copied, _COPIES)
        return (
            Hook(
                "torch._inductor.graph",
                _FALLBACKS,
                {"GraphLowering.warn_fallback": around(self._fell_back, _FALLBACKS)},
            ),
            Hook(
                "torch._inductor.ir",
                _COPIES,
                {"ExternKernel.copy_input": _static(copied)},
            ),
        )

    def _fell_back(self, graph: Any, /, name: str) -> Generator[None, Any, Any]:
        with logging_faults(_FALLBACKS):
            operator = name.removeprefix("torch.ops.")
            said = f"inductor has no code of its own for {operator}, and calls torch's"
            self._note(graph.current_node, said)
        return (yield)

    def _copied(self, x: Any) -> Generator[None, Any, Any]:
        with logging_faults(_COPIES):
            virtualized: Any = private("torch._inductor.virtualized:V", _COPIES)
            node = virtualized.graph.current_node
            if node is not None and node.op != "output" and _is_in_memory(x):
                sizes = " x ".join(map(str, x.get_size())) or "one number"
                self._note(
                    node,
                    f"inductor copies a tensor of {sizes} for {bare(node.name)}, whose"
                    " kernel needs it in another layout",
                )
        return (yield)

    def _note(self, node: Any, reason: str) -> None:
        if node is None or not is_compiling():
            return
        compilation = self._recorder.called(compile_id())
        places = self._places.of(node)
        remark = Remark(Subject.COST, reason[:_LONGEST], compilation, "", places)
        of, said = getattr(self._here, "said", (None, set[Remark]()))
        if of != compilation:
            self._here.said = compilation, (said := set[Remark]())
        if remark not in said and len(said) < _MOST:
            said.add(remark)
            self._recorder.note(remark)


def _is_in_memory(value: Any) -> bool:
    """Whether a value, or what it is a view of, is computed by then: what is not is
    written to memory once, and in the layout that is needed.
    """
    buffer: Any = private("torch._inductor.ir:Buffer", _COPIES)
    while value is not None and not isinstance(value, buffer):
        value = getattr(value, "data", None)
    return value is not None


def _static(watched: Callable[[Any], Any]) -> Callable[[Any], Any]:
    # A function in its place takes what it is called on for its argument.
    return lambda original: staticmethod(
        watched(getattr(original, "__func__", original))
    )
