"""What a guard that failed was about, and where that is written in a source.

torch says a guard in words of its own, as ``tensor 'x' size mismatch at index 0.
expected 2, actual 3`` or ``self.flag == 1``. What is not said in a known way is about
nothing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from fxls.text import Span

__all__ = [
    "FailedGuard",
    "KnownFailures",
    "expression_span",
    "failed_guard",
    "head_span",
    "in_the_programs_words",
    "input_span",
    "is_condition",
    "is_global_state",
    "size_of",
    "without_compilation",
]

_LONGEST = 200
_MOST_FUNCTIONS = 1_000
_MOST_VALUES = 1_000


class FailedGuard(NamedTuple):
    """What a guard asked for, and what was there instead; empty what nobody knows."""

    about: str
    """The expression, and what of it, as ``x: size 0`` or ``self.flag``."""
    expression: str
    """What the program reads, as ``x`` or ``self.flag``; empty for no name or path."""
    was: str = ""
    became: str = ""


def failed_guard(text: str) -> FailedGuard:
    """What torch's text of a guard says; all empty where it is said in no known way."""
    text = without_compilation(text)
    state = _STATE.fullmatch(text)
    if state is not None:
        return FailedGuard(f"{_GLOBAL_STATE}{_short(state[1])}", "")
    for pattern, what in _WORDS:
        found = pattern.match(text)
        if found is not None:
            said = found.groupdict()
            expression = _plain(said["name"])
            what = what.format(**said).strip()
            values = (_short(said.get(one) or "") for one in ("was", "became"))
            return FailedGuard(f"{expression}: {what}", _read_in(said["name"]), *values)
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return FailedGuard("", "")
    if isinstance(tree, ast.Compare) and isinstance(tree.ops[0], ast.Eq | ast.Is):
        left, to = tree.left, tree.comparators[0]
        if isinstance(to, ast.Constant) and len(tree.ops) == 1:
            about = _plain(ast.unparse(left))
            return FailedGuard(_short(about), _read(left), _short(ast.unparse(to)))
    return FailedGuard(_short(_plain(text)), _read(tree))


class KnownFailures:
    """What failed before, of each function.

    torch has a reason for each compilation that was there before, so that a thousand
    recompilations have a million, which say little that the others do not.
    """

    def __init__(self) -> None:
        self._known: dict[str, set[tuple[str, str]]] = {}

    def clear(self) -> None:
        self._known.clear()

    def news(self, function: str, guards: Sequence[str]) -> list[FailedGuard | None]:
        """What the guards are about that failed at once; None of one that says neither
        what, nor a value, that those before it did not.
        """
        if len(self._known) >= _MOST_FUNCTIONS:
            del self._known[next(iter(self._known))]
        known = self._known.setdefault(function, set())
        here: set[str] = set()
        found: list[FailedGuard | None] = []
        for text in guards:
            one = failed_guard(text)
            what = one.about or without_compilation(text)
            is_known = (what, one.was) in known or len(known) >= _MOST_VALUES
            found.append(None if what in here and is_known else one)
            here.add(what)
            if len(known) < _MOST_VALUES:
                known.add((what, one.was))
        return found


def without_compilation(text: str) -> str:
    """A text of torch's about a guard without its name of the compilation that has it."""
    return _OF.sub("", text).strip()


def is_global_state(about: str) -> bool:
    """Whether a guard is about torch as a whole, and about nothing in a source."""
    return about.startswith(_GLOBAL_STATE)


def is_condition(about: str) -> bool:
    """Whether what a guard is about is all that has to hold, as ``2 <= x.size(0)``."""
    try:
        tree = ast.parse(about, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return isinstance(tree, ast.Compare | ast.BoolOp) or (
        isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not)
    )


def in_the_programs_words(text: str) -> str:
    """A text of torch's without the names that torch gives to values on Python's stack,
    which the rest of a function behind a graph break begins with.
    """
    for pattern, made in _PATHS:
        text = pattern.sub(made, text)
    return _ON_STACK.sub(
        lambda found: f"{found[1]} of {_FROM_BEFORE}" if found[1] else _FROM_BEFORE,
        text,
    )


def size_of(source: str) -> str:
    """What torch's path of a size is about, as ``x: size 0``; empty of other paths."""
    found = _SIZE.fullmatch(source)
    return f"{_plain(found[1])}: size {found[2]}" if found else ""


@lru_cache(256)
def input_span(lines: tuple[str, ...], line: int, name: str) -> Span | None:
    """Where a parameter is written of the function whose first line this is, from one."""
    for found in _functions(lines, line):
        of = found.args
        known = [*of.posonlyargs, *of.args, *of.kwonlyargs]
        known += [one for one in (of.vararg, of.kwarg) if one is not None]
        for one in known:
            if one.arg == name:
                at = one.lineno - 1
                start = _points(lines[at], one.col_offset)
                return Span.of(at, start, at, start + len(name))
    return None


@lru_cache(256)
def head_span(lines: tuple[str, ...], line: int) -> Span | None:
    """Where the name of the function is written whose first line this is, from one."""
    for found in _functions(lines, line):
        if isinstance(found, ast.Lambda):
            return _span(found, lines)
        at = found.lineno - 1
        word = re.compile(rf"\bdef\s+({re.escape(found.name)})\b").search(lines[at])
        return word and Span.of(at, word.start(1), at, word.end(1))
    return None


