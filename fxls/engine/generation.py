"""One run of code generation: what is written, by which names, and where it stands.

Nearly every graph has names that clash with no global; then each node's line is what it
was the last time, unless the node changed, and code after one edit costs a join. Where
names do clash, all is written anew with names that a namespace hands out on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import fxls
from fxls.engine.arguments import references
from fxls.engine.codegen import (
    INDENT,
    STANDARD_GLOBALS,
    CodeGen,
    MarkedCode,
    PythonCode,
)
from fxls.engine.names import Namespace, is_illegal
from fxls.engine.statement import Globals, Pieces, statement, write
from fxls.listing import Mark, Role

if TYPE_CHECKING:
    from fxls.engine.graph import Graph
    from fxls.engine.node import Node

__all__ = ["Generation"]


class Generation:
    """The writing of one graph by the rules of one `CodeGen`."""

    def __init__(
        self,
        codegen: CodeGen,
        graph: Graph,
        root: str,
        main: str = "__main__",
        **form: Any,
    ) -> None:
        self._codegen = codegen
        self._root = root
        self._main = main
        self._form = form
        self._nodes = list(graph.nodes)
        self._frees = _last_uses(self._nodes)
        self._names: _Names | None = None
        """What each node is called here; None when that is its own name."""
        self._scope = Globals()
        self._rows: list[Node | None] = []
        """Per line of the body, the node that it is the line of."""

    def code(self) -> PythonCode:
        """The source."""
        lines = self._plain_lines()
        if lines is None:
            lines = self._renamed_lines()
        if self._codegen._body_transformer is not None:
            lines = self._transformed(lines, self._codegen._body_transformer)
        if not lines:
            lines = ["pass"]
            self._rows = [None]
        head = self._head(self._text)
        prologue = self._prologue()
        body = f"\n{INDENT}".join(lines)
        at = {node: i for i, node in enumerate(self._nodes)}
        return PythonCode(
            f"{prologue}{head}\n{INDENT}{body}\n{INDENT}",
            self._scope.values,
            {
                line: None if node is None else at[node]
                for line, node in enumerate(self._rows, 1 + head.count("\n"))
            },
            prologue.count("\n") + 1,
        )

    def marked_code(self) -> MarkedCode:
        """The source, and where each of its names of a node stands."""
        code = self.code()
        sheet = _Sheet(self._nodes, self._name)
        sheet.put([self._prologue()], Role.BINDS)
        definition = sheet.line
        head = self._head(lambda pieces: _fenced(pieces, self._name))
        sheet.put(self._unfenced(head), Role.BINDS)
        lines: dict[Node, int] = {}
        for node in self._rows:
            sheet.put(["\n" + INDENT], Role.READS)
            if node is not None:
                lines.setdefault(node, sheet.line)
                self._put_row(node, sheet)
        return MarkedCode(
            code,
            tuple(sheet.marks),
            tuple([lines.get(node, definition) for node in self._nodes]),
            definition,
        )

    # -- the lines of the body ---------------------------------------------------

    def _plain_lines(self) -> list[str] | None:
        """The lines with every node under its own name; None where names clash."""
        scope = self._start(None)
        key = (self._root, self._main)
        frees = self._frees
        lines: list[str] = []
        rows = self._rows
        for node in self._nodes:
            written = node._line
            if written is None or written[0] != key:
                op = node._op
                if op == "placeholder":
                    if (name := _parameter_name(node)) != node._name:
                        lines.append(f"{node._name} = {name}")
                        rows.append(node)
                    continue
                if op == "output":
                    lines.append(self._return(node))
                    rows.append(node)
                    continue
                written = node._line = self._written(node)
            if written[2]:
                scope.values.update(written[2])
                scope.wrapped.update(written[3])
            freed = frees.get(node)
            if freed is None:
                lines.append(written[1])
            else:
                names = " = ".join([used._name for used in freed])
                lines.append(f"{written[1]};  {names} = None")
            rows.append(node)
        if scope.wrapped:
            scope.values["fxls"] = fxls
        return None if scope.clash or self._names_clash() else lines

    def _written(
        self, node: Node
    ) -> tuple[tuple[str, str], str, dict[str, Any], dict[str, None]]:
        """A node's line and the globals it needs, to be kept with the node."""
        own = Globals(None, self._main)
        pieces = statement(node, self._root, own)
        text = "".join([p if isinstance(p, str) else p._name for p in pieces])
        whole = self._scope
        for name, value in own.values.items():
            if whole.values.setdefault(name, value) is not value:
                own.clash = True
        whole.clash = whole.clash or own.clash
        whole.wrapped.update(own.wrapped)
        return (self._root, self._main), text, own.values, own.wrapped

    def _names_clash(self) -> bool:
        names = {node._name for node in self._nodes}
        return (
            len(names) != len(self._nodes)
            or not names.isdisjoint(self._scope.values)
            or any(is_illegal(name, None) for name in names)
        )

    def _renamed_lines(self) -> list[str]:
        """The lines with names made unique in the order in which they are needed."""
        namespace = Namespace()
        self._names = names = _Names(namespace)
        scope = self._start(namespace)
        if any(node.noted("is_wrapped") for node in self._nodes):
            scope.values[namespace.create_name("fxls", fxls)] = fxls
        lines: list[str] = []
        for node in self._nodes:
            if node._op == "placeholder":
                name = self._text(self._parameter(node))
                name = _parameter_name(node)
                if name != names[node]:
                    lines.append(f"{names[node]} = {name}")
                    self._rows.append(node)
                continue
            if node._op == "output":
                lines.append(self._return(node))
            else:
                pieces = statement(node, self._root, scope)
                lines.append(self._text([*pieces, *self._freeing(node)]))
            self._rows.append(node)
        return lines

    def _transformed(
        self, lines: list[str], transform: Callable[[list[str]], list[str]]
    ) -> list[str]:
        """What a transformer makes of the lines.

        A string that comes back as the same object is still the line of its node.
        """
        given = [f"{line}\n" for line in lines]
        rows = {id(text): node for text, node in zip(given, self._rows, strict=True)}
        self._rows = []
        result: list[str] = []
        for text in transform(list(given)):
            line = text.removesuffix("\n").replace("\n", f"\n{INDENT}")
            result.append(line)
            self._rows.append(rows.get(id(text)))
            if self._rows[-1] is None:
                self._rows += [None] * line.count("\n")
        return result

    def _start(self, namespace: Namespace | None) -> Globals:
        self._rows = []
        self._scope = scope = Globals(namespace, self._main)
        for name, value in (*STANDARD_GLOBALS, *self._codegen.additional_globals()):
            scope.values[name] = value
            if namespace is not None:
                namespace.create_name(name, value)
        return scope

    def _freeing(self, node: Node) -> Pieces:
        out: Pieces = []
        for used in self._frees.get(node, ()):
            out += [" = " if out else ";  ", used]
        if out:
            out.append(" = None")
        return out

    # -- the parts of the function -----------------------------------------------

    def _prologue(self) -> str:
        wraps = "\n".join(f'fxls.engine.wrap("{name}")' for name in self._scope.wrapped)
        return f"\n{wraps}\n\n"

    def _head(self, text: Callable[[Pieces], str]) -> str:
        """The line of ``def``; `text` says how a parameter's pieces become one str."""
        parameters = [
            text(self._parameter(node))
            for node in self._nodes
            if node._op == "placeholder"
        ]
        returns = ""
        for node in self._nodes[-1:]:
            if node._op == "output" and node._type is not None:
                returns = f" -> {self._scope.annotation(node._type)}"
        codegen = self._codegen
        older = getattr(codegen, "generate_prologue", None)
        if older is not None:
            return older(parameters, returns).lstrip("\n")
        if self._form.get("expanded_def"):
            return codegen.gen_fn_def(parameters, returns, expanded_def=True)
        return codegen.gen_fn_def(parameters, returns)

    def _parameter(self, node: Node) -> Pieces:
        name = _parameter_name(node)
        stars = str(node._target)[: -len(name)]
        out: Pieces = [stars, node if name == self._name(node) else name]
        if node._type is not None:
            out.append(f" : {self._scope.annotation(node._type)}")
        if node._args:
            out.append(" = ")
            write(node._args[0], out, self._scope)
        return out

    def _return(self, node: Node) -> str:
        if type(self._codegen).generate_output is CodeGen.generate_output:
            out: Pieces = ["return "]
            write(node._args[0], out, self._scope)
            return self._text(out)
        return self._own_return(node, self._name)

    def _own_return(self, node: Node, name_of: Callable[[Node], str]) -> str:
        """What a `CodeGen`'s own `generate_output` writes, nodes being named as told."""
        used: list[Node] = references(node._args, node._kwargs)
        for one in used:
            one._repr_fn = name_of
        try:
            text = self._codegen.generate_output(node._args[0])
        finally:
            for one in used:
                one._repr_fn = None
        return text.replace("\n", f"\n{INDENT}")

    def _name(self, node: Node) -> str:
        return node._name if self._names is None else self._names[node]

    def _text(self, pieces: Pieces) -> str:
        return "".join([p if isinstance(p, str) else self._name(p) for p in pieces])

    # -- positions ---------------------------------------------------------------

    def _put_row(self, node: Node, sheet: _Sheet) -> None:
        op = node._op
        if op == "placeholder":
            sheet.put([node, f" = {_parameter_name(node)}"], Role.BINDS)
        elif op == "output":
            text = self._own_return(node, lambda one: _fence(self._name(one)))
            if type(self._codegen).generate_output is CodeGen.generate_output:
                out: Pieces = ["return "]
                write(node._args[0], out, self._scope)
                sheet.put(out, Role.READS)
            else:
                sheet.put(self._unfenced(text), Role.READS)
        else:
            pieces = statement(node, self._root, self._scope)
            sheet.put(pieces, Role.READS, binds=node)
            sheet.put(self._freeing(node), Role.FREES)

    def _unfenced(self, text: str) -> Pieces:
        """Text in which names are fenced, as pieces."""
        named = {self._name(node): node for node in self._nodes}
        out: Pieces = []
        for part in text.split(_OPEN):
            name, closed, rest = part.partition(_CLOSE)
            out += [named[name], rest] if closed else [part]
        return out


