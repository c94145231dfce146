"""One trace: import the file, evaluate the entry, trace, run, materialize."""

from __future__ import annotations

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
from fxls.listing import Failure, Listing, Reason
from fxls.runtime import listing_of
from fxls.runtime.listings.value_facts import note_value
from fxls.store import Store, StoreError, locate
from fxls.wire import Failed, Trace, Traced
from fxls.worker.catching import UserRaised, caught
from fxls.worker.deaths import out_of_time
from fxls.worker.evaluate import Inputs, Model, Refused, evaluate
from fxls.worker.failures import failure_of, is_ours
from fxls.worker.load import home_of, imported_files, load
from fxls.worker.places import Territory
from fxls.worker.produce import listings_by, others_advice
from fxls.worker.timing import least_of, now
from fxls.worker.traced import Unbound, traced

__all__ = ["Attempt"]

_Result = TypeVar("_Result")


class Attempt:
    """A trace under way, in a process of its own."""

    def __init__(
        self,
        request: Trace,
        lift_memory: Callable[[], None],
        log: Callable[[str], None],
    ) -> None:
        self._request = request
        self._entry = request.entry
        self._path = Path(request.entry.path)
        self._territory = Territory(self._path)
        self._lift_memory = lift_memory
        self._log = log
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
        return self._outcome(text)

    def out_of_time(self, frame: FrameType | None) -> Failed:
        """The answer when the time is over while `frame` runs."""
        places = self._territory.places_of_frame(frame)
        return self._failed(out_of_time(self._request.time_limit, places))

    def _outcome(self, text: str) -> Traced | Failed:
        random.seed(0)
        torch.manual_seed(0)  # pyright: ignore[reportUnknownMemberType]  # torch's gap
        project = locate(self._path).parent
        home = home_of(self._path)
        module = self._step(Reason.IMPORT, lambda: load(home, project))
        if isinstance(module, Failure):
            return self._failed(module)
        self._module = module
        model = self._step(Reason.ENTRY, lambda: evaluate(self._entry, module, text))
        if isinstance(model, Failure):
            return self._failed(model)
        if self._entry.producer is not Producer.ENGINE:
            return self._produced(model, self._entry.producer)
        tracing = self._step(Reason.TRACE, lambda: traced(model))
        if isinstance(tracing, Failure):
            return self._failed(self._with_others(tracing, model))
        graph_module = tracing.graph_module
        unbound = tracing.unbound and self._of_any_call(tracing.unbound, model)
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

    def _produced(self, model: Model, producer: Producer) -> Traced | Failed:
        """What one of torch's own producers makes of the model."""
        found = self._step(
            Reason.TRACE, lambda: listings_by(producer, model, self._entry)
        )
        return (
            self._failed(found) if isinstance(found, Failure) else self._written(found)
        )

    def _with_others(self, failure: Failure, model: Model) -> Failure:
        """The failure, and who of torch's own producers does better."""
        if failure.reason is not Reason.TRACE:
            return failure
        found = others_advice(model, self._entry)
        if found is None:
            return failure
        advice, repair = found
        return msgspec.structs.replace(
            failure,
            advice=" ".join(filter(None, (failure.advice, advice))),
            repairs=(*failure.repairs, repair),
        )

    def _of_any_call(self, unbound: Unbound, model: Model) -> Failure:
        """Says that a listing is not the one of the call, and why."""
        failure = failure_of(
            unbound.error, Reason.TRACE, self._territory, self._entry, self._module
        )
        given = ", ".join(
            f"{name}={value!r}" for name, value in unbound.constants.items()
        )
        message = (
            f"the listing leaves {given} open and may take other branches than the call,"
            f" because the model cannot be traced with that: {failure.message}"
        )
        return self._with_others(
            msgspec.structs.replace(failure, message=message), model
        )

    def _written(
        self, listings: Sequence[Listing], trouble: Failure | None = None
    ) -> Traced | Failed:
        """Materialize them; the answer names the first one."""
        store = Store(Path(self._request.store))
        listing = listings[0]
        try:
            path, *_ = [store.materialize(one) for one in listings]
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

    def _step(self, reason: Reason, step: Callable[[], _Result]) -> _Result | Failure:
        """The result of a step that runs the user's code, or what became of it."""
        result = caught(step)
        if not isinstance(result, UserRaised):
            return result
        error = result.error
        if isinstance(error, Refused):
            return error.failure
        self._lift_memory()
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
