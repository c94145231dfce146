"""Asks what Python computes in the place of a captured graph, while the program goes on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any

import msgspec
import torch

from fxls.runtime.numbers.as_python.calling_frame import python_call
from fxls.runtime.numbers.as_python.child import Child, can_fork
from fxls.runtime.numbers.as_python.comparing_python import (
    AsPython,
    compare_with_python,
)
from fxls.runtime.numbers.graphs import ReplayedGraph, is_on_gpu, randomness
from fxls.runtime.numbers.kept import copy_of
from fxls.runtime.passes.graph_state import GraphState

__all__ = ["Asked", "Asking"]

any_torch: Any = torch

_MOST = 2
"""So many processes run beside the program at once."""
_LATE = "a process before it gave no answer in time"
_UNASKED = "its process ended without an answer"


class Asked:
    """What Python computes, as soon as that is known."""

    def __init__(self, child: Child | None, found: AsPython | None = None) -> None:
        self._child, self._found = child, found

    @property
    def is_late(self) -> bool:
        """Whether there was no answer in time."""
        return self._child is not None and self._child.is_late

    def found(self) -> AsPython:
        """What came of it; waits for it."""
        if self._found is None:
            assert self._child is not None, "one of the two is there"
            text = self._child.found()
            self._found = (
                msgspec.msgpack.decode(text, type=AsPython)
                if text
                else AsPython(_UNASKED)
            )
        return self._found

    def forget(self) -> None:
        """Let go of it; nobody asks."""
        if self._child is not None:
            self._child.forget()


class Asking:
    """Asks for each call, and lets few processes run at once."""

    def __init__(self) -> None:
        self._running: list[Asked] = []
        self._is_off = False

    def ask(
        self,
        captured: GraphState,
        inputs: Mapping[str, Any],
        given: Sequence[Any],
        frame: FrameType | None,
        most_bytes: int,
    ) -> Asked:
        """Let a process of its own call the function in whose place this graph is called.

        It is to be asked right before the graph is called: `inputs` are copies of what it
        is given.
        """
        while len(self._running) >= _MOST:
            one = self._running.pop(0)
            one.found()
            # Another thread of the program may have had a lock when it was forked.
            self._is_off |= one.is_late
        graph = ReplayedGraph(captured)
        why_not = _LATE if self._is_off else _why_not(graph, given, most_bytes)
        call = None if why_not else python_call(frame)
        if call is None:
            return Asked(None, AsPython(why_not or "nobody knows its arguments"))
        state = randomness()

        def compare() -> bytes:
            for name, one in zip(graph.inputs, given, strict=True):
                if isinstance(one, torch.Tensor) and any_torch.Tensor.is_shared(one):
                    # Other processes change it meanwhile, as those of a DataLoader do.
                    one.data = copy_of(inputs[name])
            found = compare_with_python(graph, inputs, state, call)
            return msgspec.msgpack.encode(found)

        self._running.append(asked := Asked(Child(compare)))
        return asked


def _why_not(graph: ReplayedGraph, given: Sequence[Any], most_bytes: int) -> str:
    """Why Python is not asked, as a clause; empty where it is."""
    if not can_fork():
        return "only on Linux it can be called beside the program"
    if is_on_gpu():
        return "a process that is forked has no cuda"
    if any_torch.distributed.is_available() and any_torch.distributed.is_initialized():
        return "other ranks would wait for it"
    tensors: list[Any] = [one for one in given if isinstance(one, torch.Tensor)]
    elsewhere = [one.device.type for one in tensors if one.device.type != "cpu"]
    if elsewhere:
        return f"a process that is forked has no {elsewhere[0]}"
    if any("_autocast" in getattr(row.target, "__name__", "") for row in graph.rows):
        return "it switches autocast"
    if graph.transforming:
        return "it enters a transform of torch.func"
    if any(name.startswith("random_value") for name in graph.inputs):
        return "Python's own random numbers are drawn before it"
    need = 3 * graph.bytes_of_values()
    if need > most_bytes:
        return f"that needs {need >> 20} MB, and {max(most_bytes, 0) >> 20} MB are left"
    return ""
