"""The table of torches and Pythons, and how a run changes it."""

from __future__ import annotations

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
