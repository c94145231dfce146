"""Origins: kept as a few pointers, resolved to places of the source when asked for.

Keeping one costs a tuple: the code object and instruction offset of each source frame,
linked to the frame that called it. Reading files, columns and syntax trees waits until
`resolve`.
"""

from __future__ import annotations

import ast
import linecache
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from fxls.engine.origins.expressions import Expressions, Position
from fxls.engine.origins.module_scopes import ScopeSnapshot

# fxls.listing costs 10 ms, so it is imported when something is resolved.
if TYPE_CHECKING:
    from fxls.listing import Origin, Place
    from fxls.text import Span

__all__ = [
    "RETURN",
    "Merged",
    "OriginSlots",
    "RawOrigin",
    "ScopeSnapshot",
    "innermost_place",
    "is_of_source",
    "narrow_to_part",
    "note_generated",
    "note_same",
    "resolve",
    "resolve_all",
    "source_line",
    "stack_trace",
    "syntax_at",
]

RawOrigin: TypeAlias = tuple[Any, ...]
"""(code, where, caller), and maybe a part of the expression (`Expressions.exact`),
or `RETURN` when the instruction is that of a return statement.

`where` is the offset of an instruction, the name of a parameter, or None for the value
that the function returns. `caller` is the RawOrigin of the frame outside, or None.

That of a node made from several others is a `Merged`. Where the code is gone, because
the graph was read from a file, the place itself stands in front: (place, None, caller).
"""


RETURN = "return"
"""A keyword, which no part of an expression can be called."""


class OriginSlots(Protocol):
    """Where a node keeps its origin."""

    @property
    def _frames(self) -> RawOrigin | None:
        """The origin; made of the others when it is read."""
        ...

    @_frames.setter
    def _frames(self, frames: RawOrigin | None) -> None: ...

    _origin: RawOrigin | CodeType | None
    """The origin, or the code object of its innermost frame alone."""
    _offset: int
    """With a code object: the instruction there."""
    _caller: RawOrigin | None
    """With a code object: the origin of the frame outside."""


class Merged(tuple[RawOrigin, ...]):
    """The origins of the nodes that one node was made from, at least two.

    The first is the one to show where there is room for one. They may be merged
    themselves: making one costs the same, however often its parts were rewritten.
    """

    __slots__ = ()


def narrow_to_part(node: OriginSlots, part: str | int) -> None:
    """Say which part of its expression made a node (`Expressions.exact`)."""
    frames = node._frames
    if frames is not None and len(frames) == 3 and isinstance(frames[1], int):
        node._frames = (*frames, part)


def merge(origins: Iterable[RawOrigin | None]) -> RawOrigin | None:
    """The origin of a node that is made from nodes with these."""
    known = {id(one): one for one in origins if one is not None}
    if len(known) < 2:
        return next(iter(known.values()), None)
    return Merged(known.values())


def note_generated(
    code: CodeType,
    lines: Sequence[RawOrigin | None],
    parameters: Mapping[str, RawOrigin | None],
) -> None:
    """Say that line n of generated code stands for the origin `lines[n - 1]`.

    Origins taken while that code runs are those of its lines and of its `parameters`,
    so they survive retracing. The value that it returns has the name `RETURN`.
    """
    tables = _tables(code)
    tables.generated, tables.parameters = lines, parameters


def note_same(code: CodeType, other: CodeType) -> None:
    """Say that generated code stands for what another code of the same lines does."""
    tables = _tables(other)
    note_generated(code, tables.generated, tables.parameters)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            note_generated(inner, tables.generated, {})


def resolve(frames: RawOrigin | None) -> Origin | None:
    """The places of an origin, innermost first; None when there are none."""
    from fxls.listing import Origin  # noqa: PLC0415 - see above

    places = tuple(_places(frames))
    return Origin(places) if places else None


def is_of_source(frames: RawOrigin | None) -> bool:
    """Whether code and instruction alone tell the innermost place of an origin."""
    step = None if frames is None else _step(frames)
    return step is not None and not isinstance(step, tuple)


