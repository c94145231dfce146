"""What torch's texts of conditions say of sizes."""

from __future__ import annotations

import pytest

from fxls.record.size_conditions import Bounds, condition

X, Y, N = "L['x'].size()[0]", "L['y'].size()[1]", "L['n']"

WORDS = {
    f"Eq({X}, 5)": "x.size(0) == 5",
    f"Ne({X}//2, {Y})": "x.size(0) // 2 != y.size(1)",
    f"Eq(Mod({X}*{Y}, 2*{X}), 0)": "x.size(0) * y.size(1) % (2 * x.size(0)) == 0",
    f"FloorDiv({N}, 2) >= 3": "n // 2 >= 3",
    "L['x'].stride()[0] == 1": "x.stride(0) == 1",
    "L['flags']['a'][0].size()[0] > 2": "flags['a'][0].size(0) > 2",
    "L['self'].w.size()[0] < 4": "self.w.size(0) < 4",
    f"Max(1, {X}) < 7": "Max(1, x.size(0)) < 7",
    "u0 >= 2": "u0 >= 2",
}


@pytest.mark.parametrize("text", WORDS)
def test_a_condition_is_said_as_a_program_would_write_it(text: str) -> None:
    said = condition(text)
    assert said is not None
    assert said.text == WORDS[text]


BOUNDS = {
    f"2 <= {X}": {("x", 0): ("2", "")},
    f"{X} < 100": {("x", 0): ("", "99")},
    f"5 <= {X} and {X} <= 99": {("x", 0): ("5", "99")},
    f"5 <= {X} <= 99": {("x", 0): ("5", "99")},
    f"4 <= {N}": {("n", None): ("4", "")},
    f"-3 < {N}": {("n", None): ("-2", "")},
    "u0 >= 2": {("u0", None): ("2", "")},
    # What says something else besides bounds nothing by itself.
    f"{X} > {Y}": {},
    f"2 <= {X} and {X} != 7": {},
    f"Eq(Mod({X}, 2), 0)": {},
    f"Ne({X}, 5)": {},
}


@pytest.mark.parametrize("text", BOUNDS)
def test_the_bounds_of_a_size_are_those_that_python_finds(text: str) -> None:
    said = condition(text)
    assert said is not None
    assert {
        size: (bounds.low, bounds.high) for size, bounds in said.bounds.items()
    } == BOUNDS[text]


def test_of_two_bounds_the_narrower_one_holds() -> None:
    assert Bounds("2", "9").with_all(Bounds("5", "")) == Bounds("5", "9")
    assert Bounds("12", "99").with_all(Bounds("5", "100")) == Bounds("12", "99")
    assert Bounds().with_all(None) == Bounds()


def test_a_size_that_follows_from_others_is_equal_to_them() -> None:
    said = condition(f"{X} == 1 + {Y}")
    assert said is not None
    assert said.equal == (("x", 0), "1 + y.size(1)")
    assert said.sizes == {("x", 0), ("y", 1)}
    others = [f"{X} == 4", f"2*{X} == {Y}", f"{X} > {Y}"]
    assert [one and one.equal for one in map(condition, others)] == [None] * 3


@pytest.mark.parametrize("text", ["", "odd (", "x[", "\0", "(" * 3_000])
def test_what_is_no_python_says_nothing(text: str) -> None:
    assert condition(text) is None
