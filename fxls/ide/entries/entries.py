"""Which entries a source file has, found without running it."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from keyword import iskeyword
from os.path import normpath
from pathlib import PurePath
from typing import cast

from fxls.entry import Entry, Kind, Producer
from fxls.ide.entries.blanks import blanks
from fxls.ide.syntax.module_classes import modules
from fxls.ide.syntax.pieces import comments, read
from fxls.ide.syntax.quiet_parser import parsed_expression
from fxls.listing import Failure, Place, Reason
from fxls.text import Point, Span

__all__ = ["Project", "comment_at", "commented", "entries", "names_of", "place_in"]
__all__ += ["problems", "project", "read_through"]

_ADVICE = "Write it as a call, for example `# fxls: Net(3)(torch.randn(1, 3))`."
_BLANK_ADVICE = "It is traced when nothing is left to fill in."
_PROJECT_ADVICE = (
    'Write it as a list of strings: entries = ["src/net.py:Net()(torch.randn(1, 3))"].'
)


@dataclass(frozen=True, slots=True)
class Project:
    """What a ``pyproject.toml`` says: its entries, and what is wrong with them."""

    entries: tuple[Entry, ...] = ()
    problems: tuple[Failure, ...] = ()


def entries(
    text: str, path: str, project_entries: Iterable[Entry] = ()
) -> tuple[Entry, ...]:
    """The entries of one file: comments, those of the project, then classes.

    Comments that are no expression, or have something to fill in, are left out:
    `problems` has them. A class is left out when an earlier entry names it.
    """
    written = [
        comment.entry(path)
        for comment in _comments(text)
        if comment.is_known and _is_complete(comment.expression)
    ]
    written += [entry for entry in project_entries if entry.path == path]
    named = {name for entry in written for name in names_of(entry.expression)}
    classes = [
        Entry(path, f"{module.name}()", Kind.CLASS, module.span)
        for module in modules(text)
        if module.constructible and module.name not in named
    ]
    return (*written, *classes)


def read_through(text: str, path: str, is_given_up: Callable[[], bool]) -> None:
    """Find the entries of a long file, so that whoever asks later need not wait.

    It may run in a thread, and ends early where nobody waits for it any more.
    """
    read(text, is_given_up)
    if not is_given_up():
        for entry in entries(text, path):
            names_of(entry.expression)


def commented(text: str) -> frozenset[str]:
    """The names in the entry comments of a file, also of those not traced yet."""
    found = (names_of(comment.expression) for comment in _comments(text))
    return frozenset[str]().union(*found)


@lru_cache(maxsize=4096)
def names_of(expression: str) -> frozenset[str]:
    """The names that an entry uses; none when it is no expression."""
    called = expression.removesuffix("()")
    # As most are; to parse them takes a thirtieth of opening a long source.
    if called.isascii() and called.isidentifier() and not iskeyword(called):
        return frozenset({called})
    tree = parsed_expression(expression)
    if isinstance(tree, SyntaxError):
        return frozenset()
    return frozenset(n.id for n in ast.walk(tree) if isinstance(n, ast.Name))


def comment_at(text: str, path: str, point: Point) -> Entry | None:
    """The entry of the comment under a cursor."""
    for comment in _comments(text):
        if comment.span.touches(point):
            return comment.entry(path)
    return None


def problems(text: str, path: str) -> tuple[Failure, ...]:
    """What is wrong with the entry comments of a file, each at its exact place."""
    found: list[Failure] = []
    for comment in _comments(text):
        if not comment.is_known:
            message = (
                "fxls knows no such producer; it knows fxls[engine], fxls[export] and"
                " fxls[compile]"
            )
            place = Place(path, "<module>", comment.span)
            found.append(Failure(Reason.ENTRY, message, (place,), _ADVICE))
            continue
        tree = parsed_expression(comment.expression)
        if isinstance(tree, SyntaxError):
            message = (
                f"this entry is not an expression: {tree.msg}"
                if comment.expression
                else "this entry is empty"
            )
            span = _error_span(comment, tree)
            place = Place(path, "<module>", span)
            found.append(Failure(Reason.ENTRY, message, (place,), _ADVICE))
            continue
        for blank in blanks(tree, text):
            span = place_in(comment.span, comment.expression, blank.node)
            place = Place(path, "<module>", span)
            found.append(Failure(Reason.ENTRY, blank.message, (place,), _BLANK_ADVICE))
    return tuple(found)


def place_in(span: Span, expression: str, node: ast.expr | ast.keyword) -> Span:
    """Where a part of an entry's expression stands in the file."""
    data = expression.encode()

    def column(offset: int | None) -> int:
        return span.start.column + len(data[: offset or 0].decode(errors="replace"))

    line = span.start.line
    return Span.of(line, column(node.col_offset), line, column(node.end_col_offset))


_PARTS = 100
"""A key with more parts than this is refused: Python's parser needs time that grows with
the square of them."""
_QUOTED = re.compile(r"""("[^"\n]*"|'[^'\n]*')|#[^\n]*""")


