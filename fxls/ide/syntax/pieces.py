"""A source text in pieces that are read by themselves, so that a key costs its piece.

A piece begins with a decorator, a class or a function at the left margin. Where all
pieces before it could be read, the text is in no string, bracket or statement there; so
what the pieces say is what the whole text says. Where one cannot be read, it may end in
a string with such a line, and is read together with those up to the string's end; where
that does not help, the rest of the text is read at once.
"""

from __future__ import annotations

import ast
import copy
import re
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from io import StringIO
from typing import NamedTuple, TypeVar, cast

from fxls.ide.syntax.quiet_parser import parsed

__all__ = [
    "class_statements",
    "comments",
    "defined_names",
    "of_each",
    "qualified_names",
    "read",
    "trees",
]

Comment = tuple[int, int, str]
"""Line, column and text."""

T = TypeVar("T")

_KEPT_TREES = 4
_KEPT_LENGTH = 16_384
"""So many trees stay, of pieces with so many characters: a tree takes some two hundred
times the memory of its text, and to open a source costs a fifth more with sixteen."""

_JOINS = 4
"""Strings with triple quotes behind a piece at whose ends it is tried again."""


def read(text: str, is_given_up: Callable[[], bool]) -> None:
    """Parse a text, so that whoever asks about it later need not wait for that.

    It may run in a thread; between two pieces it asks whether somebody waits for it yet.
    """
    for _ in _each(text, lambda piece: piece.said(_top)):
        if is_given_up():
            return


def of_each(text: str, read: Callable[[ast.Module], T]) -> list[tuple[int, T]] | None:
    """What the trees of the pieces say; None when Python cannot read the text.

    Each with the line from which its own lines are counted. `read` is asked once for
    each text of a piece, and leaves the tree as it is.
    """
    found: list[tuple[int, T]] = []
    for piece, said in _each(text, lambda piece: piece.said(read)):
        if said is None:
            tree = parsed(piece.text)
            if tree is None:
                return None
            said = read(tree)
        found.append((piece.line, said))
    return found


def trees(text: str, first: int, last: int) -> list[tuple[int, ast.Module]]:
    """The trees of the pieces that have some of the lines; none when Python cannot read
    the text.

    Each with the line from which its own lines are counted. Nobody may change them.
    """
    found: list[tuple[int, ast.Module]] = []
    for piece, said in _each(text, lambda piece: piece.said(_top)):
        is_meant = piece.line <= last and first <= piece.line + piece.text.count("\n")
        if is_meant or said is None:
            tree = _tree(piece.text)
            if tree is None:
                return []
            found.append((piece.line, tree))
    return found


def class_statements(text: str) -> list[tuple[int, ast.ClassDef]] | None:
    """The classes at the left margin; None when Python cannot read the text.

    Each with the line from which its own lines are counted; functions have no bodies.
    """
    found = of_each(text, _top)
    if found is None:
        return None
    return [(line, one) for line, top in found for one in top.classes]


def defined_names(text: str) -> frozenset[str] | None:
    """What the top level of a file defines, also under an ``if`` or in a loop; a star
    where it takes all of another file. None when Python cannot read the text.
    """
    found = of_each(text, _top)
    if found is None:
        return None
    return frozenset[str]().union(*(top.names for _, top in found))


def qualified_names(text: str) -> frozenset[str] | None:
    """The qualified names of all functions and classes of a file, also of those in
    functions. None when Python cannot read the text.
    """
    found = of_each(text, _top)
    if found is None:
        return None
    return frozenset[str]().union(*(top.qualified for _, top in found))


def comments(text: str, word: str = "") -> Iterator[Comment]:
    """Each comment with a word; where Python gives up, those that fill a line."""

    def own(piece: _Piece) -> tuple[Comment, ...] | None:
        # What has a tree has no string or bracket that is open at its end. The top level
        # is asked for anyway, so that no piece is parsed twice.
        if word not in piece.text and piece.said(_top) is not None:
            return ()
        return piece.comments()

    for piece, said in _each(text, own):
        for line, column, comment in _read(piece.text) if said is None else said:
            if word in comment:
                yield piece.line + line, column, comment


