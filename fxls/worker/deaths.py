"""What became of a trace whose process ended without an answer."""

from __future__ import annotations

import re
import signal
from pathlib import Path

from fxls import regular_file
from fxls.listing import Failure, Place, Reason
from fxls.text import Span
from fxls.worker.places import Territory

__all__ = ["death", "lost", "out_of_time", "stuck"]

_FRAME = re.compile(
    r'^  File "(?P<path>.+)", line (?P<line>\d+) in (?P<name>.+)$', re.M
)
_ESCAPED = re.compile(
    r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U(000[0-9a-f]{5}|0010[0-9a-f]{4}))"
)


def death(path: str, status: int, note: bytes) -> Failure:
    """Why a process ended, by its status and by what it could still write."""
    places = _places(path, note)
    if status >= 0:
        return Failure(
            Reason.EXITED,
            f"the code ended its process with status {status} (os._exit?)",
            places,
            "fxls has to build the model to trace it: raise an exception there.",
        )
    name = _signal_name(-status)
    if name == "SIGKILL":
        return Failure(
            Reason.EXITED,
            "the process was killed (SIGKILL)",
            places,
            "The system may have run out of memory: build a smaller model for the "
            "entry.",
        )
    return Failure(
        Reason.EXITED,
        f"the code crashed its process ({name})",
        places,
        "Run the file with `python -X faulthandler` to see the crash in full.",
    )


def stuck(path: str, seconds: float, note: bytes) -> Failure:
    """The failure of a process that had to be killed at the end of its time."""
    return out_of_time(seconds, _places(path, note))


def lost(path: str) -> Failure:
    """The failure of a process that cut itself off."""
    return Failure(
        Reason.EXITED,
        f"the code of {Path(path).name} closed the files of its process",
        advice="It closed a file descriptor that it had not opened (os.closerange?).",
    )


def out_of_time(seconds: float, places: tuple[Place, ...]) -> Failure:
    """The failure of a trace that did not end."""
    return Failure(
        Reason.TIME,
        f"it took longer than the time limit of {seconds:g} s",
        places,
        "Keep long work out of the import and the constructor, or raise the time "
        "limit.",
    )


def _places(path: str, note: bytes) -> tuple[Place, ...]:
    """The places in the text of `faulthandler`: whole lines, as it keeps no columns."""
    territory = Territory(Path(path))
    found: list[Place] = []
    for frame in _FRAME.finditer(note.decode(errors="replace")):
        path, name = _unescaped(frame["path"]), _unescaped(frame["name"])
        if territory.holds(path):
            found.append(_place(path, int(frame["line"]) - 1, name))
    return tuple(found)


def _unescaped(text: str) -> str:
    """What `faulthandler` means, which writes letters beyond ASCII as escapes."""
    return _ESCAPED.sub(_character, text)


def _character(escaped: re.Match[str]) -> str:
    character = chr(int(escaped[escaped.lastindex or 0], 16))
    # A backslash is written as it is, so an escape of what needs none is the text.
    return escaped[0] if " " <= character <= "~" else character


def _place(path: str, line: int, function: str) -> Place:
    try:
        data = regular_file.read(path, regular_file.SOURCE_BYTES)
        lines = data.decode("utf-8", errors="replace").split("\n")
    except (OSError, ValueError):
        lines = []
    text = lines[line] if line < len(lines) else ""
    start = len(text) - len(text.lstrip())
    return Place(
        path, function, Span.of(line, start, line, max(len(text.rstrip()), start))
    )


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
