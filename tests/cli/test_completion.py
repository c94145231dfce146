"""A shell that was given what `fxls completion` prints completes its command lines."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.command import Command, Ended

PATIENCE = 120
"""Seconds for a shell to answer, on a machine that has much else to do."""

BASH = """\
source ./script
fxls() { echo "got: $*."; }
PS1='ready> '
"""
ZSH = """\
fpath=($PWD $fpath)
autoload -Uz compinit
compinit -u -D
fxls() { echo "got: $*." }
PROMPT='ready> '
"""
FISH = """\
source script
function fxls; echo "got: $argv."; end
function fish_prompt; echo -n 'ready> '; end
"""
SETUP = {"bash": ("rc", BASH), "zsh": (".zshrc", ZSH), "fish": ("rc", FISH)}
"""The file that each shell begins with: completions, and a command that says its words."""

START = {
    "bash": ["bash", "--noprofile", "--rcfile", "rc", "-i"],
    "zsh": ["zsh", "-d", "-i"],
    "fish": ["fish", "--no-config", "-i", "-C", "source rc"],
}

IN_FRONT = """\
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""
"""Becomes a program that the terminal belongs to, as fish asks for."""

LINES = [
    ("pru\t", "prune"),
    ("trace --show ta\t net.p\t", "trace --show table net.py"),
    ("run --break-on dt\t net.p\t", "run --break-on dtype-change net.py"),
    ("run net.py d\t", "run net.py data.csv"),
    ("debug --nod\t relu net.p\t", "debug --node relu net.py"),
    ("list --stor\t fol\t", "list --store folder"),
    ("list gpt --stor\t fol\t", "list gpt --store folder"),
    ("attach --lis\t 5678 4711", "attach --listen 5678 4711"),
    ("completion fi\t", "completion fish"),
]
"""What a person types after `fxls`, and what comes of it."""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_a_shell_completes_what_is_typed(name: str, fxls: Command) -> None:
    if shutil.which(name) is None:
        pytest.skip(f"there is no {name} here")
    printed = fxls.run("completion", name)
    assert (printed.code, printed.err) == (0, "")
    fxls.file(printed.out, "_fxls" if name == "zsh" else "script")
    fxls.file(SETUP[name][1], SETUP[name][0])
    fxls.file("", "net.py")
    fxls.file("", "data.csv")
    fxls.file("", "folder/listing.py")
    with terminal(START[name], fxls.folder) as typed:
        for keys, words in LINES:
            said = typed(f"fxls {keys}\n")
            # What stands behind the last word is the shell's own taste.
            assert said.rstrip("/ ") == words


def test_a_shell_that_is_unknown_is_refused(fxls: Command) -> None:
    ended = fxls.run("completion", "csh")
    assert (ended.code, ended.out) == (2, "")
    assert "invalid choice: 'csh'" in ended.err


def test_it_says_what_it_needs(fxls: Command) -> None:
    fxls.file("raise ImportError", "gone/shtab.py")
    env = {"PYTHONPATH": f"{fxls.folder / 'gone'}{os.pathsep}{Path.cwd()}"}
    assert fxls.run("completion", "bash", env=env) == Ended(
        1, "", "fxls: error: there is no shtab\nhelp: Install it: pip install shtab.\n"
    )


@contextmanager
def terminal(command: Sequence[str], folder: Path) -> Generator[Typed]:
    """A shell in a terminal of its own; nothing is left of it behind."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", IN_FRONT, *command],
        cwd=folder,
        env={
            **os.environ,
            "HOME": str(folder),
            "ZDOTDIR": str(folder),
            "TERM": "vt100",
        },
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        typed = Typed(ours)
        typed.until("ready> ")
        yield typed
    finally:
        process.kill()
        process.wait()
        os.close(ours)


class Typed:
    """What is typed into a terminal, and what the command says to it."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self._shown = ""

    def __call__(self, keys: str) -> str:
        os.write(self._terminal, keys.encode())
        return self.until(r"got: (.*)\.\r?\n")[1]

    def until(self, pattern: str) -> re.Match[str]:
        """Read until there is this; what was shown before is forgotten then."""
        end = time.monotonic() + PATIENCE
        while (found := re.search(pattern, self._shown)) is None:
            ready, _, _ = select.select(
                [self._terminal], [], [], end - time.monotonic()
            )
            assert ready, f"it says {self._shown!r}"
            self._shown += os.read(self._terminal, 4096).decode(errors="replace")
        self._shown = self._shown[found.end() :]
        return found
