"""What takes long is made in a thread, and what needs it is begun again."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from fxls.serving.asides import Asides
from fxls.serving.made_first import (
    Attempts,
    MadeFirst,
    NotYetMade,
    begun_for_good,
    can_begin_again,
    made_first,
    note_reading,
    read_first,
)

MIB = 1 << 20


async def answered(
    answer: Callable[[], object], first: MadeFirst | None = None
) -> list[object]:
    """What an answer gives, behind what it had to wait for, each time it was begun."""
    attempts, waited = Attempts(), list[object]()
    first = first or MadeFirst(Asides())
    while True:
        try:
            with attempts.run():
                return [*waited, answer()]
        except NotYetMade as wanted:
            waited.append(wanted.key)
            making = first.make(wanted, attempts)
        await making


def in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def test_it_is_made_in_a_thread_once_and_then_used() -> None:
    made: list[bool] = []

    def make() -> int:
        made.append(in_main_thread())
        assert not can_begin_again()
        return made_first("inside", lambda: 7)

    def answer() -> int:
        return made_first("one", make) + made_first("one", make)

    assert asyncio.run(answered(answer)) == ["one", 14]
    assert made == [False]


def test_where_no_answer_can_be_begun_again_it_is_made_at_once() -> None:
    assert not can_begin_again()
    assert made_first("one", in_main_thread)
    assert read_first("two", in_main_thread)


def test_what_cannot_be_made_is_said_where_it_is_asked_for() -> None:
    def answer() -> str:
        try:
            return str(made_first("one", lambda: 1 // 0))
        except ZeroDivisionError as error:
            return str(error)

    assert asyncio.run(answered(answer)) == [
        "one",
        "integer division or modulo by zero",
    ]


@pytest.mark.parametrize(
    ("sizes", "waits"),
    [
        pytest.param([], False, id="nothing is read"),
        pytest.param([900_000], False, id="a short listing"),
        pytest.param([2 * MIB], True, id="a long listing"),
        pytest.param([100] * 20, False, id="some listings"),
        pytest.param([100] * 1_000, True, id="many listings"),
    ],
)
def test_much_is_read_in_a_thread(sizes: list[int], waits: bool) -> None:
    def read() -> bool:
        for size in sizes:
            note_reading(size)
        return in_main_thread()

    def answer() -> bool:
        # Each is as short as it is.
        return read_first("one", read) and read_first("one", read)

    expected = ["one", False] if waits else [True]
    assert asyncio.run(answered(answer)) == expected


def test_what_two_wait_for_is_made_once() -> None:
    begun, may_end, kept = threading.Event(), threading.Event(), list[int]()

    def make() -> int:
        begun.set()
        assert may_end.wait(60)
        kept.append(3)
        return 3

    def answer() -> int:
        return kept[0] if kept else made_first("one", make)

    async def both() -> list[list[object]]:
        first = MadeFirst(Asides())
        one = asyncio.create_task(answered(answer, first))
        assert await asyncio.to_thread(begun.wait, 60)
        two = asyncio.create_task(answered(answer, first))
        await asyncio.sleep(0)
        may_end.set()
        return [await one, await two]

    assert asyncio.run(both()) == [["one", 3], ["one", 3]]
    assert kept == [3]


def test_what_an_earlier_one_waited_for_may_be_too_old() -> None:
    begun, may_end, disk = threading.Event(), threading.Event(), ["old"]

    def read() -> str:
        found = disk[0]
        begun.set()
        assert may_end.wait(60)
        return found

    async def both() -> list[list[object]]:
        first = MadeFirst(Asides())
        one = asyncio.create_task(answered(lambda: made_first("disk", read), first))
        assert await asyncio.to_thread(begun.wait, 60)
        disk[0] = "new"
        two = asyncio.create_task(answered(lambda: made_first("disk", read), first))
        await asyncio.sleep(0)
        may_end.set()
        return [await one, await two]

    assert asyncio.run(both()) == [["disk", "old"], ["disk", "disk", "new"]]


def test_what_an_answer_starts_or_does_for_good_is_not_begun_again() -> None:
    async def later() -> bool:
        return made_first("one", in_main_thread)

    started: list[asyncio.Task[bool]] = []

    def answer() -> bool:
        started.append(asyncio.ensure_future(later()))
        begun_for_good()
        return made_first("two", in_main_thread)

    async def all_of_it() -> list[object]:
        return [*await answered(answer), await started[0]]

    assert asyncio.run(all_of_it()) == [True, True]


def test_an_answer_that_always_needs_something_else_is_given_in_the_end() -> None:
    def answer() -> bool:
        return made_first(object(), in_main_thread)

    *waited, is_made_here = asyncio.run(answered(answer))
    assert len(waited) == 19
    assert is_made_here
