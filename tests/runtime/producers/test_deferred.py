"""Work for later is done once for each compilation that asked for it."""

from __future__ import annotations

import threading
from collections.abc import Callable

from fxls.runtime.producers.deferred import DeferredWork

Done = list[tuple[str | None, str]]


class Asking:
    """Asks for work in one compilation after the other; none is done before the last."""

    def __init__(self) -> None:
        self.done: Done = []
        self._here: str | None = None
        self._whose: str | None = None
        self._all_asked = threading.Event()
        self._later = DeferredWork(lambda: self._here, self._carried)
        self._later.add("first", self._wait)

    def ask(self, compilation: str | None, key: str, what: str) -> None:
        self._here = compilation
        self._later.add(key, lambda: self.done.append((self._whose, what)))

    def finish(self) -> Done:
        self._all_asked.set()
        self._later.finish()
        return self.done

    def _wait(self) -> None:
        assert self._all_asked.wait(60)

    def _carried(self, of: str, work: Callable[[], None]) -> Callable[[], None]:
        def carrying() -> None:
            self._whose = of
            work()
            self._whose = None

        return carrying


def test_of_two_pieces_with_one_key_the_last_is_done() -> None:
    asking = Asking()
    asking.ask(None, "a", "first")
    asking.ask(None, "b", "other")
    asking.ask(None, "a", "last")

    assert asking.finish() == [(None, "other"), (None, "last")]


def test_two_compilations_have_a_piece_each() -> None:
    asking = Asking()
    asking.ask("0/0", "a", "two")
    asking.ask("0/1", "a", "four")
    asking.ask("0/0", "a", "six")

    assert asking.finish() == [("0/1", "four"), ("0/0", "six")]


def test_what_is_asked_outside_takes_the_place_of_what_a_compilation_asked() -> None:
    asking = Asking()
    asking.ask("0/0", "a", "compiled")
    asking.ask(None, "a", "run")

    assert asking.finish() == [("0/0", "run")]
