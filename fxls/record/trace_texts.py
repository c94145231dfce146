"""What torch says in texts of the entries of its trace: reasons, hints and places."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

__all__ = [
    "LONGEST",
    "RESUMED",
    "Frame",
    "Said",
    "break_in",
    "frames_in",
    "guard_in",
    "is_wrapper",
    "of_limit",
    "reasons_in",
    "said_in",
    "seconds_in",
    "skipped_in",
]

LONGEST = 2_000
"""So many characters of a reason are kept."""


Frame = tuple[str, int, str]
"""A file, a line of it from one, and a function."""

RESUMED = re.compile(r"torch_dynamo_resume_in_(.+)_at_\d+")
"""How torch calls the rest of a function behind a break."""


_WRAPPER = re.compile(
    r"[/\\]torch[/\\](_dynamo[/\\]external_utils|_functorch[/\\]apis)\.py$"
)


def is_wrapper(path: str) -> bool:
    """Whether a file is one where torch calls what is to be compiled, as modules of its
    own and `torch.func.grad`.
    """
    return _WRAPPER.search(path) is not None


def seconds_in(metrics: Mapping[str, Any]) -> float | None:
    """What a compilation took, of torch's metrics of it."""
    spent = metrics.get("duration_us")
    if spent is not None:
        return spent / 1e6
    return metrics.get("entire_frame_compile_time_s")


class Said(NamedTuple):
    reason: str
    id: str
    hints: tuple[str, ...]
    why_no_graph: str = ""
    """Of a break, what kept torch from ending a graph there, in a few words."""


def said_in(text: str) -> Said:
    """What torch says in a text of several lines: why, by which number, and hints."""
    found = _EXPLAINED.search(text)
    why_no_graph = ""
    if found is not None:
        why = " ".join(found[2].split())
        reason = f"{found[1].strip()}: {why}" if why else found[1].strip()
        text, _, more = text[found.start() :].partition("\n*** While handling")
        kept = _EXPLAINED.search(more)
        why_no_graph = "" if kept is None else kept[1].strip()[:LONGEST]
    else:
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        reason = lines[0] if lines else ""
    number = _GB.search(text)
    hints = tuple(hint.strip()[:LONGEST] for hint in _HINT.findall(text))
    name = f"GB{number[1].zfill(4)}" if number else ""
    return Said(reason[:LONGEST], name, hints, why_no_graph)


def break_in(
    text: str,
    function: str,
    of_program: Callable[[Iterable[Frame]], Iterable[Frame]],
    known: Sequence[Frame] = (),
) -> tuple[Said, list[Frame]]:
    """What torch says of a graph break, and the frames that led there, innermost first.

    `function` is the one that is compiled, and `of_program` says which frames are kept;
    `known` are the frames, outermost first, where somebody knows them better.
    """
    body, _, rest = text.partition("\nUser code traceback:")
    said = said_in(body.partition("Graph Break Reason: ")[2] or body)
    stack = rest.partition("\nTraceback (most recent call last)")[0]
    outer_first = _without_resumed(known) or [*frames_in(stack)]
    frames = [*of_program(reversed(outer_first))]
    at = _BROKEN_AT.match(text)
    if at is not None:
        path, line = at[1], int(at[2])
        if frames and frames[0][:2] == (path, line):
            function = frames.pop(0)[2]
        frames.insert(0, (path, line, function))
    return said, frames


def _without_resumed(frames: Iterable[Frame]) -> list[Frame]:
    """Frames of a stack, in which the rest of a function, which the function calls behind
    a break, is the function.
    """
    found: list[Frame] = []
    for path, line, function in frames:
        resumed = RESUMED.fullmatch(function)
        name = function if resumed is None else resumed[1]
        if resumed is not None and found and found[-1][2] == name:
            found.pop()
        found.append((path, line, name))
    return found


def reasons_in(text: str) -> list[str]:
    """The reasons of a recompilation: torch writes one as it is, and several as JSON."""
    if text.startswith("["):
        try:
            found = json.loads(text)
        except ValueError:
            found = None
        if isinstance(found, list):
            return [str(one) for one in cast("list[Any]", found)]
    return [text] if text.strip() else []


def guard_in(reason: str) -> str:
    """The guard of a reason: what stands before the code that it is about."""
    first = reason.strip().partition("\n")[0]
    return " ".join(re.split(r"\s{2,}# ", first)[0].split())[:LONGEST]


def skipped_in(text: str) -> tuple[str, str]:
    """Why there is no CUDA graph, and the stack that torch blames, which may be empty."""
    reason, _, stack = text.partition("Found from")
    for prefix in (_SKIPPED, _SKIPPED):  # torch writes it twice of some
        reason = reason.strip().removeprefix(prefix)
    return reason.rstrip(". ")[:LONGEST], stack


def frames_in(text: str) -> Iterator[Frame]:
    """The places in a traceback, outermost first."""
    for path, line, function in _FRAME.findall(text):
        yield path, int(line), function


_FRAME = re.compile(r'^ {2,3}File "(.+)", line (\d+), in (.+)$', re.MULTILINE)
_EXPLAINED = re.compile(
    r"^(\S.*)\n  Explanation: (.*(?:\n(?!  Hint:|  Developer|\s*$).*)*)", re.MULTILINE
)
_HINT = re.compile(r"^  Hint: (.+)$", re.MULTILINE)
_BROKEN_AT = re.compile(r"Graph break in user code at (.+):(\d+)\n")
_SKIPPED = "skipping cudagraphs due to "
_GB = re.compile(r"/gb(\d{1,6})\.html")


def of_limit(metrics: Mapping[str, Any]) -> tuple[int, int] | None:
    """How many compilations a function has with the one of these metrics, and how many
    torch allows; None where they do not tell.
    """
    before, text = metrics.get("cache_size"), metrics.get("dynamo_config")
    if not isinstance(before, int) or not isinstance(text, str):
        return None
    with contextlib.suppress(ValueError):
        config: object = json.loads(text)
        known = cast("dict[str, Any]", config) if isinstance(config, dict) else {}
        most: object = known.get("recompile_limit")
        if isinstance(most, int) and 0 <= before < most:
            return before + 1, most
    return None
