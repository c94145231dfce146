"""What `fxls list` shows: by program and class, in the order in which graphs are made.

Values in, rows out; one row stands for the same graph of all ranks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from fxls.cli.report import Sources, age, rows
from fxls.listing import PIPELINE, Remark, is_compilation
from fxls.store import Revision

__all__ = ["Newest", "in_order", "matching", "table"]

_ENTRIES = "(entries)"
"""Stands where the program would: what a person or an editor let be traced."""

_LONGEST = 80
"""Characters of a reason that fit into a table."""

_NUMBERS = re.compile(r"(\d+)")
_WORDS = re.compile(r"\d+|[^\W\d]+")


@dataclass(frozen=True, slots=True)
class Newest:
    """The newest revision of an identity, and how many nodes it has, if that is known."""

    revision: Revision
    nodes: int | None


def in_order(newest: Iterable[Newest]) -> list[Newest]:
    """By program and class, and each graph before what was made of it."""
    return sorted(newest, key=lambda one: (*_group(one), *_graph(one), _rank(one)))


def matching(newest: Iterable[Newest], words: Sequence[str]) -> list[Newest]:
    """Those that say all of these words; a number is meant as a whole."""
    return [one for one in newest if all(_says(one, word) for word in words)]


def table(newest: Sequence[Newest], sources: Sources, now: float) -> str:
    """A line for each graph, under its program and its class; `newest` is in order."""
    head = ("graph", "nodes", "ranks", "why", "age", "newest revision")
    body: list[tuple[str, ...]] = []
    program = None
    for (at, *_), of_class in groupby(newest, _group):
        if at != program:
            program = at
            body.append((_title(at, sources), *_NOTHING))
        body += _of_class(list(of_class), sources, now)
    return rows(head, body)


_NOTHING = ("", "", "", "", "")


def _of_class(
    newest: list[Newest], sources: Sources, now: float
) -> Iterable[tuple[str, ...]]:
    identity = newest[0].revision.identity
    name = f"  {identity.module}.{identity.qualname}  {identity.producer}"
    if identity.stage:
        yield name, *_NOTHING
    base = ""
    for stage, ranks in groupby(newest, lambda one: one.revision.identity.stage):
        shown = _columns(list(ranks), sources, now)
        if not stage:
            yield name, *shown
        elif base and stage.startswith(f"{base}, ") and not _is_base(stage):
            yield " " * 6 + stage.removeprefix(f"{base}, "), *shown
        else:
            base = stage
            yield " " * 4 + stage, *shown


def _columns(
    ranks: Sequence[Newest], sources: Sources, now: float
) -> tuple[str, str, str, str, str]:
    """What stands beside the name of a graph, of all ranks that made it."""
    first = ranks[0].revision
    counts = sorted({one.nodes for one in ranks if one.nodes is not None})
    nodes = "-".join(map(str, dict.fromkeys((counts[0], counts[-1])))) if counts else ""
    texts = len({one.revision.path for one in ranks})
    more = f" and {texts - 1} more" if texts > 1 else ""
    return (
        nodes or "?",
        _ranges([one.revision.identity.rank for one in ranks]),
        _why(next((r for o in ranks if (r := o.revision.remarks)), ())),
        age(now - max(one.revision.time for one in ranks)),
        sources.name(str(first.path)) + more,
    )


def _why(remarks: Sequence[Remark]) -> str:
    room = _LONGEST // max(len(remarks), 1)
    said = [f"{one.about.value}: {one.reason}" for one in remarks]
    return "; ".join(
        one if len(one) <= room else f"{one[: room - 3].rstrip()}..." for one in said
    )


def _ranges(ranks: Iterable[int | None]) -> str:
    """Numbers as ``0-3,7``; nothing where there are no ranks."""
    found: list[list[int]] = []
    for rank in ranks:
        if rank is None:
            continue
        if found and found[-1][-1] == rank - 1:
            found[-1].append(rank)
        else:
            found.append([rank])
    return ",".join(
        "-".join(map(str, dict.fromkeys((run[0], run[-1])))) for run in found
    )


def _title(program: str, sources: Sources) -> str:
    return sources.name(program) if program else _ENTRIES


def _program(one: Newest) -> str:
    return one.revision.program or ""


def _group(one: Newest) -> tuple[str, object, object, str]:
    identity = one.revision.identity
    return (
        _program(one),
        _natural(identity.module),
        _natural(identity.qualname),
        identity.producer,
    )


def _graph(one: Newest) -> tuple[object, ...]:
    stage = one.revision.identity.stage
    return (tuple(map(_step, stage.split(", "))) if stage else (),)


def _rank(one: Newest) -> int:
    rank = one.revision.identity.rank
    return -1 if rank is None else rank


def _step(part: str) -> tuple[int, object]:
    """A part of the name of a stage, so that it sorts where the compiler comes to it."""
    if part in PIPELINE:
        return 1 + PIPELINE.index(part), ()
    # What else there is stands inside of the graph, as the branches of torch.cond.
    after = 1 + len(PIPELINE) if is_compilation(part) else 0
    return after, _natural(part)


def _is_base(stage: str) -> bool:
    return is_compilation(stage.rpartition(", ")[2])


def _natural(text: str) -> tuple[tuple[str, int], ...]:
    """A text so that its numbers sort as numbers: graph 2 before graph 10."""
    words, numbers = _NUMBERS.split(text)[::2], _NUMBERS.split(text)[1::2]
    return tuple(zip(words, [*map(int, numbers), -1], strict=True))


def _says(one: Newest, word: str) -> bool:
    revision, identity = one.revision, one.revision.identity
    rank = "" if identity.rank is None else f"rank {identity.rank}"
    said = " ".join(
        (
            *(_program(one).rpartition("/")[2], identity.module, identity.qualname),
            *(identity.producer, identity.stage, rank, revision.entry or ""),
            *(f"{remark.about.value} {remark.reason}" for remark in revision.remarks),
        )
    ).lower()
    if word.isdecimal():
        return word in _WORDS.findall(said)
    return word.lower() in said
