"""The code that inductor writes for a graph as a listing, whose nodes are the kernels.

Nodes are the inputs, the buffers, the kernels whose text stands there, and each call of
a kernel. A call came from all that the nodes came from that it computes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from msgspec import structs

from fxls.listing import (
    Facts,
    HeadLink,
    Identity,
    Items,
    Listing,
    Mark,
    Parent,
    Pieces,
    Role,
    Tensor,
    Value,
)
from fxls.record.wrapper_text import (
    Argument,
    Called,
    Spot,
    Variable,
    WrapperText,
)

__all__ = ["Buffer", "Computed", "Generated", "KernelListing"]


@dataclass(frozen=True, slots=True)
class Computed:
    """What one call of a kernel computes, as inductor has it."""

    kernel: str
    number: int
    """Which of the calls of its graph it is, from one on."""
    nodes: tuple[str, ...]
    """Those of the last graph that are computed, and the views that are looked through."""
    reads: frozenset[str]
    """What others made; a buffer that is changed in place is read and written."""
    writes: frozenset[str]


@dataclass(frozen=True, slots=True)
class Buffer:
    """A buffer of inductor's."""

    node: str | None
    """The node whose value it holds, where it is that of one node."""
    value: Value | None


@dataclass(frozen=True, slots=True)
class Generated:
    """What inductor knows of the code that it wrote for a graph."""

    calls: tuple[Computed, ...]
    buffers: Mapping[str, Buffer]
    inputs: tuple[str, ...]
    constants: tuple[str, ...]
    without_kernel: tuple[tuple[str, str], ...]
    """As of the listing."""


class KernelListing:
    """The listing under way: its text is known at once, and the rest when it is asked."""

    def __init__(
        self,
        identity: Identity,
        head: Sequence[str],
        links: tuple[HeadLink, ...],
        code: str,
    ) -> None:
        """`head` are the lines that stand above the code, and `links` those in them."""
        self.identity = identity
        self._links = links
        self.above = len(head) + 2
        """So many lines stand above those that inductor wrote."""
        self.text = "\n".join([*head, "", "", code])

    def listing(
        self,
        wrapper: WrapperText,
        generated: Generated,
        graph: Listing | None,
        parents: tuple[Parent, ...],
    ) -> Listing:
        """The whole of it; `graph` is the last one that inductor made of nodes."""
        nodes = _Nodes(wrapper, generated, graph, self.above)
        return Listing(
            identity=self.identity,
            text=self.text,
            definition=wrapper.definition + self.above,
            marks=nodes.marks(),
            nodes=nodes.facts(),
            sources=() if graph is None else graph.sources,
            frames=() if graph is None else graph.frames,
            scopes=() if graph is None else graph.scopes,
            parameters=None if graph is None else graph.parameters,
            parents=parents,
            links=self._links,
            computes_gradients=graph is not None and graph.computes_gradients,
            without_kernel=generated.without_kernel,
        )


@dataclass(frozen=True, slots=True)
class _Call:
    """A call in the text, and what it computes."""

    there: Called
    computed: Computed

    @property
    def name(self) -> str:
        return f"{self.computed.kernel}:{self.computed.number}"


