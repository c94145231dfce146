"""Looking for example inputs of an entry: its model is called until a call runs."""

from __future__ import annotations

import contextlib
import random
import re
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, cast

import msgspec
import torch
from torch.nn.modules import module as hooks

from fxls.entry import Entry
from fxls.listing import Failure, Reason
from fxls.store import locate
from fxls.wire import Failed, Fit, Fitted
from fxls.worker.catching import UserRaised, caught
from fxls.worker.deaths import out_of_time
from fxls.worker.drawn_weights import draw_less
from fxls.worker.evaluate import Model, Refused, evaluate, inputs_of, names_in
from fxls.worker.failures import failure_of, is_ours
from fxls.worker.fitting.other_inputs import Refusal, first_width, guided, unguided
from fxls.worker.fitting.smaller_configurations import smaller_configurations
from fxls.worker.fitting.written_inputs import Example, WrittenInputs
from fxls.worker.limits import MemoryLimit
from fxls.worker.load import Changed, home_of, load
from fxls.worker.places import Territory
from fxls.worker.produce import silence

__all__ = ["FitAttempt"]

_MOST = 64
"""Calls of a model."""

_SHARE = 0.5
"""Of the time limit: a call that began has the rest of it to end."""

_PARAMETERS = 500_000_000
"""A model with more takes longer to build than anybody waits for an example of it."""

_SEQUENCES = re.compile("att|block|layer|former|(en|de)coder", re.IGNORECASE)
"""How models are called that take sequences."""

_Examples = tuple[Example, ...]


