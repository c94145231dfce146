"""One trace: import the file, evaluate the entry, trace, run, materialize."""

from __future__ import annotations

import contextlib
import inspect
import random
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType, ModuleType
from typing import TypeVar

import msgspec
import torch

from fxls import regular_file
from fxls.engine import GraphModule, Interpreter, Node
from fxls.engine.node import Argument, Target
from fxls.entry import Producer
from fxls.listing import Failure, Listing, Reason, Source, source_digest
from fxls.runtime import listing_of
from fxls.runtime.listings.value_facts import note_value
from fxls.runtime.producers.capture import in_place_of
from fxls.store import Store, StoreError, locate
from fxls.wire import Failed, Trace, Traced, Trying
from fxls.worker.catching import UserRaised, caught
from fxls.worker.deaths import out_of_time
from fxls.worker.drawn_weights import draw_less
from fxls.worker.evaluate import Inputs, Model, Refused, evaluate
from fxls.worker.failures import failure_of, is_ours
from fxls.worker.limits import MemoryLimit
from fxls.worker.load import home_of, imported_files, load
from fxls.worker.places import Territory
from fxls.worker.produce import able, listings_by, silence
from fxls.worker.refusals import Refusal, captured_after, in_a_line, in_sum
from fxls.worker.timing import least_of, now
from fxls.worker.traced import Tracing, Unbound, traced

__all__ = ["Attempt"]

_Result = TypeVar("_Result")


