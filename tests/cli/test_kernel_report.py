"""The kernels of a run as people read them: how long each took, of all that was measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from fxls.cli.report import Sources
from fxls.cli.reports.kernel_report import kernels_as_json, kernels_text
from fxls.listing import Facts, Frame, Identity, Listing, Source
from fxls.record import Event, Made, RevisionName, Spent

CODE = RevisionName(Identity("net", "Net", stage="graph 0, kernels"), "Net_1.py")


def listing(calls: int) -> Listing:
    """Code with one kernel in each line, each from a line of its own of the source."""
    return Listing(
        CODE.identity,
        "text\n",
        0,
        (),
        tuple(
            Facts(f"k:{at}", "call_kernel", "k", at, origin=at, made_from=(f"n{at}",))
            for at in range(calls)
        ),
        sources=(Source("/project/net.py", "digest"),),
        frames=tuple(Frame(0, "forward", at, 0, at, 1) for at in range(calls)),
    )


def text(events: list[Event], calls: int = 2) -> list[str]:
    return kernels_text(events, lambda _: listing(calls), Sources(Path("/project")))


def test_code_that_was_loaded_twice_has_the_time_of_both() -> None:
    events: list[Event] = [
        Made(CODE),
        Spent(CODE, 10, 0.070, ((0, 0.050), (1, 0.020))),
        Spent(CODE, 10, 0.030, ((1, 0.020), (5, 0.010))),
    ]

    assert text(events) == [
        "",
        "Net graph 0, kernels  Net_1.py",
        "  5.000 ms each in 20 calls",
        "   50% 2.500 ms k:0, line 1: n0, from net.py:1",
        "   40% 2.000 ms k:1, line 2: n1, from net.py:2",
        "   10% all that is no kernel",
        "",
        "time in kernels, by the lines of the program",
        "   56% net.py:1",
        "   44% net.py:2",
    ]
    found = kernels_as_json(events, lambda _: listing(2))["kernels"]
    measured = [(one["calls"], one["seconds"], one["of_seconds"]) for one in found]
    assert measured == [(20, 0.05, 0.1), (20, 0.04, 0.1)]


def test_code_that_ran_with_nobody_looking_as_well_says_how_long_that_took() -> None:
    lines = ((0, 0.015), (1, 0.005))
    close = Spent(CODE, 10, 0.020, lines, 5, 0.009)
    short = Spent(CODE, 10, 0.020, lines, 10, 0.010)

    assert text([Made(CODE), close])[2:4] == [
        "  2.000 ms each in 10 calls, 1.800 ms when nobody looks at its lines",
        "   75% 1.500 ms k:0, line 1: n0, from net.py:1",
    ]
    assert text([Made(CODE), short])[2:4] == [
        "  2.000 ms each in 10 calls, 1.000 ms when nobody looks at its lines",
        "  looking added 100%: shares need longer kernels, or more calls",
    ]
    found = kernels_as_json([Made(CODE), close, short], lambda _: listing(1))["kernels"]
    measured = [(one["whole_calls"], one["whole_seconds"]) for one in found]
    assert measured == [(15, pytest.approx(0.019))]


def test_code_that_ran_once_says_that_it_has_no_times() -> None:
    events: list[Event] = [Made(CODE), Spent(CODE, 0, 0.0, ())]

    assert text(events)[1:] == [
        "Net graph 0, kernels  Net_1.py",
        "  no times: the lines of its kernels did not run again after the first call",
        "  k:0, line 1: n0, from net.py:1",
        "  k:1, line 2: n1, from net.py:2",
    ]
    found = kernels_as_json(events, lambda _: listing(1))["kernels"]
    assert "seconds" not in found[0]


def test_lines_that_are_too_many_are_counted_and_have_their_time_together() -> None:
    spent = Spent(CODE, 1, 0.026, tuple((line, 0.001) for line in range(26)))

    said = text([Made(CODE), spent], calls=26)

    assert said[3 + 24] == "  and 2 more calls"
    assert said[-2:] == ["    4% net.py:24", "    8% 2 more places"]


def test_the_lines_of_one_file_stand_behind_its_path() -> None:
    rows = [(0, 6), (0, 4), (1, 9), (0, 6), (0, 5), (0, 7), (1, 2)]
    fused = Listing(
        CODE.identity,
        "text\n",
        0,
        (),
        (Facts("k:0", "call_kernel", "k", 0, origin=0, more_origins=(*range(1, 7),)),),
        sources=(Source("/project/net.py", "one"), Source("/lib/norm.py", "two")),
        frames=tuple(
            Frame(source, "forward", at, 0, at, at + 1) for source, at in rows
        ),
    )
    spent = Spent(CODE, 1, 0.001, ((0, 0.001),))

    said = kernels_text([Made(CODE), spent], lambda _: fused, Sources(Path("/project")))

    assert said[3] == (
        "  100% 1.000 ms k:0, line 1, from /lib/norm.py:10; net.py:5, 6, 7 and 2 more lines"
    )
    assert said[-1] == "  100% /lib/norm.py:3, 10; net.py:5, 6, 7, 8"


def test_code_that_was_not_measured_has_its_kernels_and_no_time() -> None:
    assert text([Made(CODE), Made(CODE, "0/0"), Made(CODE, "0/0 (2)")])[1] == (
        "0/0, 0/0 (2)  Net graph 0, kernels  Net_1.py"
    )
    assert text([Made(CODE)]) == [
        "",
        "Net graph 0, kernels  Net_1.py",
        "  k:0, line 1: n0, from net.py:1",
        "  k:1, line 2: n1, from net.py:2",
    ]


def test_code_that_a_run_before_made_is_there_when_it_was_measured() -> None:
    events: list[Event] = [Spent(CODE, 4, 0.02, ((0, 0.015),))]

    assert text(events, calls=1) == [
        "",
        "Net graph 0, kernels  Net_1.py",
        "  5.000 ms each in 4 calls",
        "   75% 3.750 ms k:0, line 1: n0, from net.py:1",
        "   25% all that is no kernel",
        "",
        "time in kernels, by the lines of the program",
        "  100% net.py:1",
    ]
    (found,) = kernels_as_json(events, lambda _: listing(1))["kernels"]
    assert (found["calls"], found["seconds"], found["of_seconds"]) == (4, 0.015, 0.02)


def test_code_that_was_made_is_there_once_with_the_facts_it_has_last() -> None:
    last = RevisionName(CODE.identity, CODE.text, "2")
    events: list[Event] = [Made(CODE), Made(last), Spent(CODE, 1, 0.5, ())]

    found = kernels_as_json(events, {last: listing(1)}.get)["kernels"]

    assert [one["calls"] for one in found] == [1]
