"""The code of a listing with a call behind each statement, on the lines of the listing.

The text that is shown stays what it is. The calls are made in the syntax tree: they have
no text, the line of the statement that they stand behind, and so no line of their own
where a debugger could stop.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType

__all__ = ["BROKEN", "CHECK", "InstrumentedCode", "Statement", "instrumented"]

CHECK = "__fxls_check__"
"""Called with the name of a node and its value; true to have `BROKEN` raised.

A call with an empty name comes first in each run of a function, with its `self`."""

BROKEN = "__fxls_broken__"
"""Called for the exception that is to be raised."""


@dataclass(frozen=True, slots=True)
class Statement:
    """What binds a name in a listing."""

    line: int
    """Counted from one."""
    reads: tuple[str, ...] = ()
    """The names of other nodes that it uses."""
    casts: bool = False
    """Whether it says itself which dtype the value shall have."""
    says_infinite: bool = False
    """Whether it writes ``inf`` itself, as masks do."""
    leaves_empty: bool = False
    """Whether its value is memory that nobody has written to."""
    module: str | None = None
    """The path of the submodule that it calls."""
    attribute: str | None = None
    """The path of the attribute of the module that it reads."""
    is_given: bool = False
    """Whether its value comes from who calls."""


@dataclass(frozen=True, slots=True)
class InstrumentedCode:
    """The function of a listing as code with calls, and what it binds."""

    code: CodeType
    statements: Mapping[str, Statement]
    users: Mapping[str, tuple[str, ...]]
    """By name, the names whose statements read it."""


# Rules that are set again find most of the listings that ran before.
@functools.lru_cache(maxsize=256)
def instrumented(text: str, path: str) -> InstrumentedCode:
    """The code of a listing with calls in it, under the listing's path."""
    tree = ast.parse(text)
    (function,) = (at for at in tree.body if isinstance(at, ast.FunctionDef))
    statements = _instrument(function)
    module = compile(tree, path, "exec", dont_inherit=True)
    # From Python 3.14 on the annotations of a function are code of their own.
    (code,) = (
        one
        for one in module.co_consts
        if isinstance(one, CodeType) and one.co_name == function.name
    )
    users: dict[str, list[str]] = {}
    for name, statement in statements.items():
        for read in statement.reads:
            users.setdefault(read, []).append(name)
    return InstrumentedCode(
        code, statements, {name: tuple(names) for name, names in users.items()}
    )


def _instrument(function: ast.FunctionDef) -> dict[str, Statement]:
    """Put calls into a function, or into its sections; what it binds, by name."""
    inner = [at for at in function.body if isinstance(at, ast.FunctionDef)]
    parts = inner or [function]
    arguments = _arguments(function, parts[0])
    bound = {name for part in parts for s in part.body for name in _bound(s)}
    bound.update(arguments)
    statements = {name: Statement(function.lineno, is_given=True) for name in arguments}
    given = [_call(function.lineno, name, name) for name in arguments]
    for part in parts:
        # Nothing may stand in front of these.
        body: list[ast.stmt] = [s for s in part.body if isinstance(s, ast.Nonlocal)]
        own = part.body[len(body) :]
        body += given
        given = []
        before: list[ast.stmt] = []
        for statement in own:
            body.append(statement)
            for name in _bound(statement):
                line = [one for one in before if one.lineno == statement.lineno]
                statements[name] = _statement(statement, line, bound)
                body.append(_call(statement.lineno, name, name))
            # ``x[0] = y;  setitem = x`` is one node.
            before = [statement] if _changes(statement) else []
        part.body = body
    function.body.insert(0, _call(function.lineno, "", _first(function)))
    return statements


def _arguments(function: ast.FunctionDef, part: ast.FunctionDef) -> list[str]:
    """The arguments that are nodes; `part` is where its statements begin."""
    given = function.args
    names = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    first = next((s for s in part.body if _target(s) is not None), None)
    # Where the code takes its arguments apart at once, the nodes are the parts.
    if first is not None and isinstance(_target(first), ast.Tuple | ast.List):
        return []
    return [argument.arg for argument in names if argument.arg != "self"]


