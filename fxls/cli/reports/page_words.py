"""What may be said on a page that leaves the machine."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from fxls.cli.command import harmless
from fxls.store.runs import RunInList

__all__ = ["Words"]


class Words:
    """Escapes what others wrote, and leaves out who and where the user is."""

    def __init__(self, one: RunInList, *, shows_user: bool) -> None:
        self._hidden: list[tuple[re.Pattern[str], str]] = []
        if not shows_user:
            homes = [*map(re.escape, _own_homes()), _HOME]
            self._hidden.append((re.compile("|".join(homes)), "~"))
            # A disk for data has a folder for each user as well.
            paths = [*_own_homes(), one.run.program or ""]
            named = {re.escape(found[1]) for path in paths for found in _named(path)}
            if named:
                pattern = rf"(?<=[/\\])({'|'.join(sorted(named))})(?=[/\\])"
                self._hidden.append((re.compile(pattern), "user"))
            if len(one.run.host) > 1:
                pattern = rf"(?<!\w){re.escape(one.run.host)}(?!\w)"
                self._hidden.append((re.compile(pattern), "host"))

    def __call__(self, text: str) -> str:
        for pattern, instead in self._hidden:
            text = pattern.sub(lambda _found, to=instead: to, text)
        return html.escape(harmless(text))


def _own_homes() -> Sequence[str]:
    try:
        home = str(Path.home())
    except RuntimeError:
        return ()
    return (home,) if len(home) > 1 else ()


def _named(path: str) -> Iterator[re.Match[str]]:
    """The name of a user, if a path is in a home folder that has it."""
    return re.finditer(r"(?:/home/|/Users/|[\\/]Users[\\/]+)([^/\\]{2,})", path)


_HOME = r"(?:/home/|/Users/|[A-Za-z]:[\\/]+Users[\\/]+)[^/\\\s\"':]+|(?<![\w/])/root(?=[/\s\"':]|$)"
