"""`fxls trace`: the path, the listing, the table; or what went wrong, and where."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest
import torch

from tests.cli.command import Command, Ended

NET = """\
# fxls: Net(hidden=3)(torch.randn(2, 3))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.linear = nn.Linear(hidden, 4)

    def forward(self, x):
        return torch.relu(self.linear(x)) + 1
"""

PATH = "FOLDER/.fxls/Net_<hash>.py\n"

SUMMARY = "net.Net: 5 nodes, 16 parameters\n"

LISTING = """
# The code of Net's graph, written by fxls. To change it, change the model.
import torch


def forward(self, x):
    linear = self.linear(x);  x = None
    relu = torch.relu(linear);  linear = None
    add = relu + 1;  relu = None
    return add
"""

TABLE = """
name    opcode         target        shape   dtype    source
x       placeholder    x             (2, 3)  float32  net.py:11: x
linear  call_module    linear        (2, 4)  float32  net.py:12: self.linear(x)
relu    call_function  torch.relu    (2, 4)  float32  \
net.py:12: torch.relu(self.linear(x))
add     call_function  operator.add  (2, 4)  float32  \
net.py:12: torch.relu(self.linear(x)) + 1
output  output         output        (2, 4)  float32  \
net.py:12: return torch.relu(self.linear(x)) + 1

"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ((), PATH + SUMMARY + LISTING + TABLE),
        (("--show", "table"), PATH + SUMMARY + TABLE),
        (("--show", "listing"), PATH + SUMMARY + LISTING),
        (("--show", "path"), PATH),
    ],
)
def test_the_entries_of_a_file(
    fxls: Command, options: tuple[str, ...], shown: str
) -> None:
    fxls.file(NET)
    assert fxls.run("trace", "net.py", *options) == Ended(0, shown, "")
    (listing,) = (fxls.folder / ".fxls").glob("Net_*.py")
    assert "\n" + listing.read_text("utf-8") == LISTING


@pytest.mark.slow
def test_an_expression_without_inputs_has_no_shapes(fxls: Command) -> None:
    fxls.file(NET)
    assert fxls.run("trace", "net.py:Net(5)", "--show=table") == Ended(
        0,
        dedent("""\
        FOLDER/.fxls/Net_<hash>.py
        net.Net: 5 nodes, 24 parameters

        name    opcode         target        source
        x       placeholder    x             net.py:11: x
        linear  call_module    linear        net.py:12: self.linear(x)
        relu    call_function  torch.relu    net.py:12: torch.relu(self.linear(x))
        add     call_function  operator.add  net.py:12: torch.relu(self.linear(x)) + 1
        output  output         output        \
net.py:12: return torch.relu(self.linear(x)) + 1

        """),
        "",
    )


@pytest.mark.slow
def test_json(fxls: Command) -> None:
    fxls.file(NET.replace("+ 1", ""))
    ended = fxls.run("trace", "net.py", "--json")
    (result,) = json.loads(ended.out)["results"]
    assert result["listing"].pop("seconds") > 0
    nodes = result["listing"].pop("nodes")
    assert result == {
        "entry": {
            "path": "FOLDER/net.py",
            "expression": "Net(hidden=3)(torch.randn(2, 3))",
            "kind": "comment",
            "line": 1,
        },
        "listing": {
            "path": "FOLDER/.fxls/Net_<hash>.py",
            "identity": {
                "module": "net",
                "qualname": "Net",
                "producer": "engine",
                "stage": "",
                "rank": None,
            },
            "sources": ["FOLDER/net.py"],
            "parameters": 16,
        },
        "failure": None,
    }
    assert [node["name"] for node in nodes] == ["x", "linear", "relu", "output"]
    nodes[2].pop("value")
    assert nodes[2] == {
        "name": "relu",
        "opcode": "call_function",
        "target": "torch.relu",
        "shape": [2, 4],
        "dtype": "float32",
        "users": ["output"],
        "line": 7,
        "origin": [
            {
                "path": "FOLDER/net.py",
                "function": "Net.forward",
                "line": 12,
                "column": 16,
                "end_line": 12,
                "end_column": 42,
            }
        ],
    }


@pytest.mark.slow
def test_what_the_code_prints_goes_to_standard_error(fxls: Command) -> None:
    fxls.file(NET + "print('one')\nprint('two', end='')\n")
    assert fxls.run("trace", "net.py", "--show=path") == Ended(
        0, PATH, "net.py | one\nnet.py | two\n"
    )


