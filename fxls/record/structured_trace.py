"""What torch's structured trace says, as events of a record.

torch gives each entry a table and, to some, a text; the tables are equal whether they come
from the running program or from the files that ``TORCH_TRACE`` makes torch write. They
are torch's private matter, so nothing here counts on more of one than it needs, and an
entry that is not as expected says nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec

from fxls.record import (
    Cause,
    Compilation,
    Event,
    Guard,
    Guards,
    Outcome,
    QuotedPlace,
    Remark,
    Subject,
)
from fxls.record.failed_guards import KnownFailures
from fxls.record.quoted_place import Columns, Sources, of_program
from fxls.record.trace_texts import (
    LONGEST,
    RESUMED,
    Frame,
    break_in,
    frames_in,
    guard_in,
    is_wrapper,
    of_limit,
    reasons_in,
    said_in,
    seconds_in,
    skipped_in,
)
from fxls.record.traced_sizes import OF_SIZES, TracedSizes

__all__ = ["BreakAt", "GuardAt", "Line", "Trace", "id_of"]

_MOST_OPEN = 1_000
"""So many compilations are remembered, of which more may be said."""
_MOST_PHASES = 64
_MOST_CAUSES = 16
_MOST_PLACES = 16
_MOST_GUARDS = 500
"""So many guards of a compilation are kept; all are counted."""

Line = tuple[str, int]
"""A file, and a line of it from one."""


@dataclass(slots=True)
class _Compilation:
    id: str
    """As the record has it: torch's own, and a number where torch had it before."""
    function: str = ""
    cause: Cause = Cause.FIRST
    place: QuotedPlace | None = None
    callers: tuple[QuotedPlace, ...] = ()
    """From where the program called the function, innermost first."""
    causes: tuple[str, ...] = ()
    recompiled: list[Remark] = field(default_factory=list[Remark])
    """Said before it is known who called the function."""
    breaks: list[str] = field(default_factory=list[str])
    began: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    phases: dict[str, float] = field(default_factory=dict[str, float])
    tensors: dict[str, str] = field(default_factory=dict[str, str])
    """What is checked of a tensor, by the expression that has it."""
    guards: list[Guard] = field(default_factory=list[Guard])
    count: int = 0
    """Of all guards."""
    sizes: TracedSizes = field(default_factory=TracedSizes)
    ended: Compilation | None = None


class GuardAt(NamedTuple):
    """A guard, and the file, line and function that it is there for, if they are known."""

    kind: str
    text: str
    at: tuple[str, int, str] | None


class BreakAt(NamedTuple):
    """Where a graph ends, as only the running program knows it."""

    columns: Mapping[Line, Columns]
    """Of the lines that led there."""
    frames: tuple[Frame, ...] = ()
    """Outermost first; empty where nobody knows them.

    The trace has them as well, but of a function that another one of the same name calls
    it leaves out where.
    """
    followed: int = 0
    """How many of these, from the innermost on, are of functions that torch followed."""


