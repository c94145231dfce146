"""One repair that is tried: an entry runs in eager, and compiled with a changed file."""

from __future__ import annotations

import contextlib
import copy
import io
import logging
import random
import sys
import traceback
import warnings
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Literal

import torch

from fxls import regular_file
from fxls.entry import Producer
from fxls.listing import Failure, Reason
from fxls.record import Entry as Recorded
from fxls.record import Event
from fxls.record.quoted_place import read_as, written_at
from fxls.record.remarks import RemarkKind, remarks_of
from fxls.runtime.hearing import hearing
from fxls.runtime.producers.by_request import compiled_to_run, exported_call
from fxls.store import locate
from fxls.wire import Failed, Problem, Tried, Try
from fxls.worker.catching import UserRaised, caught
from fxls.worker.deaths import out_of_time
from fxls.worker.evaluate import Inputs, Refused, evaluate
from fxls.worker.failures import failure_of, is_ours
from fxls.worker.limits import MemoryLimit
from fxls.worker.load import Changed, home_of, imported_files, load
from fxls.worker.places import Territory
from fxls.worker.refusals import in_a_line
from fxls.worker.same_results import gradients, is_same

__all__ = ["RepairAttempt"]

_How = Literal["eager", "compile", "export"]


@dataclass(slots=True)
class _Said:
    """What a run says, and where."""

    prints: io.StringIO = field(default_factory=io.StringIO)
    errors: io.StringIO = field(default_factory=io.StringIO)
    """What is written to standard error, but for warnings and messages."""
    warned: list[warnings.WarningMessage] = field(
        default_factory=list[warnings.WarningMessage]
    )
    messages: list[tuple[str, int, str]] = field(
        default_factory=list[tuple[str, int, str]]
    )
    """What is logged: by which logger, how severe, and what."""

    _ahead: tuple[int, int] = (0, 0)

    def forget(self) -> None:
        """What was said so far is no answer of the model's."""
        self._ahead = len(self.prints.getvalue()), len(self.errors.getvalue())
        self.warned.clear()
        self.messages.clear()

    @property
    def printed(self) -> tuple[str, str]:
        """What was printed, and what was written to standard error."""
        prints, errors = self._ahead
        return self.prints.getvalue()[prints:], self.errors.getvalue()[errors:]


@dataclass(slots=True)
class _Ran:
    """What a run of the entry came to."""

    outputs: object = None
    gradients: object = None
    """Of these, as far as they have some."""
    mutations: object = None
    """The inputs behind the run, and what the model keeps."""
    said: _Said = field(default_factory=_Said)
    heard: list[Event] = field(default_factory=list[Event])
    """What the compiler said."""
    error: BaseException | None = None

    def call(self, model: Callable[..., object], given: Inputs) -> None:
        """Call it twice: what one call leaves behind is there in the next one."""
        self.outputs = [model(*given.args, **given.kwargs) for _ in range(2)]


