"""The tests' own debugger client: what the debug tests may rely on."""

import contextlib
from pathlib import Path

import pytest

from tests.support.dap import Ended, RequestFailed, Session
from tests.support.processes import watched

pytestmark = pytest.mark.slow

PROGRAM = """\
def double(x):
    y = x + x
    return y

if __name__ == "__main__":
    total = double(21)
    print("total", total)
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def test_a_session_stops_steps_looks_and_ends(program: Path) -> None:
    with Session.spawn(cwd=program.parent) as session:
        set_ = session.launch(program, breakpoints={program: [6]})
        assert [(b.verified, b.line) for b in set_[program]] == [(True, 6)]
        assert session.wait_stopped().reason == "breakpoint"
        session.step_in()
        assert [(f.name, f.line) for f in session.stack()] == [
            ("double", 2),
            ("<module>", 6),
        ]
        session.next()
        assert session.locals() == {"x": "21", "y": "42"}
        assert session.evaluate("y + 1") == "43"
        assert session.hover("y").type == "int"
        session.step_out()
        assert session.where() == "<module> program.py:6"
        session.resume()
        assert session.wait_ended() == 0
        assert session.output("stdout") == "total 42\n"


def test_a_program_that_ends_is_not_waited_for(program: Path) -> None:
    with Session.spawn(cwd=program.parent) as session:
        session.launch(program)
        with pytest.raises(Ended, match="no stop came"):
            session.wait_stopped()


def test_a_refused_launch_says_why(tmp_path: Path) -> None:
    refusal = pytest.raises(RequestFailed, match="launch: Invalid message")
    with Session.spawn(cwd=tmp_path) as session, refusal:
        session.launch(tmp_path / "p.py", settings={"console": "nowhere"})


def test_a_failure_carries_the_conversation(program: Path) -> None:
    def failing() -> None:
        with Session.spawn() as session:
            session.launch(program, breakpoints={program: [6]})
            session.wait_stopped()
            session.evaluate("1 / 0")

    with pytest.raises(RequestFailed) as failure:
        failing()
    assert '"command": "evaluate"' in "\n".join(failure.value.__notes__)


def test_leaving_the_session_ends_a_program_that_would_run_on(tmp_path: Path) -> None:
    program = tmp_path / "endless.py"
    program.write_text("import os\nrounds = 0\nwhile True:\n    rounds += 1\n")
    with contextlib.ExitStack() as stack:
        with Session.spawn() as session:
            session.launch(program, breakpoints={program: [3]})
            session.wait_stopped()
            pid = int(session.evaluate("os.getpid()"))
            ended = stack.enter_context(watched(pid))
            session.set_breakpoints(program, [])
            session.resume()
        assert ended()
