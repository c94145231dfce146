"""What the server tells the stores of what clients do."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec.structs import replace

from fxls.listing import Source, source_digest
from fxls.serving.library import Library
from fxls.store import Store, prune
from tests.store.made import made


def test_what_a_client_opened_stays_when_the_store_is_too_large(tmp_path: Path) -> None:
    store = Store(tmp_path / ".fxls")
    opened, other, newest = (
        store.materialize(made(body)) for body in ("relu", "tanh", "gelu")
    )
    Library().look(str(opened))
    assert prune(store.root, megabytes=1e-6).deleted == (other.name,)
    assert opened.exists()
    assert newest.exists()


def test_a_source_that_changed_while_it_was_traced_makes_its_listing_stale(
    tmp_path: Path,
) -> None:
    source = tmp_path / "net.py"
    source.write_text("as it was traced")
    digest = source_digest(source.read_bytes())
    listing = replace(made(), sources=(Source(str(source), digest),))
    store = Store(tmp_path / ".fxls")
    store.materialize(listing)
    library = Library()
    (revision,) = store.revisions(listing.identity)

    before = library.is_stale(revision)
    source.write_text("as it was saved while the trace ran")
    written = revision.time - 5
    os.utime(source, (written, written))

    assert (before, library.is_stale(revision)) == (False, True)
