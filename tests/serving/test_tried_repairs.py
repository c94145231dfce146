"""A repair is judged by its own problem, wherever it is behind the change."""

from __future__ import annotations

import pytest

from fxls.entry import Entry, Kind
from fxls.ide.edits.fix import Edit, Fix, applied
from fxls.listing import Place, source_digest
from fxls.serving.tried_repairs import Trial, TriedRepairs, comes_to
from fxls.text import LineTable, Span
from fxls.wire import Problem, Tried

PATH = "/a folder/model.py"
TEXT = """\
def step(x):
    n = x.sum().item()
    print(x, n)
    if n > 3:
        x = x + 1
    return x
"""
GONE = "tried: the problem is gone, and all is as in eager"


def at(text: str, expression: str) -> Span:
    lines, start = LineTable(text), text.index(expression)
    return Span(lines.point(start), lines.point(start + len(expression)))


def problem(
    text: str,
    expression: str,
    id_: str = "GB1",
    path: str = PATH,
    subject: str = "break",
) -> Problem:
    place = Place(path, "step", at(text, expression))
    return Problem(subject, id_, place, expression)


def change(*pairs: tuple[str, str]) -> Fix:
    """A fix that puts a text in the place of each of these; of none in front of it."""
    edits = (Edit(at(TEXT, before), after) for before, after in pairs)
    return Fix("", PATH, tuple(edits))


ITEM = "x.sum().item()"
DETACHED = change((".item()", ".detach()"))
BELOW = change(("def step", "import torch\n\n\ndef step"))
BEFORE = (problem(TEXT, ITEM), problem(TEXT, "print(x, n)"))


@pytest.mark.parametrize(
    ("fix", "left", "said"),
    [
        # As many as before would be two, and the one that is left is the other one.
        (DETACHED, [("print(x, n)", "GB1")], GONE),
        (BELOW, [("print(x, n)", "GB1")], GONE),
        (DETACHED, [], GONE),
        (BELOW, [(ITEM, "GB1")], "tried: the problem is still there"),
        # Fewer than before, and this one is none of those that are gone.
        (BELOW, [(ITEM, "GB2")], "tried: the problem is still there"),
        (DETACHED, [("x.sum().detach()", "GB2")], "tried: the problem is still there"),
        (
            DETACHED,
            [("n > 3", "GB3")],
            "tried: the problem is gone, and there is another one at n > 3",
        ),
        (
            DETACHED,
            [("print(x, n)", "GB7")],
            "tried: the problem is gone, and there is another one at print(x, n)",
        ),
    ],
)
def test_a_repair_holds_when_its_problem_is_gone_and_no_other_one_came(
    fix: Fix, left: list[tuple[str, str]], said: str
) -> None:
    after = applied(fix, TEXT)
    outcome = Tried(1, tuple(problem(after, *one) for one in left))
    trial = Trial(fix, TEXT, at(TEXT, ITEM), Tried(1, BEFORE), outcome)
    assert trial.said == said
    assert trial.holds == (said == GONE)


def test_what_is_otherwise_than_in_eager_is_said_before_other_problems() -> None:
    left = (problem(TEXT, "n > 3"),)
    span, before = at(TEXT, ITEM), Tried(1, BEFORE)
    differing = Trial(
        DETACHED, TEXT, span, before, Tried(1, left, ("outputs", "prints"))
    )
    raising = Trial(DETACHED, TEXT, span, before, Tried(1, (), (), "ValueError: x"))
    assert (differing.holds, differing.said) == (
        False,
        "tried: other outputs and prints than in eager",
    )
    assert (raising.holds, raising.said) == (False, "tried: ValueError: x")
    silent = Trial(DETACHED, TEXT, span, before, Tried(1, BEFORE[1:], ("prints",)))
    assert (silent.holds, silent.said) == (
        False,
        "tried: the problem is gone, with other prints than in eager",
    )


def test_what_a_repair_raises_is_said_with_its_place_where_that_is_known() -> None:
    span, before = at(TEXT, ITEM), Tried(1, BEFORE)
    after = applied(BELOW, TEXT)
    for expression in (ITEM, "n > 3"):
        error = problem(after, expression, "", subject="error")
        outcome = Tried(1, (*BEFORE[1:], error), (), "TypeError: no")
        trial = Trial(BELOW, TEXT, span, before, outcome)
        assert (trial.holds, trial.said) == (
            False,
            f"tried: TypeError: no, at {expression}",
        )
    # A break that came first is not what was raised.
    outcome = Tried(1, (problem(after, "n > 3", "GB3"),), (), "TypeError: no")
    trial = Trial(BELOW, TEXT, span, before, outcome)
    assert trial.said == "tried: TypeError: no"


def test_what_an_export_cannot_know_is_judged_as_a_problem() -> None:
    """It is raised also where the repair does what it is to do."""
    span = at(TEXT, ITEM)
    before = Tried(1, (problem(TEXT, ITEM, "", subject="error"),), (), "Guard: u0")
    after = applied(BELOW, TEXT)
    for expression, said in (
        (ITEM, "tried: the problem is still there"),
        ("n > 3", "tried: the problem is gone, and there is another one at n > 3"),
    ):
        left = (problem(after, expression, "", subject="error"),)
        trial = Trial(BELOW, TEXT, span, before, Tried(1, left, (), "Guard: u0"))
        assert trial.said == said


def test_problems_of_other_files_stay_where_they_are() -> None:
    other = problem(TEXT, ITEM, path="/a folder/other.py")
    before = Tried(1, (*BEFORE, other))
    trial = Trial(BELOW, TEXT, at(TEXT, ITEM), before, Tried(1, (other,)))
    assert trial.said == GONE
    assert comes_to(before, PATH, at(TEXT, ITEM))
    assert not comes_to(before, "/a folder/third.py", at(TEXT, ITEM))


def test_a_trial_is_known_for_the_problems_that_its_entry_comes_to() -> None:
    known = TriedRepairs(source_digest_of)
    entry = Entry(PATH, "step(x)", Kind.COMMENT)
    span = at(TEXT, ITEM)
    trial = Trial(DETACHED, TEXT, span, Tried(1, BEFORE), Tried(1))
    known.note(entry, trial)
    assert known.of(DETACHED, TEXT, span) == trial
    of_print = known.of(DETACHED, TEXT, at(TEXT, "print(x, n)"))
    assert of_print is not None
    assert of_print.said == GONE
    assert known.of(DETACHED, TEXT, at(TEXT, "n > 3")) is None
    assert known.of(BELOW, TEXT, span) is None
    assert known.of(DETACHED, TEXT + "\n", span) is None


def source_digest_of(path: str) -> str:
    return source_digest(path.encode())
