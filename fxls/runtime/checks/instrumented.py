"""The code of a listing with a call behind each statement, on the lines of the listing.

The text that is shown stays what it is. The calls are made in the syntax tree: they have
no text, the line of the statement that they stand behind, and so no line of their own
where a debugger could stop.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType

from fxls.runtime.checks.statements import (
    Statement,
    bound_by,
    changes_in_place,
    statement_of,
    taken_by,
)

__all__ = ["ASKS", "BROKEN", "CHECK", "InstrumentedCode", "instrumented"]

CHECK = "__fxls_check__"
"""Called with the name of a node and its value; true to have `BROKEN` raised.

A call with an empty name comes first in each run of a function, with its `self`."""

ASKS = "__fxls_asks__"
"""Called with the name of a view; true to have `CHECK` called for it."""

BROKEN = "__fxls_broken__"
"""Called for the exception that is to be raised."""


@dataclass(frozen=True, slots=True)
class InstrumentedCode:
    """The function of a listing as code with calls, and what it binds."""

    code: CodeType
    statements: Mapping[str, Statement]
    users: Mapping[str, tuple[str, ...]]
    """By name, the names whose statements read it."""
    leaving: frozenset[str]
    """The names of values that are returned, or that no statement reads: gradients from
    outside come to these."""
    handing_on: frozenset[str]
    """The names whose statements hand on numbers that were there before."""
    making_no_nan: frozenset[str]
    """The names whose statements make no NaN of real numbers that are none."""
    feeding_views: frozenset[str]
    """The names of which views are made that `ASKS` is called for."""
    keeping_finite: frozenset[str]
    """The names of statements whose backward keeps finite gradients finite."""


# Rules that are set again find most of the listings that ran before.
@functools.lru_cache(maxsize=256)
def instrumented(
    text: str, path: str, *, sizes: bool = True, views: bool = True
) -> InstrumentedCode:
    """The code of a listing with calls in it, under the listing's path.

    `sizes` says whether there are calls also behind statements whose text says that
    their value is no tensor; a third of a model's nodes may be such. `views` says
    whether `CHECK` is called behind each view, and not only where `ASKS` wants it.
    """
    tree = ast.parse(text)
    (function,) = (at for at in tree.body if isinstance(at, ast.FunctionDef))
    statements, calls = _instrument(function, sizes=sizes)
    users: dict[str, list[str]] = {}
    for name, statement in statements.items():
        for read in statement.reads:
            users.setdefault(read, []).append(name)
    returned = {
        at.id
        for end in ast.walk(function)
        if isinstance(end, ast.Return) and end.value is not None
        for at in ast.walk(end.value)
        if isinstance(at, ast.Name)
    }
    leaving = {name for name in statements if name in returned or name not in users}
    looks = views or _reshapes_in_place(function)
    passed = () if looks else _passed(statements, users, leaving)
    for name in passed:
        _ask_before(calls[name], name)
    module = compile(tree, path, "exec", dont_inherit=True)
    # From Python 3.14 on the annotations of a function are code of their own.
    (code,) = (
        one
        for one in module.co_consts
        if isinstance(one, CodeType) and one.co_name == function.name
    )
    return InstrumentedCode(
        *(code, statements, {name: tuple(names) for name, names in users.items()}),
        frozenset(leaving),
        frozenset(name for name, one in statements.items() if one.hands_on),
        frozenset(name for name, one in statements.items() if one.makes_no_nan),
        frozenset(read for name in passed for read in statements[name].reads),
        frozenset(name for name, one in statements.items() if one.keeps_finite),
    )


def _reshapes_in_place(function: ast.FunctionDef) -> bool:
    """Whether tensors get another shape in place: of what they were before, their views
    cannot be made once more.
    """
    return any(
        isinstance(at, ast.Attribute) and at.attr in _RESHAPING
        for at in ast.walk(function)
    )


_RESHAPING = {
    *("as_strided_", "resize_", "resize_as_", "set_", "squeeze_", "swapaxes_"),
    *("swapdims_", "t_", "transpose_", "unsqueeze_"),
}


def _passed(
    statements: Mapping[str, Statement],
    users: Mapping[str, Sequence[str]],
    leaving: Collection[str],
) -> list[str]:
    """The names of views that `ASKS` is called for.

    What has finite gradients kept finite is compared with what it reads, so that has to
    be seen.
    """
    return [
        name
        for name, one in statements.items()
        if one.is_view
        and name not in leaving
        and not any(statements[user].keeps_finite for user in users[name])
    ]


def _instrument(
    function: ast.FunctionDef, *, sizes: bool
) -> tuple[dict[str, Statement], dict[str, ast.If]]:
    """Put calls into a function, or into its sections; what it binds, and the calls
    behind that, by name.
    """
    inner = [at for at in function.body if isinstance(at, ast.FunctionDef)]
    parts = inner or [function]
    parameters = _parameters(function)
    taken = taken_by([s for part in parts for s in part.body], parameters)
    arguments = [name for name in parameters if name not in taken.parameters]
    bound = {name for part in parts for s in part.body for name in bound_by(s)}
    bound -= taken.iterators
    bound.update(arguments)
    statements = {name: Statement(function.lineno, is_given=True) for name in arguments}
    given = [_call(function.lineno, name, name) for name in arguments]
    calls: dict[str, ast.If] = {}
    bare: set[str] = set()
    for part in parts:
        # Nothing may stand in front of these.
        body: list[ast.stmt] = [s for s in part.body if isinstance(s, ast.Nonlocal)]
        own = part.body[len(body) :]
        body += given
        given = []
        before: list[ast.stmt] = []
        for statement in own:
            body.append(statement)
            for name in bound_by(statement):
                if name in taken.iterators:
                    continue
                line = [one for one in before if one.lineno == statement.lineno]
                made = statement_of(statement, line, bound, bare, taken)
                statements[name] = made
                if made.is_bare:
                    bare.add(name)
                if sizes or not made.is_bare:
                    calls[name] = _call(statement.lineno, name, name)
                    body.append(calls[name])
            # ``x[0] = y;  setitem = x`` is one node.
            before = [statement] if changes_in_place(statement) else []
        part.body = body
    function.body.insert(0, _call(function.lineno, "", _first(function)))
    return statements, calls


def _parameters(function: ast.FunctionDef) -> list[str]:
    """The names of what is given by who calls, without `self`."""
    given = function.args
    names = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    return [argument.arg for argument in names if argument.arg != "self"]


def _first(function: ast.FunctionDef) -> str:
    """The name of the first parameter, which is the module."""
    return [*function.args.posonlyargs, *function.args.args][0].arg


def _ask_before(call: ast.If, name: str) -> None:
    """``if ASKS(name) and CHECK(name, value): raise BROKEN()``."""
    asks = ast.Call(ast.Name(ASKS, ast.Load()), [ast.Constant(name)], [])
    call.test = ast.BoolOp(ast.And(), [asks, call.test])
    _place(call, call.lineno)


def _call(line: int, name: str, value: str) -> ast.If:
    """``if CHECK(name, value): raise BROKEN()``."""
    given = ast.Name(value, ast.Load())
    test = ast.Call(ast.Name(CHECK, ast.Load()), [ast.Constant(name), given], [])
    error = ast.Call(ast.Name(BROKEN, ast.Load()), [], [])
    made = ast.If(test, [ast.Raise(error, None)], [])
    _place(made, line)
    return made


def _place(made: ast.stmt, line: int) -> None:
    for at in ast.walk(made):
        if isinstance(at, ast.expr | ast.stmt):
            at.lineno = at.end_lineno = line
            # No column, so that a traceback shows the whole statement of the line.
            at.col_offset = at.end_col_offset = -1
