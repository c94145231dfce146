"""The parts of an installation, and how they know each other.

`built` makes them in this order. A part has by its constructor whom it needs; where two
parts need each other, one of them gets a function.
"""

from __future__ import annotations

import atexit
import contextlib
import sys
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import CodeType
from typing import Any

from fxls.attempt import Raised, attempt
from fxls.code_cache import CodeCache
from fxls.listing import Listing
from fxls.record import Run
from fxls.runtime import notebook
from fxls.runtime.debugging import pydevd
from fxls.runtime.debugging.breakpoints import Breakpoints
from fxls.runtime.debugging.pydevd_clients import OnClient
from fxls.runtime.hooks import Hooks
from fxls.runtime.inductor.costs import Costs
from fxls.runtime.inductor.inductor_code import InductorCode
from fxls.runtime.inductor.kernel_times import KernelTimes
from fxls.runtime.inductor.missed_fusions import MissedFusions
from fxls.runtime.listings.keeping import KeepValues
from fxls.runtime.listings.listing_text import listing_of
from fxls.runtime.numbers.keeping import Keeping
from fxls.runtime.passes.aot_steps import AotSteps
from fxls.runtime.passes.observed_passes import ObservedPasses
from fxls.runtime.patterns.near_misses import NearMisses
from fxls.runtime.patterns.replaced_patterns import ReplacedPatterns
from fxls.runtime.producers import excepthook
from fxls.runtime.producers.compilations import Compilations
from fxls.runtime.producers.compile_cache import CompileCache
from fxls.runtime.producers.copied_graphs import CopiedGraphs
from fxls.runtime.producers.deferred import DeferredWork
from fxls.runtime.producers.dynamo import Dynamo
from fxls.runtime.producers.fxls_engine import FxlsEngine
from fxls.runtime.producers.interpreted import InterpretedGraphs
from fxls.runtime.producers.pickled_modules import PickledModules
from fxls.runtime.producers.places import frame_columns
from fxls.runtime.producers.torch_export import ExportedPrograms, note_program
from fxls.runtime.producers.torch_fx import TorchFx
from fxls.runtime.producers.torch_tracer import TorchTracer
from fxls.runtime.record.noted_listings import NotedListings
from fxls.runtime.record.recorder import Recorder
from fxls.runtime.record.run_head import ThisRun
from fxls.runtime.record.writer import RecordWriter
from fxls.runtime.running_code import RunningCode
from fxls.runtime.torch_private import compile_id, is_compiling
from fxls.store import Store, StoreError, prune_seldom

__all__ = ["Installation", "built"]


@dataclass(frozen=True, slots=True, eq=False)
class Installation:
    """What makes listings in this process, from `put_in` to `take_out`."""

    store: Store
    keeping: KeepValues
    breakpoints: Breakpoints
    clients: OnClient
    """What makes a debugger ready that is connected, or that comes."""
    running_code: RunningCode
    engine: FxlsEngine
    """The compiler for the graph modules of the engine, which has a place for one."""
    later: DeferredWork
    """The facts of graphs of torch's that are not written yet."""
    torch_fx: TorchFx
    dynamo: Dynamo
    run: ThisRun | None
    """The run that is recorded, if any is."""
    recorder: Recorder
    """Where every part says what happened, for the record of the run."""
    compilations: Compilations
    passes: ObservedPasses
    hooks: Hooks
    """All that is replaced in torch and Python."""
    numbers: Keeping | None = None
    """What is kept to compare numbers, where somebody wants that."""
    times: KernelTimes | None = None
    """What measures kernels, where somebody wants that."""

    def put_in(self) -> None:
        """Make listings of torch's graphs from now on."""
        atexit.register(self._prune)
        self.hooks.put_in()
        notebook.represent(self._listings())
        if self.recorder.is_on:
            atexit.register(self._end)
            self.compilations.attach()

    def take_out(self) -> None:
        """Make none any more, and write what is not written yet."""
        atexit.unregister(self._prune)
        atexit.unregister(self._end)
        self.compilations.detach()
        self.hooks.take_out()
        notebook.represent_no_more(self._listings())
        self.later.finish()
        self._note_times()
        self.recorder.finish()
        self.clients.stop()
        self.breakpoints.take_out()
        pydevd.put_back()

    def _listings(self) -> dict[str, Callable[[Any], Listing]]:
        """What makes the listing of a value, by the full name of its class."""
        torch_fx = self.torch_fx.listing
        return {
            "fxls.engine.graph_module.GraphModule": listing_of,
            "torch.fx.graph_module.GraphModule": torch_fx,
            "torch.export.exported_program.ExportedProgram": lambda program: torch_fx(
                note_program(program)
            ),
        }

    def cut(self) -> None:
        """Let what comes be the record of another run."""
        self.later.finish()
        self._note_times()
        if self.run is not None:
            self.recorder.cut(self.run.cut)
            self.compilations.begin_anew()

    def _end(self) -> None:
        """Let the record say that the program ended, and with which exception."""
        error: BaseException | None = getattr(sys, "last_value", None)
        said = None
        if error is not None:
            said = attempt(lambda: f"{type(error).__name__}: {error}".splitlines()[0])
            said = type(error).__name__ if isinstance(said, Raised) else said[:200]
        self.later.finish()
        self._note_times()
        self.recorder.finish(said)

    def _note_times(self) -> None:
        for spent in () if self.times is None else self.times.told():
            self.recorder.note(spent)

    def _prune(self) -> None:
        """Keep the store small; when the program ends, which then waits for nothing."""
        # What keeps it from being pruned keeps it from being written, and that was said.
        self.store.bound.count()
        with contextlib.suppress(StoreError):
            prune_seldom(self.store.root, self.breakpoints.held())


