"""`fxls compare A B`: what two listings, revisions, runs or ranks compute."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fxls.cli.command import (
    ExitCode,
    Troubles,
    chosen_or_located,
    failed,
    harmless,
    say,
    sources_here,
)

if TYPE_CHECKING:
    import argparse

    from fxls.cli.diff_sides import Side
    from fxls.verdicts.two_listings import TwoListings

__all__ = ["compare_listings", "names_listings"]

_WORDS = re.compile(r"(run|rank|pass):.")


def names_listings(program: Sequence[str]) -> bool:
    """Whether the words of a command line are those of `fxls diff`, and no program."""
    from fxls.store.names import is_file_name

    return 0 < len(program) < 3 and all(
        is_file_name(Path(one).name)
        or _WORDS.match(one) is not None
        or not (one[:1] == "-" or ".py" in one or Path(one).exists())
        for one in program
    )


def compare_listings(options: argparse.Namespace, words: Sequence[str]) -> int:
    """Run the listings that are meant on the same inputs, and say where they differ."""
    from fxls.cli.diff_sides import NotFound, one_side, two_sides
    from fxls.cli.reports.two_listings_report import as_json, text
    from fxls.store import Store, StoreError
    from fxls.store.runs import Runs

    troubles = Troubles()
    try:
        store = Store(chosen_or_located(options.store), report=troubles)
        runs = Runs(store.root, troubles)
        old, new = (
            one_side(store, runs, words[0], None)
            if len(words) == 1
            else two_sides(store, runs, (words[0], words[1]), None)
        )
        found = _compared(old, new, int(options.memory) << 20)
    except NotFound as error:
        say(f"fxls: error: {error.problem}\nhelp: {error.advice}")
        return ExitCode.USAGE
    except StoreError as error:
        failed(error)
        return ExitCode.USAGE
    if options.json:
        print(json.dumps(as_json(found)))
    else:
        print(harmless(text(found, sources_here())))
    if any(one.evidence is not None for one in found):
        return ExitCode.TROUBLE
    is_open = any(one.why_not or one.untold for one in found)
    return ExitCode.USAGE if is_open or not found else ExitCode.OK


def _compared(old: Side, new: Side, most_bytes: int) -> list[TwoListings]:
    """Each graph of both; of several the same text is left out, as it computes the same.

    Raises `StoreError`.
    """
    from fxls.cli.diff_sides import called
    from fxls.runtime.numbers.two_listings import two_listings
    from fxls.verdicts.two_listings import TwoListings

    found: list[TwoListings] = []
    for identity, graph in new.graphs.items():
        other = next(iter(old.graphs.values())) if old.is_one else None
        other = other or old.graphs.get(identity)
        name = called(identity)
        if other is None:
            why = f"{old.title} has no such graph"
            found.append(TwoListings(name, "", str(graph.path), why_not=why))
            continue
        sides = ((other.path, other.read()), (graph.path, graph.read()))
        found.append(two_listings(name, *sides, most_bytes))
    found += [
        TwoListings(called(one), str(graph.path), "", why_not=f"{new.title} has none")
        for one, graph in old.graphs.items()
        if not old.is_one and one not in new.graphs
    ]
    return found
