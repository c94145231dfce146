"""A stop of the debugger does not wait until all is read that was compared."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path

from fxls.listing import Identity, Listing
from fxls.record import Judged, JudgedValue, Remark, RevisionName, Subject
from fxls.runtime.debugging.compared import Compared
from fxls.store import Store
from tests.support.listings import listing_of
from tests.support.records import FIRST, SECOND, written

NET = Identity("net", "Net", "torch.compile", "graph 0")
TEXT = """\
def forward(self, x):
    relu = torch.relu(x)
    return relu
"""


def judged(revision: RevisionName, error: float) -> Judged:
    value = JudgedValue("relu", error, 0.5, 1.0, is_wrong=True)
    return Judged(revision, "my_pass", 1, (value,), "0/0", (revision.text,))


def named(store: Store) -> tuple[Path, Listing, RevisionName]:
    listing = listing_of(TEXT, identity=NET)
    path = store.materialize(listing)
    return path, listing, RevisionName(NET, path.name)


def test_what_the_newest_run_says_that_was_compared_stands_at_a_value(
    tmp_path: Path,
) -> None:
    store = Store(tmp_path / ".fxls")
    path, listing, revision = named(store)
    other = Remark(Subject.NUMBERS, '"judged"')
    written(store.root, FIRST, other, judged(revision, 1.0), judged(revision, 2.0))
    written(store.root, SECOND, other)

    assert Compared(store).of(path, listing) == {
        "relu": "wrong: off by 2, explained 0.5 (my_pass, graph 0)"
    }


def test_a_stop_goes_on_without_what_takes_longer_to_read(tmp_path: Path) -> None:
    store = Store(tmp_path / ".fxls")
    path, listing, _ = named(store)
    go_on = threading.Event()

    class Slow(Compared):
        def of(self, path: Path, listing: Listing) -> Mapping[str, str]:
            assert go_on.wait(60)
            return {"relu": "wrong"}

    said = Slow(store).soon(path, listing)
    before = said()
    go_on.set()
    for thread in threading.enumerate():
        if thread.name == "fxls compared":
            thread.join(60)

    assert (before, said()) == ({}, {"relu": "wrong"})
