"""The host: one worker, started when needed, lost without harm, never left behind."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from fxls.host.settings import State, WorkerSettings
from fxls.listing import Reason
from fxls.wire import Failed, Traced
from tests.worker.asking import TIME_LIMIT, Asking
from tests.worker.test_faults import NET

Start = Callable[[WorkerSettings], Asking]

OLD_TORCH = """\
import importlib.metadata
import torch

torch.__version__ = "2.10.2+cpu"
own = importlib.metadata.version
importlib.metadata.version = (
    lambda name: torch.__version__ if name == "torch" else own(name)
)
"""

FOREVER = "print('begun', flush=True)\nwhile True: pass\n"


def wait_for_end(pid: int) -> None:
    """Return when a process has ended; fails when it goes on for long."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([process], [], [], 60)[0], f"process {pid} goes on"
    finally:
        os.close(process)


async def begun(worker: Asking, *, text: str = "\n") -> None:
    """Return when so much was printed; by default, a line."""
    async with asyncio.timeout(300):
        while text not in "".join(text for _, text in worker.printed):
            await asyncio.sleep(0.01)


def test_what_the_code_prints_is_told_apart_from_answers(worker: Asking) -> None:
    text = """\
        import ctypes, os, subprocess, sys
        print("print")
        os.write(1, b"write\\n")
        print("stderr", file=sys.stderr)
        subprocess.run(["echo", "child"])
        print("no end of line, \\xff, \\U0001f600", end="", flush=True)
        ctypes.CDLL(None).puts(b", puts")
        """
    outcome = worker.outcome(dedent(text) + NET, "Net()")
    assert isinstance(outcome, Traced)
    assert {entry for entry, _ in worker.printed} == {"Net()"}
    assert "".join(text for _, text in worker.printed) == (
        "print\nwrite\nstderr\nchild\nno end of line, \xff, \U0001f600, puts\n"
    )


def test_output_without_end_is_cut(worker: Asking) -> None:
    text = "for _ in range(200_000):\n    print('0123456789')\n"
    outcome = worker.outcome(text + NET, "Net()")
    assert isinstance(outcome, Traced)
    printed = "".join(text for _, text in worker.printed)
    assert len(printed) == (1 << 20) + len("\n[it printed more, which is left out]\n")
    assert printed.endswith("\n[it printed more, which is left out]\n")


def test_standard_input_is_empty(worker: Asking) -> None:
    outcome = worker.outcome("assert input() == ''\n", "Net()")
    assert isinstance(outcome, Failed)
    assert outcome.failure.message == "EOFError: EOF when reading a line"


def test_each_trace_begins_with_a_fresh_interpreter(worker: Asking) -> None:
    text = "import sys\nassert not hasattr(sys, 'mark')\nsys.mark = 1\n" + NET
    outcomes = [worker.outcome(text, "Net()") for _ in range(2)]
    assert [type(outcome) for outcome in outcomes] == [Traced, Traced]


def test_the_supervisor_has_one_thread(worker: Asking) -> None:
    text = (
        "import os, re\n"
        "status = open(f'/proc/{os.getppid()}/status').read()\n"
        "print(re.search(r'Threads:\\s*(\\d+)', status)[1], end='')\n"
    )
    for _ in range(2):
        worker.outcome(text + NET, "Net()(torch.randn(1, 3))")
    assert [text for _, text in worker.printed] == ["1", "1"]


def test_the_latest_request_for_an_entry_wins(worker: Asking) -> None:
    async def twice() -> tuple[Traced | Failed, Traced | Failed]:
        path = worker.file(FOREVER)
        first = asyncio.ensure_future(worker.ask(path, "Net()"))
        await begun(worker)
        worker.file(NET)
        return await asyncio.gather(first, worker.ask(path, "Net()"))

    first, second = worker.run(twice())
    assert isinstance(first, Failed)
    assert first.failure.reason is Reason.STOPPED
    assert first.failure.message == "a later request replaced it"
    assert isinstance(second, Traced)


def test_two_entries_are_traced_side_by_side(worker: Asking) -> None:
    async def both() -> Traced | Failed:
        endless = worker.file(FOREVER, "endless.py")
        other = asyncio.ensure_future(worker.ask(endless, "Net()"))
        await begun(worker)
        outcome = await worker.ask(worker.file(NET), "Net()")
        other.cancel()
        return outcome

    assert isinstance(worker.run(both()), Traced)


