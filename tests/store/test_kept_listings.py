"""What a store keeps in memory: the latest of each identity, and no more than fits."""

from __future__ import annotations

import random
from pathlib import Path

from fxls.listing import Identity
from fxls.store import Store
from fxls.store.files import Signature
from fxls.store.kept_listings import Kept, KeptListings
from tests.store.made import made

MEGABYTE = 1 << 20


def kept(identity: str, size: int) -> Kept:
    listing = made(identity=Identity("net", identity))
    return Kept(Signature(1, size, 1, 1), listing)


def held(listings: KeptListings, names: list[str]) -> list[str]:
    return [name for name in names if listings.get(name) is not None]


def test_every_identity_keeps_what_was_read(tmp_path: Path) -> None:
    store = Store(tmp_path)
    paths = [
        store.materialize(made(identity=Identity("net", f"Net{number}")))
        for number in range(100)
    ]

    first = [store.read(path) for path in paths]

    assert [
        store.read(path) is one for path, one in zip(paths, first, strict=True)
    ] == [True] * 100


def test_of_one_identity_and_entry_the_eight_that_were_asked_for_last_stay() -> None:
    listings, names = KeptListings(), [f"{number}" for number in range(9)]
    for name in names[:8]:
        assert listings.keep(name, kept("Net", 1)) == ()
    listings.keep("0", kept("Net", 1))

    assert listings.keep("8", kept("Net", 1)) == ("1",)
    assert listings.keep("other", kept("Other", 1)) == ()
    assert held(listings, [*names, "other"]) == [*"02345678", "other"]


def test_what_is_larger_than_all_that_may_be_kept_stays_alone() -> None:
    listings = KeptListings()
    listings.keep("a", kept("A", 20 * MEGABYTE))
    listings.keep("b", kept("B", 10 * MEGABYTE))

    assert listings.keep("c", kept("C", 100 * MEGABYTE)) == ("a", "b")
    assert held(listings, ["a", "b", "c"]) == ["c"]
    assert listings.keep("d", kept("D", 1)) == ("c",)


def test_what_is_kept_is_what_a_search_through_all_would_keep() -> None:
    chance, listings = random.Random(0), KeptListings()
    model: dict[str, Kept] = {}
    for _ in range(600):
        identity = f"{chance.randrange(12)}"
        name = f"{identity}-{chance.randrange(12)}"
        # What is asked for again is often the same object as before.
        again = model.get(name) if chance.randrange(2) else None
        one = again or kept(identity, chance.choice([1, 100, MEGABYTE, 6 * MEGABYTE]))
        listings.keep(name, one)

        model.pop(name, None)
        model[name] = one
        same = [other for other in model if other.split("-")[0] == identity]
        for other in same[:-8]:
            del model[other]
        for oldest in [*model][:-1]:
            if sum(k.signature.size for k in model.values()) <= 32 * MEGABYTE:
                break
            del model[oldest]
        names = [f"{a}-{b}" for a in range(12) for b in range(12)]
        assert held(listings, names) == [name for name in names if name in model]