class Attempt:
    """A trace under way, in a process of its own."""

    def __init__(
        self,
        request: Trace,
        memory: MemoryLimit,
        log: Callable[[str], None],
        tell: Callable[[Trying], None],
    ) -> None:
        """`tell` gets what is to be answered when the process comes to no other end."""
        self._request = request
        self._entry = request.entry
        self._path = Path(request.entry.path)
        self._territory = Territory(self._path)
        self._memory = memory
        self._log = log
        self._tell = tell
        self._source: Source | None = None
        """The file of the entry, as it was read."""
        self._producer: Producer | None = None
        """Who is making the graph."""
        self._refusals: list[Refusal] = []
        self._started = time.perf_counter()
        self._before = frozenset(sys.modules)
        self._module: ModuleType | None = None

    def outcome(self) -> Traced | Failed:
        """Do it all."""
        try:
            data = regular_file.read(self._path, regular_file.SOURCE_BYTES)
            text = data.decode("utf-8", errors="replace")
        except OSError as error:
            reason = regular_file.why(error)
            return self._failed(
                Failure(
                    Reason.NOT_FOUND,
                    f"{self._path} cannot be read: {reason}",
                    advice="Save the file, or correct its path in the entry.",
                )
            )
        self._source = Source(str(self._path), source_digest(data))
        return self._outcome(text)

    def out_of_time(self, frame: FrameType | None) -> Failed:
        """The answer when the time is over while `frame` runs."""
        places = self._territory.places_of_frame(frame)
        failure = out_of_time(self._request.time_limit, places)
        if self._refusals and self._producer is not None:
            self._refusals.append((self._producer, failure))
            return self._failed(self._whole())
        return self._failed(failure)

    def _outcome(self, text: str) -> Traced | Failed:
        random.seed(0)
        torch.manual_seed(0)  # pyright: ignore[reportUnknownMemberType]  # torch's gap
        project = locate(self._path).parent
        home = home_of(self._path)
        module = self._step(Reason.IMPORT, lambda: load(home, project))
        if isinstance(module, Failure):
            return self._failed(module)
        self._module = module
        with draw_less():
            model = self._step(
                Reason.ENTRY, lambda: evaluate(self._entry, module, text)
            )
        if isinstance(model, Failure):
            return self._failed(model)
        return self._captured(model)

    def _captured(self, model: Model) -> Traced | Failed:
        """What the first producer that can makes of a model."""
        of_any_call: Tracing | None = None
        for producer in able(self._entry, model, self._request.order):
            self._begin(producer)
            if producer is not Producer.ENGINE:
                found = self._produced(model, producer)
            else:
                found = self._step(Reason.TRACE, lambda: traced(model))
                if not isinstance(found, Failure):
                    if found.unbound is None:
                        return self._shown(model, found)
                    of_any_call, found = found, self._failure(found.unbound.error)
            if not isinstance(found, Failure):
                return found
            self._refusals.append((producer, found))
            if producer is Producer.ENGINE and found.reason is not Reason.TRACE:
                break
        if of_any_call is not None:
            return self._shown(model, of_any_call)
        return self._failed(self._whole())

    def _begin(self, producer: Producer) -> None:
        """Let a producer try; what is known by then is told in case it ends us."""
        self._producer = producer
        if self._refusals:
            self._tell(Trying(self._failed(self._whole()), producer))
            self._memory.set()

    def _whole(self) -> Failure:
        """The failure of the first producer, with the reasons of the others."""
        (_, first), *others = self._refusals
        return in_sum(first, others)

    def _shown(self, model: Model, tracing: Tracing) -> Traced | Failed:
        """The listing of a trace by the engine."""
        graph_module = tracing.graph_module
        unbound: Failure | None = None
        if tracing.unbound is not None:
            unbound = self._of_any_call(tracing.unbound)
        elif self._refusals:
            unbound = captured_after(self._refusals, Producer.ENGINE)
        if model.inputs is None:
            return self._materialized(graph_module, unbound)
        run = self._run(graph_module, model.root, model.inputs)
        if isinstance(run, Failure):
            return self._materialized(graph_module, unbound or run)
        outcome = self._materialized(graph_module, unbound)
        if isinstance(outcome, Failed) or not self._request.timed:
            return outcome
        # Behind the listing, which has the values of the first run.
        times = self._step(Reason.RUN, lambda: least_of(run.times, run.again))
        return (
            self._failed(times)
            if isinstance(times, Failure)
            else msgspec.structs.replace(outcome, times=times)
        )

    def _run(
        self,
        graph_module: GraphModule,
        root: torch.nn.Module | Callable[..., object],
        inputs: Inputs,
    ) -> _Run | Failure:
        """Run the graph on the example inputs, so that its nodes know their values."""
        named = self._step(Reason.RUN, lambda: _named(root, inputs))
        if isinstance(named, Failure):
            return named
        run = _Run(graph_module, named)
        failure = self._step(Reason.RUN, run.run)
        if not isinstance(failure, Failure):
            return run
        origin = run.node.origin if run.node is not None else None
        if origin is None or failure.reason is not Reason.RUN:
            return failure
        return msgspec.structs.replace(failure, places=origin.places)

    def _materialized(
        self, graph_module: GraphModule, trouble: Failure | None
    ) -> Traced | Failed:
        listing = self._step(
            Reason.TRACE,
            lambda: listing_of(graph_module, entry=self._entry.expression),
        )
        if isinstance(listing, Failure):
            return self._failed(listing)
        return self._written((listing,), trouble)

    def _produced(self, model: Model, producer: Producer) -> Traced | Failed | Failure:
        """What one of torch's own producers makes of the model."""
        with silence() if self._refusals else _nothing(), self._in_place():
            found = self._step(
                Reason.TRACE, lambda: listings_by(producer, model, self._entry)
            )
        if isinstance(found, Failure):
            return found
        refusals = self._refusals
        return self._written(
            found, captured_after(refusals, producer) if refusals else None
        )

    def _in_place(self) -> contextlib.AbstractContextManager[None]:
        """Says in listings who could not make them."""
        if not self._refusals:
            return _nothing()
        whom, why = self._refusals[0]
        return in_place_of(whom.title, in_a_line(why))

    def _of_any_call(self, unbound: Unbound) -> Failure:
        """Says that a listing is not the one of the call, and why."""
        own = next(f for who, f in self._refusals if who is Producer.ENGINE)
        others = [one for one in self._refusals if one[0] is not Producer.ENGINE]
        failure = in_sum(own, others)
        given = ", ".join(
            f"{name}={value!r}" for name, value in unbound.constants.items()
        )
        message = (
            f"the listing leaves {given} open and may take other branches than the call,"
            f" because the model cannot be traced with that: {failure.message}"
        )
        return msgspec.structs.replace(failure, message=message)

    def _failure(self, error: BaseException) -> Failure:
        """What is said of an error that a trace came to."""
        return failure_of(
            error, Reason.TRACE, self._territory, self._entry, self._module
        )

    def _written(
        self, listings: Sequence[Listing], trouble: Failure | None = None
    ) -> Traced | Failed:
        """Materialize them; the answer names the first one."""
        store = Store(Path(self._request.store))
        listing = listings[0]
        try:
            path, *_ = [store.materialize(self._asked_for(one)) for one in listings]
        except StoreError as error:
            message = f"{error.path}: {error.problem}"
            return self._failed(Failure(Reason.STORE, message, advice=error.advice))
        return Traced(
            id=self._request.id,
            identity=listing.identity,
            path=str(path),
            seconds=time.perf_counter() - self._started,
            sources=self._sources(),
            trouble=trouble,
        )

    def _asked_for(self, listing: Listing) -> Listing:
        """The listing as one that was made from the file of the entry, too.

        The model may be imported, so that no node of it comes from there.
        """
        assert self._source is not None
        sources = listing.sources
        paths = [source.path for source in sources]
        if self._source.path not in paths:
            sources = (*sources, self._source)
        row = [*paths, self._source.path].index(self._source.path)
        replace = msgspec.structs.replace
        return replace(listing, sources=sources, entry_source=row)

    def _step(self, reason: Reason, step: Callable[[], _Result]) -> _Result | Failure:
        """The result of a step that runs the user's code, or what became of it."""
        result = caught(step)
        if not isinstance(result, UserRaised):
            return result
        error = result.error
        if isinstance(error, Refused):
            return error.failure
        self._memory.lift()
        if is_ours(error):
            self._log("".join(traceback.format_exception(error)))
        return failure_of(error, reason, self._territory, self._entry, self._module)

    def _failed(self, failure: Failure) -> Failed:
        sources = {*self._sources(), *(place.path for place in failure.places)}
        return Failed(self._request.id, failure, tuple(sorted(sources)))

    def _sources(self) -> tuple[str, ...]:
        return tuple(
            sorted({str(self._path), *imported_files(self._territory, self._before)})
        )


