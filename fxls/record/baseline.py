"""What torch.compile made of a program, in names that outlast an edit of other lines:
what `fxls check` keeps in a file and compares with.

Values in, values out: nothing here knows torch, the store or the command line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated

import msgspec

from fxls.formats import other_format
from fxls.record import (
    Cause,
    Compilation,
    Counts,
    Entry,
    Made,
    Outcome,
    Pass,
    QuotedPlace,
    RevisionName,
    Subject,
    Truncated,
)
from fxls.record.failed_guards import in_the_programs_words, without_compilation
from fxls.record.quoted_place import written_at
from fxls.record.remarks import RemarkKind, SourceRemark, remarks_of
from fxls.record.sizes import InputSize, sizes_of

__all__ = [
    "GRAPHS",
    "SCHEMA",
    "Baseline",
    "BaselineError",
    "Change",
    "Comparison",
    "Program",
    "Tally",
    "compared",
    "counts_a_function",
    "decode",
    "encode",
    "tally_of",
]

SCHEMA = 1
"""The version of the file; a reader refuses another one."""

GRAPHS = "graphs"
"""The graphs of a function, without those that recompilations made."""

KERNELS = "kernels"
"""The calls of kernels in the code of these graphs; with a cache there is no code."""

_DYNAMIC = "dynamic: "
"""What the name of an input's size begins with that torch.compile keeps dynamic."""

_LONGEST = 160
_DECOMPOSITIONS = "decompositions"
"""The pass whose patterns are operators, and nothing that anybody hopes for."""

_Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]