class _Nodes:
    """The nodes of one listing; indices are those of `_names`."""

    def __init__(
        self,
        wrapper: WrapperText,
        generated: Generated,
        graph: Listing | None,
        above: int,
    ) -> None:
        self._wrapper = wrapper
        self._generated = generated
        self._above = above
        self._graph = {} if graph is None else {f.name: f for f in graph.nodes}
        self._order = {name: at for at, name in enumerate(self._graph)}
        self._calls = [*_matched(wrapper.called, generated.calls)]
        spoken = {one.name for one in wrapper.named}
        self._bound = {
            one.name: one
            for one in reversed(wrapper.named)
            if one.role is Role.BINDS and one.value is not None
        }
        self._inputs = [one for one in generated.inputs if one in spoken]
        self._constants = [one for one in generated.constants if one in spoken]
        given = {*self._inputs, *self._constants}
        buffers = [
            one for one in generated.buffers if one in self._bound and one not in given
        ]
        called = {one.computed.kernel for one in self._calls}
        self._kernels = [one for one in wrapper.defined if one.name in called]
        variables = [*self._inputs, *self._constants, *buffers]
        self._buffers = buffers
        self._variables = {name: at for at, name in enumerate(variables)}
        names = [*variables, *(one.name for one in self._kernels)]
        self._index = {name: at for at, name in enumerate(names)}
        self._first_call = len(names)
        self._parts: dict[str, list[str]] = defaultdict(list)
        """What is taken out of a buffer that holds several values."""
        for name in buffers:
            _, written = self._bound[name].value or ("", ())
            match written:
                case (Variable(whole), str(rest)) if rest.startswith("["):
                    self._parts[whole].append(name)
                case _:
                    pass

    def facts(self) -> tuple[Facts, ...]:
        """The facts, in the order of the indices."""
        calls = [*map(self._of_call, self._calls)]
        found = [
            *(self._of_input(name, "placeholder") for name in self._inputs),
            *(self._of_input(name, "get_attr") for name in self._constants),
            *map(self._of_buffer, self._buffers),
            *self._of_kernels(),
            *calls,
        ]
        users: dict[int, dict[int, None]] = defaultdict(dict)
        for at, facts in enumerate(found):
            for pieces in facts.args:
                for one in pieces:
                    if isinstance(one, int):
                        users[one][at] = None
        return tuple(
            structs.replace(facts, users=tuple(users[at])) if at in users else facts
            for at, facts in enumerate(found)
        )

    def marks(self) -> tuple[Mark, ...]:
        """The marks, in the order of the text."""
        found = [
            self._mark(one.spot, self._variables[one.name], one.role)
            for one in self._wrapper.named
            if one.name in self._variables
        ]
        for one in self._kernels:
            found.append(self._mark(one.spot, self._index[one.name], Role.BINDS))
        for at, one in enumerate(self._calls, self._first_call):
            found.append(self._mark(one.there.spot, at, Role.BINDS))
        return tuple(sorted(found, key=lambda mark: (mark.line, mark.column)))

    def _mark(self, spot: Spot, node: int, role: Role) -> Mark:
        return Mark(spot.line + self._above, spot.column, spot.length, node, role)

    def _of_input(self, name: str, opcode: str) -> Facts:
        known = self._graph.get(name)
        return Facts(
            name=name,
            opcode=opcode,
            target=name,
            line=self._wrapper.definition + self._above,
            value=self._value(name),
            origin=known.origin if known else None,
            more_origins=known.more_origins if known else (),
            detail=known.detail if known else None,
        )

    def _value(self, name: str) -> Value | None:
        """What is known of a variable: an input, which a kernel may write to as well, is
        no buffer that inductor made.
        """
        known, buffer = self._graph.get(name), self._generated.buffers.get(name)
        if buffer is None:
            return None if known is None else known.value
        return buffer.value

    def _of_buffer(self, name: str) -> Facts:
        bound = self._bound[name]
        how, written = bound.value or ("", ())
        buffer = self._generated.buffers[name]
        nodes = () if buffer.node is None else (buffer.node,)
        origin, more = self._origins(nodes)
        return Facts(
            name=name,
            opcode="buffer",
            target=how or name,
            line=bound.spot.line + self._above,
            args=(self._pieces(written),) if written else (),
            value=buffer.value,
            origin=origin,
            more_origins=more,
            made_from=nodes,
        )

    def _of_kernels(self) -> Iterator[Facts]:
        for defined in self._kernels:
            calls = [one for one in self._calls if one.computed.kernel == defined.name]
            nodes = tuple(
                dict.fromkeys(name for one in calls for name in self._sorted(one))
            )
            origin, more = self._origins(nodes)
            yield Facts(
                name=defined.name,
                opcode="kernel",
                target=defined.by,
                line=defined.spot.line + self._above,
                origin=origin,
                more_origins=more,
                made_from=nodes,
            )

    def _of_call(self, call: _Call) -> Facts:
        nodes = self._sorted(call)
        origin, more = self._origins(nodes)
        inputs, outputs = self._given(call)
        made = map(self._value, outputs)
        values = tuple(one for one in made if isinstance(one, Tensor))
        value: Value | None = values[0] if len(values) == 1 else Items("tuple", values)
        scopes = {self._graph[name].scope for name in nodes if name in self._graph}
        kernel = self._index.get(call.computed.kernel)
        return Facts(
            name=call.name,
            opcode="call_kernel",
            target=call.computed.kernel,
            line=call.there.spot.line + self._above,
            args=(*(() if kernel is None else ((kernel,),)), *inputs),
            kwargs=tuple(("out", (self._variables[name],)) for name in outputs),
            scope=scopes.pop() if len(scopes) == 1 else None,
            origin=origin,
            more_origins=more,
            value=value if values and len(values) == len(outputs) else None,
            made_from=nodes,
        )

    def _sorted(self, call: _Call) -> tuple[str, ...]:
        """The nodes of a call in the order of the graph."""
        last = len(self._order)
        return tuple(
            sorted(call.computed.nodes, key=lambda one: self._order.get(one, last))
        )

    def _given(self, call: _Call) -> tuple[tuple[Pieces, ...], tuple[str, ...]]:
        """What a call is given to read, and the buffers that it writes."""
        writes = {*call.computed.writes}
        there = {*call.there.names} | ({call.there.result})
        # Inductor may have let a buffer go on under another name.
        outputs = [name for name in self._variables if name in writes and name in there]
        reads = {self._now(name, there) for name in call.computed.reads}
        inputs = tuple(
            self._pieces(argument)
            for argument in call.there.arguments
            if _is_read(argument, reads, outputs)
        )
        found: list[str] = []
        for name in outputs:
            found += self._parts.get(name) or [name]
        return inputs, tuple(found)

    def _now(self, name: str, there: Iterable[str | None]) -> str:
        """What a buffer is called among the names that are there."""
        for _ in self._wrapper.renamed:
            if name in there or name not in self._wrapper.renamed:
                break
            name = self._wrapper.renamed[name]
        return name

    def _origins(self, nodes: tuple[str, ...]) -> tuple[int | None, tuple[int, ...]]:
        """Where nodes came from; that of the last of them, the result, first."""
        rows: dict[int, None] = {}
        for name in reversed(nodes):
            facts = self._graph.get(name)
            if facts is not None and facts.origin is not None:
                rows |= dict.fromkeys((facts.origin, *facts.more_origins))
        first, *more = (*rows, None)
        return first, tuple(row for row in more if row is not None)

    def _pieces(self, argument: Argument) -> Pieces:
        return tuple(
            one if isinstance(one, str) else self._variables.get(one.name, one.name)
            for one in argument
        )


def _is_read(argument: Argument, reads: set[str], outputs: list[str]) -> bool:
    """Whether an argument is no buffer that the call only writes."""
    names = {one.name for one in argument if isinstance(one, Variable)}
    return bool(names & reads) or not names & {*outputs}


def _matched(
    called: tuple[Called, ...], computed: tuple[Computed, ...]
) -> Iterator[_Call]:
    """Each call with what it computes; of a kernel whose calls differ in number, none.

    Inductor writes the calls of one kernel in the order in which it says what they
    compute.
    """
    known: dict[str, list[Computed]] = defaultdict(list)
    for one in computed:
        known[one.kernel].append(one)
    counts = Counter(one.name for one in called)
    left = {
        kernel: iter(rows)
        for kernel, rows in known.items()
        if len(rows) == counts[kernel]
    }
    for one in called:
        if one.name in left:
            yield _Call(one, next(left[one.name]))
