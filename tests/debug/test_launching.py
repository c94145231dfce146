"""Sessions start from a command line: with a program, an entry, or a running process."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.debug.conftest import NET
from tests.debug.debugged import Debugged
from tests.debug.project import Project
from tests.debug.started import Started, started

pytestmark = pytest.mark.slow

PLAIN = """\
    import torch
    from fxls import engine as fx
    from net import Net

    gm = fx.symbolic_trace(Net())
    y = gm(torch.ones(2, 4))
    print("ran", tuple(y.shape))
    """

LATER = """\
    import fxls, torch
    from fxls import engine as fx
    from net import Net

    fxls.install()
    gm = fx.symbolic_trace(Net())
    print("waiting", file=__import__("sys").stderr, flush=True)
    input()
    y = gm(torch.ones(2, 4))
    print("ran", tuple(y.shape))
    """

CHILDREN = """\
    import multiprocessing
    import sys

    def work():
        import torch
        from fxls import engine as fx
        from net import Net
        gm = fx.symbolic_trace(Net())
        gm(torch.ones(2, 4))

    if __name__ == "__main__":
        child = multiprocessing.get_context("spawn").Process(target=work)
        child.start()
        print("child", child.pid, file=sys.stderr, flush=True)
        child.join()
        print("joined", child.exitcode)
    """

RANKS = """\
    import torch
    import torch.distributed as dist
    from fxls import engine as fx
    from net import Net

    dist.init_process_group("gloo")
    gm = fx.symbolic_trace(Net())
    gm(torch.ones(2, 4))
    dist.destroy_process_group()
    """

WAITS = "fxls: the program waits for a debugger on 127.0.0.1:"


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A model with an entry, traced, and programs."""
    project = Project(tmp_path_factory.mktemp("net"))
    project.write({"net.py": NET, "plain.py": PLAIN, "later.py": LATER})
    project.write({"children.py": CHILDREN})
    project.trace("net.py")
    return project


def test_a_program_waits_for_a_debugger(net: Project) -> None:
    with (
        started(net, "-m", "fxls", "run", "--listen", "0", "plain.py") as program,
        Debugged(net, int(program.says(WAITS))) as debugged,
    ):
        attach(debugged, "plain.py: y = gm(torch.ones(2, 4))")
        debugged.stopped()
        assert debugged.step_in() == "Net:linear"
        finish(debugged)
        assert program.ended() == (0, "ran ()\n")


def test_a_program_may_run_until_a_debugger_comes(net: Project) -> None:
    run = ["run", "--listen", "0", "--no-wait", "later.py"]
    with started(net, "-m", "fxls", *run) as program:
        port = int(program.says("fxls: the program can be debugged on 127.0.0.1:"))
        program.says("waiting")
        stops_after_a_line(net, program, port)


def test_a_program_runs_alone_when_no_debugger_comes(net: Project) -> None:
    run = ["run", "--listen", "0", "--no-wait", "plain.py"]
    with started(net, "-m", "fxls", *run) as program:
        assert program.ended() == (0, "ran ()\n")


def test_the_processes_of_a_program_are_debugged_too(net: Project) -> None:
    with (
        started(net, "-m", "fxls", "run", "--listen", "0", "children.py") as program,
        Debugged(net, int(program.says(WAITS))) as debugged,
    ):
        attach(debugged)
        path, line = net.line("Net:add")
        process = int(program.says("child "))
        child = debugged.session.child(process, breakpoints={path: [line]})
        child.wait_stopped()
        assert child.where().startswith("forward Net_")
        child.resume()
        debugged.session.wait_event("terminated")
        assert program.ended() == (0, "joined 0\n")


def test_the_ranks_of_a_job_are_debugged_too(project: Project) -> None:
    project.write({"net.py": NET, "ranks.py": RANKS})
    project.trace("net.py")
    # By itself a job takes one port of the machine, which another may have.
    job = ["-m", "torch.distributed.run", "--standalone"]
    job += ["--nproc-per-node", "2", "ranks.py"]
    with (
        started(project, "-m", "fxls", "run", "--listen", "0", *job) as program,
        Debugged(project, int(program.says(WAITS))) as debugged,
    ):
        attach(debugged)
        path, line = project.line("Net:add")
        # Both before either is waited for, because one rank waits for the other.
        ranks = [
            debugged.session.next_child(breakpoints={path: [line]})[1] for _ in range(2)
        ]
        stopped: set[tuple[str, str]] = set()
        for rank in ranks:
            rank.wait_stopped()
            stopped.add((rank.where(), rank.evaluate("torch.distributed.get_rank()")))
        assert stopped == {
            (f"forward {path.name}:{line}", "0"),
            (f"forward {path.name}:{line}", "1"),
        }
        for rank in ranks:
            rank.resume()
        debugged.session.wait_event("terminated")
        assert program.ended() == (0, "")


