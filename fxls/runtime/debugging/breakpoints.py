"""Breakpoints hold to nodes: they are bound, and follow, whenever a listing appears."""

from __future__ import annotations

import bdb
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from fxls.listing import Listing
from fxls.runtime.debugging import conditions, pydevd
from fxls.runtime.debugging.compared import Compared
from fxls.runtime.debugging.frame_view import FrameView
from fxls.runtime.debugging.pydevd import Breakpoint, Debugger
from fxls.runtime.debugging.restoring import Restoring
from fxls.runtime.listings.source_lines import Line, nodes_of_lines
from fxls.said_once import SaidOnce
from fxls.store import Store, class_name_of

__all__ = ["Breakpoints", "counterpart"]

_PREFIX = "node:"
"""What the name of a function breakpoint begins with that means a node."""


class Breakpoints:
    """The breakpoints in the listings of one store.

    - `running` gives the paths that code of this process was compiled under.
    - `break_into` is told which of them have a breakpoint.
    """

    def __init__(
        self,
        store: Store,
        running: Callable[[], Iterable[Path]],
        break_into: Callable[[frozenset[Path]], None],
    ) -> None:
        self._store = store
        self._running = running
        self._break_into = break_into
        self._done: set[tuple[int, Path]] = set()
        """What was carried where already; the client may have removed it since."""
        self._refused: set[Breakpoint] = set()
        self._own: list[Breakpoint] = []
        """Those that the client asked for by a name, or by a line of the source."""
        self._captured: dict[Path, Mapping[Line, Sequence[int]] | None] = {}
        """The listings of what torch.compile captured, and the nodes of each line of the
        source, once somebody asked for them.
        """
        self._not_run: dict[str, str] = {}
        """By the path of a listing, why its nodes do not run, and what to do."""
        self._told = SaidOnce()
        """Those of them of which the console has been told."""
        self._broken_into: frozenset[Path] = frozenset()
        self._restoring = Restoring(store, _say)

    def attend(self) -> Debugger | None:
        """The debugger that is connected, made ready when it was not yet."""
        debugger = pydevd.connected()
        if debugger is not None and debugger.is_new:
            view = FrameView(
                self._store.read_if_whole,
                self._restoring.look,
                Compared(self._store).soon,
            )
            debugger.adapt(
                conditions.judge(self._store.owns, debugger.say, view),
                conditions.log(self._store.owns, view),
                self.changed,
                view,
            )
            for path in self._running():
                self._bind(debugger, path)
            self._tell_of_broken_into()
            self._refuse(debugger)
        return debugger

    def look(self, path: Path) -> None:
        """Say what happened to the file of a listing that runs, and write it again."""
        if pydevd.connected() is not None:
            self._restoring.look(path)

    def materialized(self, path: Path) -> None:
        """Bind what waits for this listing, and carry over what is on earlier ones."""
        debugger = self.attend()
        if debugger is None:
            return
        self._bind(debugger, path)
        if path not in self._broken_into and _is_among(path, _places()):
            self._broken_into |= {path}
            self._break_into(self._broken_into)

    def _bind(self, debugger: Debugger, path: Path) -> None:
        with pydevd.logging_unknown("breakpoints do not follow their nodes"):
            received = debugger.received()
            self._carry(debugger, received, path)
            if path in self._captured:
                self._put_of_source(debugger, received, path)
            named = _named(debugger)
            listing = self._store.read_if_whole(path) if named else None
            if listing is not None:
                self._put_named(debugger, named, path, listing)

    def is_broken_into(self, path: Path) -> bool:
        """Whether a breakpoint is in the listing of a graph that torch.compile captured,
        in debugpy or pdb; those on earlier ones, and on the source, are carried over.
        """
        self._captured[path] = None
        where = os.path.realpath(path)
        self._not_run.pop(where, None)
        self._told.forget(where)
        self.materialized(path)
        return _is_among(path, _places())

    def held(self) -> tuple[Path, ...]:
        """The listings of the store that have a breakpoint, which are to stay."""
        found = tuple(filter(self._store.owns, _places()))
        for path in found:
            self._store.look(path)
        return found

    def compiled_away(self, path: Path, why: str) -> None:
        """Take note that the nodes of a listing do not run, why, and what to do."""
        self._not_run[os.path.realpath(path)] = why
        debugger = pydevd.connected()
        if debugger is not None:
            self._refuse(debugger)

    @property
    def has_compiled_away(self) -> bool:
        """Whether there are listings whose nodes do not run."""
        return bool(self._not_run)

    def interpreted(self, path: Path, by: str) -> None:
        """Say, once, of a listing that has a breakpoint that its graph runs without it."""
        debugger = self.attend() if self._store.owns(path) else None
        if debugger is None:
            return
        with pydevd.logging_unknown("breakpoints in interpreted graphs stop nothing"):
            for one in debugger.received():
                if _is_same(Path(one.path), path) and self._told.is_first(path):
                    debugger.say(
                        f"line {one.line} of {path.name} stops nothing in this call:"
                        f" {by} runs the graph node by node, without this code; to stop"
                        " here, call the module itself"
                    )
                    return

    def take_out(self) -> None:
        """Let no breakpoint stop the program that the client did not hear of."""
        debugger = pydevd.connected()
        if debugger is not None:
            with pydevd.logging_unknown("breakpoints of fxls stay behind it"):
                self._take_out(debugger)

    def _take_out(self, debugger: Debugger) -> None:
        while self._own:
            debugger.remove(self._own.pop())

    def changed(self) -> None:
        """Do the same for all listings that run, since the client changed its mind."""
        debugger = pydevd.connected()
        if debugger is None:
            return
        with pydevd.logging_unknown(
            "breakpoints by the name of a node stay as they were"
        ):
            debugger.settle()
            self._take_out(debugger)
        self._refuse(debugger)
        for path in self._running():
            with pydevd.logging_unknown(
                "breakpoints of an edited listing stay as they were"
            ):
                self._restore(debugger, path)
            self._bind(debugger, path)
        self._tell_of_broken_into()

    def _tell_of_broken_into(self) -> None:
        places = _places()
        found = (path for path in self._running() if _is_among(path, places))
        self._broken_into = frozenset(found)
        self._break_into(self._broken_into)

    def _refuse(self, debugger: Debugger) -> None:
        """Say of breakpoints whose nodes do not run why they stop nothing."""
        with pydevd.logging_unknown("breakpoints in compiled graphs stop nothing"):
            for one in debugger.received() if self._not_run else ():
                where = os.path.realpath(one.path)
                why = self._not_run.get(where)
                if why is None or one in self._refused:
                    continue
                self._refused.add(one)
                debugger.refuse(one, why)
                if self._told.is_first(where):
                    place = f"line {one.line} of {Path(where).name}"
                    debugger.say(f"{place} stops nothing: {why}")
            for path in list(self._captured) if self._not_run else ():
                why = self._not_run.get(os.path.realpath(path))
                for one, _ in self._on_source(debugger.received(), path) if why else ():
                    self._tell_of_source(debugger, one, f"stops nothing: {why}")

    def _restore(self, debugger: Debugger, path: Path) -> None:
        """Move what was set in a text that was edited to the lines of the listing."""
        received = [b for b in debugger.received() if _is_same(Path(b.path), path)]
        restored = self._restoring.look(path) if received else None
        if restored is None or not restored.moved:
            return
        for breakpoint_ in received:
            line = restored.moved.get(breakpoint_.line)
            if line is None:
                debugger.refuse(
                    breakpoint_,
                    "the listing, which was edited by hand, has no such line",
                )
            else:  # also on the same line: pydevd took it for one of the edited text
                debugger.move(breakpoint_, line)

    def _carry(
        self,
        debugger: Debugger,
        received: Iterable[Breakpoint],
        path: Path,
    ) -> None:
        own = {one.id for one in self._own}
        for breakpoint_ in received:
            before = Path(breakpoint_.path)
            if os.path.realpath(before) in self._not_run:
                continue
            if _is_same(before, path):
                if not debugger.is_bound(breakpoint_) or breakpoint_ in self._refused:
                    self._refused.discard(breakpoint_)
                    debugger.bind(breakpoint_)
            elif (
                breakpoint_.id not in own
                and self._store.owns(before)
                and class_name_of(before) == class_name_of(path)
                and (breakpoint_.id, path) not in self._done
            ):
                self._done.add((breakpoint_.id, path))
                self._follow(debugger, breakpoint_, path)

    def _follow(self, debugger: Debugger, breakpoint_: Breakpoint, path: Path) -> None:
        """Put on a listing what stands on another one of the same identity."""
        before = Path(breakpoint_.path)
        old, new = self._store.read_if_whole(before), self._store.read_if_whole(path)
        if old is None or new is None or old.identity != new.identity:
            return
        line = breakpoint_.line - 1
        node = next((i for i, f in enumerate(old.nodes) if f.line == line), None)
        if node is None:
            return
        there = counterpart(old, node, new)
        if there is not None:
            line = new.nodes[there].line + 1
            if _is_free(debugger, path, line):
                debugger.announce(debugger.copy(breakpoint_, str(path), line))
        if not any(_is_same(before, running) for running in self._running()):
            name = old.nodes[node].name
            self._refused.add(breakpoint_)
            debugger.refuse(
                breakpoint_,
                f"the node {name} is not in the code that runs, {path.name}"
                if there is None
                else f"the code that runs is {path.name}, and stops there",
            )

    def _put_named(
        self,
        debugger: Debugger,
        named: Iterable[Breakpoint],
        path: Path,
        listing: Listing,
    ) -> None:
        for breakpoint_ in named:
            for line in _lines_named(listing, breakpoint_.path):
                if _is_free(debugger, path, line):
                    self._own.append(debugger.copy(breakpoint_, str(path), line))

    def _put_of_source(
        self, debugger: Debugger, received: Iterable[Breakpoint], path: Path
    ) -> None:
        """Put on the nodes of a captured graph what stands on a line that they stand for."""
        for breakpoint_, nodes in self._on_source(received, path):
            listing = self._store.read_if_whole(path)
            if listing is None:
                return
            lines = [listing.nodes[node].line + 1 for node in nodes]
            for line in lines:
                if _is_free(debugger, path, line):
                    self._own.append(debugger.copy(breakpoint_, str(path), line))
            where = f"line {lines[0]} of {path.name}"
            if lines[1:]:
                where += f", and at {len(lines) - 1} more"
            if breakpoint_.says_more:
                where += "; its condition and message read the names of nodes"
            self._tell_of_source(
                debugger,
                breakpoint_,
                f"torch.compile runs it as nodes: stops at {where}",
            )

    def _on_source(
        self, received: Iterable[Breakpoint], path: Path
    ) -> Iterator[tuple[Breakpoint, Sequence[int]]]:
        """The breakpoints on lines of the source that nodes of a listing stand for."""
        for one in received:
            if self._store.owns(Path(one.path)):
                continue
            nodes = self._nodes_of_lines(path).get(
                (os.path.realpath(one.path), one.line)
            )
            if nodes:
                yield one, nodes

    def _nodes_of_lines(self, path: Path) -> Mapping[Line, Sequence[int]]:
        known = self._captured[path]
        if known is not None:
            return known
        listing = self._store.read_if_whole(path)
        found: Mapping[Line, Sequence[int]] = {}
        if listing is not None:
            found = nodes_of_lines(listing)
        self._captured[path] = found
        return found

    def _tell_of_source(
        self, debugger: Debugger, breakpoint_: Breakpoint, what: str
    ) -> None:
        where = f"line {breakpoint_.line} of {Path(breakpoint_.path).name}"
        if self._told.is_first(where, what):
            debugger.say(f"{where}: {what}")


