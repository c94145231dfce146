"""Sessions in which something goes wrong: nothing hangs, and nothing stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from tests.debug.conftest import AGAIN, LISTENING, NET
from tests.debug.debugged import Debugged
from tests.debug.project import Project
from tests.debug.test_breakpoints import said_of
from tests.support.processes import watched

pytestmark = pytest.mark.slow


def test_breakpoints_that_were_set_in_an_edited_listing_go_to_their_nodes(
    project: Project,
) -> None:
    project.write({"net.py": NET, "again.py": AGAIN})
    project.trace("net.py")
    path, line = project.line("Net:relu")
    text = path.read_text("utf-8")
    with Debugged(project) as debugged:
        debugged.launch("again.py", stop_at=["Net:add"])
        assert debugged.stopped() == "Net:add"
        edited = text.replace("    relu =", "    # looked at\n    relu =")
        path.write_text("# edited\n" + edited, "utf-8")
        # As an editor does when the file is saved: the lines are those of its text.
        debugged.session.set_breakpoints(path, [line + 1, line + 2])
        told = [debugged.session.wait_event("breakpoint") for _ in range(2)]
        assert path.read_text("utf-8") == text
        assert [
            (event.body["reason"], b["line"], b["verified"], b.get("message"))
            for event in told
            for b in [cast("dict[str, Any]", event.body["breakpoint"])]
        ] == [
            (
                *("changed", line + 1, False),
                "the listing, which was edited by hand, has no such line",
            ),
            ("changed", line, True, None),
        ]
        assert debugged.resume() == "Net:relu"
        assert debugged.session.output("important") == said_of(path, "edited")
        assert debugged.resume() == "Net:relu"
        assert debugged.finish() == "ran ()\n"


def test_a_breakpoint_in_a_deleted_listing_is_bound_again(project: Project) -> None:
    project.write({"net.py": NET, "again.py": AGAIN})
    project.trace("net.py")
    path, line = project.line("Net:relu")
    with Debugged(project) as debugged:
        debugged.launch("again.py", stop_at=["Net:add"])
        assert debugged.stopped() == "Net:add"
        path.unlink()
        (answer,) = debugged.session.set_breakpoints(path, [line])
        assert not answer.verified
        debugged.session.wait_event("breakpoint")
        assert debugged.told() == [("changed", "Net:relu", True, "")]
        assert debugged.resume() == "Net:relu"
        assert debugged.session.output("important") == said_of(path, "deleted")


def test_a_program_that_is_killed_ends_the_session(traced: Project) -> None:
    with Debugged(traced) as debugged:
        debugged.launch(stop_at=["Net:relu"])
        assert debugged.stopped() == "Net:relu"
        pid = debugged.session.process()
        with watched(pid) as ended:
            os.kill(pid, signal.SIGKILL)
            debugged.session.wait_event("terminated")
            assert ended()


def test_a_client_that_goes_away_takes_the_program_with_it(traced: Project) -> None:
    with Debugged(traced) as debugged:
        debugged.launch(stop_at=["Net:relu"])
        assert debugged.stopped() == "Net:relu"
        program = debugged.session.process()
        with watched(program) as ended, watched(parent(program)) as launcher_ended:
            debugged.session.hang_up()
            assert ended()
            assert launcher_ended()


@pytest.mark.parametrize("rules", ["", "shape,nan,inf,dtype-change"])
def test_a_program_that_was_attached_to_goes_on_without_its_client(
    traced: Project, site_packages: Path, rules: str
) -> None:
    traced.write(
        {"listening.py": LISTENING.replace("torch.ones", "torch.nan * torch.ones")}
    )
    path, line = traced.line("Net:relu")
    with subprocess.Popen(
        [sys.executable, "listening.py"],
        cwd=traced.folder,
        env={**os.environ, "PYTHONPATH": str(site_packages), "FXLS_BREAK_ON": rules},
        stdout=subprocess.PIPE,
        text=True,
    ) as program:
        assert program.stdout is not None
        with Debugged(traced, int(program.stdout.readline())) as debugged:
            debugged.session.attach({path: [line]})
            assert debugged.stopped() == ("Net:x" if rules else "Net:relu")
            debugged.session.hang_up()
            assert program.stdout.readline() == "ran ()\n"
    assert program.returncode == 0


def test_two_sessions_share_a_store(project: Project) -> None:
    project.write({"net.py": NET, "again.py": AGAIN})
    with Debugged(project) as one, Debugged(project) as other:
        for debugged in (one, other):
            debugged.launch("again.py", stop_at=["again.py: fxls.install()"])
        for debugged in (one, other):
            assert debugged.stopped() == "again.py: fxls.install()"
            debugged.break_on("node:Net.relu")
        for _ in range(2):
            for debugged in (one, other):
                assert debugged.resume() == "Net:relu"
        for debugged in (other, one):
            assert debugged.finish() == "ran ()\n"
    assert len(project.store.revisions(project.store.identities()[0])) == 1


def parent(pid: int) -> int:
    return int(
        Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[1]
    )
