"""The table of torches and Pythons, and how a run changes it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tools.compatibility import PAGE, Row, said, written

OLD = Row(
    "2.11.0", "3.11", "1.8.0", "tests/engine", 10, 2, ("torch has no x: no parts",)
)
NEW = Row("2.15.0", "3.13", "1.8.0", "", 12, 0, ())


def test_rows_are_in_order_and_a_run_takes_the_place_of_an_earlier_one() -> None:
    page = written(written("", NEW), OLD)
    again = written(page, Row("2.11.0", "3.11", "1.8.0", "tests/engine", 12, 0, ()))
    assert page.splitlines()[-4:] == [
        "| torch | Python | debugpy | tests | passed | failed | what is off |",
        "|---|---|---|---|---|---|---|",
        "| 2.11.0 | 3.11 | 1.8.0 | `tests/engine` | 10 | 2 | torch has no x: no parts |",
        "| 2.15.0 | 3.13 | 1.8.0 | all | 12 | 0 | nothing |",
    ]
    assert again.splitlines()[-2:] == [
        "| 2.11.0 | 3.11 | 1.8.0 | `tests/engine` | 12 | 0 | nothing |",
        "| 2.15.0 | 3.13 | 1.8.0 | all | 12 | 0 | nothing |",
    ]


def test_a_row_says_which_tests_ran_and_not_how() -> None:
    assert said(["-n", "2", "-p", "no:cacheprovider", "-m", "not slow", "tests"]) == (
        "-m 'not slow' tests"
    )
    assert said(["-n", "auto", "--maxprocesses", "4", "--dist", "worksteal"]) == ""


def test_the_page_is_one_that_the_tool_writes() -> None:
    page = PAGE.read_text("utf-8")
    row = Row("2.99.0", "3.11", "1.8.0", "", 1, 0, ())
    assert written(page, row).replace(row.line() + "\n", "") == page


def collected(*options: str) -> list[str]:
    """The tests of this file that pytest would run, or what is wrong with the options."""
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", *options]
    ran = subprocess.run(
        [*command, "-p", "no:cacheprovider", "tests/tools/test_compatibility.py"],
        cwd=PAGE.parents[1],
        capture_output=True,
        text=True,
    )
    lines = (ran.stdout + ran.stderr).split("\n")
    return [line for line in lines if "::" in line or "error: " in line]


@pytest.mark.slow
def test_a_sample_is_each_nth_test_and_the_samples_are_all_of_them() -> None:
    whole = collected()
    assert len(whole) > 3
    parts = [collected("--every", f"{at}/3") for at in range(3)]
    assert parts == [whole[0::3], whole[1::3], whole[2::3]]


@pytest.mark.slow
def test_a_sample_that_is_none_is_refused() -> None:
    (said,) = collected("--every", "3/3")
    assert said.endswith("argument --every: K/N with K below N, as 0/9, not 3/3")
