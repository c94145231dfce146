"""`fxls passes --became`: what became of an expression, for people and for programs."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fxls.cli.command import ExitCode, harmless, say, sources_here
from fxls.cli.report import CHANGED, Sources, place_as_json
from fxls.cli.reports.pass_report import pass_as_json, reading
from fxls.counted import counted
from fxls.record.became import Became, Expression, Stage, Step, what_became

if TYPE_CHECKING:
    from fxls.listing import Facts
    from fxls.record import Event
    from fxls.store import Store

__all__ = ["show_became"]

_NODES = 12
"""So many nodes of a graph are printed; JSON has them all."""

_READ = 64
"""So many graphs are kept: of each, nodes are looked for and compared."""


def show_became(
    events: Iterable[Event], store: Store, run: str, options: argparse.Namespace
) -> ExitCode:
    """Print it; gives what the command is to end with."""
    asked = _expression(options.became)
    if asked is None:
        say(
            f"fxls: error: {options.became!r} is no place\n"
            "help: FILE:LINE means all that a line computes, and FILE:LINE:COLUMN the "
            "expression there; both count from 1."
        )
        return ExitCode.USAGE
    found = what_became(events, asked, reading(store, _READ))
    if options.json:
        print(json.dumps(_as_json(found, store, run)))
    elif found.stages:
        print(harmless(_text(found, store)))
    else:
        say(
            f"fxls: no graph of this run has a node of {options.became}\n"
            "help: `fxls list` shows the graphs; a source that changed since the run "
            "has other lines."
        )
    if found.unread:
        graphs = counted(found.unread, "graph is", "graphs are")
        say(f"fxls: warning: {graphs} not in the store any more")
    return ExitCode.OK


def _expression(text: str) -> Expression | None:
    file, numbers = text, list[int]()
    while len(numbers) < 2:
        rest, colon, last = file.rpartition(":")
        if not colon or not (last.isascii() and last.isdecimal()):
            break
        file, numbers = rest, [int(last[:9]), *numbers]
    if not numbers or not file or min(numbers) < 1:
        return None
    line, *column = numbers
    path = os.path.normpath(Path(file).absolute())
    return Expression(path, line - 1, column[0] - 1 if column else None)


def _text(found: Became, store: Store) -> str:
    sources = sources_here()
    lines: list[str] = []
    for place in found.places:
        start = place.span.start
        code = CHANGED
        if sources.is_as(place.path, found.digests):
            code = " ".join(sources.lines(place.path).slice(place.span).split())
        name = sources.name(place.path)
        lines.append(f"{name}:{start.line + 1}:{start.column + 1}: {code}")
    for stage in found.stages:
        lines += _stage(stage, store, sources)
    return "\n".join(lines)


def _stage(stage: Stage, store: Store, sources: Sources) -> list[str]:
    identity = stage.revision.identity
    of = next((step.ran.compilation for step in stage.steps), None)
    where = " ".join(filter(None, (of, identity.stage or identity.producer)))
    path = sources.name(str(store.root / stage.revision.text))
    lines = [f"{where}  {path}"]
    for step in stage.steps:
        ran = step.ran
        name = ran.name if ran.ordinal < 2 else f"{ran.name} ({ran.ordinal})"
        lines.append(f"  {name}: {_did(step)}")
    shown = stage.nodes[:_NODES]
    lines += [
        f"  {facts.name}, {_called(facts)} in line {facts.line + 1}" for facts in shown
    ]
    if (more := len(stage.nodes) - _NODES) > 0:
        lines.append(f"  and {counted(more, 'more node')}")
    if stage.without_kernel:
        said = [f"{name} ({kind})" for name, kind in stage.without_kernel]
        lines.append(f"  no kernel: {_listed(said)}")
    elif not stage.nodes:
        lines.append("  nothing is left of it")
    return lines


def _called(facts: Facts) -> str:
    """What a node calls; an operator by the name that torch has for it."""
    if not facts.opcode.startswith("call_"):
        return facts.opcode
    return facts.target.removeprefix("torch.ops.")


def _did(step: Step) -> str:
    did = (("erased", step.gone), ("made", step.made), ("altered", step.altered))
    return ", ".join(f"{verb} {_and(names)}" for verb, names in did if names)


def _listed(names: list[str]) -> str:
    more = len(names) - _NODES
    shown = ", ".join(names[:_NODES])
    return f"{shown} and {more} more" if more > 0 else shown


def _and(names: tuple[str, ...]) -> str:
    shown = [*names[:_NODES]]
    if (more := len(names) - _NODES) > 0:
        shown.append(f"{more} more")
    return " and ".join(shown)


def _as_json(found: Became, store: Store, run: str) -> dict[str, Any]:
    return {
        "schema": 1,
        "run": run,
        "places": [place_as_json(place) for place in found.places],
        "stages": [
            {
                "producer": stage.revision.identity.producer,
                "stage": stage.revision.identity.stage,
                "revision": str(store.root / stage.revision.text),
                "nodes": [
                    {
                        "name": facts.name,
                        "opcode": facts.opcode,
                        "target": facts.target,
                        "line": facts.line + 1,
                    }
                    for facts in stage.nodes
                ],
                "without_kernel": [
                    {"name": name, "kind": kind} for name, kind in stage.without_kernel
                ],
                "passes": [
                    {
                        "pass": pass_as_json(step.ran, store.root),
                        "gone": step.gone,
                        "made": step.made,
                        "altered": step.altered,
                    }
                    for step in stage.steps
                ],
            }
            for stage in found.stages
        ],
        "unread": found.unread,
    }
