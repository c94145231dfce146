"""One run of code generation: what is written, by which names, and where it stands.

Nearly every graph has names that clash with no global; then each node's line is what it
was the last time, unless the node changed, and code after one edit costs a join. Where
names do clash, all is written anew with names that a namespace hands out on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import fxls
from fxls.engine.code.fences import (
    BINDS,
    FENCE,
    FREES,
    READS,
    FindMarks,
    marks_in,
    without_fences,
)
from fxls.engine.code.python_code import (
    INDENT,
    STANDARD_GLOBALS,
    MarkedCode,
    PythonCode,
)
from fxls.engine.code.statement import FencedWriter, Globals, PlainWriter, Writer
from fxls.engine.ir.last_uses import freed_by, note_last_users
from fxls.engine.ir.names import Namespace, are_legal, naming_in_force
from fxls.engine.ir.node import Node
from fxls.engine.ir.node_list import ordered
from fxls.engine.ir.opcodes import check_op_and_target

if TYPE_CHECKING:
    from fxls.engine.code.codegen import CodeGen
    from fxls.engine.graph import Graph

__all__ = ["Generation"]


_Line: TypeAlias = str | tuple[str, dict[str, Any], str | None]
"""What a node keeps of its line: the text. Where the line needs global names, those as
well, and which of them is that of a wrapped function."""


class Generation:
    """The writing of one graph by the rules of one `CodeGen`."""

    writer: type[Writer] = Writer

    def __init__(
        self,
        codegen: CodeGen,
        graph: Graph,
        root: str,
        main: str = "__main__",
        **form: Any,
    ) -> None:
        self._codegen = codegen
        self._key = (root, main)
        self._form = form
        self._graph = graph
        self._nodes: list[Node] = ordered(graph)
        note_last_users(graph)
        self._is_fenced = False
        """Whether every name of a node is written with a fence around it."""
        self._name = _own_name
        self._naming = _plain(_own_name)
        self._scope = Globals()
        self._writer = self.writer(root, self._scope, self._naming.reads)
        self._rows: list[Node | None] = []
        """Per line of the body, the node that it is the line of."""
        self._texts: list[str] = []
        """The lines of the body, without indentation."""

    def code(self) -> PythonCode:
        """The source."""
        self._write()
        head, prologue = self._head(), self._prologue()
        text = self._joined(prologue, head, self._texts)
        return self._code(text, prologue, head, self._places())

    def marked_code(self, find: FindMarks = marks_in) -> MarkedCode:
        """The source, and where each of its names of a node stands, as `find` finds it.

        It is written with a fence around every name, and is what is left without them.
        """
        self._is_fenced = True
        self._write()
        head, prologue = self._head(), self._prologue()
        fenced = self._joined(prologue, head, self._texts)
        places = list(self._places())
        code = self._code(without_fences(fenced), prologue, head, places)
        definition = code._prologue_start - 1
        lines = [definition] * len(self._nodes)
        at = definition + 1 + head.count("\n")
        for place, text in zip(places, self._texts, strict=True):
            if place is not None:
                lines[place] = at
            at += 1 + text.count("\n")
        named = {self._name(node): i for i, node in enumerate(self._nodes)}
        marks = partial(find, fenced, named)
        return MarkedCode(code, marks, tuple(lines), definition)

    def _code(
        self, text: str, prologue: str, head: str, places: Iterable[int | None]
    ) -> PythonCode:
        return PythonCode(
            text,
            self._scope.values,
            dict(enumerate(places, 1 + head.count("\n"))),
            prologue.count("\n") + 1,
        )

    def _write(self) -> None:
        """Write the lines of the body."""
        if self._graph._may_mismatch:
            for node in self._nodes:
                check_op_and_target(node._op, node._target)
        self._name_nodes(_own_name)
        if not self._write_own_names():
            self._write_with_new_names()
        transform = self._codegen._body_transformer
        if transform is not None:
            self._transform(transform)
        if not self._texts:
            self._texts.append("pass")
            self._rows.append(None)

    def _name_nodes(self, name: Callable[[Node], str]) -> None:
        self._name = name
        self._naming = _fenced(name) if self._is_fenced else _plain(name)

    # -- the lines of the body ---------------------------------------------------

    def _places(self) -> Iterable[int | None]:
        """Per line of the body, the place in the graph of the node it is the line of."""
        skipped = len(self._nodes) - len(self._rows)
        if skipped >= 0 and self._rows == self._nodes[skipped:]:
            return range(skipped, len(self._nodes))  # all but the first parameters
        index = {node: i for i, node in enumerate(self._nodes)}
        return [None if node is None else index[node] for node in self._rows]

    def _write_own_names(self) -> bool:
        """Write the lines with every node under its own name; False when names clash.

        A graph keeps its lines as they were written last: with fences or without them.
        """
        self._start(None)
        graph, scope = self._graph, self._scope
        write_with = FencedWriter if self._is_fenced else PlainWriter
        self._writer = writer = write_with(self._key[0], scope)
        form = (*self._key, self._is_fenced)
        if graph._lines_of != form:
            for node in self._nodes:
                node._line = None
            graph._lines_of = form
        add_text, add_row = self._texts.append, self._rows.append
        write = writer.line
        for node in self._nodes:
            line = node._line
            if line is None:
                if node._op == "placeholder" or node._op == "output":
                    self._add_row(node)
                    continue
                line = write(node)
                if scope.needed:
                    self._keep_line(node, line)
                else:
                    node._line = line
            elif type(line) is not str:
                line, *needed = line
                self._need_again(*needed)
            add_text(line)
            add_row(node)
        if scope.wrapped:
            scope.values["fxls"] = fxls
        return not (scope.clash or self._names_clash())

    def _keep_line(self, node: Node, text: str) -> None:
        """Let a node keep its line, and what the scope knows that the line needs."""
        needed = self._scope.needed
        self._scope.needed = {}
        node._line = (text, needed, self._wrapped_name(node, needed))

    def _need_again(self, needed: dict[str, Any], wrapped: str | None) -> None:
        """Ask for the names of a line that was written before."""
        values = self._scope.values
        for name, value in needed.items():
            if values.setdefault(name, value) is not value:
                self._scope.clash = True
        if wrapped is not None:
            self._scope.wrapped[wrapped] = None

    def _wrapped_name(self, node: Node, needed: dict[str, Any]) -> str | None:
        """The name of the function that a node calls, when a trace must record it."""
        if not self._scope.wrapped or not node.noted("is_wrapped"):
            return None
        # Those of the arguments are needed as well.
        named = needed.items()
        return next((name for name, value in named if value is node._target), None)

    def _names_clash(self) -> bool:
        graph = self._graph
        if not graph._has_given_names and graph._graph_namespace.has_none_of(
            self._scope.values
        ):
            return False
        names = {node._name for node in self._nodes}
        return (
            len(names) != len(self._nodes)
            or not names.isdisjoint(self._scope.values)
            or not are_legal(names)
        )

    def _write_with_new_names(self) -> None:
        """Write the lines with names made unique in the order in which they come."""
        namespace = Namespace()
        self._name_nodes(_Names(namespace).__getitem__)
        self._start(namespace)
        if any(node.noted("is_wrapped") for node in self._nodes):
            self._scope.values[namespace.create_name("fxls", fxls)] = fxls
        for node in self._nodes:
            self._add_row(node)

    def _start(self, namespace: Namespace | None) -> None:
        self._rows = []
        self._texts = []
        self._scope = scope = Globals(namespace, self._key[1])
        self._writer = self.writer(self._key[0], scope, self._naming.reads)
        additional = self._codegen.additional_globals()
        for name, value in (*STANDARD_GLOBALS.items(), *additional):
            scope.values[name] = value
            if namespace is not None:
                namespace.create_name(name, value)

    def _add_row(self, node: Node) -> None:
        if node._op == "placeholder":
            self._parameter(node, self._naming)  # its annotation asks for names first
            if _parameter_name(node) == self._name(node):
                return
        self._texts.append(self._row(node))
        self._rows.append(node)

    def _row(self, node: Node) -> str:
        """The line of a node in the body."""
        op, naming = node._op, self._naming
        if op == "placeholder":
            return f"{naming.binds(node)} = {_parameter_name(node)}"
        if op == "output":
            return self._return(node)
        bound = self._writer.annotated(node, naming.binds(node))
        text = self._writer.statement(node, bound)
        freed = freed_by(node)
        if not freed:
            return text
        return f"{text};  {self._freeing(map(naming.frees, freed))}"

    def _freeing(self, names: Iterable[str]) -> str:
        return f"{' = '.join(names)} = None"

    def _transform(self, transform: Callable[[list[str]], list[str]]) -> None:
        """Let a function change the lines.

        A string that comes back as the same object is still the line of its node.
        """
        texts, rows = self._texts, self._rows
        plain = map(without_fences, texts) if self._is_fenced else texts
        given = [f"{text}\n" for text in plain]
        at = {id(text): i for i, text in enumerate(given)}
        back = list(transform(list(given)))
        found = [(at.get(id(text)), text) for text in back]
        self._rows = [None if i is None else rows[i] for i, _ in found]
        self._texts = [
            (text.removesuffix("\n") if i is None else texts[i]).replace(
                "\n", f"\n{INDENT}"
            )
            for i, text in found
        ]

    # -- the parts of the function -----------------------------------------------

    def _joined(self, prologue: str, head: str, texts: list[str]) -> str:
        body = f"\n{INDENT}".join(texts)
        return f"{prologue}{head}\n{INDENT}{body}\n{INDENT}"

    def _prologue(self) -> str:
        wraps = "\n".join(f'fxls.engine.wrap("{name}")' for name in self._scope.wrapped)
        return f"\n{wraps}\n\n"

    def _head(self) -> str:
        """The line of ``def``."""
        head = self._head_in(self._naming)
        return self._unless_seen(head, lambda: self._head_in(_plain(self._name)))

    def _unless_seen(self, text: str, write: Callable[[], str]) -> str:
        """A text with fences, unless a `CodeGen` looks at what names are: then as it
        writes it without them.
        """
        if not self._is_fenced:
            return text
        plain = without_fences(write())
        return text if without_fences(text) == plain else plain

    def _head_in(self, naming: _Naming) -> str:
        parameters = [
            self._parameter(node, naming)
            for node in self._nodes
            if node._op == "placeholder"
        ]
        returns = ""
        # From the end: that it stands there is for `lint` to say.
        output = next((n for n in reversed(self._nodes) if n._op == "output"), None)
        if output is not None and output._type is not None:
            returns = f" -> {self._scope.annotation(output._type)}"
        codegen = self._codegen
        older = getattr(codegen, "generate_prologue", None)
        if older is not None:
            return older(parameters, returns).lstrip("\n")
        if self._form.get("expanded_def"):
            return codegen.gen_fn_def(parameters, returns, expanded_def=True)
        return codegen.gen_fn_def(parameters, returns)

    def _parameter(self, node: Node, naming: _Naming) -> str:
        name = _parameter_name(node)
        stars = cast("str", node._target)[: -len(name)]
        if name == self._name(node):
            name = naming.binds(node)
        text = self._writer.annotated(node, stars + name)
        if node._args:
            text += f" = {self._writer.argument(node._args[0])}"
        return text

    def _return(self, node: Node) -> str:
        if self._codegen._writes_plain_output:
            return f"return {self._writer.argument(node._args[0])}"
        text = self._output(node, self._naming.reads)
        text = self._unless_seen(text, lambda: self._output(node, self._name))
        return text.replace("\n", f"\n{INDENT}")

    def _output(self, node: Node, reads: Callable[[Node], str]) -> str:
        naming_in_force.reads = reads
        try:
            return self._codegen.generate_output(node._args[0])
        finally:
            naming_in_force.reads = None


class _Naming(NamedTuple):
    """How a node is named where it is bound, read and freed."""

    binds: Callable[[Node], str]
    reads: Callable[[Node], str]
    frees: Callable[[Node], str]


class _Names(dict[Node, str]):
    """What nodes are called: their own names, made unique when first asked for."""

    def __init__(self, namespace: Namespace) -> None:
        super().__init__()
        self._namespace = namespace

    def __missing__(self, node: Node) -> str:
        name = self[node] = self._namespace.create_name(node._name, node)
        return name


_own_name: Callable[[Node], str] = attrgetter("_name")


def _plain(name: Callable[[Node], str]) -> _Naming:
    return _Naming(name, name, name)


def _fenced(name: Callable[[Node], str]) -> _Naming:
    def fence(before: str) -> Callable[[Node], str]:
        return lambda node: f"{before}{name(node)}{FENCE}"

    return _Naming(fence(BINDS), fence(READS), fence(FREES))


def _parameter_name(node: Node) -> str:
    return cast("str", node._target).lstrip("*")