def _bound(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement binds, unless it frees them."""
    target = _target(statement)
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, ast.Tuple | ast.List):
        yield from (at.id for at in target.elts if isinstance(at, ast.Name))


def _target(statement: ast.stmt) -> ast.expr | None:
    match statement:
        case ast.Assign(value=ast.Constant(value=None)):
            return None
        case (
            ast.Assign(targets=[target])
            | ast.AnnAssign(target=target, value=ast.expr())
        ):
            return target
        case _:
            return None


def _changes(statement: ast.stmt) -> bool:
    """Whether a statement changes a value in place, and binds no name."""
    match statement:
        case ast.AugAssign() | ast.Assign(targets=[ast.Subscript()]):
            return True
        case _:
            return False


def _statement(
    statement: ast.stmt, before: Sequence[ast.stmt], bound: set[str]
) -> Statement:
    """`before` is what belongs to the same node and stands in front of it."""
    value = (
        statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
    )
    assert value is not None, "only these bind"
    reads: dict[str, None] = {}
    casts = infinite = empty = False
    for at in (at for one in (value, *before) for at in ast.walk(one)):
        if isinstance(at, ast.Name) and at.id in bound:
            reads[at.id] = None
        elif isinstance(at, ast.Name):
            infinite = infinite or at.id == "inf"
        elif isinstance(at, ast.Call):
            casts = casts or _is_cast(at)
            empty = empty or _called(at) in _EMPTY
    module = _path(value.func) if isinstance(value, ast.Call) else None
    return Statement(
        *(statement.lineno, tuple(reads), casts, infinite, empty, module),
        attribute=_path(value),
        is_given=isinstance(value, ast.Call) and _called(value) == "next",
    )


def _path(called: ast.expr) -> str | None:
    """``a.0`` of ``getattr(self.a, "0")``; None for what is no part of `self`."""
    match called:
        case ast.Name(id="self"):
            return ""
        case (
            ast.Attribute(value=owner, attr=name)
            | ast.Call(
                func=ast.Name(id="getattr"), args=[owner, ast.Constant(value=name)]
            )
        ):
            path = _path(owner)
            return None if path is None else f"{path}.{name}".removeprefix(".")
        case _:
            return None


def _is_cast(call: ast.Call) -> bool:
    named = any(keyword.arg == "dtype" for keyword in call.keywords)
    return named or (isinstance(call.func, ast.Attribute) and call.func.attr in _CASTS)


def _called(call: ast.Call) -> str:
    """``empty`` of ``torch.empty`` and of ``torch.ops.aten.empty.memory_format``."""
    match call.func:
        case ast.Attribute(value=ast.Attribute(value=ast.Attribute(), attr=name)):
            return name
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""


_EMPTY = {
    *("empty", "empty_like", "empty_permuted", "empty_strided", "new"),
    *("new_empty", "new_empty_strided"),
}
_CASTS = {"bfloat16", "double", "float", "half", "to", "type", "type_as", "_to_copy"}


def _first(function: ast.FunctionDef) -> str:
    """The name of the first parameter, which is the module."""
    return [*function.args.posonlyargs, *function.args.args][0].arg


def _call(line: int, name: str, value: str) -> ast.stmt:
    """``if CHECK(name, value): raise BROKEN()``."""
    given = ast.Name(value, ast.Load())
    test = ast.Call(ast.Name(CHECK, ast.Load()), [ast.Constant(name), given], [])
    error = ast.Call(ast.Name(BROKEN, ast.Load()), [], [])
    made = ast.If(test, [ast.Raise(error, None)], [])
    for at in ast.walk(made):
        if isinstance(at, ast.expr | ast.stmt):
            at.lineno = at.end_lineno = line
            # No column, so that a traceback shows the whole statement of the line.
            at.col_offset = at.end_col_offset = -1
    return made
