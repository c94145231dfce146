"""`fxls run` gives Python its own flags, and the program notices nothing of fxls."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from fxls.launching.python_arguments import split
from fxls.store import Store
from tests.cli.command import Command, Ended

SAYS = """\
import sys, warnings
print(sys.flags, sys.argv, sys._xoptions, sys.warnoptions, sys.path)
print([one for one in warnings.filters if one[0] == "error"])
print(sorted(globals()), __name__, __doc__, sys.dont_write_bytecode, sys.stdout.write_through)
if "exit" in sys.argv: sys.exit(5)
"""
CALLS = "import says; print(__name__)"


def plain(fxls: Command, *arguments: str, given: str = "", module: str = "") -> Ended:
    ended = subprocess.run(
        [sys.executable, *(["-m", module] if module else []), *arguments],
        cwd=fxls.folder,
        input=given,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return Ended(ended.returncode, fxls.alike(ended.stdout), fxls.alike(ended.stderr))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        (["-u", "says.py"], ""),
        (["-X", "dev", "-Xint_max_str_digits=5000", "says.py", "-X", "y"], ""),
        (["-W", "error::UserWarning", "-Werror::BytesWarning", "says.py"], ""),
        (["-BOObb", "says.py", "exit"], ""),
        (["-s", "-q", "-d", "says.py"], ""),
        (["-P", "says.py"], ""),
        (["-R", "--check-hash-based-pycs", "always", "says.py", "--store", "x"], ""),
        (["-x", "first.py", "a"], ""),
        (["-c", SAYS, "exit", "-u"], ""),
        (["-uc", SAYS], ""),
        (["-OcINVALID("], ""),
        (["-"], SAYS),
        (["-u", "-", "exit", "--quiet"], SAYS),
        (["-m", "says", "exit", "-m"], ""),
        (["-Bmsays"], ""),
        (["-m", "says.none"], ""),
        (["--", "says.py", "--"], ""),
        (["--", "-odd.py"], ""),
        (["folder"], ""),
        (["none.py"], ""),
        (["-i", "says.py"], "print(1 + 1, __name__)\n"),
        (["-ic", "two = 2"], "print(two)\nraise SystemExit(3)\n"),
    ],
)
def test_a_program_is_run_as_python_does(
    fxls: Command, arguments: list[str], given: str
) -> None:
    for name in ("says.py", "-odd.py", "folder/__main__.py"):
        fxls.file(SAYS, name)
    fxls.file("no Python\n" + SAYS, "first.py")
    expected = plain(fxls, *arguments, given=given)
    assert plain(fxls, "run", *arguments, given=given, module="fxls") == expected


@pytest.mark.slow
@pytest.mark.parametrize("way", [["-u", "-c"], ["-"]])
def test_its_graphs_are_listings(fxls: Command, way: list[str]) -> None:
    code = "import torch, net; torch.fx.symbolic_trace(net.f)"
    fxls.file("def f(x): return x + 1", "net.py")
    given = code if way == ["-"] else ""
    arguments = way if given else [*way, code]
    ended = plain(fxls, "run", "--store", "s", *arguments, given=given, module="fxls")
    assert ended == Ended(0, "", "")
    assert [i.qualname for i in Store(fxls.folder / "s").identities()] == ["f"]


@pytest.mark.parametrize(
    ("flag", "reason"),
    [
        ("E", "Python heeds no PYTHONPATH, by which fxls gets into the program"),
        ("I", "Python heeds no PYTHONPATH, by which fxls gets into the program"),
        ("S", "Python runs no sitecustomize, by which fxls gets into the program"),
    ],
)
def test_a_flag_that_keeps_fxls_out_is_refused(
    fxls: Command, flag: str, reason: str
) -> None:
    fxls.file("print('ran')", "says.py")
    refused = Ended(
        2,
        "",
        f"fxls: error: with -{flag}, {reason}\n"
        f"help: Leave -{flag} out, or let the program itself call `fxls.install()`, and "
        "start it with Python.\n",
    )
    assert fxls.run("run", f"-u{flag}", "says.py") == refused


def test_options_of_fxls_stand_among_those_of_python() -> None:
    line = ["run", "-u", "--store", "s", "-Xdev", "--quiet", "-W", "error", "-um", "a"]
    own, python = split([*line, "-u", "--store"])
    assert own == ["run", "--store", "s", "--quiet"]
    assert python.flags == ("-u", "-Xdev", "-W", "error", "-u")
    assert python.letters == {"u"}
    assert python.program == ("-m", "a", "-u", "--store")


def test_a_debugger_needs_a_file(fxls: Command) -> None:
    ended = fxls.run("run", "--listen", "0", "-")
    assert (ended.code, ended.err.splitlines()[-1]) == (
        2,
        (
            "fxls run: error: a debugger cannot start a program from standard input: "
            "leave out --listen, or name a file"
        ),
    )


def on_a_terminal(fxls: Command, *arguments: str) -> str:
    """What a program under fxls says to a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "fxls", "run", *arguments],
        cwd=fxls.folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
    ):
        os.close(theirs)
        said = b""
        while True:
            try:
                said += os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
    os.close(ours)
    return fxls.alike(said.decode().replace("\r\n", "\n"))


@pytest.mark.slow
def test_on_a_terminal_it_ends_with_where_the_listings_are(fxls: Command) -> None:
    fxls.file(
        """\
        import sys, torch
        if "none" not in sys.argv:
            torch.fx.symbolic_trace(lambda x: x + 1)
            torch.fx.symbolic_trace(lambda x: x * 2)
        """,
        "program.py",
    )
    for _ in range(2):  # also when they were there before
        assert on_a_terminal(fxls, "program.py") == (
            "fxls: 2 listings in .fxls; `fxls list` shows them\n"
        )
    assert on_a_terminal(fxls, "program.py", "none") == (
        "fxls: no listings in .fxls are of this program, which made no graph\n"
    )
    assert on_a_terminal(fxls, "--quiet", "program.py") == ""
