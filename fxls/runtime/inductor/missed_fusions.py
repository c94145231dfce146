"""The fusions that inductor did not make, and why, for the record.

Inductor asks of each two kernels that use a buffer whether they may be one, round after
round, and tells a log why not. What is still apart when it is done is a missed fusion.
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Generator, Iterable, Iterator
from typing import Any, NamedTuple

from msgspec.structs import replace

from fxls.installed_torch import private
from fxls.record import Remark, Subject, pairs
from fxls.runtime.faults import logging_faults
from fxls.runtime.hooks import Hook, around
from fxls.runtime.producers.compiler_steps import is_given_gradients
from fxls.runtime.producers.places.node_places import NodePlaces, bare
from fxls.runtime.record.recorder import Recorder
from fxls.runtime.torch_private import compile_id, is_compiling, is_view

__all__ = ["MissedFusions"]

_MISSED = "the fusions that inductor did not make are not recorded"
_MOST = 100
"""So many remarks are made of a graph; those of equal layers are one."""
_LONGEST = 500

_Asked = dict[tuple[str, str], tuple[str, tuple[Any, ...]]]
"""By the names of two kernels, torch's reason, and what is to be put into it."""


class _Pair(NamedTuple):
    """Two nodes of a graph that two kernels begin with, which were not fused."""

    first: Any
    second: Any
    shared: str
    """What both read; empty where the second reads what the first computes."""
    reason: str


class MissedFusions:
    """Hears why inductor does not fuse, and notes what is left in the end."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._here = threading.local()
        self._places = NodePlaces()

    def hooks(self) -> tuple[Hook, ...]:
        """Where inductor says why it does not fuse, and where it fuses all that it can."""
        return (
            Hook(
                "torch._inductor.scheduler",
                _MISSED,
                {
                    "WhyNoFuse.__call__": around(self._refused, _MISSED),
                    "Scheduler.fuse_nodes": around(self._fuse, _MISSED),
                },
            ),
        )

    def _refused(
        self, why: Any, /, reason: str, *args: Any
    ) -> Generator[None, Any, Any]:
        asked: _Asked | None = getattr(self._here, "asked", None)
        if asked is not None:
            asked[why.name1, why.name2] = reason, args
        return (yield)

    def _fuse(self, scheduler: Any, /, nodes: Any) -> Generator[None, Any, Any]:
        # The graph of a branch or a loop is scheduled while another one is.
        outer: _Asked | None = getattr(self._here, "asked", None)
        asked: _Asked = {}
        self._here.asked = asked
        try:
            fused = yield
        finally:
            self._here.asked = outer
        with logging_faults(_MISSED):
            graph = _Graph(scheduler)
            found = _missed(scheduler, fused, asked, graph)
            self._note(found, is_backward=is_given_gradients(graph.module))
        return fused

    def _note(self, found: Iterable[_Pair], *, is_backward: bool) -> None:
        compilation = self._recorder.called(compile_id()) if is_compiling() else None
        remarks: dict[Remark, list[tuple[str, str]]] = {}
        for one in found:
            remark = Remark(
                *(Subject.FUSION, one.reason[:_LONGEST], compilation, ""),
                places=self._places.of(one.second),
                about=_about(one) + (", in the backward" if is_backward else ""),
                others=self._places.of(one.first),
            )
            if remark in remarks or len(remarks) < _MOST:
                names = (one.first.name, one.second.name)
                remarks.setdefault(remark, []).append(names)
        for remark, nodes in remarks.items():
            self._recorder.note(replace(remark, nodes=pairs(nodes)))


def _missed(
    scheduler: Any, fused: Any, asked: _Asked, graph: _Graph
) -> Iterator[_Pair]:
    """The pairs that are apart in the end: first where one reads what the other makes."""
    kernels = [one for one in fused if not _is_nothing(one)]
    makers = {name: one for one in kernels for name in one.get_buffer_names()}
    by_name = {one.get_name(): one for one in kernels}
    seen: set[tuple[str, str]] = set()
    for second in kernels:
        read: dict[str, list[str]] = {}
        for dep in second.read_writes.reads:
            maker = makers.get(dep.name)
            if maker is not None and maker is not second:
                read.setdefault(maker.get_name(), []).append(str(dep.name))
        for name, buffers in read.items():
            first = by_name[name]
            seen.add((name, second.get_name()))
            if scheduler.unfusable_node(first) and scheduler.unfusable_node(second):
                continue
            node = graph.maker(buffers[0])
            reader = node and graph.reader(second, buffers[0], node)
            if reader is node:
                node = graph.maker(buffers[0], is_first=True)
            if node and reader:
                reason = _reason(scheduler, first, second, asked)
                yield _Pair(node, reader, "", reason)
    for names in asked:
        first, second = (by_name.get(name) for name in names)
        if first is None or second is None or {names, names[::-1]} & seen:
            continue
        seen.add(names)
        both = second.used_buffer_names()
        buffer = next((one for one in first.used_buffer_names() if one in both), "")
        node = graph.maker(buffer)
        one = node and graph.reader(first, buffer, node)
        other = node and graph.reader(second, buffer, node)
        if one and other:
            what = "an input" if node.op == "placeholder" else _operator(node)
            yield _Pair(one, other, what, _reason(scheduler, first, second, asked))


class _Graph:
    """Which node of the graph that inductor lowers is behind what a kernel does."""

    def __init__(self, scheduler: Any) -> None:
        virtualized: Any = private("torch._inductor.virtualized:V", _MISSED)
        self._buffers = scheduler.name_to_buf
        self.module = virtualized.graph.module
        self._inputs: dict[str, Any] | None = None

    def maker(self, buffer: str, *, is_first: bool = False) -> Any:
        """The node that a buffer is of; None where nobody knows.

        One that is changed in place is of several nodes, and the first made it.
        """
        known = self._buffers.get(buffer)
        if known is not None and is_first:
            return min(known.node.origins, default=None)
        if known is not None:
            return _node_of(known.node)
        if self._inputs is None:
            inputs = self.module.graph.find_nodes(op="placeholder")
            self._inputs = {one.name: one for one in inputs}
        return self._inputs.get(buffer)

    def reader(self, kernel: Any, buffer: str, made_by: Any) -> Any:
        """The node for which a kernel reads a buffer; None where nobody knows."""
        for one in kernel.get_nodes():
            if one.node is not None and any(
                dep.name == buffer for dep in one.read_writes.reads
            ):
                use = _first_use(made_by, one.node.origins)
                return use or _node_of(one.node)
        return None


def _node_of(buffer: Any) -> Any:
    """The node that a buffer is of: the last one, where inductor names several."""
    return buffer.get_origin_node() or max(buffer.origins, default=None)


def _first_use(node: Any, among: Any) -> Any:
    """The first of some nodes that computes with what a node is; views do not."""
    waiting, seen = [node], {node}
    for one in waiting:
        for user in one.users:
            if user in among and user not in seen:
                if not is_view(user.target):
                    return user
                seen.add(user)
                waiting.append(user)
    return None


def _reason(scheduler: Any, first: Any, second: Any, asked: _Asked) -> str:
    """Why two kernels are apart: in torch's words, where it has any."""
    names = first.get_name(), second.get_name()
    said = asked.get(names) or asked.get(names[::-1])
    if said is not None:
        reason, values = said
        return str(reason % values if values else reason)
    for one in (first, second):
        if scheduler.unfusable_node(one):
            return f"inductor calls {_called(one.node)}, and fuses nothing into it"
    loops = [_loops(one) for one in (first, second)]
    if loops[0] == loops[1] or not all(loops):
        return "inductor does not say why"
    return f"inductor does not say why; one {loops[0]}, and the other one {loops[1]}"