@pytest.mark.slow
def test_one_entry_that_fails_does_not_keep_the_others(fxls: Command) -> None:
    fxls.file(
        NET
        + dedent("""

        class Choice(nn.Module):
            def forward(self, x):
                return self.sign(x)

            def sign(self, x):
                return x if x.sum() > 0 else -x


        class Twice(nn.Module):
            def forward(self, x):
                return x * 2
        """)
    )
    assert fxls.run("trace", "net.py", "--show=path") == Ended(
        1,
        PATH + "FOLDER/.fxls/Twice_<hash>.py\n",
        dedent("""\
        net.py:20:21: error: symbolically traced variables cannot be used as inputs to \
control flow
         20 |         return x if x.sum() > 0 else -x
            |                     ^^^^^^^^^^^
        net.py:17:16: note: called here, in Choice.forward
         17 |         return self.sign(x)
            |                ^^^^^^^^^^^^
        help: Use torch.where for a choice between tensors, concrete_args for an \
argument that never changes, or wrap() to record the function as one call.
        """),
    )


@pytest.mark.slow
def test_inputs_that_do_not_fit(fxls: Command) -> None:
    fxls.file(NET)
    with pytest.raises(RuntimeError) as theirs:
        torch.nn.Linear(3, 4)(torch.ones(2, 5))
    assert fxls.run(
        "trace", "net.py:Net(3)(torch.randn(2, 5))", "--show=path"
    ) == Ended(
        1,
        PATH,
        dedent(f"""\
        net.py:12:27: error: RuntimeError: {theirs.value}
         12 |         return torch.relu(self.linear(x)) + 1
            |                           ^^^^^^^^^^^^^^
        note: the entry is Net(3)(torch.randn(2, 5))
        help: There is a listing, with shapes as far as it ran: check the example inputs.
        """),
    )


@pytest.mark.slow
def test_a_time_limit(fxls: Command) -> None:
    fxls.file("import time\nif True:\n\ttime.sleep(1000)\n")
    assert fxls.run("trace", "net.py:Net()", "--time-limit", "0.5") == Ended(
        1,
        "",
        dedent("""\
        net.py:3:2: error: it took longer than the time limit of 0.5 s
         3 | \ttime.sleep(1000)
           | \t^^^^^^^^^^^^^^^^
        note: the entry is Net()
        help: Keep long work out of the import and the constructor, or raise the time \
limit.
        """),
    )


def test_a_file_that_is_not_there(fxls: Command) -> None:
    assert fxls.run("trace", "nett.py") == Ended(
        1,
        "",
        "fxls: error: FOLDER/nett.py: No such file or directory\n"
        "help: Check the path.\n",
    )


def test_a_file_without_entries(fxls: Command) -> None:
    fxls.file(NET.partition("\n")[2])
    assert fxls.run("trace", "net.py") == Ended(
        1,
        "",
        dedent("""\
        fxls: error: FOLDER/net.py has no entry, so there is nothing to trace
        help: Write one into the file, `# fxls: Net(hidden=8)(torch.randn(1, 8))`, or \
on the command line, fxls trace 'net.py:Net(hidden=8)(torch.randn(1, 8))'.
        """),
    )


def test_a_file_without_classes(fxls: Command) -> None:
    fxls.file("import torch\n")
    assert fxls.run("trace", "net.py") == Ended(
        1,
        "",
        dedent("""\
        fxls: error: FOLDER/net.py has no entry, so there is nothing to trace
        help: Write one into the file, `# fxls: Net(...)(torch.randn(...))`, or on the \
command line, fxls trace 'net.py:Net(...)'.
        """),
    )


def test_a_file_that_is_not_python(fxls: Command) -> None:
    fxls.file("class Net(\n")
    assert fxls.run("trace", "net.py") == Ended(
        1,
        "",
        dedent("""\
        net.py:1:10: error: SyntaxError: '(' was never closed
         1 | class Net(
           |          ^
        """),
    )


