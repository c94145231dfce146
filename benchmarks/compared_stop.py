"""How long the first stop of a debugger in a listing reads what was compared.

    python -m benchmarks.compared_stop

A store has eight runs, as many as are looked through, each with the passes of a GPT-2 and,
where the program was compared, with the values that were judged of its graphs.
"""

from __future__ import annotations

import itertools
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from fxls import record
from fxls.listing import Facts, Identity, Listing, Mark, Role
from fxls.record import (
    Entry,
    Event,
    InBlob,
    Judged,
    JudgedValue,
    Names,
    Pass,
    RevisionName,
    Run,
)
from fxls.runtime.debugging.compared import Compared
from fxls.store import Store
from fxls.store.runs import BLOBS, FOLDER, blob_name, record_path

__all__ = ["main", "seconds"]

RUNS = 8
PASSES = 3_000
STEPS = 24
"""So many steps of which values are judged."""
VALUES = 2_000
"""As many as are kept of a step."""
ROUNDS = 5
KINDS = ((0, 2_000), (1, 2_000), (RUNS, 2_000), (0, 100_000), (RUNS, 100_000))
"""How many of the runs are comparisons, and how many nodes the listing has."""


def _listing(nodes: int, stage: str, step: int) -> Listing:
    names = ["x", *(f"relu_{at}" for at in range(1, nodes))]
    lines = [
        f"    {name} = torch.ops.aten.relu.default({before})"
        for before, name in itertools.pairwise(names)
    ]
    text = f"# {stage}, {step}\ndef forward(self, x):\n" + "\n".join(lines)
    facts = [Facts("x", "placeholder", "x", 1)]
    facts += [
        Facts(name, "call_function", "aten.relu.default", at + 1, args=((at - 1,),))
        for at, name in enumerate(names)
        if at
    ]
    marks = [
        Mark(at + 1, 4, len(name), at, Role.BINDS)
        for at, name in enumerate(names)
        if at
    ]
    identity = Identity("net", "Net", "torch.compile", stage)
    end = f"\n    return {names[-1]}\n"
    return Listing(identity, text + end, 1, tuple(marks), tuple(facts))


def _named(store: Store, listing: Listing) -> RevisionName:
    path = store.materialize(listing)
    newest = store.newest(listing.identity)
    assert newest is not None, "it was written just now"
    return RevisionName(listing.identity, path.name, newest.facts)


def _pass(at: int, revision: RevisionName) -> Pass:
    return Pass(
        f"pass_{at}",
        1,
        "0/0",
        producer="torch.compile",
        stage=revision.identity.stage,
        seconds=0.001,
        changed=True,
        before=revision,
        after=revision,
        created=Names(8, tuple(f"mul_{one}" for one in range(8))),
    )


def _judged(at: int, revision: RevisionName, others: Sequence[str]) -> Judged:
    values = [
        JudgedValue(
            *(f"relu_{one}", 1.3e-07 * one, 4.2e-06, 3.1, at == one),
            f"eager {one}.25, compiled {one}.5 at [{one}, 0]",
        )
        for one in range(1, VALUES + 1)
    ]
    count = VALUES + 1_000
    return Judged(revision, f"pass_{at}", count, tuple(values), "0/0", tuple(others))


def _write(root: Path, number: int, events: Sequence[Event]) -> None:
    name = f"202601{number + 1:02}T030405Z-host-7-0123abcd"
    head = Run(record.SCHEMA, name, name, 7, 1.0)
    lines: list[bytes] = []
    for at, event in enumerate((head, *events)):
        line = record.encode(Entry(at, 1, 1.0, 2.0, event))
        if len(line) > record.MOST_IN_LINE:
            blob = root / FOLDER / BLOBS / blob_name(line)
            blob.parent.mkdir(parents=True, exist_ok=True)
            blob.write_bytes(line)
            short = InBlob(record.kind_of(event), blob.name, len(line))
            line = record.encode(Entry(at, 1, 1.0, 2.0, short))
        lines.append(line + b"\n")
    path = record_path(root, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(lines))


def seconds(comparisons: int, nodes: int) -> tuple[float, float, float]:
    """How long the first stop waits, how long it takes until all is read of its listing,
    and then of another one.
    """
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder))
        stages = [", post-grad" * (at > 0) for at in range(STEPS)]
        made = [
            _listing(nodes, f"graph 0, forward{of}", at) for at, of in enumerate(stages)
        ]
        named = [_named(store, one) for one in made]
        half, last, other, revision = made[0], made[-1], named[0], named[-1]
        for number in range(RUNS):
            events: list[Event] = [_pass(at, revision) for at in range(PASSES)]
            if number < comparisons:
                texts = [one.text for one in named]
                events += [_judged(at, one, texts) for at, one in enumerate(named)]
            _write(store.root, number, events)
        took: list[tuple[float, ...]] = []
        for _ in range(ROUNDS):
            both = Compared(store), Compared(store)
            times = [time.perf_counter()]
            said = both[0].soon(store.root / revision.text, last)
            times.append(time.perf_counter())
            while not said() and comparisons:
                time.sleep(0.001)
            times.append(time.perf_counter())
            both[1].of(store.root / revision.text, last)
            times.append(time.perf_counter())
            both[1].of(store.root / other.text, half)
            times.append(time.perf_counter())
            took.append(tuple(b - a for a, b in itertools.pairwise(times)))
    stop, _, first, second = map(statistics.median, zip(*took, strict=True))
    return stop, first, second


def main() -> None:
    """Print a row for each kind of store."""
    print(
        "| comparisons of 8 runs | nodes | the stop waits | all is read | of another |"
    )
    print("|---|---|---|---|---|")
    for comparisons, nodes in KINDS:
        took = " | ".join(f"{1e3 * one:.0f} ms" for one in seconds(comparisons, nodes))
        print(f"| {comparisons} | {nodes:,} | {took} |")


if __name__ == "__main__":
    main()
