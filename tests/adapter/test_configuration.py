"""An editor that starts an adapter by a command says which entry and node it means."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

import fxls
from fxls.adapter.configuration import RULES, Unclear, translated
from tests.debug.conftest import NET
from tests.debug.project import Project
from tests.support.dap import RequestFailed, Session
from tests.support.dap_connection import Connection

STARTUP = str(Path(fxls.__file__).parent / "startup")
HEAD = {"type": "debugpy", "justMyCode": True, "rules": list(RULES)}


def test_an_entry_is_the_program_that_calls_it() -> None:
    given = {"type": "fxls", "entry": "net.py:Net()", "node": "relu", "cwd": "/x"}
    assert translated(given, {}) == {
        **HEAD,
        "cwd": "/x",
        "module": "fxls.debug_entry",
        "args": ["--stop", "--node", "relu", "net.py:Net()"],
        "env": {},
    }


def test_a_program_has_the_runtime_turned_on() -> None:
    given = {
        "type": "fxls",
        "program": "train.py",
        "breakOn": ["nan", "grad-nan"],
        "keepValues": True,
        "store": "/s/.fxls",
        "justMyCode": False,
        "env": {"A": 1, "GONE": None},
    }
    assert translated(given, {"PYTHONPATH": "/p"}) == {
        **HEAD,
        "program": "train.py",
        "justMyCode": False,
        "env": {
            "FXLS_STORE": "/s/.fxls",
            "FXLS_BREAK_ON": "nan,grad-nan",
            "FXLS_ON_BREAK": "report",
            "FXLS_KEEP_VALUES": "1",
            "A": "1",
            "PYTHONPATH": os.pathsep.join((STARTUP, "/p")),
        },
    }


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "say one of program, module, code, entry: there is none of them"),
        (
            {"program": "a.py", "entry": "b.py"},
            "say one of program, module, code, entry: there is program and entry",
        ),
        (
            {"program": "a.py", "node": "relu"},
            "`node` goes with `entry`: another program stops at a breakpoint",
        ),
        (
            {"program": "a.py", "env": ["A=1"]},
            "`env` is an object of names and values",
        ),
    ],
)
def test_what_is_unclear_is_said(given: dict[str, Any], said: str) -> None:
    with pytest.raises(Unclear) as raised:
        translated(given, {})
    assert str(raised.value) == said


def test_an_unknown_rule_is_said() -> None:
    with pytest.raises(Unclear, match="nam"):
        translated({"program": "a.py", "breakOn": "nam"}, {})


@pytest.mark.slow
def test_an_editor_names_an_entry_and_a_node(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write({"net.py": NET})
    with adapted(project) as session:
        launched(session, {"entry": f"{tmp_path}/net.py", "node": "relu"})
        session.wait_stopped()
        path, line = project.line("Net:relu")
        assert session.where() == f"forward {path.name}:{line}"
        session.resume()
        assert session.wait_ended() == 0


@pytest.mark.slow
def test_a_launch_that_is_unclear_is_refused(tmp_path: Path) -> None:
    with (
        adapted(Project(tmp_path)) as session,
        pytest.raises(RequestFailed, match="launch: fxls: say one of program"),
    ):
        launched(session, {})


def adapted(project: Project) -> Session:
    """A session with ``python -m fxls.adapter``, as an editor starts it."""
    command = [sys.executable, "-m", "fxls.adapter"]
    return Session(Connection.spawn(command, project.folder, None))


def launched(session: Session, configuration: dict[str, object]) -> None:
    # `launch` of the session names a program, which an entry takes the place of.
    session.launch("", settings={"type": "fxls", **configuration})
