"""The compilations of torch.compile, with what it could not capture, for the record.

torch tells all that it does to those who listen at the logger of its structured trace.
Who listens costs the texts that torch makes for them, so that nobody listens where
nothing is recorded.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from itertools import islice
from traceback import walk_stack
from typing import Any

from fxls.installed_torch import private
from fxls.record import Event
from fxls.record.export_trace import ExportTrace
from fxls.record.quoted_place import Columns
from fxls.record.structured_trace import BreakAt, GuardAt, Line, Trace
from fxls.runtime.faults import logging_faults
from fxls.runtime.hooks import Hook, around
from fxls.runtime.producers.export_calls import (
    conditions_of,
    export_of,
    note_failure,
)
from fxls.runtime.producers.places.asked_places import asked_by

__all__ = ["Compilations"]

_UNHEARD = "what torch.compile does, and could not do, is not recorded"
_GUARDS = "the guards of compilations are not recorded"
_PLACES = "graph breaks are recorded without their columns"
_EXPORTS = "what torch.export finds out of sizes, and could not, is not recorded"
_TEXTS = "inductor writes texts of its graphs, which nobody reads, while fxls records"
_TRANSLATOR = "torch._dynamo.symbolic_convert:InstructionTranslatorBase"


class Compilations:
    """Listens to torch, and notes what its compilations come to."""

    def __init__(self, note: Callable[[Event], None]) -> None:
        self._note = note
        self._here = threading.local()
        self._listener: _Listener | None = None
        self._exports = 0

    def hooks(self) -> tuple[Hook, ...]:
        """Where torch knows what its trace leaves out: the columns of a graph break, and
        the line of each guard; where the trace has what no record needs; and where
        torch.export begins, which the trace has no name for.
        """
        return (
            Hook(
                "torch._dynamo.symbolic_convert",
                _PLACES,
                {
                    "InstructionTranslatorBase.log_graph_break": around(
                        self._breaking, _PLACES
                    )
                },
            ),
            Hook(
                "torch._dynamo.guards",
                _GUARDS,
                {"CheckFunctionManager.__init__": around(self._guarding, _GUARDS)},
            ),
            Hook(
                "torch._inductor.compile_fx",
                _TEXTS,
                {"trace_structured": around(self._tracing, _TEXTS)},
            ),
            Hook(
                "torch.export._trace",
                _EXPORTS,
                {"_export": around(self._exporting, _EXPORTS)},
            ),
        )

    def attach(self) -> None:
        """Listen from now on, beside all others who do."""
        log: Any = private("torch._logging._internal:trace_log", _UNHEARD, _nobody)
        if log is None:
            return
        texts: Any = private("torch._logging.structured:INTERN_TABLE", "", dict)
        known = {number: text for text, number in texts.items()}
        self._listener = _Listener(Trace(self._note, known), self._here)
        if not 0 < log.level <= logging.DEBUG:
            self._listener.before = log.level
            log.setLevel(logging.DEBUG)
        # First, because torch's own leaves while it is being told, and the next one is
        # passed over then.
        log.handlers.insert(0, self._listener)

    def detach(self) -> None:
        """Listen no more."""
        log: Any = private("torch._logging._internal:trace_log", "", _nobody)
        if self._listener is not None and log is not None:
            log.removeHandler(self._listener)
            others = [one for one in log.handlers if isinstance(one, _Listener)]
            if self._listener.before is not None and others:
                others[0].before = self._listener.before
            elif self._listener.before is not None and log.level == logging.DEBUG:
                log.setLevel(self._listener.before)
        self._listener = None

    def called(self, name: str) -> str:
        """What the record calls the compilation that has this name of torch's."""
        return name if self._listener is None else self._listener.trace.called(name)

    def begin_anew(self) -> None:
        """Let what comes be for another record."""
        self._exports = 0
        if self._listener is not None:
            self._listener.trace.begin_anew()

    def _breaking(
        self, translator: Any, /, code_options: Any, reason: Any, exc: Any
    ) -> Generator[None, Any, Any]:
        with logging_faults(_PLACES):
            self._here.broken = _broken(translator, exc)
        try:
            return (yield)
        finally:
            self._here.broken = None

    def _guarding(
        self, _manager: Any, _code: Any, output_graph: Any, /, *more: Any, **rest: Any
    ) -> Generator[None, Any, Any]:
        guards: list[Any] = []
        with logging_faults(_GUARDS):
            guards = sorted(output_graph.guards or (), key=lambda one: one.sort_key())
        made = yield  # which writes the condition of each
        if self._listener is not None:
            with logging_faults(_GUARDS):
                name = str(_compilation_here())
                found = [one for guard in guards for one in _conditions(guard)]
                self._listener.trace.take_guards(name, found)
        return made

    def _exporting(self, *args: Any, **kwargs: Any) -> Generator[None, Any, Any]:
        outer: ExportTrace | None = getattr(self._here, "export", None)
        listener, trace = self._listener, outer
        if outer is None and listener is not None:
            with logging_faults(_EXPORTS):
                self._exports += 1
                name = f"export {self._exports}"
                trace = export_of(name, args, kwargs, self._note, listener.trace.text)
        self._here.export = trace
        try:
            program = yield
        except GeneratorExit as left:
            # It raised: Python notes what, and lets no generator know otherwise.
            if outer is None and trace is not None and left.__context__ is not None:
                with logging_faults(_EXPORTS):
                    note_failure(trace, left.__context__)
            raise
        finally:
            self._here.export = outer
        if outer is None and trace is not None:
            with logging_faults(_EXPORTS):
                trace.end([*conditions_of(program, trace)])
        return program

    def _tracing(self, *_: Any, **__: Any) -> Generator[None, Any, Any]:
        """Let inductor write its graphs as texts where somebody else listens as well."""
        log: Any = private("torch._logging._internal:trace_log", _TEXTS, _nobody)
        if log is None or not all(isinstance(one, _Listener) for one in log.handlers):
            return (yield)
        return None


