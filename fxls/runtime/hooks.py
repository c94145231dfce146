"""What is replaced in other people's modules for as long as an installation lasts.

Each hook has a fate of its own: one that does not fit the torch that is installed is
left out, which is said once, and the others are as they would be with it.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fxls.attempt import Raised, attempt, watched
from fxls.installed_torch import lack
from fxls.on_import import OnImport
from fxls.runtime.faults import saying
from fxls.runtime.patches import Patches

__all__ = ["Hook", "Hooks", "around", "giving", "unfit"]


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
    once: str = ""
    """Another module that must have been imported as well, as that of a debugger."""


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


def giving(
    names: Collection[str], instead: Callable[[Any], Any]
) -> Callable[[Any], Any]:
    """What makes of a function of theirs the same function, that is given for each of
    these arguments, unless it is None, what `instead` makes of it.
    """

    def replacement(original: Any) -> Any:
        signature = inspect.signature(original)
        if not signature.parameters.keys() >= {*names}:
            raise _Other(str(signature))

        @functools.wraps(original)
        def given(*args: Any, **kwargs: Any) -> Any:
            bound = signature.bind(*args, **kwargs)
            for name in names:
                if bound.arguments.get(name) is not None:
                    bound.arguments[name] = instead(bound.arguments[name])
            return original(*bound.args, **bound.kwargs)

        return given

    return replacement


class Hooks:
    """Some hooks; several of them may be for one module."""

    def __init__(self, rows: Iterable[Hook]) -> None:
        self.rows = tuple(rows)
        self._waiting: list[OnImport] = []
        self._patches = Patches()

    def put_in(self) -> None:
        """Replace in the modules that are there, and in others when they come."""
        for place in dict.fromkeys((hook.module, hook.once) for hook in self.rows):
            if place[1]:
                self._wait(place[1], lambda place=place: self._put_in(*place))
            else:
                self._put_in(*place)

    def take_out(self) -> None:
        """Wait for no import any more, and put every attribute back."""
        while self._waiting:
            self._waiting.pop().stop()
        self._patches.undo()

    def _put_in(self, module: str, once: str) -> None:
        if _may_come(module):
            self._wait(module, lambda: self._replace(module, once))
            return
        for hook in self._of(module, once):
            lack(module, hook.without)

    def _wait(self, module: str, action: Callable[[], None]) -> None:
        waiting = OnImport(module, action)
        self._waiting.append(waiting)
        waiting.start()

    def _of(self, module: str, once: str) -> list[Hook]:
        return [
            hook for hook in self.rows if (hook.module, hook.once) == (module, once)
        ]

    def _replace(self, module: str, once: str) -> None:
        for hook in self._of(module, once):
            reasons = _reasons(hook)
            for how, name in reasons:
                lack(name, hook.without, how)
            if not reasons:
                for one in _ours(hook):
                    self._patches.put(*one)


def unfit(hook: Hook) -> Iterator[str]:
    """Why a hook does not fit its module, which is imported: nothing when it does."""
    for how, name in _reasons(hook):
        yield f"{hook.module.partition('.')[0]} {how} {name}"


def _reasons(hook: Hook) -> list[tuple[str, str]]:
    """For each attribute that does not fit, how it differs and its name."""
    reasons: list[tuple[str, str]] = []
    for attribute, replacement in hook.replacements.items():
        made = attempt(lambda of=attribute, by=replacement: _one(hook, of, by))
        name = f"{hook.module}.{attribute}"
        if isinstance(made, Raised) and isinstance(made.error, _Other):
            reasons.append(("has another", f"{name}{made.error}"))
        elif isinstance(made, Raised):
            reasons.append(("has no", name))
    return reasons


class _Other(TypeError):
    """A function that takes other arguments than it is known to; which ones."""


def _ours(hook: Hook) -> list[tuple[Any, str, Any]]:
    """The owner of each attribute, its name, and what is to be there."""
    return [
        _one(hook, name, replacement) for name, replacement in hook.replacements.items()
    ]


def _one(
    hook: Hook, attribute: str, replacement: Callable[[Any], Any]
) -> tuple[Any, str, Any]:
    owner: Any = sys.modules[hook.module]
    *path, name = attribute.split(".")
    for part in path:
        owner = getattr(owner, part)
    # What it inherits is another owner's.
    return owner, name, replacement(owner.__dict__[name])


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
