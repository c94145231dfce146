"""One run of code generation: what is written, by which names, and where it stands.

Nearly every graph has names that clash with no global; then each node's line is what it
was the last time, unless the node changed, and code after one edit costs a join. Where
names do clash, all is written anew with names that a namespace hands out on the way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import fxls
from fxls.engine.code.python_code import (
    INDENT,
    STANDARD_GLOBALS,
    MarkedCode,
    PythonCode,
)
from fxls.engine.code.statement import Globals, PlainWriter, Writer
from fxls.engine.ir.last_uses import freed_by, note_last_users
from fxls.engine.ir.names import Namespace, identifier, is_illegal, naming_in_force
from fxls.engine.ir.node import Node
from fxls.engine.ir.node_list import ordered
from fxls.engine.ir.opcodes import check_op_and_target
from fxls.listing import Mark, Role

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
        self._naming = _OWN_NAMES
        self._scope = Globals()
        self._writer = self.writer(root, self._scope, self._naming.reads)
        self._rows: list[Node | None] = []
        """Per line of the body, the node that it is the line of."""
        self._texts: list[str] = []
        """The lines of the body, without indentation."""

    def code(self) -> PythonCode:
        """The source."""
        if self._graph._may_mismatch:
            for node in self._nodes:
                check_op_and_target(node._op, node._target)
        if not self._write_plainly():
            self._write_with_new_names()
        transform = self._codegen._body_transformer
        if transform is not None:
            self._transform(transform)
        if not self._texts:
            self._texts.append("pass")
            self._rows.append(None)
        head = self._head(self._naming)
        prologue = self._prologue()
        return PythonCode(
            self._joined(prologue, head, self._texts),
            self._scope.values,
            dict(enumerate(self._places(), 1 + head.count("\n"))),
            prologue.count("\n") + 1,
        )

    def marked_code(self) -> MarkedCode:
        """The source, and where each of its names of a node stands.

        All is written once more with a fence around every name.
        """
        code = self.code()
        fences = _fenced(self._naming)
        self._writer = self.writer(self._key[0], self._scope, fences.reads)
        head = self._head(fences)
        if _plain(head) != self._head(self._naming):
            head = self._head(self._naming)  # a CodeGen that looks at what names are
        texts = [
            text if node is None else self._row(node, fences)
            for node, text in zip(self._rows, self._texts, strict=True)
        ]
        index = {node: i for i, node in enumerate(self._nodes)}
        named = {self._naming.reads(node): i for node, i in index.items()}
        fenced = self._joined(self._prologue(), head, texts)
        assert _plain(fenced) == code.src, "a line was written in two ways"
        definition = code._prologue_start - 1
        lines = [definition] * len(self._nodes)
        at = definition + 1 + head.count("\n")
        for node, text in zip(self._rows, texts, strict=True):
            if node is not None:
                lines[index[node]] = at
            at += 1 + text.count("\n")
        return MarkedCode(code, _marks(fenced, named), tuple(lines), definition)

    # -- the lines of the body ---------------------------------------------------

    def _places(self) -> Iterable[int | None]:
        """Per line of the body, the place in the graph of the node it is the line of."""
        skipped = len(self._nodes) - len(self._rows)
        if skipped >= 0 and self._rows == self._nodes[skipped:]:
            return range(skipped, len(self._nodes))  # all but the first parameters
        index = {node: i for i, node in enumerate(self._nodes)}
        return [None if node is None else index[node] for node in self._rows]

    def _write_plainly(self) -> bool:
        """Write the lines with every node under its own name; False when names clash."""
        self._start(None)
        graph, scope = self._graph, self._scope
        self._writer = writer = PlainWriter(self._key[0], scope)
        if graph._lines_of != self._key:
            for node in self._nodes:
                node._line = None
            graph._lines_of = self._key
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
            or any(is_illegal(name, None) or identifier(name) != name for name in names)
        )

    def _write_with_new_names(self) -> None:
        """Write the lines with names made unique in the order in which they come."""
        namespace = Namespace()
        names = _Names(namespace).__getitem__
        self._naming = _Naming(names, names, names)
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
            if _parameter_name(node) == self._naming.reads(node):
                return
        self._texts.append(self._row(node, self._naming))
        self._rows.append(node)

    def _row(self, node: Node, naming: _Naming) -> str:
        """The line of a node in the body."""
        op = node._op
        if op == "placeholder":
            return f"{naming.binds(node)} = {_parameter_name(node)}"
        if op == "output":
            return self._return(node, naming)
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
        given = [f"{text}\n" for text in self._texts]
        rows = {id(text): node for text, node in zip(given, self._rows, strict=True)}
        back = list(transform(list(given)))
        self._rows = [rows.get(id(text)) for text in back]
        self._texts = [
            text.removesuffix("\n").replace("\n", f"\n{INDENT}") for text in back
        ]

    # -- the parts of the function -----------------------------------------------

    def _joined(self, prologue: str, head: str, texts: list[str]) -> str:
        body = f"\n{INDENT}".join(texts)
        return f"{prologue}{head}\n{INDENT}{body}\n{INDENT}"

    def _prologue(self) -> str:
        wraps = "\n".join(f'fxls.engine.wrap("{name}")' for name in self._scope.wrapped)
        return f"\n{wraps}\n\n"

    def _head(self, naming: _Naming) -> str:
        """The line of ``def``."""
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
        if name == self._naming.reads(node):
            name = naming.binds(node)
        text = self._writer.annotated(node, stars + name)
        if node._args:
            text += f" = {self._writer.argument(node._args[0])}"
        return text

    def _return(self, node: Node, naming: _Naming) -> str:
        codegen = self._codegen
        if codegen._writes_plain_output:
            return f"return {self._writer.argument(node._args[0])}"
        naming_in_force.reads = naming.reads
        try:
            text = codegen.generate_output(node._args[0])
        finally:
            naming_in_force.reads = None
        return text.replace("\n", f"\n{INDENT}")


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
_OWN_NAMES = _Naming(_own_name, _own_name, _own_name)

_OPEN = {Role.BINDS: "\ue000", Role.READS: "\ue001", Role.FREES: "\ue002"}
_CLOSE = "\ue003"
"""Fences are of private characters: no identifier has them and `repr` escapes them."""
_ROLE = {fence: role for role, fence in _OPEN.items()}
_OPENING = re.compile("([\ue000-\ue002])")
_FENCES = re.compile("[\ue000-\ue003]")


def _fenced(naming: _Naming) -> _Naming:
    def fence(role: Role) -> Callable[[Node], str]:
        return lambda node: f"{_OPEN[role]}{naming.reads(node)}{_CLOSE}"

    return _Naming(fence(Role.BINDS), fence(Role.READS), fence(Role.FREES))


def _plain(fenced: str) -> str:
    return _FENCES.sub("", fenced)


def _marks(fenced: str, named: Mapping[str, int]) -> tuple[Mark, ...]:
    """The marks of the text that is left when the fences are taken away."""
    marks: list[Mark] = []
    for number, line in enumerate(fenced.split("\n")):
        column = 0
        # In front of each closing fence: other text, the opening fence, and a name.
        for part in line.split(_CLOSE)[:-1]:
            before, fence, name = _OPENING.split(part)
            column += len(before)
            length = len(name)
            marks.append(Mark(number, column, length, named[name], _ROLE[fence]))
            column += length
    return tuple(marks)


def _parameter_name(node: Node) -> str:
    return cast("str", node._target).lstrip("*")