class FitAttempt:
    """The calls of one model, in a process of its own."""

    def __init__(
        self, request: Fit, memory: MemoryLimit, log: Callable[[str], None]
    ) -> None:
        self._request = request
        self._path = Path(request.entry.path)
        self._territory = Territory(self._path)
        self._memory = memory
        self._log = log
        self._ends = time.monotonic() + _SHARE * request.time_limit
        self._next: deque[_Examples] = deque()
        """What layers asked for."""

    def outcome(self) -> Fitted | Failed:
        """Do it all; `Failed` says why the model cannot be called at all."""
        module = caught(self._loaded)
        if isinstance(module, UserRaised):
            return self._failed(module.error)
        given = self._request.entry
        built: str | None = None
        for entry in self._of_a_size(module):
            model = caught(lambda entry=entry: self._built(entry, module))
            if isinstance(model, UserRaised):
                if built is None:
                    return self._failed(model.error)
                break
            found = self._fitting(model, module, entry)
            if found is not None:
                return Fitted(self._request.id, found)
            if built is None and entry != given:
                # It can be built at least.
                built = entry.expression
        return Fitted(self._request.id, built)

    def out_of_time(self, frame: FrameType | None) -> Failed:
        """The answer when the time is over while `frame` runs."""
        places = self._territory.places_of_frame(frame)
        return Failed(self._request.id, out_of_time(self._request.time_limit, places))

    def _loaded(self) -> ModuleType:
        _seed()
        home, project = home_of(self._path), locate(self._path).parent
        changed = Changed(str(self._path), self._request.text)
        # The package of the file may import it, and does so as it is on disk.
        sys.meta_path.insert(0, changed)
        with silence():
            return load(home, project, changed)

    def _built(self, entry: Entry, module: ModuleType) -> Model:
        with silence(), draw_less():
            return evaluate(entry, module, self._request.text)

    def _of_a_size(self, module: ModuleType) -> Iterator[Entry]:
        """The entry; where its model is too large, with smaller configurations."""
        entry = self._request.entry
        others = caught(
            lambda: [*smaller_configurations(entry.expression, names_in(module))]
        )
        # What raises here is said where the model is built, and a constructor runs no
        # more often than it has to.
        if (
            isinstance(others, UserRaised)
            or not others
            or not self._is_too_large(entry, module)
        ):
            yield entry
            return
        is_any = False
        for expression in others:
            smaller = msgspec.structs.replace(entry, expression=expression)
            if self._is_too_large(smaller, module) is False:
                is_any = True
                yield smaller
        if not is_any:
            yield entry

    def _is_too_large(self, entry: Entry, module: ModuleType) -> bool | None:
        """By its parameters, none of which are made; None where that fails."""

        def count() -> int:
            with silence(), torch.device("meta"):
                root = evaluate(entry, module, self._request.text).root
            is_module = isinstance(root, torch.nn.Module)
            return sum(one.numel() for one in root.parameters()) if is_module else 0

        counted = caught(count)
        return None if isinstance(counted, UserRaised) else counted > _PARAMETERS

    def _fitting(self, model: Model, module: ModuleType, entry: Entry) -> str | None:
        """The entry with inputs with which the model runs."""
        written = WrittenInputs(entry.expression)
        if model.inputs is None or not written.examples:
            return None
        seen: set[_Examples] = set()
        self._next.clear()
        for examples in self._tried(model, written.examples, seen):
            expression = written.with_examples(examples)
            tried = msgspec.structs.replace(entry, expression=expression)
            refusal = self._refusal(model, module, tried)
            if refusal is None:
                return expression
            self._next.extendleft([*guided(examples, refusal)][::-1])
        return None

    def _tried(
        self, model: Model, written: _Examples, seen: set[_Examples]
    ) -> Iterator[_Examples]:
        """What to try: what a layer asked for is first."""
        others = unguided(written, first_width(model.root))
        self._next.append(written)
        while len(seen) < _MOST and time.monotonic() < self._ends:
            examples = self._next.popleft() if self._next else next(others, None)
            if examples is None:
                return
            if examples not in seen:
                seen.add(examples)
                yield examples

    def _refusal(
        self, model: Model, module: ModuleType, entry: Entry
    ) -> Refusal | None:
        """Where a call with the inputs of an entry ends; None when it runs."""
        calls: list[tuple[torch.nn.Module, tuple[int, ...] | None]] = []

        def run() -> None:
            given = inputs_of(entry, module, self._request.text)
            assert given is not None
            _seed()
            with silence(), _noted(calls), torch.no_grad():
                model.root(*given.args, **given.kwargs)

        raised = caught(run)
        if not isinstance(raised, UserRaised):
            return None
        if not isinstance(raised.error, Exception):
            # Who ends the process, or is out of time, asks for no other inputs.
            self._ends = 0.0
        layer, given = calls[-1] if calls else (None, None)
        called = type(model.root).__name__
        return Refusal(layer, given, _SEQUENCES.search(called) is not None)

    def _failed(self, error: BaseException) -> Failed:
        self._memory.lift()
        if isinstance(error, Refused):
            return Failed(self._request.id, error.failure)
        if is_ours(error):
            self._log("".join(traceback.format_exception(error)))
        entry = self._request.entry
        failure: Failure = failure_of(error, Reason.ENTRY, self._territory, entry, None)
        return Failed(self._request.id, failure)


def _seed() -> None:
    random.seed(0)
    cast("Any", torch).manual_seed(0)  # torch's types have a gap there


@contextlib.contextmanager
def _noted(
    calls: list[tuple[torch.nn.Module, tuple[int, ...] | None]],
) -> Generator[None]:
    """Note which modules are being called, the innermost last, with what shape."""

    def begun(module: torch.nn.Module, args: tuple[object, ...]) -> None:
        first = next((one for one in args if isinstance(one, torch.Tensor)), None)
        calls.append((module, None if first is None else tuple(first.shape)))

    def done(module: torch.nn.Module, args: object, output: object) -> None:
        while calls and calls.pop()[0] is not module:
            pass

    untyped = cast("Any", hooks)  # torch says no types of them
    before = untyped.register_module_forward_pre_hook(begun)
    behind = untyped.register_module_forward_hook(done)
    try:
        yield
    finally:
        before.remove()
        behind.remove()
