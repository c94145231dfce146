"""The graph in a text that torch printed: what its log has of a graph.

Python's own parser says where names stand; comments and annotations, which torch writes
for people, have lines of the source and shapes. What is not written as expected has no
facts: a statement that nobody knows is no node.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from fxls.listing import (
    Facts,
    Frame,
    Identity,
    Listing,
    Mark,
    Pieces,
    Plain,
    Role,
    Source,
    Tensor,
    Value,
)

__all__ = ["MOST", "printed_graph"]

MOST = 16 << 20
"""So many characters of a text are read."""

_LONGEST_LINE = 4096
_LONGEST_SIZE = 19
_CLASS = re.compile(r"^class [^\n(]*\(", re.MULTILINE)
_FILE = re.compile(
    r"^\s*# (?:Backward of forward node: )?File: (.+):(\d{1,9}) in ([^\n,]+)(?:, code: .*)?$"
)
_VALUE = re.compile(
    r"(?P<dtype>[a-z]+\d+\w*)\[(?P<shape>[^\[\]]*)\](?:\[(?P<stride>[^\[\]]*)\])?"
    r"(?P<device>[a-z]\w*(?::\d+)?)?"
)
_SYMBOL = re.compile(r"Sym\((.*)\)")
_DTYPES = {"bf": "bfloat", "f": "float", "u": "uint", "i": "int", "c": "complex"}
_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.MatMult: "matmul",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
    ast.BitAnd: "and_",
    ast.BitOr: "or_",
    ast.BitXor: "xor",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.USub: "neg",
    ast.UAdd: "pos",
    ast.Invert: "invert",
}


def printed_graph(text: str, identity: Identity, head: str) -> Listing | None:
    """The listing of a printed graph, below a head; None for what is no graph."""
    # Columns of other than ASCII are counted from the beginning of their line.
    if len(text) > MOST or any(
        len(line) > _LONGEST_LINE and not line.isascii() for line in text.split("\n")
    ):
        return None
    # The name of the class may be none: torch has lambdas.
    body = head + _CLASS.sub("class Graph(", text.rstrip("\n") + "\n")
    try:
        tree = ast.parse(body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    forward = _forward(tree)
    return None if forward is None else _Reader(body, forward).listing(identity)


def _forward(tree: ast.Module) -> ast.FunctionDef | None:
    for made in tree.body:
        if isinstance(made, ast.ClassDef):
            for one in made.body:
                if isinstance(one, ast.FunctionDef) and one.name == "forward":
                    return one
    return None


@dataclass(slots=True)
class _Row:
    name: str
    opcode: str
    target: str
    line: int
    args: tuple[Pieces, ...] = ()
    kwargs: tuple[tuple[str, Pieces], ...] = ()
    value: Value | None = None
    origin: int | None = None
    users: dict[int, None] = field(default_factory=dict[int, None])


class _Reader:
    """The statements of one forward."""

    def __init__(self, text: str, forward: ast.FunctionDef) -> None:
        self._text = text
        self._lines = text.split("\n")
        self._forward = forward
        self._encoded = 0, b""
        self._index: dict[str, int] = {}
        self._rows: list[_Row] = []
        self._marks: list[Mark] = []
        self._values: dict[str, Value | None] = {}
        self._sources: dict[str, int] = {}
        self._frames: dict[tuple[int, str, int], int] = {}

    def listing(self, identity: Identity) -> Listing:
        """All that can be read of it."""
        for one in self._forward.args.args[1:]:
            self._input(one.arg, one.arg, one, _annotated(one.annotation))
        at = self._forward.lineno
        origin: int | None = None
        for statement in self._forward.body:
            for line in range(at, statement.lineno - 1):
                origin = self._origin(self._lines[line], origin)
            at = statement.end_lineno or statement.lineno
            self._statement(statement, origin)
        for node, row in enumerate(self._rows):
            for pieces in (*row.args, *(one for _, one in row.kwargs)):
                for piece in pieces:
                    if isinstance(piece, int):
                        self._rows[piece].users[node] = None
        return Listing(
            identity,
            self._text,
            self._forward.lineno - 1,
            tuple(sorted(self._marks, key=lambda mark: (mark.line, mark.column))),
            tuple(map(_facts, self._rows)),
            sources=tuple(Source(path, "") for path in self._sources),
            # Of a line alone, that is all that torch says.
            frames=tuple(
                Frame(source, function, line, 0, line + 1, 0)
                for source, function, line in self._frames
            ),
        )

    def _statement(self, statement: ast.stmt, origin: int | None) -> None:
        match statement:
            case ast.Assign(
                [ast.Name() as bound] | [ast.Name() as bound, *_], ast.Constant(None)
            ):
                for one in statement.targets:
                    if isinstance(one, ast.Name):
                        self._mark(one, Role.FREES)
            case ast.AnnAssign(ast.Name() as bound, annotation, None):
                self._values[bound.id] = _annotated(annotation)
            case ast.AnnAssign(ast.Name() as bound, annotation, ast.expr() as value):
                self._binding(bound, value, _annotated(annotation), origin)
            case ast.Assign([ast.Name() as bound], value):
                self._binding(bound, value, None, origin)
            case ast.Assign([ast.Tuple(bounds)], ast.Call()):
                # The inputs of a joint graph, out of what holds them.
                self._rows, self._index, self._marks = [], {}, []
                for one in bounds:
                    if isinstance(one, ast.Name):
                        self._input(one.id, one.id, one, self._values.get(one.id))
            case ast.Return(ast.expr() as value):
                if isinstance(value, ast.Call) and value.args:
                    value = value.args[0]  # of a joint graph, put into their tree
                line = statement.lineno - 1
                row = _Row("output", "output", "output", line, (self._pieces(value),))
                self._rows.append(row)
                self._reads(value)
            case _:
                pass

    def _input(
        self, name: str, target: str, at: ast.arg | ast.Name, value: Value | None
    ) -> None:
        row = _Row(name, "placeholder", target, at.lineno - 1, value=value)
        self._add(name, row)
        self._mark(at, Role.BINDS, len(name))

    def _binding(
        self,
        bound: ast.Name,
        value: ast.expr,
        known: Value | None,
        origin: int | None,
    ) -> None:
        if isinstance(value, ast.Name) and value.id in self._index:
            node = self._index[value.id]
            if self._rows[node].opcode == "placeholder":
                # Dynamo's inputs have a name for callers, and one for the graph.
                self._mark(value, Role.READS)
                self._rows[node].name = bound.id
                self._index[bound.id] = node
                self._mark(bound, Role.BINDS)
                return
        row = self._row(bound.id, value)
        row.line, row.value, row.origin = bound.lineno - 1, known, origin
        self._reads(value)
        self._add(bound.id, row)
        self._mark(bound, Role.BINDS)

    def _add(self, name: str, row: _Row) -> None:
        self._index[name] = len(self._rows)
        self._rows.append(row)

    def _row(self, name: str, value: ast.expr) -> _Row:
        """What the right side of a statement calls."""
        match value:
            case ast.Call(ast.Attribute(of, method), args, keywords):
                given = tuple(self._pieces(one) for one in args)
                named = tuple((k.arg or "**", self._pieces(k.value)) for k in keywords)
                path = _dotted(value.func)
                if path is not None and path.startswith("self."):
                    target = path.removeprefix("self.")
                    return _Row(name, "call_module", target, 0, given, named)
                root = None if path is None else path.partition(".")[0]
                if path is None or root in self._index:
                    given = (self._pieces(of), *given)
                    return _Row(name, "call_method", method, 0, given, named)
                return _Row(name, "call_function", path, 0, given, named)
            case ast.Call(ast.Name(called), args, keywords):
                given = tuple(self._pieces(one) for one in args)
                named = tuple((k.arg or "**", self._pieces(k.value)) for k in keywords)
                return _Row(name, "call_function", called, 0, given, named)
            case ast.Attribute(of, attribute):
                path = _dotted(value)
                if path is not None and path.startswith("self."):
                    return _Row(name, "get_attr", path.removeprefix("self."), 0)
                given = (self._pieces(of), (repr(attribute),))
                return _Row(name, "call_function", "builtins.getattr", 0, given)
            case ast.Subscript(of, index):
                given = (self._pieces(of), self._pieces(index))
                return _Row(name, "call_function", "operator.getitem", 0, given)
            case ast.BinOp(left, operator, right):
                return self._operator(name, operator, left, right)
            case ast.Compare(left, [operator], [right]):
                return self._operator(name, operator, left, right)
            case ast.UnaryOp(operator, of):
                return self._operator(name, operator, of)
            case _:
                return _Row(name, "call_function", "", 0, (self._pieces(value),))

    def _operator(self, name: str, operator: ast.AST, *given: ast.expr) -> _Row:
        target = f"operator.{_OPERATORS.get(type(operator), 'unknown')}"
        args = tuple(self._pieces(one) for one in given)
        return _Row(name, "call_function", target, 0, args)

    def _pieces(self, value: ast.expr) -> Pieces:
        """An argument: its text on one line, and nodes where their names stand."""
        if isinstance(value, ast.Tuple | ast.List):
            return self._items(value)
        found: list[str | int] = []
        line, column = value.lineno, value.col_offset
        for one in sorted(self._names(value), key=lambda n: (n.lineno, n.col_offset)):
            found.append(self._between(line, column, one.lineno, one.col_offset))
            found.append(self._index[one.id])
            line, column = one.lineno, one.end_col_offset or one.col_offset
        last, end = value.end_lineno or line, value.end_col_offset or column
        found.append(self._between(line, column, last, end))
        return _merged(found)

    def _items(self, value: ast.Tuple | ast.List) -> Pieces:
        # torch writes what a graph returns on several lines, with comments.
        is_tuple = isinstance(value, ast.Tuple)
        found: list[str | int] = ["(" if is_tuple else "["]
        for one in value.elts:
            found += [*([", "] if len(found) > 1 else []), *self._pieces(one)]
        end = "," if is_tuple and len(value.elts) == 1 else ""
        return _merged([*found, f"{end})" if is_tuple else "]"])

    def _between(self, line: int, column: int, end_line: int, end: int) -> str:
        if line == end_line:
            return self._bytes(line)[column:end].decode()
        lines = [self._bytes(line)[column:].decode()]
        lines += self._lines[line : end_line - 1]
        lines.append(self._bytes(end_line)[:end].decode())
        return " ".join(one.strip() for one in lines)

    def _bytes(self, line: int) -> bytes:
        if self._encoded[0] != line:
            self._encoded = line, self._lines[line - 1].encode()
        return self._encoded[1]

    def _names(self, value: ast.expr) -> Iterator[ast.Name]:
        for one in ast.walk(value):
            if isinstance(one, ast.Name) and one.id in self._index:
                yield one

    def _reads(self, value: ast.expr) -> None:
        for one in self._names(value):
            self._mark(one, Role.READS)

    def _mark(
        self, at: ast.Name | ast.arg, role: Role, length: int | None = None
    ) -> None:
        name = at.id if isinstance(at, ast.Name) else at.arg
        node = self._index.get(name)
        if node is not None:
            column = at.col_offset
            if not self._lines[at.lineno - 1].isascii():
                column = len(self._bytes(at.lineno)[:column].decode())
            size = len(name) if length is None else length
            self._marks.append(Mark(at.lineno - 1, column, size, node, role))

    def _origin(self, line: str, known: int | None) -> int | None:
        found = _FILE.match(line)
        if found is None:
            return known
        source = self._sources.setdefault(found[1], len(self._sources))
        key = source, found[3], max(0, int(found[2]) - 1)
        return self._frames.setdefault(key, len(self._frames))


def _facts(row: _Row) -> Facts:
    return Facts(
        row.name,
        row.opcode,
        row.target,
        row.line,
        row.args,
        row.kwargs,
        tuple(row.users),
        origin=row.origin,
        value=row.value,
    )


def _merged(pieces: list[str | int]) -> Pieces:
    """Pieces with as few texts as there can be."""
    found: list[str | int] = []
    for one in pieces:
        if isinstance(one, str) and found and isinstance(found[-1], str):
            found[-1] += one
        else:
            found.append(one)
    return tuple(one for one in found if one != "")


def _dotted(value: ast.expr) -> str | None:
    parts: list[str] = []
    while isinstance(value, ast.Attribute):
        parts.append(value.attr)
        value = value.value
    if not isinstance(value, ast.Name):
        return None
    return ".".join((value.id, *reversed(parts)))


def _annotated(annotation: ast.expr | None) -> Value | None:
    """``"f32[3, 4][4, 1]cpu"`` as a tensor, ``"Sym(s0)"`` as a size."""
    if not isinstance(annotation, ast.Constant) or not isinstance(
        annotation.value, str
    ):
        return None
    symbol = _SYMBOL.fullmatch(annotation.value)
    if symbol is not None:
        return Plain(symbol[1], "SymInt")
    found = _VALUE.fullmatch(annotation.value)
    if found is None:
        return None
    shape, stride = _sizes(found["shape"]), found["stride"]
    return Tensor(
        shape,
        _dtype(found["dtype"]),
        found["device"] or "",
        None if stride is None else _sizes(stride),
    )


def _sizes(text: str) -> tuple[int | str, ...]:
    sizes = (one.strip() for one in text.split(",") if one.strip())
    return tuple(
        int(one) if one.isdecimal() and len(one) < _LONGEST_SIZE else one
        for one in sizes
    )


def _dtype(short: str) -> str:
    if short == "b8":
        return "bool"
    letters = short.rstrip("0123456789")
    return f"{_DTYPES[letters]}{short[len(letters) :]}" if letters in _DTYPES else short