class _Listener(logging.Handler):
    """Gives the trace what torch says."""

    def __init__(self, trace: Trace, here: threading.local) -> None:
        super().__init__(logging.DEBUG)
        self.trace = trace
        self.before: int | None = None
        """The level that the log had; None where it was not changed."""
        self._here = here

    def emit(self, record: logging.LogRecord) -> None:
        """Take one entry; nothing that goes wrong with it is torch's business."""
        with logging_faults("the record leaves out something of a compilation"):
            entry: Any = record
            broken = getattr(self._here, "broken", None)
            export: ExportTrace | None = getattr(self._here, "export", None)
            if export is None or not export.take(entry.metadata):
                self.trace.take(entry.metadata, entry.payload, broken)


def _compilation_here() -> Any:
    context: Any = private("torch._guards:CompileContext", _GUARDS, _nobody)
    return context.current_compile_id()


def _conditions(guard: Any) -> Iterator[GuardAt]:
    """The conditions of a guard; none of one that is not checked."""
    stack = guard.user_stack or ()
    last = stack[-1] if stack else None
    at = None if last is None else (last.filename, last.lineno, last.name)
    kind = guard.create_fn_name()
    if kind == "SHAPE_ENV":
        at = None  # torch notes the end of the trace, and the sizes have their places
    if kind == "TENSOR_MATCH":
        yield GuardAt(kind, guard.name, at)
    for text in guard.code_list or ():
        yield GuardAt(kind, str(text), at)


def _broken(translator: Any, exc: Any) -> BreakAt:
    """Where a graph ends."""
    outer: Any = private("torch._dynamo.exc:get_stack_above_dynamo", "", _nothing)
    above, stack = outer(), getattr(exc, "real_stack", None) or ()
    # torch 2.11 knows the lines of who called what it compiles; they run at this moment.
    calling = _known(above) or dict(_running())
    columns = {**calling, **_columns(translator, exc, stack)}
    if not above or not stack:
        return BreakAt(columns)
    frames = ((one.filename, one.lineno, one.name) for one in (*above, *stack))
    return BreakAt(columns, tuple(frames), len(stack))


def _running() -> Iterator[tuple[Line, Columns]]:
    """The spans of what the frames of this thread are at, outermost first."""
    for frame, line in reversed([*walk_stack(None)]):
        code, at = frame.f_code, frame.f_lasti // 2
        for start, end, column, end_column in islice(code.co_positions(), at, at + 1):
            if start and end and column is not None and end_column is not None:
                where = Columns(start, column, end, end_column)
                yield (code.co_filename, line), where


def _known(frames: Iterable[Any]) -> dict[Line, Columns]:
    """The spans of frames of which torch noted them."""
    return {
        (frame.filename, frame.lineno): Columns(
            frame.lineno, frame.colno, frame.end_lineno, frame.end_colno
        )
        for frame in frames
        if frame.colno is not None and frame.end_colno is not None
    }


def _columns(translator: Any, exc: Any, stack: Sequence[Any]) -> dict[Line, Columns]:
    """The spans of the instructions of all that torch followed to a break, as far as
    somebody knows them.
    """
    found = _known(stack)
    followed = [*_followed(translator, exc)]
    for one in followed:
        current = one.current_instruction
        at = asked_by(one.instructions, current).positions
        if current.positions is None or at is None or None in at:
            continue
        line = one.f_code.co_filename, current.positions.lineno
        # It may break in a function that this one calls, which may be on the same line.
        lines = [(frame.filename, frame.lineno) for frame in stack]
        is_alone = line not in found and lines.count(line) == 1
        if one is followed[-1] or len(lines) < 2 or is_alone:
            found[line] = Columns(
                at.lineno, at.col_offset, at.end_lineno, at.end_col_offset
            )
    return found


def _followed(translator: Any, exc: Any) -> Iterator[Any]:
    """Who follows the functions that led to where something raised, outermost first: one
    that is called is followed by another one, which nothing but the error leads to.
    """
    who: Any = private(_TRANSLATOR, _PLACES)
    seen = {id(translator)}
    yield translator
    while exc is not None:
        at = exc.__traceback__
        while at is not None:
            one = at.tb_frame.f_locals.get("self")
            if isinstance(one, who) and id(one) not in seen:
                seen.add(id(one))
                yield one
            at = at.tb_next
        # Where torch may not end a graph, as in a loop, it raises another break, of which
        # the first one knows the place.
        stack, first = getattr(exc, "real_stack", None), exc.__context__
        is_one = stack is not None and getattr(first, "real_stack", None) == stack
        exc = first if is_one else None


def _nobody() -> None:
    return None


def _nothing() -> Callable[[], Sequence[Any]]:
    return tuple
