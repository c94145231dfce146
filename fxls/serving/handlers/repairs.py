"""Repairs of what a compiler could not do: offered, and tried when somebody asks."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, replace

from lsprotocol import types as lsp

from fxls.entry import Entry
from fxls.ide.code_actions import fixes
from fxls.ide.diagnostics import Diagnostic
from fxls.ide.edits.fix import Fix, applied
from fxls.ide.edits.remark_repairs import remark_fixes
from fxls.lsp import actions, custom, from_lsp
from fxls.lsp.uris import path_of, uri_of
from fxls.serving.connection import Connection
from fxls.serving.handlers.tracing import with_progress
from fxls.serving.tried_repairs import Trial
from fxls.text import Span
from fxls.wire import Failed, Tried

__all__ = ["on_try_repairs", "repair_actions"]


@dataclass(frozen=True, slots=True)
class _Offer:
    """A repair, and what is known of it."""

    fix: Fix
    diagnostic: Diagnostic
    after: str
    """The text that it makes of its file."""
    trial: Trial | None


def repair_actions(ls: Connection, path: str, span: Span) -> list[lsp.CodeAction]:
    """The repairs of what is said of a span; first those that hold, last those that do not."""
    offers = [*_offers(ls, path, span)]
    found = [_action(ls, one) for one in sorted(offers, key=_order)]
    entries = _entries(ls, path, offers)
    if entries and any(one.trial is None and one.fix.can_be_tried for one in offers):
        start = ls.client.position(span.start, ls.session.lines_of(path))
        title = f"Try these repairs with {entries[0].expression}"
        arguments = [uri_of(path), start.line, start.character]
        command = lsp.Command(title, custom.TRY_REPAIRS, arguments=arguments)
        found.append(
            lsp.CodeAction(title, lsp.CodeActionKind.QuickFix, command=command)
        )
    return found


async def on_try_repairs(
    ls: Connection, uri: str, line: int, character: int
) -> list[custom.TriedItem]:
    """Try what can repair a place, and say what came of each."""
    path = path_of(uri)
    lines = None if path is None else ls.session.lines_of(path)
    if path is None or lines is None:
        return []
    point = from_lsp.point(lsp.Position(line, character), lines, ls.client.encoding)
    offers = [
        one
        for one in _offers(ls, path, Span(point, point))
        if one.fix.can_be_tried and one.trial is None
    ]
    task = asyncio.ensure_future(_trials(ls, path, lines.text, offers))
    # It runs the user's code, for as long as a person waits for it.
    ls.started_by(ls.protocol.msg_id, task)
    return await task


async def _trials(
    ls: Connection, path: str, text: str, offers: list[_Offer]
) -> list[custom.TriedItem]:
    """Try repairs with the first entry that comes to the problem."""
    entries = _entries(ls, path, offers)
    for entry in entries:
        before = await _tried(ls, entry, path, text)
        if before is None:
            return []
        if isinstance(before, Failed) or not before.problems:
            continue
        said: list[custom.TriedItem] = []
        for one in offers:
            outcome = await _tried(ls, entry, path, one.after)
            if outcome is None:
                break
            if isinstance(outcome, Tried):
                trial = Trial(entry, before.problems, outcome)
                ls.session.tried.note(path, one.after, trial)
                said.append(custom.TriedItem(one.fix.title, trial.holds, trial.said))
        holding = sum(one.holds for one in said)
        ls.log(
            lsp.MessageType.Info,
            f"{holding} of {len(said)} repairs hold with {entry.expression}",
        )
        return said
    if entries:
        ls.log(lsp.MessageType.Warning, f"no entry of {path} comes to this problem")
    return []


async def _tried(
    ls: Connection, entry: Entry, path: str, text: str
) -> Tried | Failed | None:
    """What comes of an entry with another text of a file; None when somebody stops it."""
    task = asyncio.ensure_future(ls.session.try_change(entry, path, text))
    outcome = await with_progress(ls, "Trying a repair", entry, task)
    if isinstance(outcome, Failed):
        ls.log(lsp.MessageType.Warning, f"{entry.name}: {outcome.failure.message}")
    return outcome


def _offers(ls: Connection, path: str, span: Span) -> Iterator[_Offer]:
    """The repairs of what is said of a span."""
    text = ls.session.text_of(path)
    if text is None:
        return
    seen: set[Fix] = set()
    for diagnostic, fix in _fixes(ls, path, text, span):
        if fix not in seen:
            seen.add(fix)
            after = applied(fix, text)
            yield _Offer(fix, diagnostic, after, ls.session.tried.of(path, after))


def _fixes(
    ls: Connection, path: str, text: str, span: Span
) -> Iterator[tuple[Diagnostic, Fix]]:
    for diagnostic, (remark, at) in ls.session.problems(path):
        if at.meets(span):
            for fix in remark_fixes(remark, at, path, text):
                yield diagnostic, fix
    for diagnostic in ls.session.failures(path):
        if diagnostic.failure is not None and diagnostic.span.meets(span):
            for fix in fixes(diagnostic.failure, diagnostic.entry, path, text):
                if fix.can_be_tried:
                    yield diagnostic, fix


def _entries(ls: Connection, path: str, offers: list[_Offer]) -> list[Entry]:
    """With what repairs can be tried: only of a file that may be run, and was saved."""
    if not ls.session.may_trace(path) or not ls.session.is_saved(path):
        return []
    failing = [one.diagnostic.entry for one in offers if one.diagnostic.entry]
    others = (*ls.session.entries(path), *ls.session.traces.made_of(path))
    found = {(one.path, one.name): one for one in (failing or others)}
    return [one for one in found.values() if ls.session.may_trace(one.path)]


def _action(ls: Connection, offer: _Offer) -> lsp.CodeAction:
    trial = offer.trial
    said = "untried" if trial is None else trial.said
    fix = replace(
        offer.fix,
        title=f"{offer.fix.title} ({said})",
        is_preferred=offer.fix.is_preferred if trial is None else trial.holds,
    )
    lines = ls.session.lines_of(fix.path)
    diagnostic = ls.client.diagnostic(offer.diagnostic, ls.session.lines_of)
    return actions.code_action(ls.client, fix, lines, diagnostic)


def _order(offer: _Offer) -> int:
    return 1 if offer.trial is None else 0 if offer.trial.holds else 2
