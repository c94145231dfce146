"""Repairs of what a compiler could not do: offered, and tried when somebody asks."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, replace

import msgspec
from lsprotocol import types as lsp

from fxls.entry import Entry, Producer
from fxls.ide.code_actions import fixes
from fxls.ide.diagnostics import Diagnostic
from fxls.ide.edits.fix import Fix, applied
from fxls.ide.edits.remark_repairs import remark_fixes
from fxls.lsp import actions, custom, from_lsp
from fxls.lsp.uris import path_of, uri_of
from fxls.record import Subject
from fxls.serving.connection import Connection
from fxls.serving.handlers.tracing import with_progress
from fxls.serving.tried_repairs import Trial, comes_to
from fxls.text import Span
from fxls.wire import Failed, Tried

__all__ = ["on_try_repairs", "repair_actions"]


@dataclass(frozen=True, slots=True)
class _Offer:
    """A repair, and what is known of it."""

    fix: Fix
    diagnostic: Diagnostic
    trial: Trial | None

    @property
    def is_export(self) -> bool:
        """Whether it repairs what torch.export could not know."""
        return self.diagnostic.reason not in _OF_COMPILE

    def entry(self, entry: Entry) -> Entry:
        """The entry by which it is tried."""
        producer = Producer.EXPORT if self.is_export else Producer.COMPILE
        return msgspec.structs.replace(entry, producer=producer)


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
    task = asyncio.ensure_future(_trials(ls, path, lines.text, Span(point, point)))
    # It runs the user's code, for as long as a person waits for it.
    ls.started_by(ls.protocol.msg_id, task)
    return await task


async def _trials(
    ls: Connection, path: str, text: str, span: Span
) -> list[custom.TriedItem]:
    """Try the repairs of a place, each with the first entry that comes to its problem."""
    offers = [*_offers(ls, path, span)]
    entries = _entries(ls, path, offers)
    left = [one for one in offers if one.fix.can_be_tried and one.trial is None]
    said: list[custom.TriedItem] = []
    for entry in entries:
        found, is_stopped = await _trials_with(ls, entry, text, left)
        if found:
            holding = sum(trial.holds for _, trial in found)
            ls.log(
                lsp.MessageType.Info,
                f"{holding} of {len(found)} repairs hold with {entry.expression}",
            )
        said += [
            custom.TriedItem(one.fix.title, trial.holds, trial.said)
            for one, trial in found
        ]
        done = [one for one, _ in found]
        left = [one for one in left if one not in done]
        if is_stopped:
            return said
    if entries and left and not said:
        ls.log(lsp.MessageType.Warning, f"no entry of {path} comes to this problem")
    return said


async def _trials_with(
    ls: Connection, entry: Entry, text: str, offers: list[_Offer]
) -> tuple[list[tuple[_Offer, Trial]], bool]:
    """What came of repairs with an entry, as far as it comes to their problems; and
    whether somebody stopped it.
    """
    known: dict[Entry, Tried | Failed | None] = {}
    found: list[tuple[_Offer, Trial]] = []
    for one in offers:
        path, how = one.fix.path, one.entry(entry)
        if how not in known:
            known[how] = await _tried(ls, how, path, text)
        before = known[how]
        if before is None:
            return found, True
        span = one.diagnostic.span
        if isinstance(before, Failed) or not comes_to(before, path, span):
            continue
        outcome = await _tried(ls, how, path, applied(one.fix, text))
        if outcome is None:
            return found, True
        if isinstance(outcome, Tried):
            trial = Trial(one.fix, text, span, before, outcome)
            ls.session.tried.note(how, trial)
            found.append((one, trial))
    return found, False


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
            trial = ls.session.tried.of(fix, text, diagnostic.span)
            yield _Offer(fix, diagnostic, trial)


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


_OF_COMPILE = (Subject.BREAK, Subject.SKIPPED, Subject.RECOMPILATION)