class Trace:
    """Makes events of the entries of one trace, in their order."""

    def __init__(
        self,
        note: Callable[[Event], None],
        texts: Mapping[int, str] | None = None,
        *,
        reads_sources: bool = True,
    ) -> None:
        """`texts` are those that entries name by a number, as far as they are known."""
        self._note = note
        self._sources = Sources(read=reads_sources)
        self._texts = dict(texts or {})
        self._compilations: dict[str, _Compilation] = {}
        """By torch's name, the last one that has it."""
        self._times: dict[str, int] = {}
        """How many compilations had a name, of those that more than one had."""
        self._functions: dict[str, tuple[str, QuotedPlace | None]] = {}
        """By torch's number of the frame."""
        self._failed = KnownFailures()

    def take(
        self,
        table: Mapping[str, Any],
        text: str | None,
        broken: BreakAt | None = None,
    ) -> None:
        """Take one entry; `broken` is where the graph ends, if it tells of such a place."""
        if "chromium_event" in table:
            self._phase(text or "")
            return
        if "str" in table:
            value, number = table["str"]
            self._texts[number] = value
            return
        name = id_of(table)
        if name is None:
            return
        if "dynamo_start" in table:
            self._start(name, table)
        elif "compilation_metrics" in table:
            self._end(name, table["compilation_metrics"], table)
        elif "bwd_compilation_metrics" in table:
            self._end_backward(name, table["bwd_compilation_metrics"])
        elif "dynamo_cpp_guards_str" in table:
            checked = _TENSOR.findall(text or "")
            self._of(name).tensors = {what: whole for whole, what in checked}
        elif "artifact" in table:
            self._artifact(name, table["artifact"].get("name"), text or "", broken)
        else:
            for key in OF_SIZES:
                if key in table:
                    self._take_size(name, key, table[key])

    def _artifact(
        self, name: str, kind: object, text: str, broken: BreakAt | None
    ) -> None:
        if kind == "dynamo_graph_break_reason":
            self._break(name, text, broken or BreakAt({}))
        elif kind == "recompile_reasons":
            self._recompile(name, text)

    def text(self, number: int) -> str:
        """The text that entries name by a number; empty where it is not known."""
        return self._texts.get(number, "")

    def called(self, name: str) -> str:
        """What the record calls the compilation that has this name of torch's."""
        times = self._times.get(name, 1)
        return name if times < 2 else f"{name} ({times})"

    def begin_anew(self) -> None:
        """Forget what is over: what comes is for another record."""
        self._compilations.clear()
        self._times.clear()
        self._failed.clear()

    def take_guards(self, name: str, found: Sequence[GuardAt]) -> None:
        """Take the guards of a compilation, which the trace has as one text."""
        one = self._of(name)
        one.count = len(found)
        one.guards = [
            Guard(
                kind,
                one.tensors.get(text, text)[:LONGEST],
                None if at is None else self._sources.quoted(*at),
            )
            for kind, text, at in found[:_MOST_GUARDS]
        ]

    def _take_size(self, name: str, kind: str, said: Mapping[str, Any]) -> None:
        one = self._of(name)
        remark = one.sizes.take(one.id, kind, said, self._places)
        if remark is not None:
            self._note(remark)

    def _places(self, said: Mapping[str, Any]) -> tuple[QuotedPlace, ...]:
        """Those of the program's stack, innermost first."""
        rows = [
            (self._texts[row["filename"]], row["line"], row["name"])
            for row in reversed(said.get("user_stack") or ())
            if row["filename"] in self._texts
        ][:_MOST_PLACES]
        return tuple(self._sources.quoted(*row) for row in of_program(rows))

    def _note_guards(self, one: _Compilation) -> None:
        sizes, unbacked = one.sizes.guards, one.sizes.unbacked
        if one.guards or sizes or unbacked:
            first = (*one.guards, *sizes)[:_MOST_GUARDS]
            self._note(Guards(one.id, one.count + len(sizes), first, unbacked))

    def function_of(self, name: str) -> tuple[str, QuotedPlace | None] | None:
        """The function of a compilation, and where that is; None while nobody said it."""
        return self._functions.get(_frame_of(name))

    def _of(self, name: str) -> _Compilation:
        found = self._compilations.get(name)
        if found is None:
            if len(self._compilations) >= _MOST_OPEN:
                del self._compilations[next(iter(self._compilations))]
            found = self._compilations[name] = _Compilation(self.called(name))
            known = self._functions.get(_frame_of(name))
            if known is not None:
                found.function, found.place = known
            if not name.endswith("/0"):
                found.cause = Cause.RECOMPILATION
        return found

    def _start(self, name: str, table: Mapping[str, Any]) -> None:
        if table.get("attempt"):
            return
        before = self._compilations.get(name)
        if before is not None and before.ended is not None:
            # torch counts from zero again after `torch.compiler.reset()`.
            self._times[name] = self._times.get(name, 1) + 1
            del self._compilations[name]
        stack = table["dynamo_start"].get("stack") or ()
        one = self._of(name)
        if stack:
            last = stack[-1]
            path = self._texts.get(last.get("filename"), "")
            one.callers = self._callers(stack[:-1])
            self._is_of(one, str(last.get("name", "")), path, last.get("line") or 0)
        self._note_recompiled(one)
        self._note(self._compilation(one, Outcome.RUNNING))

    def _note_recompiled(self, one: _Compilation) -> None:
        for remark in one.recompiled:
            self._note(msgspec.structs.replace(remark, callers=one.callers))
        one.recompiled.clear()

    def _callers(self, stack: Sequence[Mapping[str, Any]]) -> tuple[QuotedPlace, ...]:
        """The program's own frames of those that led to a compilation."""
        rows = [
            (self._texts.get(row.get("filename", -1), "<"), row["line"], row["name"])
            for row in reversed(stack)
        ]
        known = filter(None, (_OF_TORCH.match(path) for path, _, _ in rows))
        others = ("<", *(found[1] for found in known))
        own = of_program(row for row in rows if not row[0].startswith(others))
        return tuple(self._sources.quoted(*row) for row in own)[:_MOST_PLACES]

    def _is_of(self, one: _Compilation, function: str, path: str, line: int) -> None:
        resumed = RESUMED.fullmatch(function)
        if resumed is not None:
            function = resumed[1]
            if one.cause is Cause.FIRST:
                one.cause = Cause.CONTINUATION
        if is_wrapper(path) and one.callers:
            # Nobody wrote this function, so it is said who called what it is for.
            one.place = one.callers[0]
            function = f"called by {one.place.place.function}"
        elif path:
            one.place = self._sources.quoted(path, line, function)
        one.function = function
        frame = _frame_of(one.id)
        self._functions.pop(frame, None)
        self._functions[frame] = function, one.place
        if len(self._functions) > _MOST_OPEN:
            del self._functions[next(iter(self._functions))]

    def _end(
        self, name: str, metrics: Mapping[str, Any], table: Mapping[str, Any]
    ) -> None:
        one = self._of(name)
        self._note_recompiled(one)
        function = metrics.get("co_name")
        if function:
            path = metrics.get("co_filename") or ""
            self._is_of(one, function, path, metrics.get("co_firstlineno") or 0)
        reason = metrics.get("fail_reason") or ""
        outcome = _outcome(metrics, one)
        said = said_in(reason)
        one.ended = Compilation(
            id=one.id,
            function=one.function,
            outcome=outcome,
            cause=one.cause,
            place=one.place,
            causes=one.causes,
            reason=said.reason or "; ".join(one.breaks)[:LONGEST],
            attempts=int(table.get("attempt") or 0) + 1,
            seconds=seconds_in(metrics),
            phases=tuple(one.phases.items()),
            cached=tuple(
                key.removesuffix("_cache_hit_count")
                for key, value in metrics.items()
                if key.endswith("_cache_hit_count") and value
            ),
            nodes=metrics.get("graph_node_count"),
            guards=metrics.get("guard_count"),
            of_limit=of_limit(metrics),
        )
        self._note(one.ended)
        if outcome in (Outcome.OK, Outcome.BREAK):
            self._note_guards(one)
        skipped = metrics.get("cudagraph_skip_reason")
        if skipped:
            self._note_skipped_graph(one, str(skipped))
        subject = _SUBJECTS.get(outcome)
        if subject is not None and not (outcome is Outcome.SKIPPED and one.breaks):
            path = metrics.get("fail_user_frame_filename")
            line = metrics.get("fail_user_frame_lineno") or 0
            head = one.place and self._sources.head_of(one.place)
            place = self._sources.quoted(path, line, one.function) if path else head
            if place is not None and outcome is Outcome.LIMIT:
                place = self._sources.head_of(place)
            reason = said.reason or "torch.compile finds nothing to compile"
            places = _some(place)
            # torch names one frame, which may be in a library.
            if place is not None and head and place.place.path != head.place.path:
                places += (head,)
            self._note(
                Remark(
                    *(subject, reason, one.id, said.id, places, said.hints),
                    callers=one.callers,
                )
            )

    def _note_skipped_graph(self, one: _Compilation, text: str) -> None:
        """There is no CUDA graph: at the line that torch blames, or at the function."""
        reason, stack = skipped_in(text)
        rows = reversed([*frames_in(stack)])
        places = tuple(self._sources.quoted(*row) for row in of_program(rows))
        head = one.place and self._sources.head_of(one.place)
        self._note(
            Remark(
                *(Subject.CUDA_GRAPH, reason, one.id, ""),
                places[:_MOST_PLACES] or _some(head),
            )
        )

    def _end_backward(self, name: str, metrics: Mapping[str, Any]) -> None:
        one = self._compilations.get(name)
        skipped = metrics.get("cudagraph_skip_reason")
        if one is not None and skipped:
            self._note_skipped_graph(one, str(skipped))
        if one is not None and one.ended is not None:
            self._note(self._compilation(one, one.ended.outcome))

    def _compilation(self, one: _Compilation, outcome: Outcome) -> Compilation:
        """What is known of a compilation so far."""
        phases = tuple(one.phases.items())
        if one.ended is not None:
            had = dict(one.ended.phases)
            both = tuple((had | one.phases).items())
            return msgspec.structs.replace(one.ended, phases=both)
        return Compilation(
            id=one.id,
            function=one.function,
            outcome=outcome,
            cause=one.cause,
            place=one.place,
            causes=one.causes,
            phases=phases,
        )

    def _break(self, name: str, text: str, broken: BreakAt) -> None:
        one = self._of(name)
        said, frames = break_in(text, one.function, of_program, broken.frames)
        kept = tuple(
            self._sources.quoted(*frame, broken.columns.get(frame[:2]))
            for frame in frames[:_MOST_PLACES]
        )
        one.breaks.append(said.reason)
        self._note(
            Remark(
                *(Subject.BREAK, said.reason, one.id, said.id, kept, said.hints),
                why_no_graph=said.why_no_graph,
                followed=broken.followed,
            )
        )

    def _recompile(self, name: str, text: str) -> None:
        one = self._of(name)
        reasons = reasons_in(text)[:_MOST_CAUSES]
        one.causes = tuple(guard_in(reason) for reason in reasons)
        news = self._failed.news(_frame_of(name), one.causes)
        for reason, guard, failed in zip(reasons, one.causes, news, strict=True):
            if failed is None:
                continue
            one.recompiled.append(
                Remark(
                    *(Subject.RECOMPILATION, guard, one.id, ""),
                    places=_read_at(
                        self._sources, one.place, failed.expression, reason
                    ),
                    about=failed.about,
                    was=failed.was,
                    became=failed.became,
                )
            )

    def _phase(self, text: str) -> None:
        event = json.loads(text)
        name, phase = event.get("name", ""), event.get("ph")
        if phase not in ("B", "E") or name.startswith("pass."):
            return
        compilation = event.get("args", {}).get("compile_id")
        one = self._of(compilation) if _ID.fullmatch(str(compilation)) else None
        if one is None or name == "dynamo":
            return  # that is begun before there is an id
        if phase == "B":
            one.began.setdefault(name, []).append(event["ts"])
            return
        began = one.began.get(name)
        if began and (name in one.phases or len(one.phases) < _MOST_PHASES):
            spent = max(0.0, (event["ts"] - began.pop()) / 1e6)
            one.phases[name] = round(one.phases.get(name, 0.0) + spent, 6)


