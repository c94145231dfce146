"""A source text in pieces that are read by themselves, so that a key costs its piece.

A piece begins with a decorator, a class or a function at the left margin. Where all
pieces before it could be read, the text is in no string, bracket or statement there; so
what the pieces say is what the whole text says. Where one cannot be read, the rest of
the text is read at once.
"""

from __future__ import annotations

import ast
import re
import tokenize
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from io import StringIO

__all__ = ["class_statements", "comments", "parsed"]

Comment = tuple[int, int, str]
"""Line, column and text."""


def parsed(text: str) -> ast.Module | None:
    """The syntax tree of a file; None when Python cannot read it."""
    try:
        with warnings.catch_warnings():
            # Python warns of odd escapes in the user's strings; they are not ours.
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def class_statements(text: str) -> list[tuple[int, ast.ClassDef]] | None:
    """The classes at the left margin; None when Python cannot read the text.

    Each with the line from which its own lines are counted; functions have no bodies.
    """
    found: list[tuple[int, ast.ClassDef]] = []
    for piece in _pieces(text):
        classes = piece.classes()
        if classes is not None:
            found += [(piece.line, one) for one in classes]
            continue
        rest = _classes_in(text[piece.start :])
        if rest is None:
            return None
        return found + [(piece.line, one) for one in rest]
    return found


def comments(text: str) -> Iterator[Comment]:
    """Each comment; where Python gives up, those that fill a line."""
    for piece in _pieces(text):
        own = piece.comments()
        is_whole = own is not None
        for line, column, said in own if is_whole else _read(text[piece.start :]):
            yield piece.line + line, column, said
        if not is_whole:
            return


class _Known:
    """What is known of the text of a piece, which may stand in many texts."""

    __slots__ = ("classes", "comments")

    def __init__(self) -> None:
        self.classes: tuple[ast.ClassDef, ...] | bool | None = False
        self.comments: tuple[Comment, ...] | bool | None = False


@dataclass(frozen=True, slots=True)
class _Piece:
    text: str
    start: int
    line: int
    known: _Known
    """False stands for what nobody asked for yet, and None for what cannot be read."""

    def classes(self) -> tuple[ast.ClassDef, ...] | None:
        if isinstance(self.known.classes, bool):
            self.known.classes = _classes_in(self.text)
        return self.known.classes

    def comments(self) -> tuple[Comment, ...] | None:
        if isinstance(self.known.comments, bool):
            try:
                self.known.comments = (*_tokenized(self.text),)
            except (tokenize.TokenError, SyntaxError):
                self.known.comments = None
        return self.known.comments


@lru_cache(maxsize=16384)
def _known(digest: bytes) -> _Known:
    """Kept by a digest, because each key makes another text of a piece."""
    assert digest
    return _Known()


def _pieces(text: str) -> Iterator[_Piece]:
    line = 0
    for start, end in _cuts(text):
        piece = text[start:end]
        # Whatever an editor sends: a half of a character has no bytes otherwise.
        data = piece.encode("utf-8", "surrogatepass")
        yield _Piece(piece, start, line, _known(blake2b(data, digest_size=16).digest()))
        line += piece.count("\n")


def _cuts(text: str) -> Iterator[tuple[int, int]]:
    """Where the pieces start and end; decorators go with what they decorate."""
    # A `\r` by itself ends a line for Python, and for nobody else.
    if text.count("\r") != text.count("\r\n"):
        yield 0, len(text)
        return
    start, is_decorated = 0, False
    for match in _START.finditer(text):
        if not is_decorated and match.start() > start:
            yield start, match.start()
            start = match.start()
        is_decorated = match[0] == "@"
    yield start, len(text)


_START = re.compile(r"^(?:@|(?:class|def|async)\b)", re.MULTILINE)


def _classes_in(text: str) -> tuple[ast.ClassDef, ...] | None:
    tree = parsed(text)
    if tree is None:
        return None
    found = [one for one in tree.body if isinstance(one, ast.ClassDef)]
    for one in found:
        for method in one.body:
            if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef):
                method.body = []
    return tuple(found)


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
    except (tokenize.TokenError, SyntaxError):
        for line, content in enumerate(text.split("\n")[reached:], reached):
            stripped = content.lstrip()
            if stripped.startswith("#"):
                yield line, len(content) - len(stripped), stripped
