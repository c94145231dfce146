"""Graphs that torch did not make again, because it had compiled them before.

On a hit in a cache of torch's only the graph that Dynamo captured is there; torch keeps
the compiled code of those behind it, and not their graphs. A run that did make them left
their listings in the store, where they name the captured one, whose name is a hash.
"""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import msgspec

from fxls.listing import Identity, Listing
from fxls.runtime.faults import logging_faults
from fxls.runtime.listings.module_names import importable_name
from fxls.runtime.listings.rank import rank
from fxls.runtime.producers.capture import Capture
from fxls.said_once import SaidOnce
from fxls.store import Store, StoreError

__all__ = ["CompileCache"]

_log = logging.getLogger("fxls")


class CompileCache:
    """What is done about hits in the caches of torch.compile."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._said = SaidOnce()

    @contextlib.contextmanager
    def noticing(self, capture: Capture, path: Path | None) -> Generator[None]:
        """Compile a captured graph in the block, whose listing lies at this path."""
        before = _hits()
        yield
        if capture.root is not None and path is not None and _hits() != before:
            with logging_faults(_UNNOTICED):
                module, qualname = capture.root
                self._reuse(
                    Identity(
                        importable_name(module),
                        qualname,
                        capture.producer,
                        capture.stage,
                        rank(),
                    ),
                    path,
                )

    def _reuse(self, captured: Identity, path: Path) -> None:
        """Make the listings the newest that were made from this one, or miss them."""
        known = [self._known(captured, path, stage) for stage in _STAGES]
        for listing in filter(None, known):
            self._store.materialize(listing)
        if not any(known) and self._said.is_first():
            _log.warning(
                "torch took graphs behind %s of %s from its cache: they are no listings."
                " TORCHINDUCTOR_FORCE_DISABLE_CACHES=1 lets it make them again.",
                *(captured.stage, captured.qualname),
            )

    def _known(self, captured: Identity, path: Path, stage: str) -> Listing | None:
        """The listing of a later graph that was made from this text."""
        identity = msgspec.structs.replace(captured, stage=f"{captured.stage}, {stage}")
        for revision in reversed(self._store.revisions(identity)):
            with contextlib.suppress(StoreError):
                listing = self._store.read_revision(revision)
                if any(one.file == path.name for one in listing.parents):
                    return listing
        return None


def _hits() -> int:
    """How often torch found something in its caches in this process."""
    utils: Any = sys.modules.get("torch._dynamo.utils")
    found = 0
    if utils is not None:
        with logging_faults(_UNNOTICED):
            found = sum(utils.counters[table][name] for table, name in _COUNTERS)
    return found


_UNNOTICED = "graphs in a cache of torch.compile are no listings"
_COUNTERS = (("aot_autograd", "autograd_cache_hit"), ("inductor", "fxgraph_cache_hit"))

_STAGES = (
    "pre-grad",
    "traced",
    "joint",
    "forward",
    "forward, post-grad",
    "backward",
    "backward, post-grad",
)