class _Known:
    """What is known of the text of a piece, which may stand in many texts."""

    __slots__ = ("comments", "said")

    def __init__(self) -> None:
        self.comments: tuple[Comment, ...] | bool | None = False
        """False stands for what nobody asked for yet, None for what cannot be read."""
        self.said: dict[object, object] = {}
        """By who read the tree; None where there is no tree."""


@dataclass(frozen=True, slots=True)
class _Piece:
    text: str
    start: int
    line: int
    known: _Known

    def said(self, read: Callable[[ast.Module], T]) -> T | None:
        """What somebody reads in the tree; None when there is none."""
        if read not in self.known.said:
            tree = _tree(self.text)
            self.known.said[read] = None if tree is None else read(tree)
        return cast("T | None", self.known.said[read])

    def comments(self) -> tuple[Comment, ...] | None:
        if isinstance(self.known.comments, bool):
            try:
                self.known.comments = (*_tokenized(self.text),)
            except _UNREADABLE:
                self.known.comments = None
        return self.known.comments


def _each(
    text: str, read: Callable[[_Piece], T | None]
) -> Iterator[tuple[_Piece, T | None]]:
    """The pieces that can be read, with what is read in them; in the end the rest of the
    text, with None, where there is one that cannot.
    """
    pieces = _pieces(text)
    at = 0
    while at < len(pieces):
        end, tried = at, pieces[at]
        said = read(tried)
        for end in _ends(pieces, at) if said is None else ():
            start, last = tried.start, pieces[end]
            tried = _piece(text[start : last.start + len(last.text)], start, tried.line)
            said = read(tried)
            if said is not None:
                break
        if said is None:
            start, line = pieces[at].start, pieces[at].line
            yield _Piece(text[start:], start, line, _Known()), None
            return
        yield tried, said
        at = end + 1


def _ends(pieces: tuple[_Piece, ...], at: int) -> Iterator[int]:
    """Where a string may end that is open at the end of a piece."""
    found = 0
    if _has_triple(pieces[at]):
        for end in range(at + 1, len(pieces)):
            if _has_triple(pieces[end]):
                yield end
                found += 1
                if found == _JOINS:
                    return


def _has_triple(piece: _Piece) -> bool:
    return '"""' in piece.text or "'''" in piece.text


@lru_cache(maxsize=16384)
def _known(digest: bytes) -> _Known:
    """Kept by a digest, because each key makes another text of a piece."""
    assert digest
    return _Known()


@lru_cache(maxsize=4)
def _pieces(text: str) -> tuple[_Piece, ...]:
    """Remembered, because each key that is pressed asks a few times."""
    found: list[_Piece] = []
    line = 0
    for start, end in _cuts(text):
        found.append(_piece(text[start:end], start, line))
        line += text.count("\n", start, end)
    return (*found,)


def _piece(text: str, start: int, line: int) -> _Piece:
    # Whatever an editor sends: a half of a character has no bytes otherwise.
    data = text.encode("utf-8", "surrogatepass")
    return _Piece(text, start, line, _known(blake2b(data, digest_size=16).digest()))


def _tree(text: str) -> ast.Module | None:
    return _kept_tree(text) if len(text) <= _KEPT_LENGTH else parsed(text)


@lru_cache(maxsize=_KEPT_TREES)
def _kept_tree(text: str) -> ast.Module | None:
    return parsed(text)


def _cuts(text: str) -> Iterator[tuple[int, int]]:
    """Where the pieces start and end; decorators go with what they decorate."""
    # A `\r` by itself ends a line for Python, and for nobody else.
    if text.count("\r") != text.count("\r\n"):
        yield 0, len(text)
        return
    start, is_decorated = 0, text.startswith("@")
    for match in _START.finditer(text):
        if not is_decorated:
            yield start, match.start() + 1
            start = match.start() + 1
        is_decorated = match[0] == "\n@"
    yield start, len(text)


