"""Two counts of a program, compared: what is worse, and what is better."""

from __future__ import annotations

import pytest

from fxls.record.baseline import Change, Comparison, Program, compared


@pytest.mark.parametrize(
    ("before", "now", "worse", "better"),
    [
        ({"f": {"graphs": 1}}, {"f": {"graphs": 1}}, [], []),
        ({"f": {"graphs": 1}}, {"f": {"graphs": 3}}, [("f", "graphs", 1, 3)], []),
        # A function that nobody compiled before has its first graph.
        ({}, {"f": {"graphs": 1}}, [], []),
        ({}, {"f": {"graphs": 2}}, [("f", "graphs", 1, 2)], []),
        (
            {"f": {"not compiled: f": 1}},
            {"f": {"graphs": 1}},
            [],
            [("f", "not compiled: f", 1, 0)],
        ),
        (
            {"f": {"graphs": 1}, "g": {"graphs": 1}},
            {"f": {"limit reached": 1}, "g": {"graphs": 1}},
            [("f", "graphs", 1, 0), ("f", "limit reached", 0, 1)],
            [],
        ),
        # A function that became a part of another one's graph.
        (
            {"f": {"graphs": 2, "break: g()": 1}, "g": {"graphs": 1, "break: h": 2}},
            {"f": {"graphs": 1}},
            [],
            [("f", "break: g()", 1, 0), ("f", "graphs", 2, 1), ("g", "break: h", 2, 0)],
        ),
        ({"f": {"graphs": 2}}, {}, [("", "graphs", 2, 0)], []),
        # Kernels are compared where both have some: another backend has none.
        (
            {"f": {"graphs": 1, "kernels": 2}},
            {"f": {"graphs": 1, "kernels": 3}},
            [("f", "kernels", 2, 3)],
            [],
        ),
        ({"f": {"graphs": 1, "kernels": 2}}, {"f": {"graphs": 1}}, [], []),
        ({"f": {"graphs": 1}}, {"f": {"graphs": 1, "kernels": 2}}, [], []),
        ({}, {"f": {"graphs": 1, "kernels": 2, "dynamic: size 0 of x": 1}}, [], []),
        # A size that became static is compiled again with each other one.
        (
            {"f": {"graphs": 1, "dynamic: n": 1, "dynamic: size 0 of x": 1}},
            {"f": {"graphs": 1, "dynamic: size 1 of x": 1}},
            [("f", "dynamic: n", 1, 0), ("f", "dynamic: size 0 of x", 1, 0)],
            [("f", "dynamic: size 1 of x", 0, 1)],
        ),
        (
            {"f": {"graphs": 1}, "g": {"graphs": 1, "kernels": 2, "dynamic: x": 1}},
            {"f": {"graphs": 1}},
            [],
            [],
        ),
    ],
)
def test_more_is_worse_but_for_a_first_graph_and_a_function_that_is_gone(
    before: dict[str, dict[str, int]],
    now: dict[str, dict[str, int]],
    worse: list[tuple[str, str, int, int]],
    better: list[tuple[str, str, int, int]],
) -> None:
    assert compared(Program(before, {}), Program(now, {})) == Comparison(
        tuple(Change(*one) for one in worse), tuple(Change(*one) for one in better)
    )


def test_matches_are_compared_where_both_know_them() -> None:
    had = Program({}, {"pad": 2, "mm": 1})
    assert compared(had, Program({}, {"pad": 1, "mm": 3})) == Comparison(
        (Change("", "matches: pad", 2, 1),), (Change("", "matches: mm", 1, 3),)
    )
    assert compared(had, Program({})) == Comparison((), ())
    assert compared(Program({}), had) == Comparison((), ())


def test_kernels_are_not_compared_where_a_cache_had_the_code() -> None:
    had = Program({"f": {"graphs": 1, "kernels": 2}}, {})
    now = {"f": {"graphs": 1, "kernels": 3}}

    assert compared(had, Program(now)) == Comparison((), ())
    assert compared(had, Program(now, {})).worse == (Change("f", "kernels", 2, 3),)


def test_a_baseline_with_torchs_names_of_values_on_the_stack_says_the_same() -> None:
    had = {"recompiled: ___stack0: rank": 1, "recompiled: ___stack2": 1}
    has = {
        "recompiled: a value from before the graph break: rank": 1,
        "recompiled: a value from before the graph break": 1,
    }
    assert compared(Program({"f": had}), Program({"f": has})) == Comparison((), ())