def _has_a_long_key(toml: str) -> bool:
    if toml.count(".") <= _PARTS:
        return False
    # Text in quotes may be a part; what else has dots is split by a sign or a line end.
    plain = _QUOTED.sub(lambda found: "_" if found[1] else "", toml)
    runs = (run for run in re.split(r"[^\w \t.-]", plain) if run.count(".") > _PARTS)
    return any(len(re.findall(r"[\w-][ \t]*\.", run)) > _PARTS for run in runs)


def project(toml: str, folder: str, path: str) -> Project:
    """The entries of a ``pyproject.toml`` at `path`, whose files are below `folder`."""
    import tomllib  # noqa: PLC0415 - few files need it, and a server starts often

    nowhere = (Place(path, "<module>", Span.of(0, 0, 0, 0)),)
    try:
        if _has_a_long_key(toml):
            raise ValueError("a key of it has too many parts")
        table = tomllib.loads(toml)
    except RecursionError:
        message = "not TOML: it is nested too deeply"
        return Project(problems=(Failure(Reason.SYNTAX, message, nowhere),))
    except ValueError as error:
        # A number that is too long is no `TOMLDecodeError`.
        failure = Failure(Reason.SYNTAX, f"not TOML: {error}", nowhere)
        return Project(problems=(failure,))
    value: object = table
    for key in ("tool", "fxls", "entries"):
        known = isinstance(value, dict)
        value = cast(dict[str, object], value).get(key) if known else None
    if value is None:
        return Project()
    if not isinstance(value, list):
        message = "[tool.fxls] entries is not a list"
        return Project(
            problems=(Failure(Reason.ENTRY, message, nowhere, _PROJECT_ADVICE),)
        )
    found: list[Entry] = []
    wrong: list[Failure] = []
    for item in cast(list[object], value):
        entry = _project_entry(item, folder)
        if isinstance(entry, str):
            place = Place(path, "<module>", _quoted(toml, item))
            wrong.append(Failure(Reason.ENTRY, entry, (place,), _PROJECT_ADVICE))
        else:
            found.append(entry)
    return Project(tuple(found), tuple(wrong))


@dataclass(frozen=True, slots=True)
class _Comment:
    expression: str
    span: Span
    """The expression; where it would stand, when the comment has none."""
    producer: Producer | None
    """The one that the comment insists on, if there is such a producer."""
    is_known: bool
    """Whether there is, or the comment names none."""

    def entry(self, path: str) -> Entry:
        """The entry of a file that has this comment."""
        return Entry(path, self.expression, Kind.COMMENT, self.span, self.producer)


_ENTRY = re.compile(
    r"#+[ \t]*fxls(\[(?P<producer>\w*)\])?:[ \t]*(?P<expression>.*?)\s*$"
)
_PRODUCERS = {producer.value: producer for producer in Producer}


def _comments(text: str) -> Iterator[_Comment]:
    if "fxls:" not in text and "fxls[" not in text:
        return
    for line, column, comment in _comment_tokens(text):
        match = _ENTRY.match(comment)
        if match:
            start, end = match.span("expression")
            span = Span.of(line, column + start, line, column + end)
            producer = _PRODUCERS.get(match["producer"])
            is_known = producer is not None or not match["producer"]
            yield _Comment(match["expression"], span, producer, is_known)


@lru_cache(maxsize=8)
def _comment_tokens(text: str) -> tuple[tuple[int, int, str], ...]:
    """Line, column and text of each comment that may be an entry.

    Remembered, because each key that is pressed asks a few times.
    """
    return (*comments(text, "fxls"),)


def _is_complete(source: str) -> bool:
    tree = parsed_expression(source)
    if isinstance(tree, SyntaxError):
        return False
    # Most entries have none: do not look for the classes of the file.
    return "..." not in source or not any(blanks(tree, ""))


def _error_span(comment: _Comment, error: SyntaxError) -> Span:
    """The part of the expression that Python points at; all of it when it does not."""
    length = len(comment.expression)
    start = (error.offset or 0) - 1
    end = (error.end_offset or 0) - 1
    if not 0 <= start < length or (error.lineno, error.end_lineno) != (1, 1):
        return comment.span
    end = min(max(end, start + 1), length)
    line, column = comment.span.start.line, comment.span.start.column
    return Span.of(line, column + start, line, column + end)


def _project_entry(item: object, folder: str) -> Entry | str:
    """The entry that an item of the list stands for, or what is wrong with it."""
    if not isinstance(item, str):
        return f"an entry must be a string, not {item!r}"
    file, colon, expression = item.partition(".py:")
    if not colon or not expression.strip():
        return f"an entry must be FILE.py:EXPRESSION, not {item!r}"
    error = parsed_expression(expression.strip())
    if isinstance(error, SyntaxError):
        return f"{expression.strip()!r} is not an expression: {error.msg}"
    path = normpath(PurePath(folder, f"{file}.py"))
    return Entry(path, expression.strip(), Kind.PROJECT)


def _quoted(toml: str, item: object) -> Span:
    """Where an item stands in the text, looked up by how it is usually written."""
    for line, content in enumerate(toml.split("\n")):
        column = content.find(str(item))
        if isinstance(item, str) and column >= 0:
            return Span.of(line, column, line, column + len(item))
    for line, content in enumerate(toml.split("\n")):
        if re.match(r"\s*entries\s*=", content):
            return Span.of(line, 0, line, len(content.rstrip("\r")))
    return Span.of(0, 0, 0, 0)
