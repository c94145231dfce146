"""The first pass of a run that did something: a question about its record and listings.

Values in, values out: who asks gives the passes in the order in which they ended, and
what reads a listing.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from fxls.listing import Facts, Items, Listing, Place, Tensor, Value
from fxls.record import Pass, RevisionName

__all__ = ["Answer", "Asked", "Found", "Question", "first_passes"]


class Asked(enum.Enum):
    """What a pass may be the first to do."""

    GONE = "gone"
    """A node is there before it, and not behind it."""
    MADE = "made"
    """A node is there behind it, and not before it."""
    ALTERED = "altered"
    """A node has another target, or other arguments."""
    MOVED = "moved"
    """A node stands before another one that it stood behind, or the reverse."""
    WITH = "with"
    """A target is called that was not."""
    WITHOUT = "without"
    """A target is not called any more."""
    SHAPE = "shape"
    """A value has a shape that none had."""
    BROKEN = "broken"
    """A node uses one that has no value yet, or that is not there."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and of what: a node, a target or a shape."""

    asked: Asked
    what: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """A pass, and why it is the answer."""

    ran: Pass
    node: str
    """By which node it is so; empty where none is left."""
    reason: str
    """As a sentence without its subject: ``is replaced by add_3``."""
    place: Place | None
    """The expression of the source that the node came from."""
    digest: str = ""
    """That of the source, as it was then."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The first pass of each step of each compilation that did it."""

    found: tuple[Found, ...]
    unread: int
    """How many passes changed a graph and have no revision that can be read."""
    is_known: bool
    """Whether any graph has what was asked about, before or behind a pass."""


Read = Callable[[RevisionName], Listing | None]


def first_passes(passes: Iterable[Pass], question: Question, read: Read) -> Answer:
    """Which passes did it first; those that are parts of others before those."""
    found: dict[tuple[str | None, str, str | None], Found] = {}
    unread, is_known = 0, question.asked is Asked.BROKEN
    for ran in passes:
        if not ran.changed:
            continue
        before = None if ran.before is None else read(ran.before)
        after = None if ran.after is None else read(ran.after)
        if before is None or after is None:
            unread += 1
            continue
        pair = _Pair(before, after, is_same=before.identity == after.identity)
        is_known = is_known or pair.knows(question)
        key = (ran.compilation, ran.stage, ran.subgraph)
        if key not in found and (because := pair.answers(question)) is not None:
            node, reason, listing = because
            place = _place(listing, node)
            digest = "" if place is None else listing.digest_of(place.path)
            found[key] = Found(ran, node, reason, place, digest)
    return Answer(tuple(found.values()), unread, is_known)


_Because = tuple[str, str, Listing]
_OF_ANY_GRAPH = (Asked.WITH, Asked.SHAPE, Asked.BROKEN)