def _called(kernel: Any) -> str:
    """What the code calls that has no loops of inductor's."""
    own = getattr(kernel, "get_kernel_and_metadata", None)
    if own is not None:
        return str(own()[0].__name__)  # a kernel of Triton that the user wrote
    name = getattr(kernel, "try_get_kernel_name", lambda: None)()
    if name is None and getattr(kernel, "inputs", None):
        return _called(kernel.inputs[0])  # it is one of the results of that
    return str(name or kernel.get_name())


def _loops(kernel: Any) -> str:
    """The sizes over which a kernel loops."""
    _, sizes = getattr(kernel, "group", None) or (None, ())
    # They are tuples where inductor writes C++, and counts for Triton.
    tuples: list[Any] = [one if isinstance(one, tuple) else (one,) for one in sizes]
    parts = [" x ".join(map(str, one)) for one in tuples]
    verbs = zip(("loops over", "reduces"), parts, strict=False)
    return " and ".join(f"{verb} {part}" for verb, part in verbs if part)


def _about(pair: _Pair) -> str:
    """The operators of a pair, without the numbers by which nodes are told apart."""
    both = f"{_operator(pair.first)} and {_operator(pair.second)}"
    if pair.shared:
        both += f", which both read {pair.shared}"
    return both


def _operator(node: Any) -> str:
    """The operator of a node; for a part of a result, that which gave it."""
    if node.target is operator.getitem:
        return _operator(node.args[0])
    return bare(node.name)


def _is_nothing(kernel: Any) -> bool:
    """Whether it only stands for a place in memory."""
    kind: Any = private(
        "torch._inductor.scheduler:NopKernelSchedulerNode", _MISSED, lambda: ()
    )
    return isinstance(kernel, kind)