def test_an_entry_waits_for_a_debugger_and_stops_on_a_node(net: Project) -> None:
    debug = ["debug", "net.py", "--node", "relu", "--listen", "0"]
    with (
        started(net, "-m", "fxls", *debug) as program,
        Debugged(net, int(program.says(WAITS))) as debugged,
    ):
        attach(debugged)
        assert debugged.stopped() == "Net:relu"
        assert debugged.next() == "Net:scaled"
        assert debugged.told() == []
        finish(debugged)
        assert program.ended() == (0, "")


def test_an_entry_is_debugged_in_the_terminal(net: Project) -> None:
    typed = "p tuple(add.shape)\nnext\norigin\ncontinue\n"
    ran = net.run("-m", "fxls", "debug", "net.py", "--node", "relu", given=typed)
    path, line = net.line("Net:relu")
    assert ran.stdout.splitlines() == [
        f"> {path}({line})forward()",
        "-> relu = torch.relu(add);  add = None",
        "(Pdb) (2, 4)",
        f"(Pdb) > {path}({line + 1})forward()",
        "-> scaled = net_scaled(relu, factor = 3);  relu = None",
        f"(Pdb) > {net.folder}/net.py(30)Net.forward()",
        "-> return scaled(hidden, factor=3).sum()",
        "(Pdb) ",
    ]


@pytest.mark.parametrize("producer", ["export", "compile"])
def test_an_entry_of_another_producer_is_debugged(
    project: Project, producer: str
) -> None:
    entry = f"# fxls[{producer}]: Net()(torch.ones(2, 4))"
    text = NET.replace("# fxls: Net()(torch.ones(2, 4))", entry)
    project.write({"net.py": text.replace('fx.wrap("scaled")', "")})
    if producer == "compile":
        assert refused(project, "debug", "net.py", "--node", "relu") == (
            "fxls: error: the graph has no node 'relu'\n"
            "help: It has hidden, which calls relu.\n"
        )
    typed = "continue\n"
    ran = project.run("-m", "fxls", "debug", "net.py", given=typed)
    shown = [row for row in ran.stdout.splitlines() if row.startswith("-> ")]
    assert shown[0].startswith("-> linear = torch.")


@pytest.mark.parametrize(
    ("asked", "producer"),
    [
        ("torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,))", "export"),
        ("int(x.sum())", "compile"),
    ],
)
def test_an_entry_is_debugged_in_the_file_that_a_trace_of_it_makes(
    project: Project, asked: str, producer: str
) -> None:
    text = NET.replace('fx.wrap("scaled")', "").replace("= x + x", f"= x + {asked}")
    project.write({"net.py": text})
    target = "net.py:Net()(torch.ones(2, 4))"
    traced = project.run("-m", "fxls", "trace", target, "--show", "path")
    path = traced.stdout.strip()
    assert f"torch.{producer} captures it: its graph is shown" in traced.stderr
    ran = project.run("-m", "fxls", "debug", target, given="continue\n")
    assert ran.stdout.startswith(f"> {path}(")


def test_an_entry_that_raises_can_be_looked_at(net: Project) -> None:
    target = "net.py:Net()(torch.ones(2, 5))"
    typed = "continue\nup\nup\nup\np tuple(x.shape)\nquit\n"
    ran = net.attempt("-m", "fxls", "debug", target, given=typed)
    assert ran.returncode == 1
    assert "Node linear of Net: linear = self.linear(x)" in ran.stderr
    assert "(Pdb) (2, 5)\n" in ran.stdout


def test_what_is_no_node_is_refused(net: Project) -> None:
    assert refused(net, "debug", "net.py", "--node", "relux") == (
        "fxls: error: the graph has no node 'relux'\nhelp: Its nodes are linear, add, relu, scaled, sum_1 and output.\n"
    )
    assert refused(net, "debug", "net.py", "--node", "x") == (
        "fxls: error: x is an input, and no line of the code is its own\n"
        "help: Stop on what uses it, or on the first node, linear.\n"
    )


