"""An Emacs that runs as a daemon, and is asked by its own client."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Timer
from typing import Any

from tests.support.programs import program

__all__ = ["Emacs", "emacs"]

Json = Any

_PATIENCE = 300
"""Seconds after which something that does not come fails the test."""

_SAY_READY = (
    '(advice-add \'server-start :after (lambda (&rest _) (message "listening")))'
)


class Emacs:
    """One session."""

    def __init__(self, client: list[str]) -> None:
        self._client = client

    def lisp(self, *forms: str) -> Json:
        """What the last of some forms gives, as JSON; the first window is current."""
        body = " ".join(forms)
        code = f"(json-encode (with-current-buffer (window-buffer) {body}))"
        run = subprocess.run(
            [*self._client, "--eval", code],
            capture_output=True,
            text=True,
            timeout=2 * _PATIENCE,
            check=False,
        )
        assert run.returncode == 0, f"{run.stdout}{run.stderr}"
        # Emacs writes the string as Lisp does, which JSON reads as well.
        return json.loads(json.loads(run.stdout))

    def type(self, keys: str) -> None:
        """Press keys, as Emacs writes them; returns when it has done what they say."""
        self.lisp(f"(progn (execute-kbd-macro (kbd {json.dumps(keys)})) t)")

    def until(self, condition: str) -> None:
        """Wait, while Emacs goes on, until a form is true."""
        waited = self.lisp(
            f"(let ((until (+ (float-time) {_PATIENCE})))"
            f" (while (and (not {condition}) (< (float-time) until))"
            "  (accept-process-output nil 0.05) (redisplay))"
            f" (if {condition} t :json-false))"
        )
        if not waited:
            said = self.lisp('(with-current-buffer "*Messages*" (buffer-string))')
            raise AssertionError(f"never: {condition}\n{said}")


@contextmanager
def emacs(home: Path, folder: Path) -> Generator[Emacs]:
    """Emacs in a folder, with the configuration in `home` and nothing of this user's."""
    advice = "apt-get install emacs-nox elpa-eglot elpa-markdown-mode"
    server, client = program("emacs", advice), program("emacsclient", advice)
    # Emacs waits forever where the path of its socket is longer than the system allows,
    # and deletes the folder of the socket where that is directly in /tmp.
    short = TemporaryDirectory(prefix="fxls-")
    sockets = Path(short.name, "s")
    sockets.mkdir()
    socket = str(sockets / "emacs")
    process = subprocess.Popen(
        [
            *("env", f"HOME={home}", "TERM=dumb", str(server)),
            *(f"--fg-daemon={socket}", "--eval", _SAY_READY),
        ],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    asked = [str(client), f"--socket-name={socket}"]
    too_late = Timer(_PATIENCE, process.kill)
    too_late.start()
    said: list[str] = []
    try:
        assert process.stderr is not None
        for line in process.stderr:
            said.append(line)
            if line == "listening\n":
                break
        else:
            raise AssertionError("Emacs does not start:\n" + "".join(said))
        too_late.cancel()
        yield Emacs(asked)
        subprocess.run(
            [*asked, "--eval", "(kill-emacs)"], check=False, timeout=_PATIENCE
        )
        process.wait(_PATIENCE)
    finally:
        too_late.cancel()
        process.kill()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()
        short.cleanup()