def counterpart(old: Listing, node: int, new: Listing) -> int | None:
    """The node of another revision that is what `node` was; None when it is gone.

    It has the same name; or, when a pass renamed it, the same place among the calls of
    one target, if there are as many of them as before.
    """
    facts = old.nodes[node]
    for i, other in enumerate(new.nodes):
        if other.name == facts.name:
            return i
    before, after = _alike(old, node, old), _alike(old, node, new)
    return after[before.index(node)] if len(before) == len(after) else None


def _alike(old: Listing, node: int, listing: Listing) -> list[int]:
    wanted = (old.nodes[node].opcode, old.nodes[node].target)
    return [i for i, f in enumerate(listing.nodes) if (f.opcode, f.target) == wanted]


def _is_free(debugger: Debugger, path: Path, line: int) -> bool:
    return not any(
        one.line == line and _is_same(Path(one.path), path)
        for one in debugger.received()
    )


def _say(message: str) -> None:
    debugger = pydevd.connected()
    if debugger is not None:
        with pydevd.logging_unknown(
            "the session does not say what happened to its files"
        ):
            debugger.say(message)


def _named(debugger: Debugger) -> list[Breakpoint]:
    return [one for one in debugger.named() if one.path.startswith(_PREFIX)]


def _lines_named(listing: Listing, name: str) -> Iterator[int]:
    """The lines, from one, of ``node:relu`` or ``node:Net.relu``."""
    class_name, _, node = name.removeprefix(_PREFIX).strip().rpartition(".")
    if class_name in ("", listing.identity.class_name):
        yield from (f.line + 1 for f in listing.nodes if f.name == node)


def _places() -> list[Path]:
    """The files that have a breakpoint, in debugpy or pdb."""
    places = [str(where) for where, _ in bdb.Breakpoint.bplist]
    debugger = pydevd.connected()
    if debugger is not None:
        with pydevd.logging_unknown("breakpoints in compiled graphs stop nothing"):
            places += [one.path for one in debugger.received()]
    return list(map(Path, dict.fromkeys(places)))


def _is_among(path: Path, places: Iterable[Path]) -> bool:
    return any(_is_same(place, path) for place in places)


def _is_same(one: Path, other: Path) -> bool:
    # Most are not: the disk is asked for those alone that may be.
    return one.name == other.name and os.path.realpath(one) == os.path.realpath(other)