_nothing = contextlib.nullcontext


class _Run(Interpreter):
    """Notes what each value is, which node runs, and how long each took.

    `ShapeProp` itself prints and renames what a node raises.
    """

    def __init__(self, graph_module: GraphModule, inputs: Mapping[str, object]) -> None:
        super().__init__(graph_module)
        self.extra_traceback = False
        self.node: Node | None = None
        self.times: list[int] = []
        """Nanoseconds of each node, in the order of the graph."""
        self._inputs = inputs

    def again(self) -> list[int]:
        """The times of another run."""
        self.times = []
        self.run()
        return self.times

    def run_node(self, n: Node) -> object:
        self.node = n
        began = now()
        value = super().run_node(n)
        self.times.append(now() - began)
        note_value(n.meta, value)
        return value

    def placeholder(
        self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, object]
    ) -> object:
        # By name: placeholders are not in the order in which a call gives arguments
        # when there are keyword-only ones beside ``*args``.
        name = str(target).lstrip("*")
        if name in self._inputs:
            return self._inputs[name]
        return super().placeholder(target, args, kwargs)


def _named(
    root: torch.nn.Module | Callable[..., object], inputs: Inputs
) -> Mapping[str, object]:
    """The inputs by the names of the parameters; raises `TypeError`."""
    forward = root.forward if isinstance(root, torch.nn.Module) else root
    bound = inspect.signature(forward).bind(*inputs.args, **inputs.kwargs)
    bound.apply_defaults()
    return bound.arguments