def test_a_comment_that_is_no_expression(fxls: Command) -> None:
    fxls.file("# fxls: Net(3\n")
    assert fxls.run("trace", "net.py", "--json").code == 1
    assert fxls.run("trace", "net.py") == Ended(
        1,
        "",
        dedent("""\
        net.py:1:12: error: this entry is not an expression: '(' was never closed
         1 | # fxls: Net(3
           |            ^
        help: Write it as a call, for example `# fxls: Net(3)(torch.randn(1, 3))`.
        """),
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("net.py:",),
            (
                "argument FILE[:EXPRESSION]: 'net.py:' has no expression behind the "
                "colon; leave the colon out to trace the entries of the file"
            ),
        ),
        ((":Net()",), "argument FILE[:EXPRESSION]: ':Net()' names no file"),
        (
            ("net.py", "--time-limit", "0"),
            "argument --time-limit: '0' is not a number of seconds above 0",
        ),
        ((), "the following arguments are required: FILE[:EXPRESSION]"),
    ],
)
def test_a_wrong_command_line(
    fxls: Command, arguments: tuple[str, ...], message: str
) -> None:
    ended = fxls.run("trace", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.splitlines()[-1] == f"fxls trace: error: {message}"


def test_an_interpreter_that_is_none(fxls: Command) -> None:
    fxls.file(NET)
    assert fxls.run("trace", "net.py", "--python", "/bin/false") == Ended(
        3,
        "",
        "net.py: error: /bin/false did not start the worker: it ended and said nothing\n"
        "help: Choose another interpreter, one that has torch and fxls.\n",
    )


@pytest.mark.slow
def test_a_store_that_cannot_be_written(fxls: Command) -> None:
    fxls.file(NET)
    fxls.file("", "store")
    assert fxls.run("trace", "net.py", env={"FXLS_STORE": "store"}) == Ended(
        3,
        "",
        "net.py: error: FOLDER/store: cannot be written: a file is where a folder must "
        "be\n"
        "help: Move it away or choose another folder with FXLS_STORE.\n",
    )


@pytest.mark.slow
def test_the_store_of_the_command_line_comes_first(fxls: Command) -> None:
    fxls.file(NET)
    ended = fxls.run(
        "trace", "net.py", "--show=path", "--store=mine", env={"FXLS_STORE": "other"}
    )
    assert ended == Ended(0, "FOLDER/mine/Net_<hash>.py\n", "")
    assert not (fxls.folder / "other").exists()


def running(fxls: Command, text: str) -> subprocess.Popen[str]:
    """A trace whose code has printed its first line."""
    fxls.file("import os, time\nprint(os.getppid(), flush=True)\n" + text)
    return subprocess.Popen(
        [sys.executable, "-m", "fxls", "trace", "net.py:Net()"],
        cwd=fxls.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell that runs the tests in the background has turned interrupts off.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


@pytest.mark.slow
def test_an_interrupt_ends_it_quietly(fxls: Command) -> None:
    with running(fxls, "while True: pass\n") as process:
        assert process.stderr is not None
        line = ""
        while not line.startswith("net.py |"):
            line = process.stderr.readline()
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
    assert process.returncode == 130
    assert fxls.alike(rest) == ""
    with pytest.raises(ProcessLookupError):
        os.kill(int(line.split()[-1]), 0)


@pytest.mark.slow
def test_a_long_trace_says_what_it_waits_for(fxls: Command) -> None:
    with running(fxls, "time.sleep(1.5)\nraise ValueError\n") as process:
        assert process.stderr is not None
        lines = process.stderr.read().splitlines()
    assert "fxls: tracing Net() ..." in lines


@pytest.mark.slow
def test_a_terminal_shows_a_line_that_goes_away(fxls: Command) -> None:
    fxls.file("import time\ntime.sleep(1.5)\nprint('printed')\n" + NET)
    terminal, end = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "fxls", "trace", "net.py:Net(3)", "--show=path"],
        cwd=fxls.folder,
        stdout=subprocess.DEVNULL,
        stderr=end,
    )
    os.close(end)
    shown = b""
    try:
        while data := os.read(terminal, 1 << 16):
            shown += data
    except OSError:  # the other end is closed
        pass
    os.close(terminal)
    assert process.wait() == 0
    assert b" tracing Net(3) (" in shown
    assert b"\r\x1b[Knet.py | printed\r\n" in shown
    assert shown.endswith((b"\r\x1b[K", b"printed\r\n"))


def test_a_reader_that_stops_reading(fxls: Command, tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = subprocess.run(
        [sys.executable, "-m", "fxls", "trace", "nett.py", "--json"],
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writing)
    assert (process.returncode, process.stderr) == (0, b"")