def test_a_request_that_waits_behind_others_is_served(worker: Asking) -> None:
    async def many() -> list[Traced | Failed]:
        path = worker.file(NET)
        asked = [worker.ask(path, f"Net({size})") for size in range(1, 6)]
        return await asyncio.gather(*asked)

    assert [type(outcome) for outcome in worker.run(many())] == [Traced] * 5


def test_a_cancelled_call_stops_the_trace(worker: Asking) -> None:
    async def cancel() -> None:
        path = worker.file("import os\nprint(os.getpid(), flush=True)\n" + FOREVER)
        asked = asyncio.ensure_future(worker.ask(path, "Net()"))
        await begun(worker)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked

    worker.run(cancel())
    pid = int(worker.printed[0][1].split()[0])
    worker.run(asyncio.to_thread(wait_for_end, pid))


@pytest.mark.slow
def test_a_lost_worker_is_started_again_and_asked_again(start: Start) -> None:
    worker = start(WorkerSettings())
    text = """\
        import os, pathlib, signal
        mark = pathlib.Path(__file__).with_name("mark")
        if not mark.exists():
            mark.touch()
            os.kill(os.getppid(), signal.SIGKILL)
        """
    outcome = worker.outcome(dedent(text) + NET, "Net()")
    assert isinstance(outcome, Traced)
    assert [(status.state, status.message) for status in worker.statuses] == [
        (State.STARTING, "starting the worker"),
        (State.READY, "ready"),
        (State.TRACING, "tracing Net()"),
        (State.STARTING, "the worker was lost and will be started again"),
        (State.STARTING, "starting the worker"),
        (State.READY, "ready"),
        (State.TRACING, "tracing Net()"),
        (State.READY, "ready"),
    ]


DIES = """\
#!/bin/sh
echo >> "$0.starts"
[ "$(wc -l < "$0.starts")" -gt {times} ] && exec '{python}' "$@"
kill -KILL $$
"""


def killed_at_start(folder: Path, times: int) -> str:
    """An interpreter that something kills so many times while it starts."""
    script = folder / "python"
    script.write_text(DIES.format(times=times, python=sys.executable))
    script.chmod(0o755)
    return str(script)


@pytest.mark.slow
def test_a_worker_that_is_killed_while_it_starts_is_started_again(
    start: Start, tmp_path: Path
) -> None:
    worker = start(WorkerSettings(python=killed_at_start(tmp_path, 2)))
    path = worker.file(NET)

    async def both() -> list[Traced | Failed]:
        asked = [worker.ask(path, "Net()"), worker.ask(path, "Net(4)")]
        return list(await asyncio.gather(*asked))

    assert [type(outcome) for outcome in worker.run(both())] == [Traced, Traced]
    assert [status.message for status in worker.statuses][:4] == [
        "starting the worker",
        "the worker was killed and is started again",
        "the worker was killed and is started again",
        "ready",
    ]


def test_a_worker_that_is_killed_whenever_it_starts_is_given_up(
    start: Start, tmp_path: Path
) -> None:
    worker = start(WorkerSettings(python=killed_at_start(tmp_path, 99)))
    assert worker.said(NET, "Net()") == dedent("""\
        [worker]
        net.py: error: FOLDER/python did not start the worker: signal 9 ended it while \
it started
        help: Choose another interpreter, one that has torch and fxls.
        """)
    assert (tmp_path / "python.starts").read_text() == "\n" * 4


@pytest.mark.slow
def test_requests_that_wait_outlive_the_workers_that_are_lost(start: Start) -> None:
    worker = start(WorkerSettings(jobs=1))
    kills = worker.file(
        "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\n" + FOREVER,
        "kills.py",
    )
    path = worker.file(NET)

    async def asked() -> list[Traced | Failed]:
        first = [worker.ask(kills, name) for name in ("Net()", "Net(2)")]
        waiting = [worker.ask(path, f"Net({n})") for n in range(3, 6)]
        return list(await asyncio.gather(*first, *waiting))

    outcomes = worker.run(asked())
    assert [type(one) for one in outcomes] == [Failed] * 2 + [Traced] * 3


@pytest.mark.slow
def test_a_worker_that_is_killed_between_two_requests_is_started_again(
    start: Start,
) -> None:
    worker = start(WorkerSettings())
    text = "import os, pathlib\npathlib.Path(__file__).with_name('pid').write_text(str(os.getppid()))\n"
    assert isinstance(worker.outcome(text + NET, "Net()"), Traced)

    os.kill(int((worker.folder / "pid").read_text()), signal.SIGKILL)

    assert isinstance(worker.outcome(text + NET, "Net()"), Traced)