class _Names(dict["Node", str]):
    """What nodes are called: their own names, made unique when first asked for."""

    def __init__(self, namespace: Namespace) -> None:
        super().__init__()
        self._namespace = namespace

    def __missing__(self, node: Node) -> str:
        name = self[node] = self._namespace.create_name(node._name, node)
        return name


class _Sheet:
    """Measures pieces as they are put one behind the other."""

    def __init__(self, nodes: Sequence[Node], name_of: Callable[[Node], str]) -> None:
        self.line = 0
        self.column = 0
        self.marks: list[Mark] = []
        self._at = {node: i for i, node in enumerate(nodes)}
        self._name_of = name_of

    def put(self, pieces: Pieces, role: Role, *, binds: Node | None = None) -> None:
        """Put pieces; a name does what `role` says, or binds when it is `binds`."""
        for piece in pieces:
            if isinstance(piece, str):
                newlines = piece.count("\n")
                if newlines:
                    self.line += newlines
                    self.column = len(piece) - piece.rindex("\n") - 1
                else:
                    self.column += len(piece)
            else:
                length = len(self._name_of(piece))
                does = Role.BINDS if piece is binds else role
                self.marks.append(
                    Mark(self.line, self.column, length, self._at[piece], does)
                )
                self.column += length


_OPEN, _CLOSE = "\ue000", "\ue001"
"""A fence around a name, by which it is found again in what an overridden method made
of it. They are private characters, which no identifier has."""


def _fence(name: str) -> str:
    return f"{_OPEN}{name}{_CLOSE}"


def _fenced(pieces: Pieces, name_of: Callable[[Node], str]) -> str:
    return "".join([p if isinstance(p, str) else _fence(name_of(p)) for p in pieces])


def _parameter_name(node: Node) -> str:
    return cast("str", node._target).lstrip("*")


def _last_uses(nodes: list[Node]) -> dict[Node, list[Node]]:
    """Per node, the nodes whose value nobody needs behind it; itself, when unused."""
    seen: set[Node] = set()
    freed: dict[Node, list[Node]] = {}
    for node in reversed(nodes):
        last = [
            used
            for used in cast("list[Node]", references(node._args, node._kwargs))
            if used not in seen
        ]
        if last:
            seen.update(last)
        if node not in seen:
            last.append(node)
        if last:
            freed[node] = last
    return freed
