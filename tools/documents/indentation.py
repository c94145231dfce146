"""Gives lines of Python the indentation back that they lost on a page.

What a line is does not say how deep it stands, so the rules here are those of habit: a
statement stays in the body of the one before, unless that body has returned, an ``else``
or a method asks for another one, or a blank line is followed by a statement which has no
name in common with what the body binds. A guess may be wrong; what is compared is one
program under two engines in any case.
"""

from __future__ import annotations

import ast
import io
import itertools
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

__all__ = ["Statement", "restored", "statements"]

STEP = "    "

_DEFINITIONS = ast.FunctionDef, ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement, or the head of one, with the comments that stand above it."""

    lines: tuple[str, ...]
    tree: ast.stmt
    start: int
    """Which of the given lines is its first one; its comments count."""
    after_blank: bool
    opens: bool
    """Whether a body has to follow."""
    goes_on: bool
    """Whether it belongs to a statement before: ``else``, ``except`` …"""
    above: int
    """How many of its lines are comments and decorators."""

    @property
    def ends_its_body(self) -> bool:
        """Whether nothing of the same body can run behind it."""
        last = ast.Return, ast.Raise, ast.Break, ast.Continue, ast.Pass
        return isinstance(self.tree, last)

    @property
    def is_method(self) -> bool:
        """Whether it is a function of a class, told by its first parameter."""
        match self.tree:
            case ast.FunctionDef(args=ast.arguments(args=[first, *_])):
                return first.arg in ("self", "cls")
            case _:
                return False

    def names(self, *, read: bool = False) -> set[str]:
        """The names that its own lines bind, with those that they read if asked."""
        found = {
            node.id
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Name) and (read or isinstance(node.ctx, ast.Store))
        }
        if isinstance(self.tree, (ast.ClassDef, *_DEFINITIONS)):
            found.add(self.tree.name)
        return found


def statements(lines: Sequence[str]) -> Iterator[Statement]:
    """The statements that the lines begin with, up to the first line that is none."""
    at = first = 0
    blank = False
    while at < len(lines):
        text = lines[at].strip()
        if not text:
            blank, at = True, at + 1
            first = at if first == at - 1 else first
        elif text.startswith("#"):
            at += 1
        else:
            found = _statement(lines, first, at, after_blank=blank)
            if found is None:
                return
            yield found
            at = first = first + len(found.lines)
            blank = False


def restored(found: Sequence[Statement]) -> str:
    """The statements as a program; the indentation that they have is not looked at."""
    bodies = [_Body(None)]
    written: list[str] = []
    before: Statement | None = None
    for i, statement in enumerate(found):
        if before is not None and before.opens:
            bodies.append(_Body(before.tree, _parameters(before.tree)))
        elif before is not None:
            _leave(bodies, before, found[i:])
        bodies[-1].names |= statement.names() - _names_outside(bodies)
        indentation = STEP * (len(bodies) - 1)
        written += [""] * statement.after_blank
        head = statement.lines[: statement.above]
        rest = statement.lines[statement.above :]
        written += [(indentation + line.strip()).rstrip() for line in head]
        # Lines inside of brackets and of texts may begin anywhere.
        written += [indentation + rest[0].strip(), *rest[1:]]
        before = statement
    return "\n".join([*written, ""])


@dataclass(slots=True)
class _Body:
    """A body that is being written: what it belongs to, and the names bound in it."""

    of: ast.stmt | None
    names: set[str] = field(default_factory=set[str])


def _leave(bodies: list[_Body], before: Statement, rest: Sequence[Statement]) -> None:
    """Close the bodies that end between a statement and the next one."""
    statement = rest[0]
    tree, depth = statement.tree, len(bodies)
    if isinstance(tree, ast.ClassDef):
        del bodies[1:]
    elif statement.goes_on:
        # What stands whole in one line has no body to be closed.
        while depth > 1 and not isinstance(before.tree, _BRANCHES):
            if _takes(_close(bodies), tree) or len(bodies) == 1:
                break
    elif statement.is_method and any(isinstance(b.of, ast.ClassDef) for b in bodies):
        _close_within(bodies, ast.ClassDef)
    elif isinstance(tree, ast.Return) and not before.ends_its_body:
        if _ends_the_function(bodies, rest):
            _close_within(bodies, *_DEFINITIONS)
    else:
        if before.ends_its_body and depth > 1:
            _close(bodies)
        while statement.after_blank and _is_left(bodies[-1], rest):
            _close(bodies)
        if isinstance(bodies[-1].of, ast.ClassDef) and len(bodies) < depth:
            bodies.pop()  # behind the methods of a class come no other statements


def _is_left(body: _Body, rest: Sequence[Statement]) -> bool:
    """Whether the next statement, behind a blank line, stands outside of the body."""
    statement = rest[0]
    if body.of is None or isinstance(body.of, ast.ClassDef):
        return False
    if isinstance(body.of, _DEFINITIONS):
        if isinstance(statement.tree, _DEFINITIONS):
            # A function inside of another one; but nothing is defined in `__init__`.
            return body.of.name == "__init__"
        if _returns(rest):
            return False
    return body.names.isdisjoint(statement.names(read=True))


def _ends_the_function(bodies: Sequence[_Body], rest: Sequence[Statement]) -> bool:
    """Whether a ``return`` is the last statement of its function."""
    functions = [body for body in bodies if isinstance(body.of, _DEFINITIONS)]
    # What returns behind the end of an inner function is the outer one.
    return len(functions) > 1 or not _returns(rest[1:])


def _returns(rest: Sequence[Statement]) -> bool:
    """Whether a ``return`` follows that belongs to a function which is open already."""
    for statement in rest:
        if isinstance(statement.tree, (ast.Return, ast.ClassDef, *_DEFINITIONS)):
            return isinstance(statement.tree, ast.Return)
    return False


def _names_outside(bodies: Sequence[_Body]) -> set[str]:
    """What the bodies around the innermost one bind, up to that of the function."""
    found = set[str]()
    for body, inner in itertools.pairwise(reversed(bodies)):
        if isinstance(body.of, (ast.ClassDef, *_DEFINITIONS)):
            break
        found |= inner.names
    return found


def _close(bodies: list[_Body]) -> ast.stmt | None:
    """Close the innermost body, and return what it belongs to."""
    closed = bodies.pop()
    if not isinstance(closed.of, (ast.ClassDef, *_DEFINITIONS)):
        bodies[-1].names |= closed.names
    return closed.of


def _close_within(bodies: list[_Body], *kinds: type[ast.stmt]) -> None:
    """Close what is open inside of the innermost body of these kinds."""
    while len(bodies) > 1 and not isinstance(bodies[-1].of, kinds):
        _close(bodies)


_BRANCHES = ast.If, ast.For, ast.While, ast.Try


def _takes(opener: ast.stmt | None, continuation: ast.stmt) -> bool:
    """Whether an ``else`` and its like can follow the body."""
    if isinstance(continuation, ast.Try):
        return isinstance(opener, ast.Try)
    return isinstance(opener, _BRANCHES)


def _parameters(tree: ast.stmt) -> set[str]:
    """What the head of a body binds in it."""
    if isinstance(tree, _DEFINITIONS):
        return {arg.arg for arg in ast.walk(tree.args) if isinstance(arg, ast.arg)}
    return {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def _statement(
    lines: Sequence[str], first: int, at: int, *, after_blank: bool
) -> Statement | None:
    """The statement that begins with the line, if there is one."""
    decorators = 0
    while lines[at + decorators].lstrip().startswith("@"):
        decorators += 1
        if at + decorators == len(lines):
            return None
    start = at + decorators
    end = start + 1
    while _is_open("\n".join(lines[start:end])) and end < len(lines):
        end += 1
    head = [line.strip() for line in lines[at : start + 1]]
    text = "\n".join([*head, *lines[start + 1 : end]])
    for before, behind in _FORMS:
        try:
            tree = ast.parse(before + text + behind).body[-1]
        except (SyntaxError, ValueError):
            continue
        if not _is_code(tree):
            return None
        return Statement(
            tuple(lines[first:end]),
            tree,
            first,
            after_blank=after_blank,
            opens=bool(behind),
            goes_on=bool(before),
            above=at - first + decorators,
        )
    return None


_PASS = f"\n{STEP}pass"
_FORMS = (
    ("", ""),
    ("", _PASS),
    ("", f"{_PASS}\nfinally:{_PASS}"),
    *((f"if 0:{_PASS}\n", behind) for behind in ("", _PASS)),
    *((f"try:{_PASS}\n", behind) for behind in ("", _PASS)),
)
"""What is written before and behind a line of code to make it a statement of Python."""


def _is_code(tree: ast.stmt) -> bool:
    """Whether it does something; a word of prose is a name to Python."""
    match tree:
        case ast.Expr(value=value):
            return isinstance(value, (ast.Call, ast.Constant, ast.Await, ast.Yield))
        case ast.AnnAssign(value=None):
            return False
        case _:
            return True


def _is_open(text: str) -> bool:
    """Whether a bracket or a text is not closed yet."""
    try:
        for _ in tokenize.generate_tokens(io.StringIO(text).readline):
            pass
    except tokenize.TokenError as error:
        return "multi-line" in str(error) or "triple-quoted" in str(error)
    except SyntaxError:
        return False
    return False