class RepairAttempt:
    """A repair that is tried, in a process of its own."""

    def __init__(
        self, request: Try, memory: MemoryLimit, log: Callable[[str], None]
    ) -> None:
        self._request = request
        self._path = Path(request.entry.path)
        self._territory = Territory(self._path)
        self._memory = memory
        self._log = log
        self._before = frozenset(sys.modules)
        self._sys_path = [*sys.path]

    def outcome(self) -> Tried | Failed:
        """Do it all; `Failed` says why nothing can be known."""
        how = "export" if self._is_export else "compile"
        changed = Changed(self._request.path, self._request.text)
        eager = self._ran("eager")
        if eager.error is not None:
            return self._failed(eager.error)
        # Of one name Dynamo knows one module for as long as a process lives, so that the
        # file as it is cannot be compiled here as well.
        repaired = self._ran(how, changed)
        error = repaired.error
        if isinstance(error, Refused):
            return self._failed(error)
        return Tried(
            self._request.id,
            tuple(self._problems(repaired.heard)),
            () if error is not None else tuple(self._differences(eager, repaired)),
            None if error is None else _in_words(error),
            self._sources(),
        )

    def out_of_time(self, frame: FrameType | None) -> Failed:
        """The answer when the time is over while `frame` runs."""
        places = self._territory.places_of_frame(frame)
        failure = out_of_time(self._request.time_limit, places)
        return Failed(self._request.id, failure, self._sources())

    def _ran(self, how: _How, changed: Changed | None = None) -> _Ran:
        """A run of the entry, which begins as each other one does."""
        ran = _Ran()
        with _finding(changed), _noted(ran.said):
            raised = caught(lambda: self._run(ran, how, changed))
        if isinstance(raised, UserRaised):
            ran.error = raised.error
        return ran

    def _problems(self, heard: list[Event]) -> Generator[Problem]:
        entries = [Recorded(0, 0, 0.0, 0.0, one) for one in heard]
        for one in remarks_of(entries, self._territory.holds):
            if one.kind is RemarkKind.PROBLEM:
                quoted = one.place
                place = None if quoted is None else quoted.place
                said = "" if quoted is None else written_at(quoted)
                yield Problem(one.subject.value, one.id, place, said)

    def _run(self, ran: _Ran, how: _How, changed: Changed | None) -> None:
        root, given = self._model(changed)
        ran.said.forget()
        any_torch: Any = torch
        any_torch.compiler.reset()
        if how == "export":
            # An export neither prints nor changes the model; its program does.
            copied = copy.deepcopy((given.args, given.kwargs))
            with _heard(ran):
                call = exported_call(root, *copied)
            ran.said.forget()
            ran.call(call, given)
        elif how == "compile":
            with _heard(ran):
                ran.call(compiled_to_run(root), given)
        else:
            with any_torch.compiler.set_stance("force_eager"):
                ran.call(root, given)
        if not self._is_export:
            ran.gradients = gradients(ran.outputs, (root, given.args, given.kwargs))
        # A program of torch.export has buffers of its own.
        state: object = None
        if isinstance(root, torch.nn.Module) and not self._is_export:
            state = dict(root.state_dict())
        ran.mutations = (given.args, dict(given.kwargs), state)

    def _model(
        self, changed: Changed | None
    ) -> tuple[torch.nn.Module | Callable[..., object], Inputs]:
        """The model of the entry and its inputs, made anew."""
        self._forget()
        random.seed(0)
        any_torch: Any = torch
        any_torch.manual_seed(0)
        entry = self._request.entry
        data = regular_file.read(self._path, regular_file.SOURCE_BYTES)
        text = data.decode("utf-8", errors="replace")
        module = load(home_of(self._path), locate(self._path).parent, changed)
        model = evaluate(entry, module, text)
        if model.inputs is None:
            message = "a repair is tried with example inputs, and the entry has none"
            advice = "Call the model with them: `Net()(torch.randn(1, 3))`."
            raise Refused(Failure(Reason.ENTRY, message, advice=advice))
        return model.root, model.inputs

    @property
    def _is_export(self) -> bool:
        return self._request.entry.producer is Producer.EXPORT

    def _forget(self) -> None:
        """Let the user's files be imported anew."""
        for name, module in tuple(sys.modules.items()):
            path = getattr(module, "__file__", None)
            if name in self._before or not isinstance(path, str):
                continue
            if self._territory.holds(path):
                del sys.modules[name]
        sys.path[:] = self._sys_path

    def _failed(self, error: BaseException) -> Failed:
        self._memory.lift()
        if isinstance(error, Refused):
            return Failed(self._request.id, error.failure, self._sources())
        if is_ours(error):
            self._log("".join(traceback.format_exception(error)))
        entry = self._request.entry
        failure = failure_of(error, Reason.RUN, self._territory, entry, None)
        return Failed(self._request.id, failure, self._sources())

    def _differences(self, eager: _Ran, repaired: _Ran) -> Generator[str]:
        if not is_same(eager.outputs, repaired.outputs):
            yield "outputs"
        if not is_same(eager.gradients, repaired.gradients):
            yield "gradients"
        if not is_same(eager.mutations, repaired.mutations):
            yield "mutations"
        before, behind = eager.said, repaired.said
        if before.printed[0] != behind.printed[0]:
            yield "prints"
        if before.printed[1] != behind.printed[1]:
            yield "prints to stderr"
        if self._warnings(before) != self._warnings(behind):
            yield "warnings"
        if before.messages != behind.messages:
            yield "log messages"

    def _warnings(self, said: _Said) -> list[tuple[type[Warning], str]]:
        """The warnings of the program; torch warns of what it compiles as well."""
        return [
            (one.category, str(one.message))
            for one in said.warned
            if self._territory.holds(one.filename)
        ]

    def _sources(self) -> tuple[str, ...]:
        found = imported_files(self._territory, self._before)
        return tuple(sorted({str(self._path), *found}))


@contextlib.contextmanager
def _heard(ran: _Ran) -> Generator[None]:
    """Note what a compiler says in the block, also where it raises."""
    with hearing() as events:
        ran.heard = events
        yield


def _in_words(error: BaseException) -> str:
    return in_a_line(Failure(Reason.RUN, f"{type(error).__name__}: {error}"))


@contextlib.contextmanager
def _finding(changed: Changed | None) -> Generator[None]:
    """Imports find the changed file, and what is said of it quotes that."""
    if changed is None:
        yield
        return
    sys.meta_path.insert(0, changed)
    try:
        with read_as(changed.path, changed.text):
            yield
    finally:
        sys.meta_path.remove(changed)


def _handlers_of_torch() -> set[logging.Handler]:
    """What writes messages of torch: its parts have loggers with handlers of their own.

    Since torch 2.14 these write where `sys.stderr` is when something is said.
    """
    return {
        handler
        for name, logger in tuple(logging.root.manager.loggerDict.items())
        if name.partition(".")[0] == "torch" and isinstance(logger, logging.Logger)
        for handler in logger.handlers
    }


@contextlib.contextmanager
def _noted(said: _Said) -> Generator[None]:
    """Nobody hears what is said in the block: it is noted, but for what torch logs."""
    # Not all logging is turned off, because torch says of its compilations by it.
    levels = [(one, one.level) for one in _handlers_of_torch()]
    for handler, _ in levels:
        handler.setLevel(logging.CRITICAL + 1)
    handled = logging.Logger.callHandlers

    def noted(self: logging.Logger, record: logging.LogRecord) -> None:
        if record.name.partition(".")[0] == "torch":
            handled(self, record)
        else:
            said.messages.append((record.name, record.levelno, record.getMessage()))

    logging.Logger.callHandlers = noted
    try:
        with (
            contextlib.redirect_stdout(said.prints),
            contextlib.redirect_stderr(said.errors),
            warnings.catch_warnings(record=True) as warned,
        ):
            warnings.simplefilter("always")
            said.warned = warned
            yield
    finally:
        logging.Logger.callHandlers = handled
        for handler, level in levels:
            handler.setLevel(level)
