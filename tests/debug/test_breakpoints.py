"""Breakpoints hold to nodes, also where debugpy alone would lose them."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.debug.conftest import LISTENING, NET, RUN
from tests.debug.debugged import Debugged
from tests.debug.project import Project
from tests.support.dap import RequestFailed

pytestmark = pytest.mark.slow

LATER = NET.replace(
    "hidden = self.block(self.linear(x))", "hidden = self.block(self.linear(x) - 1)"
).replace(".sum()", ".mean()")

LOOP = """\
    import torch
    import fxls
    from fxls import engine as fx
    from net import Net

    fxls.install()
    gm = fx.symbolic_trace(Net())
    for _ in range(3):
        y = gm(torch.ones(2, 4))
    print("ran", tuple(y.shape))
    """


def test_a_breakpoint_waits_for_its_listing(project: Project) -> None:
    project.write({"net.py": NET, "run.py": RUN})
    project.trace("net.py")
    path, line = project.line("Net:relu")
    shutil.rmtree(project.store.root)
    with Debugged(project) as debugged:
        session = debugged.session
        answers = session.launch(project.folder / "run.py", breakpoints={path: [line]})
        assert not answers[path][0].verified
        assert debugged.stopped() == "Net:relu"
        assert debugged.told() == [("changed", "Net:relu", True, "")]
        assert debugged.finish() == "ran ()\n"


def test_a_breakpoint_follows_its_node_to_the_text_that_runs(project: Project) -> None:
    project.write({"net.py": NET, "run.py": RUN})
    project.trace("net.py")
    old, _ = project.line("Net:relu")
    lines = [project.line(place)[1] for place in ("Net:relu", "Net:sum_1")]
    project.write({"net.py": LATER})
    with Debugged(project) as debugged:
        debugged.session.launch(project.folder / "run.py", breakpoints={old: lines})
        assert debugged.stopped() == "Net:relu"
        new = project.listing("Net")
        assert new != old
        assert debugged.session.top().source.path == str(new)
        assert debugged.told() == [
            ("new", "Net:relu", True, ""),
            (
                *("changed", "Net:relu", False),
                f"the code that runs is {new.name}, and stops there",
            ),
            (
                *("changed", "Net:sum_1", False),
                f"the node sum_1 is not in the code that runs, {new.name}",
            ),
        ]
        assert debugged.finish() == "ran ()\n"


def test_a_condition_on_a_freed_value_says_what_evaluating_it_says(
    traced: Project,
) -> None:
    traced.write({"loop.py": LOOP})
    conditions = ["add.sum() > 0", "add"]
    for condition in conditions:
        with Debugged(traced) as debugged:
            debugged.launch("loop.py", stop_at=[f"Net:sum_1 if {condition}"])
            assert debugged.stopped() == "Net:sum_1"
            with pytest.raises(RequestFailed) as refused:
                debugged.session.evaluate("add.sum() > 0")
            assert debugged.finish() == "ran ()\n"
            said = debugged.session.output("important")
        words = str(refused.value)[
            str(refused.value).index("FreedValue: add was freed") :
        ]
        assert words.splitlines()[0] in said


def test_a_condition_that_cannot_be_judged_is_said_and_stops_once(
    traced: Project,
) -> None:
    traced.write({"loop.py": LOOP})
    with Debugged(traced) as debugged:
        debugged.launch(
            "loop.py",
            stop_at=[
                "Net:add if linear != 77",
                "Net:relu if nowhere > 1",
                "Net:scaled if (relu < 0).any()",
                "Net:sum_1 if scaled.shape == (2, 4)",
            ],
        )
        assert debugged.stopped() == "Net:add"
        assert debugged.resume() == "Net:relu"
        assert debugged.resume() == "Net:sum_1"
        assert debugged.resume() == "Net:sum_1"
        assert debugged.resume() == "Net:sum_1"
        assert debugged.finish() == "ran ()\n"
        said = debugged.session.output("important").split("fxls: ")[1:]
    path, add = traced.line("Net:add")
    _, relu = traced.line("Net:relu")
    assert said == [
        (
            f"stopped on line {add} of {path.name}, because its condition cannot be judged:"
            " linear != 77\n"
            "  RuntimeError: Boolean value of Tensor with more than one value is ambiguous\n"
            "  Say which is meant: (linear != 77).any() or .all()\n"
            "  It will not stop here for this reason again.\n"
        ),
        (
            f"stopped on line {relu} of {path.name}, because its condition cannot be judged:"
            " nowhere > 1\n"
            "  NameError: name 'nowhere' is not defined\n"
            "  Names are those of the nodes that the listing has bound so far.\n"
            "  It will not stop here for this reason again.\n"
        ),
    ]


def test_a_node_is_broken_on_by_its_name(traced: Project) -> None:
    traced.write({"loop.py": LOOP})
    with Debugged(traced) as debugged:
        debugged.launch("loop.py", stop_at=["loop.py: fxls.install()"])
        assert debugged.stopped() == "loop.py: fxls.install()"
        debugged.break_on("node:relu")
        assert debugged.resume() == "Net:relu"
        debugged.break_on("node:Net.sum_1", "node:Other.add")
        assert debugged.resume() == "Net:sum_1"
        assert debugged.resume() == "Net:sum_1"
        debugged.break_on()
        assert debugged.finish() == "ran ()\n"


def test_a_listing_that_is_damaged_during_the_session_comes_back(
    project: Project,
) -> None:
    # The trace inside of the loop is what looks at the file.
    again = LOOP.replace("y = gm(", "y = fx.symbolic_trace(Net())(")
    project.write({"net.py": NET, "loop.py": again})
    project.trace("net.py")
    path, line = project.line("Net:relu")
    text = path.read_text("utf-8")
    with Debugged(project) as debugged:
        debugged.launch("loop.py", stop_at=["Net:relu"])
        assert debugged.stopped() == "Net:relu"
        path.write_text("# edited\n" * 3 + text, "utf-8")
        stays_on(debugged, path, line)
        assert debugged.resume() == "Net:relu"
        assert path.read_text("utf-8") == text
        path.unlink()
        stays_on(debugged, path, line)
        assert debugged.resume() == "Net:relu"
        assert path.read_text("utf-8") == text
        assert debugged.session.output("important") == (
            said_of(path, "edited") + said_of(path, "deleted")
        )
        assert debugged.finish() == "ran ()\n"


def stays_on(debugged: Debugged, path: Path, line: int) -> None:
    """The next line is the next one of the text that runs."""
    debugged.session.next()
    top = debugged.session.top()
    assert (top.source.path, top.line) == (str(path), line + 1)


def said_of(path: Path, damage: str) -> str:
    """What the session's console says of a listing that was edited or deleted."""
    if damage == "deleted":
        return f"fxls: {path}: was deleted while its code runs. It was written again.\n"
    return (
        f"fxls: {path}: was edited by hand or damaged. It was written again; a debugger"
        " or editor that shows the edited text must open it again.\n"
    )


