"""Records of runs, written as a program under fxls leaves them."""

from __future__ import annotations

from pathlib import Path

from fxls import machine, record
from fxls.record import Entry, Event, Run
from fxls.store.runs import record_path

__all__ = ["FIRST", "SECOND", "written"]

FIRST = "20260102T030405Z-host-7-0123abcd"
SECOND = "20260103T030405Z-host-8-0123abcd"


def written(
    root: Path, name: str, *events: Event, launch: str = "", rank: int | None = None
) -> None:
    head = Run(
        1,
        name,
        launch or name,
        2**22 + 1,
        1.0,
        program=str(root.parent / "train.py"),
        arguments=("--fast",),
        boot=machine.boot(),
        host=machine.host(),
        versions={"torch": "2.13.0"},
        rank=rank,
    )
    path = record_path(root, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    entries = (Entry(at, 1, 1.0, 2.0, one) for at, one in enumerate((head, *events)))
    path.write_bytes(b"".join(record.encode(one) + b"\n" for one in entries))