@pytest.mark.slow
def test_a_worker_that_is_lost_twice_is_given_up(start: Start) -> None:
    worker = start(WorkerSettings())
    text = "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\n" + FOREVER
    assert worker.said(text, "Net()") == dedent("""\
        [worker]
        net.py: error: the worker was lost twice while it traced `Net()`
        help: The system may have run out of memory, or the code ends processes that \
are not its own.
        """)
    assert isinstance(worker.outcome(NET, "Net()"), Traced)


@pytest.mark.slow
def test_a_worker_that_stands_still_is_killed(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fxls.host.host._GRACE", 0.5)
    worker = start(WorkerSettings())
    text = """\
        import os, pathlib, signal
        mark = pathlib.Path(__file__).with_name("mark")
        if not mark.exists():
            mark.touch()
            os.kill(os.getppid(), signal.SIGSTOP)
            while True: pass
        """
    outcome = worker.outcome(dedent(text) + NET, "Net()", 3.0)
    assert isinstance(outcome, Traced)


STRAYS = """\
import os, subprocess
group = subprocess.Popen(["sleep", "1000"])
session = subprocess.Popen(["sleep", "1000"], start_new_session=True)
fork = os.fork()
while fork == 0: pass
print(os.getppid(), os.getpid(), group.pid, session.pid, fork, flush=True)
"""


@pytest.mark.slow
def test_a_closed_host_leaves_no_process(start: Start) -> None:
    worker = start(WorkerSettings())

    async def close() -> Traced | Failed:
        path = worker.file(STRAYS + FOREVER)
        asked = asyncio.ensure_future(worker.ask(path, "Net()"))
        await begun(worker)
        await worker.host.close()
        return await asked

    outcome = worker.run(close())
    assert isinstance(outcome, Failed)
    assert outcome.failure.message == "fxls is closing"
    pids = [int(pid) for pid in worker.printed[0][1].split()[:5]]
    assert len(pids) == 5
    for pid in pids:
        wait_for_end(pid)
    again = worker.outcome(NET, "Net()")
    assert isinstance(again, Failed)
    assert again.failure.message == "fxls is closed"


def test_a_trace_leaves_no_process(worker: Asking) -> None:
    assert isinstance(worker.outcome(STRAYS + NET, "Net()"), Traced)
    supervisor, *pids = [int(pid) for pid in worker.printed[0][1].split()]
    for pid in pids:
        wait_for_end(pid)
    os.kill(supervisor, 0)


HOST = """\
import asyncio, sys
from fxls.entry import Entry, Kind
from fxls.host.host import Host
from fxls.host.settings import WorkerSettings

async def main():
    host = Host(WorkerSettings(), on_printed=lambda _, text: print(text, end="", flush=True))
    await host.trace(Entry(sys.argv[1], "Net()", Kind.COMMAND), store=sys.argv[2])

asyncio.run(main())
"""


@pytest.mark.slow
def test_a_killed_host_leaves_no_process(tmp_path: Path) -> None:
    net = tmp_path / "net.py"
    net.write_text(STRAYS + FOREVER)
    command = [sys.executable, "-c", HOST, str(net), str(tmp_path / "store")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as host:
        assert host.stdout is not None
        pids = [int(pid) for pid in host.stdout.readline().split()]
        host.kill()
    assert len(pids) == 5
    for pid in pids:
        wait_for_end(pid)


def test_an_interpreter_that_is_not_there(start: Start) -> None:
    worker = start(WorkerSettings(python="/no/such/python"))
    assert worker.said(NET, "Net()") == dedent("""\
        [worker]
        net.py: error: /no/such/python did not start the worker: No such file or \
directory
        help: Choose another interpreter, one that has torch and fxls.
        """)
    assert worker.statuses[-1].state is State.BROKEN


def test_an_interpreter_without_fxls(start: Start) -> None:
    base = str(Path(sys.base_prefix, "bin", "python3"))
    worker = start(WorkerSettings(python=base))
    assert worker.said(NET, "Net()") == dedent(f"""\
        [worker]
        net.py: error: {base} did not start the worker: {base}: Error while finding \
module specification for 'fxls.worker' (ModuleNotFoundError: No module named 'fxls')
        help: Install fxls into it (`{base} -m pip install fxls`), or choose another \
interpreter.
        """)


def test_an_interpreter_that_says_nothing(start: Start, tmp_path: Path) -> None:
    silent = tmp_path / "python"
    silent.write_text("#!/bin/sh\nexec sleep 1000\n")
    silent.chmod(0o755)
    worker = start(WorkerSettings(python=str(silent), start_limit=0.2))
    assert worker.said(NET, "Net()") == dedent("""\
        [worker]
        net.py: error: FOLDER/python did not start the worker: it was not ready within \
0.2 s
        help: Choose another interpreter, one that has torch and fxls.
        """)


@pytest.mark.slow
def test_an_interpreter_that_prints_while_it_starts(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('welcome')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    worker = start(WorkerSettings())
    assert isinstance(worker.outcome(NET, "Net()"), Traced)
    assert (None, "welcome\n") in worker.printed


def test_an_interpreter_without_torch(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\nsys.modules['torch'] = None\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    worker = start(WorkerSettings())
    assert worker.said(NET, "Net()") == dedent(f"""\
        [import]
        net.py: error: torch cannot be used in {sys.executable}: ModuleNotFoundError: \
import of torch halted; None in sys.modules
        note: the entry is Net()
        help: Install torch 2.11 or newer into this interpreter, or choose the \
interpreter that has it; `fxls doctor` says what works there.
        """)


@pytest.mark.slow
def test_an_interpreter_without_numpy(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\nsys.modules['numpy'] = None\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    worker = start(WorkerSettings())
    assert worker.said(NET, "Net()(torch.randn(1, 3))") == "ok"


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--spawn",)])
def test_an_interpreter_with_an_old_torch(
    start: Start,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
) -> None:
    (tmp_path / "sitecustomize.py").write_text(OLD_TORCH)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    worker = start(WorkerSettings(options=options))
    assert worker.said(NET, "Net()") == dedent(f"""\
        [import]
        net.py: error: fxls needs torch 2.11 or newer, and {sys.executable} has torch \
2.10.2+cpu
        note: the entry is Net()
        help: Install torch 2.11 or newer into this interpreter, or choose the \
interpreter that has it; `fxls doctor` says what works there.
        """)


def test_a_store_that_cannot_be_written(worker: Asking) -> None:
    worker.file("", ".fxls")
    assert worker.said(NET, "Net()") == dedent("""\
        [store]
        net.py: error: FOLDER/.fxls: cannot be written: a file is where a folder must \
be
        help: Move it away or choose another folder with FXLS_STORE.
        """)


def test_a_fault_of_fxls_says_so_and_is_logged(worker: Asking) -> None:
    text = "import fxls.worker.trace\nfxls.worker.trace.failure_of = None\n1 / 0\n"
    assert worker.said(text, "Net()") == dedent("""\
        [worker]
        net.py: error: fxls failed with TypeError
        help: This is a fault of fxls: please report it, with the worker's log.
        """)
    # The log has a pipe of its own, which may be later than the answer.
    worker.run(begun(worker, text="TypeError: 'NoneType' object is not callable\n"))
    assert worker.printed[0][0] is None
    assert worker.printed[0][1].startswith("Traceback (most recent call last):\n")


@pytest.mark.slow
def test_without_fork_each_trace_has_a_warm_interpreter(start: Start) -> None:
    worker = start(WorkerSettings(options=("--spawn",)))
    text = "print('printed')\n" + NET
    outcome = worker.outcome(text, "Net()(torch.randn(1, 3))")
    assert isinstance(outcome, Traced)
    assert worker.printed[0] == ("Net()(torch.randn(1, 3))", "printed\n")
    assert worker.said("import ctypes\nctypes.string_at(0)\n", "Net()") == dedent("""\
        [exited]
        net.py:2:1: error: the code crashed its process (SIGSEGV)
         2 | ctypes.string_at(0)
           | ^^^^^^^^^^^^^^^^^^^
        note: the entry is Net()
        help: Run the file with `python -X faulthandler` to see the crash in full.
        """)
    assert isinstance(worker.outcome(FOREVER, "Net()", 0.5), Failed)
    assert isinstance(worker.outcome(NET, "Net()", TIME_LIMIT), Traced)


@pytest.mark.slow
def test_what_a_trace_of_torch_has_to_import_is_there_for_the_next(
    start: Start,
) -> None:
    worker = start(WorkerSettings(memory_limit=1 << 29))
    text = (
        "import os, re, sys, torch\n"
        "status = open(f'/proc/{os.getppid()}/status').read()\n"
        "print('torch._dynamo' in sys.modules, re.search(r'Threads:\\s*(\\d+)', "
        "status)[1])\n"
        "torch.set_default_device('meta')\n"
    )

    outcomes = [
        worker.outcome(text + NET, "Net()(torch.randn(1, 3))") for _ in range(2)
    ]

    assert [type(outcome) for outcome in outcomes] == [Traced, Traced]
    assert [printed for _, printed in worker.printed] == ["False 1\n", "True 1\n"]
