"""The rules of `break_on` are filters of exceptions in any editor, with a real debugpy."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fxls.rules import Rule
from tests.debug.project import Project
from tests.debug.started import started
from tests.support.dap import Session

pytestmark = pytest.mark.slow

SAYS = """\
    import os
    print(os.environ.get("FXLS_BREAK_ON"), os.environ.get("FXLS_ON_BREAK"))
    """

TWICE = """\
    import torch
    from torch import fx

    class Bad(torch.nn.Module):
        def forward(self, x):
            y = x - 2
            return torch.log(y) + 1

    gm = fx.symbolic_trace(Bad())
    first = gm(torch.ones(2))
    second = gm(torch.ones(2))
    print("ran")
    """
"""It does not name fxls, and makes NaN at once."""

LISTENING = """\
    import debugpy, fxls, sys, torch
    fxls.install()
    print("port", debugpy.listen(("127.0.0.1", 0))[1], file=sys.stderr, flush=True)
    debugpy.wait_for_client()
    """
"""The beginning of a program that waits for a debugger, with the runtime started."""


def test_they_stand_behind_those_of_debugpy(project: Project) -> None:
    answers: list[dict[str, Any]] = []
    for adapter in ("debugpy.adapter", "fxls.adapter"):
        with Session.spawn(cwd=project.folder, adapter=adapter) as session:
            answers.append(session.request("initialize", {"adapterID": "x"}))
    theirs, ours = (a.pop("exceptionBreakpointFilters") for a in answers)
    assert answers[0] == answers[1]
    added = ours[len(theirs) :]
    assert ours[: len(theirs)] == theirs
    assert [(one["filter"], one["label"], one["default"]) for one in added] == [
        ("fxls.nan", "NaN in generated code", False),
        ("fxls.inf", "Inf in generated code", False),
        ("fxls.grad-nan", "NaN in gradients", False),
        ("fxls.shape", "Other shape than recorded", False),
        ("fxls.dtype-change", "Other dtype than recorded", False),
    ]
    assert {one["filter"] for one in added} == {f"fxls.{rule.value}" for rule in Rule}
    assert added[0]["description"] == (
        "A value holds NaN, and no value that went into it does."
    )


@pytest.mark.parametrize(
    ("settings", "filters", "printed"),
    [
        ({}, [], "None None"),
        ({}, ["uncaught"], "None None"),
        ({}, ["fxls.inf", "uncaught", "fxls.nan"], "nan,inf report"),
        ({"breakOn": ["shape", "nan"]}, [], "shape,nan report"),
        (
            {"breakOn": ["shape", "nan"]},
            ["fxls.inf", "fxls.nan"],
            "shape,nan,inf report",
        ),
        ({"onBreak": "raise"}, ["fxls.nan"], "nan raise"),
        ({"env": {"FXLS_BREAK_ON": "shape"}}, ["fxls.nan"], "shape,nan report"),
    ],
)
def test_a_program_begins_with_the_rules_that_are_chosen(
    project: Project, settings: dict[str, Any], filters: list[str], printed: str
) -> None:
    project.write({"says.py": SAYS})
    with adapted(project) as session:
        program = project.folder / "says.py"
        session.launch(program, exceptions=filters, settings=settings)
        assert session.wait_ended() == 0
        assert session.output("stdout").strip() == printed


def test_a_rule_that_is_chosen_stops_a_program_that_knows_nothing_of_fxls(
    project: Project,
) -> None:
    with twice(project, ["fxls.nan"]) as session:
        assert stopped(session) == "log = torch.log(sub)"
        session.resume()
        assert session.wait_ended() == 0


def test_one_that_is_chosen_while_the_program_is_stopped_holds_at_once(
    project: Project,
) -> None:
    with twice(project, [], stop_at="second = gm(torch.ones(2))") as session:
        assert stopped(session) == "second = gm(torch.ones(2))"
        choose(session, "fxls.nan")
        session.resume()
        assert stopped(session) == "log = torch.log(sub)"


def test_one_that_is_taken_back_stops_no_more(project: Project) -> None:
    begin = "first = gm(torch.ones(2))"
    with twice(project, ["fxls.nan"], stop_at=begin) as session:
        assert stopped(session) == begin
        choose(session)
        session.resume()
        assert session.wait_ended() == 0


def test_one_that_is_chosen_while_it_runs_holds_at_once(project: Project) -> None:
    waiting = "while not os.path.exists('go'): pass"
    text = TWICE.replace("import torch\n", "import os, torch\n", 1)
    text = text.replace("    second =", f"    {waiting}\n    second =")
    begin = "first = gm(torch.ones(2))"
    with twice(project, [], stop_at=begin, text=text) as session:
        stopped(session)
        session.resume()
        choose(session, "fxls.inf", "fxls.nan")
        # It is answered behind what tells the program.
        session.request("evaluate", {"expression": "1", "context": "repl"})
        (project.folder / "go").touch()
        assert stopped(session) == "log = torch.log(sub)"


def test_a_program_that_is_attached_to_is_watched_at_once(project: Project) -> None:
    begin = "first = gm(torch.ones(2))"
    text = LISTENING + TWICE.replace("import torch\n", "", 1).lstrip(" ")
    project.write({"twice.py": text})
    path, line = project.line(f"twice.py: {begin}")
    with started(project, "twice.py") as program, adapted(project) as session:
        connect = {"connect": {"port": int(program.says("port "))}}
        told = {**connect, "breakOn": ["nan"]}
        session.attach({path: [line]}, exceptions=["fxls.inf"], settings=told)
        assert stopped(session) == begin
        session.resume()
        assert stopped(session) == "log = torch.log(sub)"
        choose(session)
        session.request("fxls/breakOn", {"rules": []})
        session.resume()
        assert program.ended() == (0, "ran\n")


def test_the_rules_of_the_configuration_can_be_replaced(project: Project) -> None:
    begin = "first = gm(torch.ones(2))"
    settings = {"breakOn": ["inf"]}
    with twice(project, [], stop_at=begin, settings=settings) as session:
        assert stopped(session) == begin
        session.request("fxls/breakOn", {"rules": ["nan"]})
        session.resume()
        assert stopped(session) == "log = torch.log(sub)"


def test_a_program_that_does_not_take_them_is_said(project: Project) -> None:
    text = "import sys\nsys.modules['fxls'] = None\nprint('here')\n"
    begin = "print('here')"
    with twice(project, [], stop_at=begin, text=text) as session:
        assert stopped(session) == begin
        choose(session, "fxls.nan")
        said = session.wait_event(
            "output", where=lambda event: event.body.get("category") == "important"
        )
        assert said.body["output"] == (
            "fxls: the program did not accept the rules: "
            "ModuleNotFoundError: import of fxls halted; None in sys.modules\n"
        )
        session.resume()
        assert session.wait_ended() == 0


def adapted(project: Project) -> Session:
    """A session with ``python -m fxls.adapter``, as an editor starts it."""
    return Session.spawn(cwd=project.folder, adapter="fxls.adapter")


@contextmanager
def twice(
    project: Project,
    filters: Sequence[str],
    stop_at: str | None = None,
    text: str = TWICE,
    settings: dict[str, Any] | None = None,
) -> Generator[Session]:
    """A session in which the program was started."""
    project.write({"twice.py": text})
    places = [] if stop_at is None else [project.line(f"twice.py: {stop_at}")]
    with adapted(project) as session:
        session.launch(
            project.folder / "twice.py",
            breakpoints={path: [line] for path, line in places},
            exceptions=filters,
            settings=settings,
        )
        yield session


def stopped(session: Session) -> str:
    """The statement on the line where the program stops next."""
    session.wait_stopped()
    top = session.top()
    line = Path(top.source.path).read_text("utf-8").splitlines()[top.line - 1]
    return line.partition(";")[0].strip()


def choose(session: Session, *filters: str) -> None:
    session.request("setExceptionBreakpoints", {"filters": list(filters)})
