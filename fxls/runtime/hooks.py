"""What is replaced in other people's modules for as long as an installation lasts.

Each hook has a fate of its own: one that does not fit the torch that is installed is
left out, which is said once, and the others are as they would be with it.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fxls.attempt import Raised, attempt, watched
from fxls.installed_torch import lack
from fxls.on_import import OnImport
from fxls.runtime.faults import saying
from fxls.runtime.patches import Patches

__all__ = ["Hook", "Hooks", "around"]


@dataclass(frozen=True, slots=True)
class Hook:
    """What is replaced in one module, once somebody has imported it: all of it, or
    nothing.
    """

    module: str
    without: str
    """What is so when it cannot be replaced, as a clause."""
    replacements: Mapping[str, Callable[[Any], Any]]
    """By attribute, as ``GraphModule.recompile``, what makes ours of theirs."""


def around(
    watch: Callable[..., Generator[None, Any, Any]], what_fails: str
) -> Callable[[Any], Any]:
    """What makes of a function of theirs the same function, watched.

    - `watch` is a generator, as `fxls.attempt.watched` says; its faults are logged.
    - Theirs must have the arguments that `watch` names. What it calls ``*args`` and
      ``**kwargs`` may be anything.
    """

    def replacement(original: Any) -> Any:
        if not _takes(original, watch):
            raise _Other(str(inspect.signature(original)))
        return watched(original, watch, saying(what_fails))

    return replacement


class Hooks:
    """Some hooks; several of them may be for one module."""

    def __init__(self, rows: Iterable[Hook]) -> None:
        self.rows = tuple(rows)
        self._waiting: list[OnImport] = []
        self._patches = Patches()

    def put_in(self) -> None:
        """Replace in the modules that are there, and in others when they come."""
        for module in dict.fromkeys(hook.module for hook in self.rows):
            if not _may_come(module):
                for hook in self._of(module):
                    lack(module, hook.without)
                continue
            waiting = OnImport(module, lambda module=module: self._replace(module))
            self._waiting.append(waiting)
            waiting.start()

    def take_out(self) -> None:
        """Wait for no import any more, and put every attribute back."""
        while self._waiting:
            self._waiting.pop().stop()
        self._patches.undo()

    def _of(self, module: str) -> list[Hook]:
        return [hook for hook in self.rows if hook.module == module]

    def _replace(self, module: str) -> None:
        for hook in self._of(module):
            found = [
                (
                    attribute,
                    attempt(lambda hook=hook, name=attribute: _ours(hook, name)),
                )
                for attribute in hook.replacements
            ]
            unfit = [(name, one) for name, one in found if isinstance(one, Raised)]
            for attribute, one in unfit:
                other = isinstance(one.error, _Other)
                what = f"{module}.{attribute}{one.error if other else ''}"
                lack(what, hook.without, "has another" if other else "has no")
            if not unfit:
                for _, one in found:
                    if not isinstance(one, Raised):
                        self._patches.put(*one)


class _Other(TypeError):
    """A function that takes other arguments than it is known to; which ones."""


def _ours(hook: Hook, attribute: str) -> tuple[Any, str, Any]:
    """The owner of an attribute, its name, and what is to be there."""
    owner: Any = sys.modules[hook.module]
    *path, name = attribute.split(".")
    for part in path:
        owner = getattr(owner, part)
    # What it inherits is another owner's.
    theirs = owner.__dict__[name]
    return owner, name, hook.replacements[attribute](theirs)


def _takes(theirs: Any, ours: Any) -> bool:
    """Whether a function takes the arguments that ours names, and no more than it takes."""
    known = list(inspect.signature(ours).parameters.values())
    found = list(inspect.signature(theirs).parameters.values())
    named = [one for one in known if one.kind not in _ANY]
    if len(found) < len(named) or (len(found) > len(named) and named == known):
        return False
    return all(
        their.kind in (their.POSITIONAL_ONLY, their.POSITIONAL_OR_KEYWORD)
        and (own.kind == own.POSITIONAL_ONLY or own.name == their.name)
        for own, their in zip(named, found, strict=False)
    )


_ANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def _may_come(module: str) -> bool:
    """Whether there is a module to be imported, as far as the files of its package say.

    To ask Python would import the packages that it is in.
    """
    top, *path = module.split(".")
    folders = list(getattr(sys.modules.get(top), "__path__", ()))
    if module in sys.modules or not path or not all(map(_is_folder, folders)):
        return True
    places = [Path(folder, *path) for folder in folders]
    return not places or any(
        place.is_dir() or place.with_suffix(".py").is_file() for place in places
    )


def _is_folder(path: str) -> bool:
    return Path(path).is_dir()
