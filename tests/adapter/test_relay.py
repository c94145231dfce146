"""An editor talks to debugpy through ``python -m fxls.adapter``, until one is gone."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from fxls.adapter.configuration import RULES
from tests.debug.conftest import NET
from tests.debug.project import Project
from tests.debug.started import started
from tests.support.dap import RequestFailed, Session
from tests.support.processes import watched

pytestmark = pytest.mark.slow

PLAIN = """\
    import torch
    from torch import fx

    class Net(torch.nn.Module):
        def forward(self, x):
            return 1 + torch.relu(x)

    gm = fx.symbolic_trace(Net())
    y = gm(torch.ones(2))
    print("ran", tuple(y.shape))
    """
"""A program that knows nothing of fxls."""

FOREVER = "import time\nwhile True: time.sleep(0.01)\n"

PARENT = """\
    import subprocess, sys
    print("parent", subprocess.run([sys.executable, "child.py"]).returncode)
    """

CHILD = """\
    x = 1
    sys_exit = x + 1
    """


def test_an_editor_names_an_entry_and_a_node(project: Project) -> None:
    project.write({"net.py": NET})
    with adapted(project) as session:
        entry = f"{project.folder}/net.py"
        session.launch("", settings={"entry": entry, "node": "relu"})
        session.wait_stopped()
        path, line = project.line("Net:relu")
        assert session.where() == f"forward {path.name}:{line}"
        session.resume()
        assert session.wait_ended() == 0


def test_a_program_that_is_launched_writes_listings(project: Project) -> None:
    project.write({"plain.py": PLAIN})
    with adapted(project) as session:
        session.launch(project.folder / "plain.py", settings={"keepValues": True})
        assert session.wait_ended() == 0
        assert session.output("stdout") == "ran (2,)\n"
    assert project.store.read(project.listing("Net")).text.count("= None") == 0


COMPILED = """\
    import torch

    class Net(torch.nn.Module):
        def forward(self, x):
            y = torch.relu(x)
            return y + 1

    net = torch.compile(Net(), backend="eager")
    net(torch.ones(2))
    """


def test_breakpoints_hit_in_a_listing_and_in_compiled_lines_of_the_model(
    project: Project,
) -> None:
    project.write({"plain.py": COMPILED})
    program = project.folder / "plain.py"
    with adapted(project) as session:
        session.launch(program)
        assert session.wait_ended() == 0
    path, line = project.line("Net:add")
    _, own = project.line("plain.py: y = torch.relu(x)")
    with adapted(project) as session:
        session.launch(program, breakpoints={path: [line], program: [own]})
        stops: list[str] = []
        for _ in range(2):
            session.wait_stopped()
            stops.append(session.where())
            session.resume()
        assert session.wait_ended() == 0
    relu, add = (f"forward {path.name}:{at}" for at in (line - 1, line))
    assert stops == [relu, add]


@pytest.mark.parametrize("rules", [None, RULES])
def test_only_who_wrote_rules_hears_that_a_step_went_past_a_frame(
    project: Project, rules: object
) -> None:
    project.write({"net.py": NET})
    with adapted(project) as session:
        own = {} if rules is None else {"rules": rules}
        settings = {"entry": f"{project.folder}/net.py", "node": "linear", **own}
        session.launch("", settings=settings)
        session.wait_stopped()
        session.step_in()
        where = session.where()
        session.resume()
        assert session.wait_ended() == 0
        said = session.output("important")

    assert where.startswith("forward linear.py:")
    assert said.startswith("Frame skipped from debugging") == (rules is not None)


def test_an_entry_writes_to_the_store_that_is_named(project: Project) -> None:
    project.write({"net.py": NET})
    store = project.folder / "elsewhere"
    with adapted(project) as session:
        entry = f"{project.folder}/net.py"
        session.launch("", settings={"entry": entry, "store": str(store)})
        session.wait_stopped()
        assert Path(session.top().source.path).parent == store


def test_a_launch_that_is_unclear_is_refused(project: Project) -> None:
    refusal = pytest.raises(RequestFailed, match="launch: fxls: say one of program")
    with adapted(project) as session, refusal:
        session.launch("")


def test_a_program_that_listens_is_attached_to_and_watched(project: Project) -> None:
    project.write({"plain.py": PLAIN.replace("return ", "return 0 * torch.inf * ")})
    run = ["run", "--listen", "0", "plain.py"]
    with started(project, "-m", "fxls", *run) as program:
        where = program.says("fxls: the program waits for a debugger on ")
        host, _, port = where.rpartition(":")
        with adapted(project) as session:
            connect = {"host": host, "port": int(port)}
            session.attach(settings={"connect": connect, "breakOn": ["nan"]})
            session.wait_stopped()
            assert session.where().startswith("forward Net_")
            session.resume()
            assert program.ended() == (0, "ran (2,)\n")


def test_where_no_debugger_listens_is_said(project: Project) -> None:
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        port = unheard.getsockname()[1]
        refusal = pytest.raises(
            RequestFailed,
            match=f"attach: fxls: no debugger answers on 127.0.0.1:{port}: Connection refused",
        )
        with adapted(project) as session, refusal:
            session.attach(settings={"connect": {"port": port}})


def test_a_child_process_is_debugged_through_an_adapter_of_its_own(
    project: Project,
) -> None:
    project.write({"parent.py": PARENT, "child.py": CHILD})
    child = project.folder / "child.py"
    with adapted(project) as session:
        session.launch(project.folder / "parent.py", cwd=project.folder)
        announced = session.wait_event("debugpyAttach").body
        with adapted(project) as other:
            other.attach({child: [2]}, settings=announced)
            other.wait_stopped()
            assert other.where() == "<module> child.py:2"
            other.resume()
            other.wait_event("terminated")
        assert session.wait_ended() == 0
        assert session.output("stdout") == "parent 0\n"


def test_when_the_editor_hangs_up_the_program_and_the_adapter_end(
    project: Project,
) -> None:
    project.write({"forever.py": FOREVER})
    session = adapted(project)
    session.launch(project.folder / "forever.py")
    session.wait_event("process")
    with watched(session.process()) as is_over:
        session.hang_up()
        assert is_over()


def test_when_debugpy_dies_the_adapter_ends(project: Project) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "fxls.adapter"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=project.folder,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith(b"Content-Length: ")
        (child,) = children(process.pid)
        os.kill(child, signal.SIGKILL)
        assert process.wait(60) == 1
        assert process.stderr.read().decode() == (
            "fxls: error: debugpy's adapter ended with the code -9\n"
        )


NO_JSON = "sent 'hello', which begins no message of the protocol"
NO_LENGTH = (
    "sent the Content-Length '99999999999999', which is no number up to 268,435,456"
)
NO_OBJECT = b'{"type":"request","command":"launch","arguments":[]}'


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (
            b"Content-Length: 5\r\n\r\nhello",
            f"{NO_JSON}: JSON is malformed: invalid character (byte 0)",
        ),
        (b"Content-Length: 99999999999999\r\n\r\n", NO_LENGTH),
        (
            b"Content-Length: %d\r\n\r\n%b" % (len(NO_OBJECT), NO_OBJECT),
            "sent launch with arguments that are no object",
        ),
    ],
    ids=["no JSON", "a length that cannot be", "arguments that are none"],
)
def test_what_is_no_message_ends_the_adapter(
    project: Project, sent: bytes, said: str
) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "fxls.adapter"],
        input=sent,
        cwd=project.folder,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (ran.returncode, ran.stderr.decode()) == (
        1,
        f"fxls: error: the editor {said}\n",
    )


def adapted(project: Project) -> Session:
    """A session with ``python -m fxls.adapter``, as an editor starts it."""
    return Session.spawn(cwd=project.folder, adapter="fxls.adapter")


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii")
    return [int(one) for one in listed.split()]