def test_where_nobody_can_listen_is_said(net: Project) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        where = f"127.0.0.1:{taken.getsockname()[1]}"
        for command in (["run", "plain.py"], ["debug", "net.py"], ["attach", "1"]):
            name, *rest = command
            ran = net.attempt("-m", "fxls", name, "--listen", where, *rest)
            assert (ran.returncode, ran.stdout, ran.stderr) == (
                *(3, ""),
                f"fxls: error: cannot listen on {where}: Address already in use\n",
            )


def test_a_debugger_gets_into_a_process_that_runs(net: Project) -> None:
    with started(net, "later.py") as program:
        program.says("waiting")
        pid = str(program.process.pid)
        ran = net.attempt("-m", "fxls", "attach", pid)
        if shutil.which("gdb") is None:
            assert (ran.returncode, ran.stdout) == (1, "")
            assert ran.stderr.startswith("fxls: error: there is no gdb")
            return
        if not gdb_can_call():
            assert (ran.returncode, ran.stdout) == (1, "")
            assert ran.stderr.startswith("fxls: error: gdb cannot call a function in")
            program.type("")
            assert program.ended() == (0, "ran ()\n")
            return
        assert (ran.returncode, ran.stderr) == (0, "")
        assert ran.stdout.startswith(f"process {pid} can be debugged on 127.0.0.1:")
        stops_after_a_line(net, program, int(ran.stdout.rpartition(":")[2]))


def gdb_can_call() -> bool:
    """Whether the gdb of this machine can call a function in a process.

    The one of Debian 12 cannot where the processor has AMX.
    """
    with subprocess.Popen(["sleep", "60"]) as other:
        where = ["gdb", "--nx", "--batch", "--pid", str(other.pid)]
        ran = subprocess.run(
            [*where, "-ex", "print (int)getppid()"],
            capture_output=True,
            text=True,
            check=False,
        )
        other.kill()
    return ran.stdout.endswith(
        f"= {os.getpid()}\n[Inferior 1 (process {other.pid}) detached]\n"
    )


@pytest.mark.skipif(sys.platform != "linux", reason="gdb is needed on Linux alone")
def test_a_gdb_that_would_harm_the_process_is_not_let_near_it(
    net: Project, tmp_path: Path
) -> None:
    said = "Couldn't write extended state status: Bad address."
    gdb, asked = tmp_path / "gdb", tmp_path / "asked"
    gdb.write_text(f'#!/bin/sh\necho "$@" >> "{asked}"\necho "{said}"\n', "utf-8")
    gdb.chmod(0o755)
    path = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    with started(net, "later.py") as program:
        program.says("waiting")
        pid = str(program.process.pid)
        ran = net.attempt("-m", "fxls", "attach", pid, env=path)
        program.type("")
        assert program.ended() == (0, "ran ()\n")

    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == (
        "fxls: error: gdb cannot call a function in a process here, not even in one of"
        f' fxls\'s own; it says "{said}"\n'
        "help: Try a newer gdb, or start the program with `fxls run --listen PORT"
        " --no-wait`, which needs none. In a container gdb needs the capability"
        " SYS_PTRACE, elsewhere kernel.yama.ptrace_scope=0.\n"
    )
    assert f"--pid {pid}" not in asked.read_text("utf-8")


def test_a_process_that_is_not_there_is_refused(net: Project) -> None:
    assert refused(net, "attach", "0") == "fxls: error: 0 is the number of no process\n"
    assert refused(net, "attach", "4194305") == (
        "fxls: error: there is no process 4194305\n"
    )


def stops_after_a_line(net: Project, program: Started, port: int) -> None:
    """A program that waits for input can be debugged from then on."""
    with Debugged(net, port) as debugged:
        attach(debugged, "Net:relu")
        program.type("")
        assert debugged.stopped() == "Net:relu"
        finish(debugged)
        assert program.ended() == (0, "ran ()\n")


def finish(debugged: Debugged) -> None:
    """Let a program run to its end that was not launched by the session."""
    debugged.session.resume()
    debugged.session.wait_event("terminated")


def attach(debugged: Debugged, *stop_at: str) -> None:
    wanted: dict[Path, list[int | dict[str, object]]] = {}
    for path, line in map(debugged.project.line, stop_at):
        wanted.setdefault(path, []).append(line)
    debugged.session.attach(wanted)


def refused(project: Project, *arguments: str) -> str:
    """What is said of a command line with which nothing is debugged."""
    ran = project.attempt("-m", "fxls", *arguments)
    assert (ran.returncode, ran.stdout) == (1, "")
    return ran.stderr