@lru_cache(256)
def expression_span(lines: tuple[str, ...], line: int, expression: str) -> Span | None:
    """Where an expression is read on a line, from one; of a path of attributes that is
    not written as torch says it, the only one that ends in the same name.
    """
    if not expression:
        return None
    nodes = [*ast.walk(_parsed(lines))]
    # `x += 1` reads x as well.
    counted = {one.target for one in nodes if isinstance(one, ast.AugAssign)}
    reads = [
        node
        for node in nodes
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript)
        and (isinstance(node.ctx, ast.Load) or node in counted)
        and node.lineno == line == node.end_lineno
    ]
    same = [one for one in reads if ast.unparse(one) == expression]
    if same:
        return _span(same[0], lines)
    last = expression.rpartition(".")[2]
    ends = [one for one in reads if isinstance(one, ast.Attribute) and one.attr == last]
    return _span(ends[0], lines) if "." in expression and len(ends) == 1 else None


def _functions(
    lines: tuple[str, ...], line: int
) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda]:
    """The function whose code begins on a line, decorators included.

    Of several lambdas on a line nobody knows which is meant.
    """
    lambdas: list[ast.Lambda] = []
    for node in ast.walk(_parsed(lines)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            if first == line:
                yield node
                return
        elif isinstance(node, ast.Lambda) and node.lineno == line:
            lambdas.append(node)
    if len(lambdas) == 1:
        yield lambdas[0]


@lru_cache(16)
def _parsed(lines: tuple[str, ...]) -> ast.Module:
    try:
        return ast.parse("\n".join(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def _span(node: ast.expr, lines: Sequence[str]) -> Span:
    first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
    start = _points(lines[first], node.col_offset)
    return Span.of(first, start, last, _points(lines[last], node.end_col_offset or 0))


def _points(line: str, column: int) -> int:
    """How many code points the first bytes of a line are."""
    return len(line.encode()[:column].decode(errors="ignore"))


def _plain(expression: str) -> str:
    """An expression without the tables in which torch looks locals and globals up."""
    named = _TABLE.sub(lambda found: found[1], expression.strip())
    return in_the_programs_words(named)


def _read(tree: ast.expr) -> str:
    """The name, or the path of attributes, that a guard reads: the first of them."""
    calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    methods = {one for one in calls if isinstance(one, ast.Attribute)}
    for node in ast.walk(tree):
        if node in methods:
            continue
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
            text = ast.unparse(node)
            path = _path(_plain(text))
            if path and text not in _TORCHS:
                return path
    return ""


def _read_in(expression: str) -> str:
    """The name or the path that an expression of torch's begins with."""
    plain = _plain(expression)
    try:
        return _path(plain) or _read(ast.parse(plain, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""


def _path(text: str) -> str:
    return text if _PATH.fullmatch(text) else ""


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


_OF = re.compile(r"^(!\d+/)?\d+/\d+:\s*")
"""torch's name of the compilation that the guard is of."""
_GLOBAL_STATE = "torch's global state: "
_STATE = re.compile(r"GLOBAL_STATE changed: (.+)")
"""What is on or off in torch as a whole, as ``grad_mode``."""
_WORDS = (
    (
        re.compile(
            r"tensor '(?P<name>.+?)' (?P<what>\w+) mismatch at index (?P<index>\d+)\. "
            r"expected (?P<was>\S+), actual (?P<became>\S+)"
        ),
        "{what} {index}",
    ),
    (
        re.compile(
            r"tensor '(?P<name>.+?)' (?P<what>\w+) mismatch\. "
            r"expected (?P<was>\S+), actual (?P<became>\S+)"
        ),
        "{what}",
    ),
    (
        re.compile(
            r"tensor '(?P<name>.+?)' (?P<what>\w+) mismatch\. expected \w+=(?P<was>\S+)"
        ),
        "{what}",
    ),
    (
        re.compile(
            r"expected type of '(?P<name>.+?)' to be .*found <class '(?P<became>.+?)'>"
        ),
        "type",
    ),
    (
        re.compile(
            r"___check_type_id\((?P<name>.+?), \d+\)(, type=<class '(?P<was>.+?)'>)?"
        ),
        "type",
    ),
    (
        re.compile(r"___check_obj_id\((?P<name>.+?)\.__code__, \d+\)"),
        "which function it is",
    ),
    (re.compile(r"___check_obj_id\((?P<name>.+?), \d+\)"), "which object it is"),
)
"""The forms in which torch says a guard that is no expression, and what it is about."""
_TABLE = re.compile(r"\b[LG]\['([A-Za-z_]\w*)'\]")
_ON_STACK = re.compile(
    r"(?:\bL\[')?\b___stack\d+\b(?:'\])?"
    r"((?:\.\w+(?:\(\d+\))?|\[[^\[\]]+\])*)"
)
_PATHS = (
    # torch asks for the value of the first key, and so on, whatever that is.
    (
        re.compile(r"dict\.__getitem__\((.+?), list\(dict\.keys\(\1\)\)\[(\d+)\]\)"),
        r"\1[its key \2]",
    ),
    (re.compile(r"___from_numpy\(((?:[^()]|\([^()]*\))*)\)"), r"\1"),
    (re.compile(r"\.size\(\)\[(\d+)\]"), r".size(\1)"),
)
"""How torch writes paths that a program writes otherwise."""
_FROM_BEFORE = "a value from before the graph break"
_SIZE = re.compile(r"(.+)\.size\(\)\[(\d+)\]")
_PATH = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_TORCHS = frozenset({"L", "G", "len", "type", "str", "set", "dict", "list"})
