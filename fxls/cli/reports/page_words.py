"""What may be said on a page that leaves the machine."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from fxls.cli.command import harmless
from fxls.store.runs import RunInList

__all__ = ["Words"]


class Words:
    """Escapes what others wrote, and leaves out who and where the user is.

    Of the path of a Python file, what stands below a folder of the program or of
    packages is left; of a file elsewhere, its name.
    """

    def __init__(
        self, one: RunInList, folders: Iterable[Path] = (), *, shows_user: bool
    ) -> None:
        """`folders` are the program's."""
        self._own: re.Pattern[str] | None = None
        self._rules: list[tuple[re.Pattern[str], Callable[[str], str]]] = []
        if shows_user:
            return
        # One that is below another one is tried first.
        own = {str(one) for one in folders if one.parent != one}
        if own:
            either = "|".join(map(re.escape, sorted(own, key=len, reverse=True)))
            self._own = re.compile(rf"(?<![\w.~])(?:{either})[/\\]")
            self._rules.append((self._own, _instead("")))
        homes = [*map(re.escape, _own_homes()), _HOME]
        self._rules += (
            (re.compile("|".join(_FILES)), _short),
            (re.compile("|".join(homes)), _instead("~")),
            (re.compile(r"(?<=torchinductor_)\w+"), _instead("user")),
        )
        # A disk for data has a folder for each user as well.
        paths = [*_own_homes(), one.run.program or ""]
        named = {re.escape(found[1]) for path in paths for found in _named(path)}
        if named:
            pattern = rf"(?<=[/\\])({'|'.join(sorted(named))})(?=[/\\])"
            self._rules.append((re.compile(pattern), _instead("user")))
        if len(one.run.host) > 1:
            pattern = rf"(?<!\w){re.escape(one.run.host)}(?!\w)"
            self._rules.append((re.compile(pattern), _instead("host")))

    def __call__(self, text: str) -> str:
        for pattern, instead in self._rules:
            text = pattern.sub(lambda found, to=instead: to(found.group()), text)
        return html.escape(harmless(text))

    def path(self, path: str) -> str:
        """A path as it may be said, not escaped; that of a file may have blanks here,
        which in a text divide it from what stands around it.
        """
        if not self._rules:
            return path
        below = path if self._own is None else self._own.sub("", path, count=1)
        return _short(path) if below == path else below


def _instead(text: str) -> Callable[[str], str]:
    return lambda _: text


def _short(path: str) -> str:
    """What may be said of the path of a file that is not below the program."""
    found = _PACKAGES.search(path)
    return found[1] if found else f"…/{re.split(_SLASH, path)[-1]}"


def _own_homes() -> Sequence[str]:
    try:
        home = str(Path.home())
    except RuntimeError:
        return ()
    return (home,) if len(home) > 1 else ()


def _named(path: str) -> Iterator[re.Match[str]]:
    """The name of a user, if a path is in a home folder that has it."""
    return re.finditer(r"(?:/home/|/Users/|[\\/]Users[\\/]+)([^/\\]{2,})", path)


_SLASH = r"[/\\]+"
_ABSOLUTE = rf"(?:/|[A-Za-z]:{_SLASH})"
_FILES = (
    # As torch and tracebacks quote it: the path may have blanks.
    rf"(?<=File: ){_ABSOLUTE}[^\n]*?\.py(?=:\d)",
    rf"(?<=File \"){_ABSOLUTE}[^\n\"]*(?=\")",
    rf"(?<![\w.~/\\…-]){_ABSOLUTE}[^\s\"'<>|:,;()\[\]=]*\.pyi?(?!\w)",
)
_PACKAGES = re.compile(
    rf".*{_SLASH}(?:lib{_SLASH}(?=python3)|(?=(?:site|dist)-packages{_SLASH}))(.+)$"
)
_HOME = r"(?:/home/|/Users/|[A-Za-z]:[\\/]+Users[\\/]+)[^/\\\s\"':]+|(?<![\w/])/root(?=[/\s\"':]|$)"
