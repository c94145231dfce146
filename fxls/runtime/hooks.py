"""What is replaced in other people's modules for as long as an installation lasts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fxls.on_import import OnImport
from fxls.runtime.faults import logging_faults
from fxls.runtime.patches import Patches

__all__ = ["Hook", "Hooks"]


@dataclass(frozen=True, slots=True)
class Hook:
    """What is replaced in one module, once somebody has imported it."""

    module: str
    without: str
    """What is so when it cannot be replaced, as a clause."""
    replacements: Mapping[str, Callable[[Any], Any]]
    """By attribute, as ``GraphModule.recompile``, what makes ours of theirs."""


class Hooks:
    """Some hooks, each for a module of its own."""

    def __init__(self, rows: Iterable[Hook]) -> None:
        self.rows = tuple(rows)
        self._waiting: list[OnImport] = []
        self._patches = Patches()

    def put_in(self) -> None:
        """Replace in the modules that are there, and in others when they come."""
        for hook in self.rows:
            waiting = OnImport(hook.module, lambda hook=hook: self._replace(hook))
            self._waiting.append(waiting)
            waiting.start()

    def take_out(self) -> None:
        """Wait for no import any more, and put every attribute back."""
        while self._waiting:
            self._waiting.pop().stop()
        self._patches.undo()

    def _replace(self, hook: Hook) -> None:
        with logging_faults(hook.without):
            for attribute, replacement in hook.replacements.items():
                owner: Any = sys.modules[hook.module]
                *path, name = attribute.split(".")
                for part in path:
                    owner = getattr(owner, part)
                self._patches.put(owner, name, replacement(getattr(owner, name)))
