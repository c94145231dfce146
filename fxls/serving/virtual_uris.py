"""The URIs of documents that are in no file: of which store and identity each is."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from fxls.listing import Identity
from fxls.store import Store, digest_of, identity_uri

__all__ = ["FORWARD", "REVISIONS", "TABLE", "VIRTUAL", "VirtualUris", "is_whole"]

VIRTUAL = "fxls:/"
FORWARD, TABLE, REVISIONS = "forward.py", "table.txt", "revisions.txt"

_PLACE = re.compile(r"fxls:/+(store-[0-9a-f]+/)")


class VirtualUris:
    """Gives each store a place, because two folders may have models of the same name.

    The documents of the store that came first are on top; a store keeps its place.
    """

    def __init__(self) -> None:
        self._places: dict[Path, str] = {}

    def add(self, root: Path) -> None:
        place = f"store-{digest_of(os.fsencode(root))}/" if self._places else ""
        self._places.setdefault(root, place)

    def uri(self, root: Path, identity: Identity, name: str) -> str:
        """A document about an identity of a store."""
        head = identity_uri(identity).removeprefix(VIRTUAL).removesuffix(FORWARD)
        return f"{VIRTUAL}{self._places[root]}{head}{name}"

    def named(
        self, uri: str, stores: Iterable[Store]
    ) -> Iterator[tuple[Store, Identity]]:
        """What a URI may be about; one without a place is about any store."""
        place = _PLACE.match(uri)
        slug = uri.rpartition("/")[0][place.end() if place else len(VIRTUAL) :]
        for store in stores:
            if place is None or self._places[store.root] == place[1]:
                identity = store.identity_of(f"{VIRTUAL}{slug}/{FORWARD}")
                if identity is not None:
                    yield store, identity


def is_whole(path: str) -> bool:
    """Whether a virtual document stands for all of its identity."""
    return path.startswith(VIRTUAL) and path.endswith(f"/{FORWARD}")