_START = re.compile(r"\n(?:@|(?:class|def|async)\b)")
"""The end of a line before a piece: looked for as one character, which takes a seventh
of asking at each character whether a line begins there."""


class _Top(NamedTuple):
    """What the top level of a piece has: read at once, because whoever opens a source
    asks for all of it, and parsing takes longer than all else.
    """

    classes: tuple[ast.ClassDef, ...]
    names: frozenset[str]
    qualified: frozenset[str]
    """Also those of what stands in classes and functions."""


def _top(tree: ast.Module) -> _Top:
    classes = [_bodiless(one) for one in tree.body if isinstance(one, ast.ClassDef)]
    defined, qualified = frozenset(_defined_in(tree)), frozenset(_qualified(tree))
    return _Top(tuple(classes), defined, qualified)


def _defined_in(tree: ast.Module) -> Iterator[str]:
    below: list[ast.AST] = list(tree.body)
    while below:
        node = below.pop()
        match node:
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                yield node.name
                continue
            case ast.Import() | ast.ImportFrom():
                for alias in node.names:
                    yield alias.asname or alias.name.partition(".")[0]
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.ExceptHandler(name=str() as name):
                yield name
            case _:
                pass
        below += ast.iter_child_nodes(node)


def _qualified(tree: ast.Module) -> Iterator[str]:
    """Goes through statements alone: no expression has a definition with a name."""
    below: list[tuple[str, list[ast.stmt]]] = [("", tree.body)]
    while below:
        outer, body = below.pop()
        for one in body:
            if type(one) in _PLAIN:
                continue  # nearly all are: one question in place of twelve
            match one:
                case ast.ClassDef(name=name, body=inner):
                    yield f"{outer}{name}"
                    below.append((f"{outer}{name}.", inner))
                case ast.FunctionDef(name=name, body=inner):
                    yield f"{outer}{name}"
                    below.append((f"{outer}{name}.<locals>.", inner))
                case ast.AsyncFunctionDef(name=name, body=inner):
                    yield f"{outer}{name}"
                    below.append((f"{outer}{name}.<locals>.", inner))
                case _:
                    below += ((outer, inner) for inner in _bodies(one))


_PLAIN = {
    *(ast.AnnAssign, ast.Assert, ast.Assign, ast.AugAssign, ast.Delete, ast.Expr),
    *(ast.Global, ast.Import, ast.ImportFrom, ast.Nonlocal, ast.Pass, ast.Raise),
    ast.Return,
}
"""Statements in which no other statement stands."""


def _bodies(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks of a statement; none of what has none."""
    for name in ("body", "orelse", "finalbody"):
        inner = getattr(statement, name, None)
        if inner:
            yield inner
    for name in ("handlers", "cases"):
        for one in getattr(statement, name, ()):
            yield one.body


def _bodiless(statement: ast.ClassDef) -> ast.ClassDef:
    """A copy without the bodies of functions, which stay in memory otherwise."""
    found = copy.copy(statement)
    found.body = [
        _head(one) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) else one
        for one in statement.body
    ]
    return found


def _head(function: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.stmt:
    found = copy.copy(function)
    found.body = []
    return found


_UNREADABLE = (tokenize.TokenError, SyntaxError, UnicodeEncodeError, SystemError)
"""What Python raises for a text that is no program: from 3.14 on UnicodeEncodeError for
half a pair of surrogates, and 3.13.0 SystemError for a NUL behind a dedent."""


def _tokenized(text: str) -> Iterator[Comment]:
    for token in tokenize.generate_tokens(StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0] - 1, token.start[1], token.string


def _read(text: str) -> Iterator[Comment]:
    """The comments as they are read; line by line where Python gave up."""
    reached = 0
    try:
        for token in tokenize.generate_tokens(StringIO(text).readline):
            reached = token.end[0]
            if token.type == tokenize.COMMENT:
                yield token.start[0] - 1, token.start[1], token.string
    except _UNREADABLE:
        for line, content in enumerate(text.split("\n")[reached:], reached):
            stripped = content.lstrip()
            if stripped.startswith("#"):
                yield line, len(content) - len(stripped), stripped
