"""Everybody who makes graphs, besides the engine: hooked in, and out again."""

from __future__ import annotations

import atexit
import contextlib
from collections.abc import Callable, MutableMapping
from pathlib import Path
from types import CodeType

from fxls.runtime.checks.switch import Watching
from fxls.runtime.patches import Patches
from fxls.runtime.producers.compile_cache import Cached
from fxls.runtime.producers.dynamo import Breakpoints, Dynamo
from fxls.runtime.producers.excepthook import show_text_that_ran
from fxls.runtime.producers.torch_export import Exported
from fxls.runtime.producers.torch_fx import TorchFx
from fxls.store import Store, StoreError, prune_seldom

__all__ = ["Producers"]


class Producers:
    """The hooks of one installation."""

    def __init__(
        self,
        store: Store,
        codes: MutableMapping[Path, CodeType],
        attend: Callable[[], object],
        materialized: Callable[[Path], None],
        watching: Watching,
        breakpoints: Breakpoints,
    ) -> None:
        self._store = store
        self._patches = Patches()
        self.torch_fx = TorchFx(store, codes, attend, materialized, watching.made)
        self.dynamo = Dynamo(
            *(self.torch_fx.publish, lambda: bool(watching), Cached(store)),
            *(self.torch_fx.root, breakpoints),
        )
        self._exported = Exported(self.torch_fx.root)

    def put_in(self) -> None:
        """Hook into everybody."""
        atexit.register(self._prune)
        show_text_that_ran(self._patches)
        self.torch_fx.put_in(self._patches)
        self.dynamo.put_in(self._patches)
        self._exported.put_in(self._patches)

    def take_out(self) -> None:
        """Put every attribute back, and write what is not written yet."""
        atexit.unregister(self._prune)
        self.dynamo.take_out()
        self._exported.take_out()
        self._patches.undo()
        self.torch_fx.take_out()

    def _prune(self) -> None:
        """Keep the store small; when the program ends, which then waits for nothing."""
        # What keeps it from being pruned keeps it from being written, and that was said.
        with contextlib.suppress(StoreError):
            prune_seldom(self._store.root)
