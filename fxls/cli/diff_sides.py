"""What the two sides of `fxls diff` are: a revision, or all graphs of a run or a rank."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from fxls.cli.reports.list_table import Newest, matching
from fxls.cli.run_argument import found_run, newest_with_passes
from fxls.ide.listing.recorded import where_of
from fxls.listing import Identity, Listing
from fxls.record import Made, Pass, RevisionName
from fxls.record.pass_facts import with_facts
from fxls.store import Revision, Store
from fxls.store.names import is_file_name
from fxls.store.runs import Runs

__all__ = ["Graph", "NotFound", "Side", "called", "one_side", "two_sides"]


class NotFound(Exception):
    """Nothing, or more than one, is meant; with what is to be done."""

    def __init__(self, problem: str, advice: str) -> None:
        super().__init__(problem)
        self.problem, self.advice = problem, advice


@dataclass(frozen=True, slots=True)
class Graph:
    """A revision that is compared."""

    identity: Identity
    path: Path
    read: Callable[[], Listing]
    """Raises `StoreError`."""


@dataclass(frozen=True, slots=True)
class Side:
    """What stands on one side, by the identity without its rank."""

    title: str
    graphs: Mapping[Identity, Graph]
    is_one: bool
    """Whether it is one graph, which is compared with whatever the other one is."""


_AT = re.compile(r"(.*)@(-?\d{1,9})", re.DOTALL)
_PASS = re.compile(r"(.+?)(?:\((\d{1,9})\))?", re.DOTALL)


def two_sides(
    store: Store, runs: Runs, words: tuple[str, str], run: str | None
) -> list[Side]:
    """What two words mean; raises `NotFound` and `StoreError`."""
    sides = [_side(store, runs, one, run) for one in words]
    if sides[0].is_one is not sides[1].is_one:
        raise NotFound(
            f"{words[0]} and {words[1]} are not of one kind",
            "Compare a run with a run, a rank with a rank, or one graph with another.",
        )
    return sides


def one_side(store: Store, runs: Runs, word: str, run: str | None) -> list[Side]:
    """What one word is compared with: a pass with the graph that it was given, and a
    graph with its revision before.
    """
    if word.startswith("pass:"):
        found = _passes(runs, word.removeprefix("pass:"), run)
        assert found.before is not None, "it changed its graph"
        assert found.after is not None, "likewise"
        if found.before == found.after:
            held = ", ".join(found.altered.first)
            raise NotFound(
                f"the pass {found.name!r} left every node as it was",
                f"It put another member of the module in the place of {held}.",
            )
        return [
            _one(f"before {found.name}", _named(store, found.before)),
            _one(f"after {found.name}", _named(store, found.after)),
        ]
    if word.startswith(("run:", "rank:")) or _is_path(word):
        raise NotFound(
            f"{word} is compared with nothing", "Say what to compare it with."
        )
    text, at = _parts(word)
    revision = _identity(store, text)
    revisions = store.revisions(revision.identity)
    if len(revisions) < 2:
        raise NotFound(
            f"{called(revision.identity)} has one revision",
            "`fxls list` shows what else there is.",
        )
    place = _place(revisions, -1 if at is None else at, text)
    if place == 0:
        raise NotFound(f"{word} is the oldest revision", "Say what to compare it with.")
    return [_revision(store, revisions[place - 1]), _revision(store, revisions[place])]


def _side(store: Store, runs: Runs, word: str, run: str | None) -> Side:
    if _is_path(word):
        return _path(Path(word))
    kind, colon, rest = word.partition(":")
    if colon and kind == "run":
        return _run(store, runs, rest)
    if colon and kind == "rank":
        return _rank(store, rest)
    if colon and kind == "pass":
        found = _passes(runs, rest, run)
        assert found.after is not None, "it changed its graph"
        return _one(f"after {found.name}", _named(store, found.after))
    text, at = _parts(word)
    newest = _identity(store, text)
    if at is None:
        return _revision(store, newest)
    revisions = store.revisions(newest.identity)
    return _revision(store, revisions[_place(revisions, at, text)])


def _is_path(word: str) -> bool:
    return is_file_name(Path(word).name)


def _path(path: Path) -> Side:
    # A path says in which store it lies, so that those of two stores are compared.
    store = Store(path.parent)
    listing = store.read(path)
    return _one(str(path), Graph(listing.identity, path, lambda: listing))


def _one(title: str, graph: Graph) -> Side:
    return Side(title, {_without_rank(graph.identity): graph}, is_one=True)


def _revision(store: Store, revision: Revision) -> Side:
    graph = Graph(
        revision.identity, revision.path, lambda: store.read_revision(revision)
    )
    return _one(called(revision.identity), graph)


def _named(store: Store, name: RevisionName) -> Graph:
    return Graph(name.identity, store.root / name.text, lambda: store.read_named(name))


def _parts(word: str) -> tuple[str, int | None]:
    found = _AT.fullmatch(word)
    return (word, None) if found is None else (found[1], int(found[2]))


def _place(revisions: tuple[Revision, ...], at: int, words: str) -> int:
    place = at - 1 if at > 0 else len(revisions) + at
    if at and 0 <= place < len(revisions):
        return place
    raise NotFound(
        f"there is no revision {at} of {words!r}",
        f"It has {len(revisions)}: @1 is the oldest, @-1 the newest.",
    )


def _identity(store: Store, words: str) -> Revision:
    """The newest revision of the one identity that says all these words."""
    newest = (store.newest(identity) for identity in store.identities())
    every = [Newest(one, one.nodes) for one in newest if one is not None]
    named = [one for one in every if _is_called(one.revision.identity, words)]
    found = named or [one for one in every if _says(one, words.split())]
    if len(found) > 1:
        # A class alone means its graph as it was captured.
        first = [one for one in found if not one.revision.identity.stage]
        found = first if len(first) == 1 else found
    if len(found) == 1:
        return found[0].revision
    if not found:
        raise NotFound(f"no listing says {words!r}", "`fxls list` shows them all.")
    several = ", ".join(repr(called(one.revision.identity)) for one in found[:4])
    more = " ..." if len(found) > 4 else "."
    raise NotFound(f"{len(found)} listings say {words!r}", f"Say more: {several}{more}")


def _is_called(identity: Identity, words: str) -> bool:
    """Whether words say all of an identity; its module and producer may be left out."""
    whole = called(identity)
    without_module = whole.removeprefix(f"{identity.module}.")
    names = {whole, without_module}
    names |= {one.replace(f" {identity.producer}", "", 1) for one in names}
    return " ".join(words.split()) in names


def _says(one: Newest, words: list[str]) -> bool:
    identity = one.revision.identity
    name = f"{identity.module}.{identity.qualname}"
    return all(word == name or matching([one], [word]) for word in words)


def called(identity: Identity) -> str:
    """An identity as one may say it."""
    rank = "" if identity.rank is None else f"rank {identity.rank}"
    name = f"{identity.module}.{identity.qualname}"
    return " ".join(filter(None, (name, identity.producer, identity.stage, rank)))


def _without_rank(identity: Identity) -> Identity:
    return msgspec.structs.replace(identity, rank=None)


def _run(store: Store, runs: Runs, words: str) -> Side:
    name = found_run(runs, words)
    made = (one.event for one in runs.read(name).entries)
    graphs: dict[Identity, Graph] = {}
    for one in made:
        if isinstance(one, Made):
            graph = _named(store, one.revision)
            graphs[_without_rank(graph.identity)] = graph
    return Side(f"run {name}", graphs, is_one=False)


def _rank(store: Store, words: str) -> Side:
    if not re.fullmatch(r"\d{1,9}", words):
        raise NotFound(f"{words!r} is no rank", "Ranks are numbers, as rank:0.")
    rank = int(words)
    found = [
        revision
        for identity in store.identities()
        if identity.rank == rank and (revision := store.newest(identity)) is not None
    ]
    if not found:
        raise NotFound(
            f"no listing is of rank {rank}", "`fxls list` shows which there are."
        )
    graphs: dict[Identity, Graph] = {}
    for revision in sorted(found, key=lambda one: one.time):
        (graph,) = _revision(store, revision).graphs.values()
        graphs[_without_rank(revision.identity)] = graph
    return Side(f"rank {rank}", graphs, is_one=False)


def _passes(runs: Runs, words: str, run: str | None) -> Pass:
    """The one pass that changed its graph and has this name, or says these words."""
    found = _PASS.fullmatch(words)
    name, number = (words, None) if found is None else (found[1], found[2])
    of = newest_with_passes(runs) if run is None else found_run(runs, run)
    if of is None:
        raise NotFound("no run in this store has passes", "`fxls runs` shows the runs.")
    events = with_facts(entry.event for entry in runs.read(of).entries)
    changed = [
        one
        for one in events
        if isinstance(one, Pass) and one.before is not None and one.after is not None
    ]
    # Before its name may stand where it ran, as `fxls passes` has it above.
    named = [one for one in changed if _is_meant(one, name)]
    if number is not None:
        named = [one for one in named if one.ordinal == int(number)]
    if len(named) == 1:
        return named[0]
    if not named:
        problem = f"no pass {words!r} of {of} changed a graph"
        raise NotFound(problem, "`fxls passes` shows those that did.")
    # Each graph has passes of its own, so several may have one number.
    times = Counter(one.ordinal for one in named if one.ordinal)
    alone = [f"'pass:{name}({number})'" for number, count in times.items() if count < 2]
    if not alone:
        where = Counter(" ".join(where_of(one)) for one in named)
        rest = words[words.rindex(named[0].name) :]
        alone = [f"'pass:{at} {rest}'" for at, count in where.items() if count < 2]
    which = f"Say which: {', '.join(alone[:3])}, or" if alone else "Say"
    raise NotFound(
        f"{len(named)} passes are called {words!r}",
        f"{which} its revisions, which `fxls passes` shows.",
    )


def _is_meant(one: Pass, words: str) -> bool:
    """Whether words are the name of a pass, and what stands before it says where it ran."""
    if words == one.name:
        return True
    if not words.endswith(f" {one.name}"):
        return False
    where = " ".join(where_of(one)).replace(",", " ").split()
    before = words.removesuffix(one.name).replace(",", " ").split()
    return all(word in where for word in before)