def test_answers_are_sent_at_once(traced: Project) -> None:
    with Debugged(traced) as debugged:
        debugged.launch(stop_at=["Net:linear"])
        assert debugged.stopped() == "Net:linear"
        assert sends_at_once(debugged)


def test_a_debugger_may_come_after_the_listings(
    traced: Project, site_packages: Path
) -> None:
    traced.write({"listening.py": LISTENING})
    path, line = traced.line("Net:relu")
    with subprocess.Popen(
        [sys.executable, "listening.py"],
        cwd=traced.folder,
        env={**os.environ, "PYTHONPATH": str(site_packages)},
        stdout=subprocess.PIPE,
        text=True,
    ) as program:
        assert program.stdout is not None
        with Debugged(traced, int(program.stdout.readline())) as debugged:
            debugged.session.attach({path: [line]})
            assert debugged.stopped() == "Net:relu"
            shown = debugged.session.locals()
            assert shown["add"].startswith("float32 (2, 4) cpu grad, ")
            assert sends_at_once(debugged)
            debugged.session.resume()
            assert program.stdout.readline() == "ran ()\n"
    assert program.returncode == 0


def sends_at_once(debugged: Debugged) -> bool:
    """Whether the second half of an answer waits for no word that the first has come."""
    debugger = "__import__('_pydevd_bundle.pydevd_constants', fromlist=['']"
    debugger += ").get_global_debugger()"
    option = f"{socket.IPPROTO_TCP}, {socket.TCP_NODELAY}"
    asked = f"{debugger}.writer.sock.getsockopt({option})"
    return debugged.session.evaluate(asked) != "0"
