"""A graph module as a listing: its text, its marks, and what is known of its nodes."""

from __future__ import annotations

from typing import Any

import torch

from fxls.engine.codegen import MarkedCode, marked_code
from fxls.engine.graph import Graph
from fxls.engine.node import Node
from fxls.engine.node_text import pretty_target, type_text
from fxls.engine.statement import Globals, Writer
from fxls.listing import (
    Facts,
    Identity,
    Listing,
    Mark,
    Pieces,
)
from fxls.runtime.imports import import_lines
from fxls.runtime.modules import importable_name, name_of_file
from fxls.runtime.tables import Tables
from fxls.runtime.values import value_of

__all__ = ["ListingText", "identity_of", "listing_of", "text_of"]

_LONGEST = 200
"""Characters of a submodule's repr that are kept."""


def listing_of(
    module: torch.nn.Module, graph: Graph | None = None, *, entry: str | None = None
) -> Listing:
    """The listing of a graph module, or of another module and a graph of its."""
    if graph is None:
        graph = _graph_of(module)
    return text_of(module, graph).listing(entry)


def text_of(module: torch.nn.Module, graph: Graph) -> ListingText:
    """The text alone, from which the listing can be made while the graph is as it is."""
    return ListingText(module, graph)


def identity_of(module: torch.nn.Module, graph: Graph) -> Identity:
    """What a person calls the graph: the class, or the function, that was traced."""
    traced = graph.traced
    if traced is not None:
        return Identity(importable_name(traced[0]), traced[1])
    name = type(module).__name__
    for node in graph.nodes:
        found = node.origin
        if found is not None:
            place = found.places[-1]
            qualname = place.function.rpartition(".")[0]
            return Identity(name_of_file(place.path), qualname or place.function)
    return Identity(importable_name(type(module).__module__), name)


class ListingText:
    """The text of a listing to be, and the code that it was made from."""

    def __init__(self, module: torch.nn.Module, graph: Graph) -> None:
        self.identity = identity_of(module, graph)
        self.code: MarkedCode = marked_code(graph, "self", importable_name("__main__"))
        self._module = module
        self._graph = graph
        body = self.code.code.src.strip("\n ")
        head = [_HEADER.format(self.identity.class_name)]
        head += import_lines(body, self.code.code.globals)
        above = "\n".join(head)
        self.text = f"{above}\n\n\n{body}\n"
        skipped = len(self.code.code.src) - len(self.code.code.src.lstrip("\n"))
        self._shift = above.count("\n") + 3 - skipped

    def has_values(self) -> bool:
        """Whether any node of the graph knows its value."""
        return any(value_of(node.noted_all()) for node in self._graph.nodes)

    def listing(self, entry: str | None = None) -> Listing:
        """The whole listing."""
        shift = self._shift
        tables = Tables()
        nodes = list(self._graph.nodes)
        index = {node: i for i, node in enumerate(nodes)}
        writer = Writer(
            "self", Globals(), lambda node: f"{_FENCE}{index[node]}{_FENCE}"
        )
        marks = tuple(
            [
                Mark(m.line + shift, m.column, m.length, m.node, m.role)
                for m in self.code.marks
            ]
        )
        facts = tuple(
            [
                self._facts(node, line + shift, index, writer, tables)
                for node, line in zip(nodes, self.code.lines, strict=True)
            ]
        )
        return Listing(
            identity=self.identity,
            text=self.text,
            definition=self.code.definition + shift,
            marks=marks,
            nodes=facts,
            sources=tuple(tables.sources),
            frames=tuple(tables.frames),
            scopes=tuple(tables.scopes),
            entry=entry,
            parameters=sum(p.numel() for p in self._module.parameters()),
        )

    def _facts(
        self,
        node: Node,
        line: int,
        index: dict[Node, int],
        writer: Writer,
        tables: Tables,
    ) -> Facts:
        meta = node.noted_all()
        return Facts(
            name=node.name,
            opcode=node.op,
            target=pretty_target(node.target),
            line=line,
            args=tuple([_pieces(writer.argument(arg)) for arg in node.args]),
            kwargs=tuple(
                [(k, _pieces(writer.argument(a))) for k, a in node.kwargs.items()]
            ),
            users=tuple([index[user] for user in node.users]),
            scope=tables.scope(node._scope),
            origin=tables.frame(node._frames),
            value=value_of(meta),
            type=None if node.type is None else type_text(node.type),
            detail=self._detail(node),
        )

    def _detail(self, node: Node) -> str | None:
        if node.op not in ("call_module", "get_attr"):
            return None
        at: Any = self._module
        for atom in str(node.target).split("."):
            at = getattr(at, atom, None)
        if isinstance(at, torch.Tensor):
            kind = "Parameter" if isinstance(at, torch.nn.Parameter) else "Tensor"
            dtype = str(at.dtype).removeprefix("torch.")
            return f"{kind} {dtype}[{', '.join(map(str, at.shape))}]"
        if at is None:
            return None
        text = " ".join(repr(at).split())
        return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


_FENCE = "\ue000"
"""A private character: `repr` escapes it, so that no written value holds one."""

_HEADER = "# The code of {}'s graph, written by fxls. To change it, change the model."


def _pieces(text: str) -> Pieces:
    """Written text in which the index of a node stands between fences."""
    parts = text.split(_FENCE)
    return tuple([p if i % 2 == 0 else int(p) for i, p in enumerate(parts) if p])


def _graph_of(module: Any) -> Graph:
    graph = getattr(module, "graph", None)
    if not isinstance(graph, Graph):
        raise TypeError(
            f"{type(module).__name__} is no GraphModule of fxls.engine: it has no graph"
        )
    return graph
