"""Listings to put into a store, and a store that tells what it reports."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from fxls.listing import Facts, Frame, Identity, Listing, Mark, Role, Source, Tensor
from fxls.store import Store, StoreError

NET = Identity("net", "Net")
ANYBODY = 65534


def made(
    body: str = "relu",
    *,
    identity: Identity = NET,
    size: int = 3,
    source: str = "/models/net.py",
    entry: str | None = None,
) -> Listing:
    """A listing of one call; `body` changes its text, `size` its facts alone."""
    return Listing(
        identity=identity,
        text=f"def forward(self, x):\n    {body} = torch.{body}(x)\n    return {body}\n",
        definition=0,
        marks=(
            Mark(0, 18, 1, 0, Role.BINDS),
            Mark(1, 4, len(body), 1, Role.BINDS),
            Mark(1, 14 + 2 * len(body), 1, 0, Role.READS),
            Mark(2, 11, len(body), 1, Role.READS),
        ),
        nodes=(
            Facts("x", "placeholder", "x", 0, users=(1,)),
            Facts(
                body,
                "call_function",
                f"torch.{body}",
                1,
                args=((0,),),
                users=(2,),
                origin=0,
                value=Tensor((size, size), "float32", "cpu"),
            ),
            Facts("output", "output", "output", 2, args=((1,),)),
        ),
        sources=(Source(source, "d" * 12),),
        frames=(Frame(0, "Net.forward", 4, 15, 4, 28),),
        entry=entry,
    )


def listings_about(store: Store, source: Path) -> tuple[Listing, ...]:
    """`Store.about`, where each path is that of its listing."""
    found = store.about(source)
    for path, listing in found:
        assert path == store.path_of(listing.identity.class_name, listing.text)
    return tuple(listing for _, listing in found)


class Listening:
    """A store and what it reported."""

    def __init__(self, root: Path) -> None:
        self.reports: list[str] = []
        self.store = Store(root, report=self._hear)

    def _hear(self, trouble: StoreError) -> None:
        self.reports.append(str(trouble))


def names_below(root: Path) -> list[str]:
    """Every file below a folder, as a path from it."""
    return sorted(
        path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()
    )


@contextmanager
def as_anybody() -> Generator[None]:
    """Without the powers of root, whom permissions do not stop."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(ANYBODY)
    try:
        yield
    finally:
        os.seteuid(0)
