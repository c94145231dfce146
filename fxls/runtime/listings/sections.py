"""Long generated code in sections: functions in the forward, each of a bounded length.

Debuggers need time in a function that grows with its length, at every line of it. In
sections a breakpoint costs what the section around it costs.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from fxls.runtime.listings.frees import freed_in
from fxls.runtime.listings.section_cuts import common, cuts

__all__ = ["DRIVER", "LONGEST", "SectionedText", "divided"]

DRIVER = "<fxls forward of "
"""What the name of code that only calls sections begins with, in the place of a path."""

LONGEST = 1024
"""Lines of a text that is left as it is."""

SHOWN = 64
"""Values that a section does not use, and has as its variables for a debugger's sake."""


@dataclass(frozen=True, slots=True)
class SectionedText:
    """A text whose function is in sections, and where its lines went."""

    lines: list[str]
    moved: list[int]
    """Per line of the text as it was: the line now."""
    indented: int
    """By how many columns the body moved."""
    cut: dict[int, tuple[int, int]]
    """Per line as it was: the columns of what is left out of it."""
    undivided: list[str]
    """The function as it was, with the calls of the sections on their lines behind it:
    what the code that calls the sections shows as its own.
    """


def divided(
    lines: Sequence[str],
    definition: int,
    paths: Callable[[], Mapping[str, str]],
    *,
    shown: int | None = SHOWN,
) -> SectionedText | None:
    """A text with its function in sections.

    None for a body that is not a row of plain statements, as a `CodeGen` of the user's
    may write it. `paths` gives the modules that nodes were made in, by the names
    of the nodes: between modules is where to cut. `shown` is how many values a section
    has that it does not use; None is all.

    Values live as long as before: what one section alone uses, and frees, is its own
    variable; the others are the function's, and each section says which of those are
    alive, so that a debugger shows them.
    """
    body = lines[definition + 1 :]
    parameters = _parameters(lines[definition])
    unpacked = _unpacked(body[0])
    bound = [_bound(line) for line in body[bool(unpacked) :]]
    if parameters is None or None in bound:
        return None
    path_of = paths()
    rows = [path_of.get(name or "", "") for name in (*unpacked[:1], *bound)]
    known = {*parameters, *unpacked, *filter(None, bound)}
    sections = [_section(body, rows, *place, known) for place in cuts(rows, body)]
    prefix = _prefix(name for section in sections for name in section.names)
    shared = _share(sections, parameters, shown)
    writer = _Writer(list(lines[: definition + 1]), prefix, definition)
    writer.declare(name for name in shared if name not in parameters)
    for number, section in enumerate(sections):
        writer.section(number, section, body)
    return writer.finished(lines)


@dataclass(slots=True)
class _Section:
    first: int
    """The first row of the body."""
    last: int
    """The row behind the last one."""
    path: str
    names: dict[str, None]
    used: list[str]
    """Every name in it that is the function's; more than those is no harm."""
    freed: set[str]
    outer: list[str] = field(default_factory=list[str])
    """The names that are variables of the function around it."""


def _section(
    body: Sequence[str], rows: Sequence[str], first: int, last: int, known: set[str]
) -> _Section:
    text = "\n".join(body[first:last])
    names = dict.fromkeys(_NAME.findall(text))
    used = [name for name in names if name in known]
    return _Section(first, last, common(rows[first:last]), names, used, freed_in(text))


_WORD = r"[^\W\d]\w*"
_NAME = re.compile(rf"(?<![\w.]){_WORD}")
"""Attributes are no names; words in strings are taken for some, which does no harm."""
_INDENT = "    "
_BINDS = re.compile(rf"{_INDENT}({_WORD})(?: : [^=]+?)? = ")
_ANNOTATION = re.compile(rf"{_INDENT}({_WORD})( : [^=]+?) = ")
_BINDS_IN_PLACE = re.compile(
    rf"{_INDENT}\S.*? (?:[-+*/%@&|^]|//|\*\*|<<|>>)= .*?;  ({_WORD}) = {_WORD}(?:;|$)"
)
_UNPACKS = re.compile(rf"{_INDENT}((?:{_WORD}, )*{_WORD},) = ")
_RETURNS = re.compile(rf"{_INDENT}return\b")


def _bound(line: str) -> str | None:
    """The name that a line binds, or ""; None for a line that no writer of FX writes."""
    match = _BINDS.match(line) or _BINDS_IN_PLACE.match(line)
    if match is not None:
        return match[1]
    return "" if _RETURNS.match(line) else None


def _unpacked(line: str) -> list[str]:
    """What the first line of a body may bind: the parameters, out of a tree of them."""
    match = _UNPACKS.match(line)
    return _NAME.findall(match[1]) if match else []