class _Pair:
    """A graph before and behind a pass.

    The steps that make another graph are passes as well. A node is no node of the other
    graph, though it may have a name of one; a target, a shape and an order are there or
    are not.
    """

    def __init__(self, before: Listing, after: Listing, *, is_same: bool) -> None:
        self._before, self._after = before, after
        self._is_same = is_same
        self._had = {facts.name: facts for facts in before.nodes}
        self._has = {facts.name: facts for facts in after.nodes}

    def knows(self, question: Question) -> bool:
        """Whether what is asked about is in one of the graphs."""
        what = question.what
        match question.asked:
            case Asked.WITH | Asked.WITHOUT:
                return any(_calls(listing, what) for listing in self._both())
            case Asked.SHAPE:
                return any(_shaped(listing, what) for listing in self._both())
            case Asked.BROKEN:
                return True
            case _:
                return what in self._had or what in self._has

    def answers(self, question: Question) -> _Because | None:
        """By which node of which listing it is so, and why."""
        what = question.what
        if not self._is_same and question.asked not in _OF_ANY_GRAPH:
            return self._made(what) if question.asked is Asked.MADE else None
        match question.asked:
            case Asked.GONE if what in self._had and what not in self._has:
                return what, self._became(what), self._before
            case Asked.MADE if what in self._has and what not in self._had:
                return what, self._came(what), self._after
            case Asked.ALTERED if what in self._had and what in self._has:
                reason = self._altered(what)
                return None if reason is None else (what, reason, self._after)
            case Asked.MOVED if what in self._had and what in self._has:
                reason = self._moved(what)
                return None if reason is None else (what, reason, self._after)
            case Asked.WITH:
                return self._newly(lambda one: _calls(one, what), "calls it")
            case Asked.WITHOUT:
                gone = _calls(self._before, what) and not _calls(self._after, what)
                node = _calls(self._before, what)[:1]
                return (
                    (node[0], "was the first of them", self._before) if gone else None
                )
            case Asked.SHAPE:
                return self._newly(lambda one: _shaped(one, what), "has it")
            case Asked.BROKEN:
                if any(_broken(self._before)):
                    return None
                wrong = next(_broken(self._after), None)
                return None if wrong is None else (*wrong, self._after)
            case _:
                return None

    def _both(self) -> tuple[Listing, Listing]:
        return self._before, self._after

    def _newly(
        self, having: Callable[[Listing], list[str]], reason: str
    ) -> _Because | None:
        if having(self._before) or not (names := having(self._after)):
            return None
        return names[0], reason, self._after

    def _became(self, name: str) -> str:
        """What those use that used a node."""
        at = next(i for i, one in enumerate(self._before.nodes) if one.name == name)
        instead: dict[str, None] = {}
        for user in self._before.nodes[at].users:
            had = self._before.nodes[user]
            has = self._has.get(had.name)
            if has is not None:
                mine, theirs = _inputs(self._before, had), _inputs(self._after, has)
                if len(mine) == len(theirs):
                    both = zip(mine, theirs, strict=True)
                    instead |= {b: None for a, b in both if a == name and b != name}
        return f"is replaced by {' and '.join(instead)}" if instead else "is erased"

    def _made(self, name: str) -> _Because | None:
        """Why a node is in another graph, where that is known of the node itself."""
        facts = self._has.get(name)
        if facts is None or not facts.passes or name in self._had:
            return None
        return name, f"is made by {facts.passes[0]}", self._after

    def _came(self, name: str) -> str:
        made_from = self._has[name].made_from
        return f"is made from {', '.join(made_from)}" if made_from else "is made"

    def _altered(self, name: str) -> str | None:
        had, has = self._had[name], self._has[name]
        if (had.opcode, had.target) != (has.opcode, has.target):
            return f"calls {has.target} and not {had.target}"
        mine, theirs = _written(self._before, had), _written(self._after, has)
        return None if mine == theirs else f"has ({theirs}) and not ({mine})"

    def _moved(self, name: str) -> str | None:
        """Past which node it went, of those that both graphs have."""
        earlier = self._earlier(self._before, name)
        now = self._earlier(self._after, name)
        passed = [one for one in earlier if one not in now]
        if passed:
            return f"stands before {passed[0]}"
        passed = [one for one in now if one not in earlier]
        return f"stands behind {passed[-1]}" if passed else None

    def _earlier(self, listing: Listing, name: str) -> dict[str, None]:
        found: dict[str, None] = {}
        for facts in listing.nodes:
            if facts.name == name:
                break
            if facts.name in self._had and facts.name in self._has:
                found[facts.name] = None
        return found


def _calls(listing: Listing, target: str) -> list[str]:
    """The nodes with a target, which may be given by its end.

    An operator is meant by ``add.Tensor``, and with all its overloads by ``add``.
    """
    return [
        facts.name
        for facts in listing.nodes
        if facts.opcode.startswith("call_") and _is_called(facts.target, target)
    ]


def _is_called(target: str, wanted: str) -> bool:
    if target.startswith("torch.ops."):
        operator, _, _ = target.rpartition(".")
        if f".{operator}".endswith(f".{wanted}"):
            return True
    return f".{target}".endswith(f".{wanted}")


def _shaped(listing: Listing, shape: str) -> list[str]:
    wanted = shape.strip("()[] ").replace("x", ",").replace(" ", "").strip(",")
    return [
        facts.name for facts in listing.nodes if wanted in set(_shapes(facts.value))
    ]


def _shapes(value: Value | None) -> Iterator[str]:
    match value:
        case Tensor(shape=shape):
            yield ",".join(map(str, shape))
        case Items(items=items):
            for item in items:
                yield from _shapes(item)
        case _:
            pass


def _broken(listing: Listing) -> Iterator[tuple[str, str]]:
    """What lint finds: the node, and what is wrong with it."""
    for at, facts in enumerate(listing.nodes):
        for used in _indices(facts):
            if used >= at:
                yield facts.name, f"uses {listing.nodes[used].name} before that is made"


def _indices(facts: Facts) -> Iterator[int]:
    for pieces in (*facts.args, *(pieces for _, pieces in facts.kwargs)):
        yield from (piece for piece in pieces if isinstance(piece, int))


def _inputs(listing: Listing, facts: Facts) -> list[str]:
    return [listing.nodes[index].name for index in _indices(facts)]


def _written(listing: Listing, facts: Facts) -> str:
    """The arguments of a node as they stand in its call."""
    given = [_text(listing, pieces) for pieces in facts.args]
    given += [f"{key}={_text(listing, pieces)}" for key, pieces in facts.kwargs]
    return ", ".join(given)


def _text(listing: Listing, pieces: tuple[str | int, ...]) -> str:
    return "".join(
        piece if isinstance(piece, str) else listing.nodes[piece].name
        for piece in pieces
    )


def _place(listing: Listing, name: str) -> Place | None:
    for at, facts in enumerate(listing.nodes):
        if facts.name == name:
            origin = listing.origin(at)
            return None if origin is None else origin.places[0]
    return None
