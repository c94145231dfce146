"""A listing that was edited or deleted while its code runs: written again, and said.

The code that runs is that of the text in memory. A debugger takes its lines from the
file, so the file has to hold that text.
"""

from __future__ import annotations

import difflib
import linecache
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fxls import regular_file
from fxls.store import Store, StoreError, class_name_of

__all__ = ["Restored", "Restoring"]

_LONGEST = 2000
"""Lines that are compared; between two longer texts nothing is told to be the same."""


@dataclass(frozen=True, slots=True)
class Restored:
    """What became of a file; lines count from one."""

    moved: Mapping[int, int]
    """The lines of the edited text that are lines of the listing, and which."""


class Restoring:
    """Looks after the files of the listings that run."""

    def __init__(self, store: Store, say: Callable[[str], None]) -> None:
        self._store = store
        self._say = say
        self._seen: dict[Path, tuple[int, int]] = {}

    def look(self, path: Path) -> Restored | None:
        """Write a file again, if it holds another text than the code that runs.

        Costs one look at the disk while the file is as it was.
        """
        try:
            state = os.stat(path)  # noqa: PTH116 - at every variable of every stop
            signature = (state.st_mtime_ns, state.st_size)
        except OSError:
            signature = (0, -1)
        if self._seen.get(path) == signature:
            return None
        self._seen[path] = signature
        text = "".join(linecache.getlines(str(path)))
        try:
            data = regular_file.read_no_link(path, regular_file.LISTING_BYTES)
            edited = data.decode(errors="replace")
        except OSError:
            edited = None
        class_name = class_name_of(path)
        if not text or class_name is None or edited == text:
            return None
        try:
            self._store.write_text(class_name, text)  # which says what was edited
        except StoreError as error:
            self._say(str(error))
            return None
        if edited is None:
            self._say(f"{path}: was deleted while its code runs. It was written again.")
            return Restored({})
        return Restored(_moved(edited, text))


def _moved(edited: str, text: str) -> dict[int, int]:
    before, after = edited.splitlines(), text.splitlines()
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    end = 0
    while (
        end < min(len(before), len(after)) - start
        and before[-1 - end] == after[-1 - end]
    ):
        end += 1
    found = {line: line for line in range(1, start + 1)}
    for n in range(end):
        found[len(before) - n] = len(after) - n
    left, right = before[start : len(before) - end], after[start : len(after) - end]
    if max(len(left), len(right)) <= _LONGEST:
        matcher = difflib.SequenceMatcher(None, left, right, autojunk=False)
        for a, b, size in matcher.get_matching_blocks():
            for n in range(size):
                found[start + a + n + 1] = start + b + n + 1
    return found