def built(
    store: Store,
    run: ThisRun | None = None,
    program: str | None = None,
    code_folder: str | None = None,
    keeping_numbers: Keeping | None = None,
    times: KernelTimes | None = None,
) -> Installation:
    """The parts for one store; nothing is replaced yet.

    The record is that of `run`, which `program` made; without a run, there is none.
    Compiled code is kept in the folder for it; without one, it is not kept. Graphs and
    inputs are kept in `keeping_numbers`, and kernels are measured by `times`, where
    there is one.
    """
    cache = CodeCache(code_folder)
    codes: weakref.WeakValueDictionary[Path, CodeType] = weakref.WeakValueDictionary()
    keeping = KeepValues()
    breakpoints = Breakpoints(
        store,
        running=lambda: list(codes),
        break_into=lambda paths: running_code.break_into(paths),
    )
    store.bound.keep(lambda: (*list(codes), *breakpoints.held()))
    recorder, later = Recorder(), DeferredWork()
    if run is not None:
        recorder = Recorder(RecordWriter(store.root, _head(store, run, program)))
        compilation = partial(_compilation, recorder)
        noted = NotedListings(recorder.note, run, compilation)
        store.tell(noted.made)
        later = DeferredWork(compilation, noted.carried)
        if keeping_numbers is not None:
            keeping_numbers.listings_of = noted.of
    compilations = Compilations(recorder.note)
    recorder.called = compilations.called
    if keeping_numbers is not None:
        keeping_numbers.called = compilations.called
    running_code = RunningCode(_instances(store, later))
    engine = FxlsEngine(store, codes, cache, keeping, breakpoints, running_code)
    tracing = TorchTracer()
    kept = (codes, cache, keeping)
    torch_fx = TorchFx(store, *kept, breakpoints, running_code, later, tracing)
    passes = ObservedPasses(torch_fx, engine, recorder, keeping_numbers)
    dynamo = Dynamo(
        publish=torch_fx.publish,
        watches=lambda: running_code.is_watched,
        cached=CompileCache(store),
        root_of=torch_fx.root,
        breakpoints=breakpoints,
        in_step=passes.in_step,
        follow=passes.follow,
    )
    inductor = InductorCode(store, codes, breakpoints, later, dynamo.step, times)
    hooks = Hooks(
        (
            *excepthook.hooks(),
            *torch_fx.hooks(),
            *tracing.hooks(),
            *CopiedGraphs(tracing).hooks(),
            *PickledModules(torch_fx.root, torch_fx.stage).hooks(),
            *InterpretedGraphs(breakpoints).hooks(),
            *frame_columns.hooks(),
            *dynamo.hooks(),
            *inductor.hooks(),
            *(compilations.hooks() if recorder.is_on else ()),
            *(Costs(recorder).hooks() if recorder.is_on else ()),
            *(MissedFusions(recorder).hooks() if recorder.is_on else ()),
            *(NearMisses(recorder).hooks() if recorder.is_on else ()),
            *(
                ReplacedPatterns(recorder, tracing.origin_of_any).hooks()
                if recorder.is_on
                else ()
            ),
            *passes.hooks(),
            *(
                AotSteps(passes, dynamo.step, dynamo.listed).hooks()
                if recorder.is_on
                else ()
            ),
            *ExportedPrograms(
                torch_fx.root, lambda: running_code.is_watched or pydevd.is_loaded()
            ).hooks(),
            # Outermost, so that they see what is compiled as torch gets it.
            *(() if keeping_numbers is None else keeping_numbers.hooks()),
        )
    )
    return Installation(
        store=store,
        keeping=keeping,
        breakpoints=breakpoints,
        clients=OnClient(breakpoints.attend),
        running_code=running_code,
        engine=engine,
        later=later,
        torch_fx=torch_fx,
        dynamo=dynamo,
        run=run,
        recorder=recorder,
        compilations=compilations,
        passes=passes,
        hooks=hooks,
        numbers=keeping_numbers,
        times=times,
    )


def _head(store: Store, run: ThisRun, program: str | None) -> Callable[[], Run]:
    """What the record begins with, in a store that git does not see."""

    def head() -> Run:
        store.ignore()
        return run.head(program)

    return head


def _compilation(recorder: Recorder) -> str | None:
    """What the record calls the compilation that runs in this thread."""
    return recorder.called(compile_id()) if is_compiling() else None


def _instances(
    store: Store, later: DeferredWork
) -> Callable[[Path], tuple[Listing, ...]]:
    """What the store knows of a listing that runs."""

    def instances(path: Path) -> tuple[Listing, ...]:
        later.finish()
        try:
            return store.instances(path)
        except StoreError:
            return ()

    return instances
