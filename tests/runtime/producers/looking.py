"""What tests of every producer ask of the store."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from fxls.listing import Listing, Origin
from fxls.runtime import finish
from fxls.store import Store

MODULE = "tests.runtime.producers.torch_nets"


def forward_of(module: Any) -> Any:
    """The generated function of a graph module."""
    return cast("Any", type(module)).forward


def path_of(module: Any) -> Path:
    """The file that a graph module's code says it is in."""
    return Path(forward_of(module).__code__.co_filename)


def listing_in(store: Store, module: Any) -> Listing:
    """The listing that a graph module runs."""
    finish()
    listing = store.read(path_of(module))
    assert listing.text == path_of(module).read_text("utf-8")
    return listing


def listings_in(store: Store) -> dict[tuple[str, str, str], Listing]:
    """Every listing of a store by class, producer and stage."""
    finish()
    found: dict[tuple[str, str, str], Listing] = {}
    for identity in store.identities():
        revision = store.newest(identity)
        assert revision is not None
        key = (identity.qualname, identity.producer, identity.stage)
        found[key] = store.read_revision(revision)
    return found


def origins(listing: Listing) -> dict[str, Origin]:
    """The origin of each node that has one."""
    found = {f.name: listing.origin(i) for i, f in enumerate(listing.nodes)}
    return {name: origin for name, origin in found.items() if origin is not None}


def sources(listing: Listing) -> dict[str, str]:
    """For each node the expression of the source that it came from."""
    found: dict[str, str] = {}
    for name, origin in origins(listing).items():
        place = origin.places[0]
        start, end = place.span.start, place.span.end
        assert start.line == end.line
        line = Path(place.path).read_text("utf-8").splitlines()[start.line]
        found[name] = line[start.column : end.column]
    return found


def linked(listing: Listing) -> list[tuple[str, Any]]:
    """The words of the head that lead somewhere, and where to."""
    lines = listing.text.split("\n")
    return [
        (lines[one.line][one.column : one.column + one.length], one.to)
        for one in listing.links
    ]


def header(listing: Listing) -> list[str]:
    """The comment above the code, without its first line."""
    lines = listing.text.splitlines()
    return [line[2:] for line in lines[1:] if line.startswith("#")]
