"""A Vim in a terminal of its own, that is typed into and asked over one of its channels."""

from __future__ import annotations

import json
import os
import pty
import socket
import subprocess
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.support.programs import package, program

__all__ = ["Vim", "vim"]

Json = Any

_ADVICE = "apt-get install vim vim-ale"

_PATIENCE = 300
"""Seconds after which something that does not come fails the test."""


class Vim:
    """One session."""

    def __init__(self, terminal: int, listening: socket.socket) -> None:
        self._terminal = terminal
        self._listening = listening
        self._channel: socket.socket | None = None
        self._heard = b""
        self._number = 0
        self._printed = ""
        self._more = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def type(self, keys: str) -> None:
        os.write(self._terminal, keys.encode())

    def printed(self, text: str) -> None:
        """Wait until it has written a text to its terminal."""
        with self._more:
            came = self._more.wait_for(lambda: text in self._printed, _PATIENCE)
        assert came, f"{text!r} is not in\n{self._printed}"

    def ask(self, expression: str) -> Json:
        """What an expression of Vim's gives."""
        if self._channel is None:
            self._channel, _ = self._listening.accept()
            self._channel.settimeout(_PATIENCE)
        self._number -= 1
        message = ["expr", expression, self._number]
        self._channel.sendall(json.dumps(message).encode())
        while b"\n" not in self._heard:
            more = self._channel.recv(65536)
            assert more, f"Vim has ended:\n{self._printed}"
            self._heard += more
        line, _, self._heard = self._heard.partition(b"\n")
        number, answer = json.loads(line)
        assert number == self._number
        return answer

    def run(self, command: str) -> None:
        """Run a command of Vim's."""
        self.ask(f"execute({json.dumps(command)})")

    def until(self, expression: str) -> None:
        """Wait, while Vim goes on, until an expression is true."""
        for _ in range(_PATIENCE * 20):
            # It handles what comes from others meanwhile.
            self.run("sleep 50m")
            if self.ask(expression):
                return
        said = self.ask("execute('messages')")
        raise AssertionError(f"{expression} is not true:\n{said}")

    def close(self) -> None:
        if self._channel is not None:
            self._channel.close()
        os.close(self._terminal)

    def _read(self) -> None:
        with suppress(OSError):  # it has ended
            while data := os.read(self._terminal, 65536):
                with self._more:
                    self._printed += data.decode("utf-8", "replace")
                    self._more.notify_all()


@contextmanager
def vim(home: Path, folder: Path, setup: Path, *files: str) -> Generator[Vim]:
    """Vim with ALE and a file of configuration, in a folder, with files open."""
    there = program("vim", _ADVICE)
    ale = package("/usr/share/vim-ale", _ADVICE)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(_PATIENCE)
        (home / "vimrc").write_text(
            f"set nocompatible runtimepath^={ale}\nfiletype plugin on\n"
            "let g:ale_linters = {'python': ['fxls']}\n"
            f"source {setup}\n"
            f"let g:test = ch_open('127.0.0.1:{listening.getsockname()[1]}')\n"
        )
        terminal, inside = pty.openpty()
        process = subprocess.Popen(
            [there, "-u", home / "vimrc", *files],
            cwd=folder,
            stdin=inside,
            stdout=inside,
            stderr=inside,
            env={**os.environ, "HOME": str(home), "TERM": "ansi", "COLUMNS": "200"},
            start_new_session=True,
        )
        os.close(inside)
        editor = Vim(terminal, listening)
        try:
            yield editor
        finally:
            process.kill()
            process.wait(_PATIENCE)
            editor.close()