class Program(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is counted of one program."""

    functions: dict[str, dict[str, _Count]]
    """By ``FILE: FUNCTION``: its graphs, and how often what could not be done."""
    matches: dict[str, _Count] | None = None
    """By the name of a pattern; None where a cache kept the patterns from being tried."""


class Baseline(msgspec.Struct, frozen=True):
    """The file."""

    schema: int
    programs: dict[str, Program]


class BaselineError(ValueError):
    """Bytes that are no baseline of this schema; the message says in what way."""


@dataclass(slots=True)
class Tally:
    """What is counted of a program that ran, and where each of it is."""

    functions: dict[str, dict[str, int]] = field(
        default_factory=dict[str, dict[str, int]]
    )
    matches: dict[str, int] | None = field(default_factory=dict[str, int])
    remarks: dict[tuple[str, str], list[SourceRemark]] = field(
        default_factory=dict[tuple[str, str], list[SourceRemark]]
    )
    """By function and what is counted of it."""
    heads: dict[str, QuotedPlace] = field(default_factory=dict[str, QuotedPlace])
    """Where a function is."""
    is_whole: bool = True
    """Whether the record has all that happened."""

    @property
    def program(self) -> Program:
        return Program(self.functions, self.matches)

    def join(self, other: Tally) -> None:
        """Take in another process of the program: of each count, the larger one holds."""
        for function, counts in other.functions.items():
            _largest(self.functions.setdefault(function, {}), counts)
        if self.matches is None or other.matches is None:
            self.matches = None
        else:
            _largest(self.matches, other.matches)
        for key, found in other.remarks.items():
            self.remarks.setdefault(key, found)
        for function, place in other.heads.items():
            self.heads.setdefault(function, place)
        self.is_whole &= other.is_whole


@dataclass(frozen=True, slots=True)
class Change:
    """A count that is not what it was."""

    function: str
    """Empty for what is of the whole program."""
    what: str
    was: int
    now: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """What became worse, and what better."""

    worse: tuple[Change, ...]
    better: tuple[Change, ...]


def tally_of(
    entries: Iterable[Entry],
    is_own: Callable[[str], bool],
    function_at: Callable[[QuotedPlace], str],
    kernels_of: Callable[[RevisionName], int] = lambda _: 0,
) -> Tally:
    """What is counted of the record of one process.

    `function_at` names the function that a place is in, without its lines, and
    `kernels_of` says how often a listing calls a kernel.
    """
    kept = tuple(entries)
    compilations = {
        one.event.id: one.event for one in kept if isinstance(one.event, Compilation)
    }
    tally = Tally()
    names: dict[str, str] = {}
    for one in compilations.values():
        name = names[one.id] = _of(one.place, one.function, function_at)
        if one.place is not None and one.cause is not Cause.CONTINUATION:
            tally.heads.setdefault(name, one.place)
        has_graph = one.outcome in (Outcome.OK, Outcome.BREAK) and one.nodes != 0
        if has_graph and one.cause is not Cause.RECOMPILATION:
            _add(tally, name, GRAPHS)
    for remark in remarks_of(kept, is_own):
        if remark.kind is RemarkKind.PROBLEM:
            _count(tally, remark, names, function_at)
    _match(tally, kept, compilations)
    _count_kernels(tally, kept, compilations, names, kernels_of)
    for size in sizes_of(kept):
        if isinstance(size, InputSize) and not size.value:
            of = "" if size.dimension is None else f"size {size.dimension} of "
            function = tally.functions.get(function_at(size.function))
            if function is not None:
                function[f"{_DYNAMIC}{of}{size.name}"] = 1
    tally.is_whole = not any(
        isinstance(one.event, Truncated)
        or (isinstance(one.event, Counts) and one.event.lost)
        for one in kept
    )
    return tally


def compared(before: Program, now: Program) -> Comparison:
    """What is different in two programs; what is gone with a function is better."""
    worse: list[Change] = []
    better: list[Change] = []
    is_cached = before.matches is None or now.matches is None
    for function in sorted(before.functions.keys() | now.functions.keys()):
        were, are = before.functions.get(function), now.functions.get(function)
        for change in _changes(function, were, are, is_cached=is_cached):
            is_worse = change.now > change.was
            if change.what.startswith(_DYNAMIC):
                is_worse = not is_worse
            has_none = change.what == GRAPHS and not change.now
            (worse if is_worse or has_none else better).append(change)
    had, has = _graphs(before), _graphs(now)
    if had and not has:
        worse.insert(0, Change("", GRAPHS, had, 0))
    if before.matches is not None and now.matches is not None:
        for name in sorted(before.matches.keys() | now.matches.keys()):
            was, count = before.matches.get(name, 0), now.matches.get(name, 0)
            if was != count:
                change = Change("", f"matches: {name}", was, count)
                (worse if count < was else better).append(change)
    return Comparison(tuple(worse), tuple(better))


def counts_a_function(what: str) -> bool:
    """Whether a count is of a function as a whole, and of no expression in it."""
    return what in (GRAPHS, KERNELS) or what.startswith(_DYNAMIC)


def _changes(
    function: str,
    were: Mapping[str, int] | None,
    are: Mapping[str, int] | None,
    *,
    is_cached: bool,
) -> Iterator[Change]:
    """The counts of a function that differ; None for one that is not there.

    The first graph of a function is what it should have, and a function that is not
    compiled by itself may be a part of another one's graph: neither is a change.
    Kernels are compared where both have some.
    """
    before, now = _renamed(were or {}), dict(are or {})
    if were is None or are is None:
        first = before if are is None else now
        for what in [one for one in first if counts_a_function(one)]:
            if are is None or what != GRAPHS:
                del first[what]
    if is_cached or KERNELS not in before or KERNELS not in now:
        before.pop(KERNELS, None)
        now.pop(KERNELS, None)
    if GRAPHS in now:
        before.setdefault(GRAPHS, 1)
    for what in sorted(before.keys() | now.keys()):
        was, count = before.get(what, 0), now.get(what, 0)
        if was != count:
            yield Change(function, what, was, count)


def _renamed(counts: Mapping[str, int]) -> dict[str, int]:
    """The counts of a baseline that an earlier fxls wrote, by the names of today."""
    found: dict[str, int] = {}
    for what, count in counts.items():
        name = in_the_programs_words(what)
        found[name] = found.get(name, 0) + count
    return found


def encode(baseline: Baseline) -> bytes:
    """The file: one fact a line, in the order of the names."""
    plain = msgspec.to_builtins(baseline)
    text = json.dumps(plain, indent=2, sort_keys=True, ensure_ascii=False)
    return (text + "\n").encode("utf-8", "replace")


def decode(data: bytes) -> Baseline:
    """The baseline of a file; raises `BaselineError`."""
    try:
        schema = _schema_decoder.decode(data).schema
        if schema == SCHEMA:
            return _decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BaselineError(f"is no baseline of fxls: {error}") from error
    raise BaselineError(other_format(schema, SCHEMA))


def _count(
    tally: Tally,
    remark: SourceRemark,
    names: Mapping[str, str],
    function_at: Callable[[QuotedPlace], str],
) -> None:
    function = _of(remark.place, "", function_at)
    match remark.subject:
        case Subject.RECOMPILATION:
            what = f"recompiled: {remark.about or _lasting(remark.reason)}"
            for name in remark.compilations:
                _add(tally, names.get(name, function), what, remark)
        case Subject.LIMIT:
            _add(tally, function, "limit reached", remark)
        case Subject.SKIPPED:
            _add(tally, function, f"not compiled: {_expression(remark)}", remark)
        case Subject.ERROR:
            _add(tally, function, f"error: {_expression(remark)}", remark)
        case Subject.NUMBERS:
            _add(tally, function, f"wrong numbers: {_expression(remark)}", remark)
        case _:
            _add(tally, function, f"break: {_expression(remark)}", remark)


def _add(
    tally: Tally, function: str, what: str, remark: SourceRemark | None = None
) -> None:
    counts = tally.functions.setdefault(function, {})
    counts[what] = counts.get(what, 0) + 1
    if remark is not None:
        known = tally.remarks.setdefault((function, what), [])
        if remark not in known:
            known.append(remark)


def _match(
    tally: Tally, entries: Iterable[Entry], compilations: Mapping[str, Compilation]
) -> None:
    """Count the patterns that passes found, of what was compiled once."""
    if any(one.cached for one in compilations.values()):
        tally.matches = None
        return
    found: dict[str, int] = {}
    for entry in entries:
        one = entry.event
        if not isinstance(one, Pass) or one.name == _DECOMPOSITIONS:
            continue
        of = compilations.get(one.compilation or "")
        if of is not None and of.cause is Cause.RECOMPILATION:
            continue
        for pattern in one.patterns:
            found[pattern.name] = found.get(pattern.name, 0) + pattern.count
    tally.matches = found


def _count_kernels(
    tally: Tally,
    entries: Iterable[Entry],
    compilations: Mapping[str, Compilation],
    names: Mapping[str, str],
    kernels_of: Callable[[RevisionName], int],
) -> None:
    """Count the kernels of what was compiled, and not compiled again."""
    seen: set[RevisionName] = set()
    for entry in entries:
        one = entry.event
        if not isinstance(one, Made) or one.revision in seen:
            continue
        seen.add(one.revision)
        of = compilations.get(one.compilation or "")
        if of is None or of.cause is Cause.RECOMPILATION:
            continue
        counts = tally.functions.get(names[of.id])
        calls = 0 if counts is None else kernels_of(one.revision)
        if counts is not None and calls:
            counts[KERNELS] = counts.get(KERNELS, 0) + calls


def _of(
    place: QuotedPlace | None, name: str, function_at: Callable[[QuotedPlace], str]
) -> str:
    return function_at(place) if place is not None else name or "(no place)"


def _expression(remark: SourceRemark) -> str:
    """What a remark is about, as it is written; no line number is in it."""
    quoted = remark.place
    if quoted is None or not quoted.line.strip():
        return _lasting(remark.reason)
    return written_at(quoted)


def _lasting(reason: str) -> str:
    """A reason of torch's without what is different in each run."""
    line = without_compilation(reason.strip().partition("\n")[0])
    line = in_the_programs_words(line)
    return _ADDRESS.sub("…", line)[:_LONGEST]


def _graphs(program: Program) -> int:
    return sum(counts.get(GRAPHS, 0) for counts in program.functions.values())


def _largest(into: dict[str, int], counts: Mapping[str, int]) -> None:
    for name, count in counts.items():
        into[name] = max(count, into.get(name, 0))


class _Schema(msgspec.Struct):
    schema: int


_ADDRESS = re.compile(r"0x[0-9a-fA-F]+|\d{6,}")
_schema_decoder = msgspec.json.Decoder(_Schema)
_decoder = msgspec.json.Decoder(Baseline)