def innermost_place(frames: RawOrigin | None) -> Place | None:
    """The first of the places of an origin: an expression has one object of it."""
    return next(_places(frames), None)


def resolve_all(frames: RawOrigin | None) -> tuple[Origin, ...]:
    """Every origin that was merged into one, each once; the first is `resolve`'s."""
    from fxls.listing import Origin  # noqa: PLC0415 - see above

    return tuple(dict.fromkeys(Origin(places) for places in _chains(frames) if places))


def is_merged(frames: RawOrigin | None) -> bool:
    """Whether there may be more than one origin."""
    while frames is not None:
        if isinstance(frames, Merged):
            return True
        step = _step(frames)
        if isinstance(step, tuple) and is_merged(step):
            return True
        frames = frames[2]
    return False


def syntax_at(code: CodeType, instruction: int) -> ast.AST | None:
    """The expression, or statement, of an instruction; None where no file has it."""
    expressions = _expressions(code.co_filename, linecache.getlines(code.co_filename))
    return expressions.syntax(_tables(code).positions[instruction // 2])


def conditions_before(code: CodeType, instruction: int) -> list[ast.expr]:
    """What the function of an instruction asked until then, in the order of its text."""
    expressions = _expressions(code.co_filename, linecache.getlines(code.co_filename))
    body = _tables(code).positions
    line = body[instruction // 2].line
    return expressions.conditions_before(code.co_firstlineno, code.co_name, body, line)


def stack_trace(frames: RawOrigin | None) -> str | None:
    """The origin as Python prints a traceback, outermost first."""
    origin = resolve(frames)
    if origin is None:
        return None
    text: list[str] = []
    for place in reversed(origin.places):
        line = place.span.start.line + 1
        function = place.function.rpartition(".")[2]
        text.append(f'  File "{place.path}", line {line}, in {function}')
        source = linecache.getline(place.path, line).strip()
        if source:
            text.append(f"    {source}")
    return "\n".join(text).strip()


def source_line(place: Place) -> str:
    """The line of the source on which a place starts, without its end; maybe empty."""
    line = linecache.getline(place.path, place.span.start.line + 1)
    return line.rstrip("\r\n")


class _Tables:
    """What is known of one code object, for as long as it lives."""

    __slots__ = ("_code", "_positions", "generated", "parameters", "places")

    def __init__(self, code: CodeType) -> None:
        key = id(code)
        forget = _by_code.pop  # the global is gone when the interpreter ends
        self._code = weakref.ref(code, lambda _: forget(key, None))
        self._positions: Sequence[Position] | None = None
        self.places: dict[tuple[int | str | None, int | str | None], Place] = {}
        self.generated: Sequence[RawOrigin | None] = ()
        self.parameters: Mapping[str, RawOrigin | None] = {}

    @property
    def positions(self) -> Sequence[Position]:
        """Per instruction; made when first asked for, because few codes are asked."""
        if self._positions is None:
            code = self._code()
            assert code is not None, "asked for the positions of code that is gone"
            self._positions = [_position(code, at) for at in code.co_positions()]
        return self._positions


_by_code: dict[int, _Tables] = {}
"""By identity: hashing a code object hashes all its constants."""


def _tables(code: CodeType) -> _Tables:
    known = _by_code.get(id(code))
    if known is None:
        known = _by_code[id(code)] = _Tables(code)
    return known


def _position(
    code: CodeType, at: tuple[int | None, int | None, int | None, int | None]
) -> Position:
    line, end_line, column, end_column = at
    line = code.co_firstlineno if line is None else line
    return Position(line, line if end_line is None else end_line, column, end_column)


def _places(frames: RawOrigin | None) -> Iterator[Place]:
    while frames is not None:
        while isinstance(frames, Merged):
            frames = frames[0]
        step = _step(frames)
        if step is None or isinstance(step, tuple):
            yield from _places(step)
        else:
            yield step
        frames = frames[2]


def _step(frames: RawOrigin) -> Place | RawOrigin | None:
    """The place of a frame; for generated code the origin that its line stands for."""
    code: CodeType | Place = frames[0]
    if not isinstance(code, CodeType):
        return code
    where: int | str | None = frames[1]
    tables = _tables(code)
    # What a function in sections returns, it returns on no line that stands for a node.
    name = RETURN if frames[3:] == (RETURN,) else where
    if isinstance(name, str) and (parameter := tables.parameters.get(name)):
        return parameter
    if tables.generated and isinstance(where, int):
        line = tables.positions[where // 2].line
        return tables.generated[line - 1] if line <= len(tables.generated) else None
    key = (where, frames[3] if len(frames) > 3 else None)
    place = tables.places.get(key)
    if place is None:
        place = tables.places[key] = _place(code, tables, *key)
    return place


def _chains(frames: RawOrigin | None) -> list[tuple[Place, ...]]:
    """The places of each of the origins that were merged into one."""
    chains: list[tuple[Place, ...]] = [()]
    while frames is not None:
        if isinstance(frames, Merged):
            outer = [chain for one in _flat(frames) for chain in _chains(one)]
            return [(*inner, *rest) for inner in chains for rest in outer]
        step = _step(frames)
        if step is None or isinstance(step, tuple):  # noqa: SIM108 - narrows the type
            steps = _chains(step)
        else:
            steps = [(step,)]
        chains = [(*inner, *more) for inner in chains for more in steps]
        frames = frames[2]
    return chains


def _flat(merged: Merged) -> Iterator[RawOrigin]:
    """The origins in a merged one that are not merged themselves."""
    seen: set[int] = set()
    waiting: list[RawOrigin] = [merged]
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, Merged):
            waiting.extend(reversed(one))
        else:
            yield one


def _place(
    code: CodeType, tables: _Tables, where: int | str | None, part: int | str | None
) -> Place:
    lines = linecache.getlines(code.co_filename)
    expressions = _expressions(code.co_filename, lines)
    first, name, body = code.co_firstlineno, code.co_name, tables.positions
    if isinstance(where, int) and part == RETURN:
        position = expressions.executed_return(first, name, body, where // 2)
    elif isinstance(where, int):
        position = expressions.exact(body[where // 2], part)
    elif isinstance(where, str):
        position = expressions.parameter(first, name, where, body)
    else:
        position = expressions.only_return(first, name, body)
    if position is None:
        position = Position(first, first, None, None)
    from fxls.listing import Place  # noqa: PLC0415 - see above

    return Place(_path(code.co_filename), code.co_qualname, _span(position, lines))


def _path(filename: str) -> str:
    return filename if filename.startswith("<") else str(Path(filename).absolute())


def _span(position: Position, lines: Sequence[str]) -> Span:
    from fxls.text import Span  # noqa: PLC0415 - see above

    line, end_line, column, end_column = position
    if column is None or end_column is None:
        text = lines[line - 1].rstrip() if line <= len(lines) else ""
        start = len(text) - len(text.lstrip())
        return Span.of(line - 1, start, line - 1, len(text))
    return Span.of(
        line - 1,
        _characters(lines, line, column),
        end_line - 1,
        _characters(lines, end_line, end_column),
    )


def _characters(lines: Sequence[str], line: int, column: int) -> int:
    """A column in code points; as it is when the line cannot be read."""
    if line > len(lines) or lines[line - 1].isascii():
        return column
    return len(lines[line - 1].encode()[:column].decode(errors="ignore"))


_FILES = 64
_expressions_of: dict[str, tuple[Sequence[str], Expressions]] = {}
"""By file, the last used last; a syntax tree is some 30 times the size of its text."""


def _expressions(filename: str, lines: Sequence[str]) -> Expressions:
    known = _expressions_of.pop(filename, None)
    if known is None or known[0] is not lines:
        known = (lines, Expressions(lines))
    _expressions_of[filename] = known
    if len(_expressions_of) > _FILES:
        del _expressions_of[next(iter(_expressions_of))]
    return known[1]