_TENSOR = re.compile(r"TENSOR_MATCH: (check_tensor\((.+?), .*?\))\s*(?:  #.*)?$", re.M)
_ID = re.compile(r"(!\d+/?)?(\d+/\d+)?")
_OF_TORCH = re.compile(r"(.*[/\\]torch[/\\])_dynamo[/\\]eval_frame\.py$")
_LIMIT = re.compile(r"recompile limit exceeded|RecompileLimit", re.IGNORECASE)

_SOFT = ("Unsupported", "UserError")
"""What torch.compile raises to say that it leaves a function as it is."""

_SUBJECTS = {
    Outcome.SKIPPED: Subject.SKIPPED,
    Outcome.LIMIT: Subject.LIMIT,
    Outcome.ERROR: Subject.ERROR,
}


def _outcome(metrics: Mapping[str, Any], one: _Compilation) -> Outcome:
    kind = metrics.get("fail_type")
    if not kind:
        if metrics.get("guard_count") is None:
            return Outcome.SKIPPED
        return Outcome.BREAK if one.breaks else Outcome.OK
    if _LIMIT.search(f"{kind} {metrics.get('fail_reason')}"):
        return Outcome.LIMIT
    # Where a break is an error, torch says it by the error alone.
    if metrics.get("config_suppress_errors") or (kind in _SOFT and one.breaks):
        return Outcome.SKIPPED
    return Outcome.ERROR


def id_of(table: Mapping[str, Any]) -> str | None:
    """The name that torch has for the compilation of an entry."""
    autograd, frame = table.get("compiled_autograd_id"), table.get("frame_id")
    count = table.get("frame_compile_id")
    if frame is None:
        return None if autograd is None else f"!{autograd}"
    name = f"{frame}/{count}"
    return name if autograd is None else f"!{autograd}/{name}"


def _frame_of(name: str) -> str:
    return name.rpartition("/")[0]


def _read_at(
    sources: Sources, function: QuotedPlace | None, expression: str, reason: str
) -> tuple[QuotedPlace, ...]:
    """Where what a guard is about comes in, if it is a parameter, and where it is read."""
    found: list[QuotedPlace] = []
    if function is not None:
        found += _some(sources.input_of(function, expression))
    for frame in [*frames_in(reason)][-1:]:
        found.append(sources.expression_at(*frame, expression))
    return tuple(found) or _some(function and sources.head_of(function))


def _some(place: QuotedPlace | None) -> tuple[QuotedPlace, ...]:
    return () if place is None else (place,)