def _parameters(head: str) -> list[str] | None:
    """The names of the parameters; None for a head that goes on on the next line."""
    try:
        (function,) = ast.parse(f"{head} pass").body
    except SyntaxError:
        return None
    assert isinstance(function, ast.FunctionDef), "the line of a def"
    taken = function.args
    rows = [*taken.posonlyargs, *taken.args, *taken.kwonlyargs]
    rows += [row for row in (taken.vararg, taken.kwarg) if row is not None]
    return [row.arg for row in rows]


def _prefix(names: Iterator[str]) -> str:
    """What the names of sections begin with, and no other name does."""
    prefix = "section"
    taken = {name for name in names if name.startswith(prefix)}
    while any(name.startswith(f"{prefix}_") for name in taken):
        prefix += "_"
    return prefix


def _share(
    sections: list[_Section], parameters: Sequence[str], shown: int | None
) -> dict[str, int]:
    """The variables that are the function's, with the last section that needs each.

    Notes in each section which of them it has.
    """
    first, last = dict.fromkeys(parameters, -1), dict.fromkeys(parameters, -1)
    for number, section in enumerate(sections):
        for name in section.used:
            first.setdefault(name, number)
            last[name] = number
    freed = set[str]().union(*(section.freed for section in sections))
    end = len(sections)
    last = {name: at if name in freed else end for name, at in last.items()}
    shared = {name: at for name, at in last.items() if first[name] != at}
    # What only the last section has ends with it, as it would end with the function.
    shared = {name: at for name, at in shared.items() if first[name] != end - 1}
    ending: dict[int, list[str]] = defaultdict(list)
    alive: dict[str, None] = dict.fromkeys(parameters)
    for name, at in shared.items():
        ending[at + 1].append(name)
    for number, section in enumerate(sections):
        for name in ending[number]:
            del alive[name]
        own = [name for name in section.used if name in shared]
        others = (name for name in reversed(alive) if name not in section.names)
        names = [parameters[0], *own, *islice(others, shown)]
        section.outer = list(dict.fromkeys(names))
        alive.update(dict.fromkeys(n for n in own if first[n] == number))
    return shared


class _Writer:
    """Writes the text anew, and notes where lines go."""

    def __init__(self, head: list[str], prefix: str, definition: int) -> None:
        self._lines = [*head, *_ABOVE]
        self._moved = list(range(definition + 1))
        self._cut: dict[int, tuple[int, int]] = {}
        self._prefix = prefix
        self._calls: list[str] = []

    def declare(self, names: Iterator[str]) -> None:
        """Make these the function's variables, without a value; Dynamo needs one."""
        rows = list(_wrapped(names, " = "))
        if rows:
            self._lines.append(f"{_INDENT}if torch.compiler.is_compiling():")
            self._lines += [f"{2 * _INDENT}{row} = None" for row in rows]

    def section(
        self,
        number: int,
        section: _Section,
        body: Sequence[str],
    ) -> None:
        """Write one section."""
        path = re.sub(r"\W", "_", section.path)
        name = f"{self._prefix}_{number}{path and '_'}{path}"
        self._calls.append(f"{name}()")
        self._lines += ["", f"{_INDENT}def {name}():"]
        rows = _wrapped(iter(section.outer), ", ")
        self._lines += [f"{2 * _INDENT}nonlocal {row}" for row in rows]
        shared = set(section.outer)
        for text in body[section.first : section.last]:
            annotated = _ANNOTATION.match(text) if " : " in text else None
            if annotated and annotated[1] in shared:
                start, end = annotated.span(2)
                self._cut[len(self._moved)] = (start, end)
                text = text[:start] + text[end:]
            self._moved.append(len(self._lines))
            self._lines.append(_INDENT + text)

    def finished(self, lines: Sequence[str]) -> SectionedText:
        """The text, with the calls of the sections at its end."""
        *calls, returned = self._calls
        calls.append(f"return {returned}")
        self._lines.append("")
        calls = [_INDENT + call for call in calls]
        # A statement between the two, because `inspect` takes what is indented.
        between = [""] * (len(self._lines) - len(lines) - 1)
        undivided = [*lines, *between, "if True:", *calls]
        self._lines += calls
        return SectionedText(
            self._lines, self._moved, len(_INDENT), self._cut, undivided
        )


_ABOVE = (
    "    # In sections, because a debugger is slow in a long function. Values that several",
    "    # of them need are variables of the forward.",
)

_WIDE = 100


def _wrapped(names: Iterator[str], between: str) -> Iterator[str]:
    row = ""
    for name in names:
        if row and len(row) + len(name) > _WIDE:
            yield row
            row = ""
        row = f"{row}{between}{name}" if row else name
    if row:
        yield row
