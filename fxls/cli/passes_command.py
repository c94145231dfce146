"""`fxls passes`: what the passes of a run did, and which was the first to do something."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from fxls.cli.command import (
    Commands,
    Troubles,
    add_command,
    add_store_to_read,
    bold,
    chosen_or_located,
    completed,
    failed,
    harmless,
    is_colored,
    say,
    sources_here,
)
from fxls.cli.run_argument import add_run, found_run, newest_with_passes
from fxls.counted import counted

if TYPE_CHECKING:
    from fxls.cli.report import Sources
    from fxls.listing import Place
    from fxls.record import Event, Pass
    from fxls.record.first_pass import Answer, Found, Question
    from fxls.record.pattern_runs import PatternRuns
    from fxls.store import Store
    from fxls.store.runs import Runs

__all__ = ["add", "passes"]

_EPILOG = """\
examples:
  fxls passes                           the passes of the newest run that changed a graph
  fxls passes post-grad --all           of these, also those that changed nothing
  fxls passes --first-gone add_37       the first pass behind which there is no add_37
  fxls passes --first-with convert_element_type.default
  fxls passes --first-shape 8x1024
  fxls passes --became train.py:17      what became of that line, graph by graph
  fxls passes --first-broken --json | jq -r '.found[].after'

A pass is a step of a compiler, or of your own, that was given a graph. +, -, ~ count the
nodes that it created, erased, and altered or moved. A pass in another one stands below it.
"""

_PATTERNS = 4
"""So many patterns of one pass stand in the list; JSON has them all."""

_ASKED = (
    ("gone", "NODE", "the node is not there any more"),
    ("made", "NODE", "the node is there"),
    ("altered", "NODE", "the node has another target, or other arguments"),
    ("moved", "NODE", "the node stands before or behind another one, as it did not"),
    ("with", "TARGET", "a node calls this; the end of a name is enough"),
    ("without", "TARGET", "no node calls this any more"),
    ("shape", "SHAPE", "a value has this shape, as 8x1024"),
)


def add(commands: Commands) -> None:
    """Add the subcommand and its options."""
    parser = add_command(
        commands,
        "passes",
        "say what the passes of a run did to its graphs, and which was the first",
        _EPILOG,
    )
    parser.set_defaults(command=passes)
    words = parser.add_argument(
        "words",
        metavar="WORD",
        nargs="*",
        help="of those alone whose name, graph or compilation says all of these words",
    )
    completed(words, "word")
    add_run(
        *(parser, "--run"),
        "the run, or a part of its id (default: the newest that has passes)",
    )
    parser.add_argument(
        "--all", action="store_true", help="also passes that changed nothing"
    )
    first = parser.add_mutually_exclusive_group()
    for asked, kind, help_ in _ASKED:
        one = first.add_argument(
            f"--first-{asked}", metavar=kind, help=f"the first behind which {help_}"
        )
        completed(one, "word")
    first.add_argument(
        "--first-broken",
        action="store_true",
        help="the first behind which a node uses one that is made later",
    )
    became = first.add_argument(
        "--became",
        metavar="FILE:LINE[:COLUMN]",
        help="the nodes that came from a line, or from the expression at a column, "
        "in each graph",
    )
    completed(became, "file")
    add_store_to_read(parser)
    parser.add_argument("--json", action="store_true", help="print JSON for programs")


def passes(options: argparse.Namespace) -> int:
    """`fxls passes`: the passes of a run, or the first that did something."""
    from fxls.record import Pass
    from fxls.record.pass_facts import with_facts
    from fxls.store import Store, StoreError
    from fxls.store.runs import Runs

    troubles = Troubles()
    store = Store(chosen_or_located(options.store), report=troubles)
    runs = Runs(store.root, troubles)
    try:
        run = _chosen(runs, options.run)
        if run is None:
            return troubles.code
        events = with_facts(entry.event for entry in runs.read(run).entries)
    except StoreError as error:
        return failed(error)
    if options.became is not None:
        from fxls.cli.reports.became_report import show_became

        return show_became(events, store, run, options) or troubles.code
    ran = [one for one in events if isinstance(one, Pass) and _says(one, options.words)]
    question = _question(options)
    if question is None:
        _show(ran, _searches(events, options), store, run, options)
    else:
        _answer(ran, store, run, question, options)
    return troubles.code


def _chosen(runs: Runs, wanted: str | None) -> str | None:
    """The run that is meant; None where none is and none has passes, which is said.

    Raises `StoreError`; ends, and says so, where no run or several are meant.
    """
    if wanted is not None:
        return found_run(runs, wanted)
    found = newest_with_passes(runs)
    if found is None:
        say(
            "fxls: no run in this store has passes\n"
            "help: `fxls run FILE` records a program; inductor has passes, pass "
            "managers have, and functions that recompile a graph module are some, also "
            "those of a backend of yours; torch's other backends have none; --store or "
            "FXLS_STORE names another folder."
        )
    return found


def _question(options: argparse.Namespace) -> Question | None:
    from fxls.record.first_pass import Asked, Question

    for asked, _, _ in _ASKED:
        what = getattr(options, f"first_{asked}")
        if what is not None:
            return Question(Asked(asked), what)
    return Question(Asked.BROKEN) if options.first_broken else None


def _says(one: Pass, words: Iterable[str]) -> bool:
    said = " ".join((one.name, _where(one), one.producer, one.subgraph or "")).lower()
    return all(word.lower() in said for word in words)


# -- the list ----------------------------------------------------------------------


def _searches(
    events: Iterable[Event], options: argparse.Namespace
) -> tuple[PatternRuns, ...]:
    """The passes that looked for patterns; those of torch where all are asked for."""
    from fxls.record.pattern_runs import pattern_runs_of

    return tuple(
        one
        for one in pattern_runs_of(events)
        if (options.all or one.patterns)
        and any(
            all(word.lower() in name.lower() for word in options.words)
            for name in (one.name, *(each.name for each in one.patterns.values()))
        )
    )


def _show(
    ran: list[Pass],
    searches: tuple[PatternRuns, ...],
    store: Store,
    run: str,
    options: argparse.Namespace,
) -> None:
    shown = [one for one in ran if options.all or one.changed or one.raised]
    if options.json:
        from fxls.cli.reports.pass_report import pass_as_json, runs_as_json

        found = [pass_as_json(one, store.root) for one in _in_order(shown)]
        looked = [runs_as_json(one) for one in searches]
        said = {"schema": 1, "run": run, "passes": found, "patterns": looked}
        print(json.dumps(said))
    elif shown or searches:
        if shown:
            text = harmless(_table(shown, store.root))
            if is_colored(sys.stdout):
                # A pass that changed a graph, and no other row, ends with its revision.
                text = re.sub(r"(?m)^ .*\.py$", lambda one: bold(one[0]), text)
            print(text)
        if searches:
            between = "\n" * bool(shown)
            print(between + harmless(_patterns(searches)))
    else:
        more = "--all shows them." if ran else "WORD may say less."
        say(
            f"fxls: none of {counted(len(ran), 'pass', 'passes')} of {run} "
            f"changed a graph\nhelp: {more}"
        )


def _in_order(ran: Iterable[Pass]) -> list[Pass]:
    """As they began: a pass before those that are parts of it, which end first."""
    ended: list[list[Pass]] = []
    """Each with its parts, of those whose whole has not ended."""
    for one in ran:
        parts: list[list[Pass]] = []
        while ended and len(ended[-1][0].under) > len(one.under):
            parts.append(ended.pop())
        ended.append([one, *(each for part in reversed(parts) for each in part)])
    return [one for whole in ended for one in whole]


def _where(one: Pass) -> str:
    """What is above the passes of one graph, as ``0/0 joint`` and ``Net torch.fx``."""
    from fxls.ide.listing.recorded import where_of

    return " ".join(reversed(where_of(one)))


def _table(ran: list[Pass], root: Path) -> str:
    from fxls.cli.report import rows
    from fxls.ide.listing.recorded import change_of

    sources = sources_here()
    body: list[tuple[str, ...]] = []
    of: str | None = None
    for one in _in_order(ran):
        if of != (of := _where(one)):
            body.append((of, "", "", ""))
        name = one.name if one.ordinal < 2 else f"{one.name} ({one.ordinal})"
        after = "" if one.after is None else sources.name(str(root / one.after.text))
        took = "" if one.seconds is None else f"{one.seconds * 1000:.1f} ms"
        indent = "  " * (1 + len(one.under))
        body.append((indent + name, one.raised or change_of(one), took, after))
        body += [(f"{indent}  {what}", *more) for what, *more in _details(one, sources)]
    return rows(("pass", "change", "time", "revision"), body)


def _details(one: Pass, sources: Sources) -> Iterator[tuple[str, str, str, str]]:
    """What stands below a pass: the patterns that it found, or what it saved."""
    for pattern in one.patterns[:_PATTERNS]:
        place = pattern.place
        where = "" if place is None else _line(place.place, sources)
        yield f"by {pattern.name}", f"x{pattern.count}", "", where
    if (more := len(one.patterns) - _PATTERNS) > 0:
        yield f"and {more} more", "", "", ""
    if one.saved.count or one.recomputed.count:
        saved = f"saved {one.saved.count}, recomputed {one.recomputed.count}"
        yield saved, "", "", ""


def _patterns(searches: Iterable[PatternRuns]) -> str:
    """How often each pass looked for its patterns, and how many matches it had."""
    from fxls.cli.report import rows

    sources = sources_here()

    def row(one: PatternRuns, indent: str) -> tuple[str, ...]:
        where = "" if one.place is None else _line(one.place.place, sources)
        ran = counted(one.ran, "time")
        return indent + one.name, ran, str(one.matched), where

    body: list[tuple[str, ...]] = []
    for one in searches:
        # Of `replace_pattern`, the pass is the pattern.
        own = [*one.patterns.values()]
        is_alone = [pattern.name for pattern in own] == [one.name]
        if not is_alone:
            body.append(row(one, ""))
        body += [row(pattern, "" if is_alone else "  ") for pattern in own]
    return rows(("pass with patterns", "ran", "matched", "pattern"), body)


def _line(place: Place, sources: Sources) -> str:
    """Where a pattern is written; in a package, from the name of the package on."""
    _, found, short = place.path.replace("\\", "/").rpartition("/site-packages/")
    return f"{short if found else sources.name(place.path)}:{place.span.start.line + 1}"


# -- the first pass ----------------------------------------------------------------


def _answer(
    ran: list[Pass],
    store: Store,
    run: str,
    question: Question,
    options: argparse.Namespace,
) -> None:
    from fxls.cli.report import place_as_json
    from fxls.cli.reports.pass_report import pass_as_json, reading
    from fxls.record.first_pass import first_passes

    answer = first_passes(ran, question, reading(store))
    if options.json:
        found = [
            {"pass": pass_as_json(one.ran, store.root), "node": one.node}
            | {
                "reason": one.reason,
                "place": one.place and place_as_json(one.place),
            }
            for one in answer.found
        ]
        said = {"schema": 1, "run": run, "found": found, "unread": answer.unread}
        print(json.dumps(said | {"is_known": answer.is_known}))
    else:
        for one in answer.found:
            print(harmless(_found(one, store.root)))
        if not answer.found:
            _say_none(answer, question, len([one for one in ran if one.changed]))
    if answer.unread:
        say(
            f"fxls: warning: {counted(answer.unread, 'pass', 'passes')} changed a graph "
            "that is not in the store any more"
        )


def _found(one: Found, root: Path) -> str:
    from fxls.cli.report import CHANGED
    from fxls.ide.listing.recorded import where_of
    from fxls.record import OUTSIDE

    sources = sources_here()
    ran = one.ran
    where = ", ".join(where_of(ran))
    name = f"{ran.name} ({ran.ordinal})"
    if ran.name == OUTSIDE:
        name = "outside of any pass"
    lines = [f"{name}, in {where}: {one.node} {one.reason}"]
    if ran.under:
        lines.append(f"  within  {', '.join(ran.under)}")
    if one.place is not None:
        start = one.place.span.start
        text = CHANGED
        if sources.is_as(one.place.path, (one.digest,)):
            text = sources.lines(one.place.path).line(start.line).strip()
        name = sources.name(one.place.path)
        lines.append(f"  from    {name}:{start.line + 1}:{start.column + 1}: {text}")
    for side, name in (("before", ran.before), ("after", ran.after)):
        assert name is not None, "both were read"
        lines.append(f"  {side:<7} {sources.name(str(root / name.text))}")
    return "\n".join(lines)


def _say_none(answer: Answer, question: Question, changed: int) -> None:
    if answer.is_known or not changed:
        passes = counted(changed, "pass", "passes")
        told = f"none of {passes} that changed a graph did that"
        advice = "`fxls passes` shows them."
    else:
        told = f"no graph of this run has {question.what!r}"
        advice = "`fxls passes` shows the revisions, whose nodes have the names."
    say(f"fxls: {told}\nhelp: {advice}")
