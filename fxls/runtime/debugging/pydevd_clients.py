"""Something to be done whenever a client of debugpy is connected, also a late one."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from fxls.on_import import OnImport
from fxls.runtime.debugging.pydevd import DEBUGGER, logging_unknown
from fxls.runtime.patches import Patches

__all__ = ["OnClient"]


class OnClient:
    """Calls `action` when a client is connected: at once, and for each that comes.

    - A debugger may be loaded long after the start, as one that gets into a process that
      runs. Nothing is called before.
    - `action` is called in the thread that connects, as soon as that is done; another
      thread may have taken the first requests by then. It must not raise.
    - In force from `start` to `stop`.
    """

    def __init__(self, action: Callable[[], object]) -> None:
        self._action = action
        self._patches = Patches()
        self._import = OnImport(DEBUGGER, self._loaded)

    def start(self) -> None:
        """Wait for clients."""
        # Who waits for its import may call this before the import has ended.
        if hasattr(sys.modules.get(DEBUGGER), _CLASS):
            self._loaded()
        else:
            self._import.start()

    def stop(self) -> None:
        """Wait no longer; the debugger is as it was."""
        self._import.stop()
        self._patches.undo()

    def _loaded(self) -> None:
        with logging_unknown("a client that comes late has less until the next graph"):
            debugger: Any = getattr(sys.modules[DEBUGGER], _CLASS)
            own: Callable[..., object] = debugger.initialize_network

            @functools.wraps(own)
            def connect(*args: Any, **kwargs: Any) -> object:
                done = own(*args, **kwargs)
                self._action()
                return done

            self._patches.put(debugger, "initialize_network", connect)
        self._action()


_CLASS = "PyDB"
