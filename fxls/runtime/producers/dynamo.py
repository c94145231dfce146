"""The graphs that torch.compile captures, and those that its backends make of them.

Each is a listing of the function that was compiled. Its graphs are told apart by their
stage, because the second graph of a function is no later revision of the first one.
"""

from __future__ import annotations

import bdb
import contextlib
import fnmatch
import functools
import re
import sys
from collections.abc import Callable, Generator
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from types import CodeType, FunctionType, MethodType
from typing import Any, NamedTuple, cast

from fxls.installed_torch import private
from fxls.listing import KERNELS, About, Parent, Remark, ToLine, ToParent
from fxls.record import RevisionName
from fxls.runtime.debugging.breakpoints import Breakpoints
from fxls.runtime.faults import logging_faults
from fxls.runtime.hooks import Hook, around
from fxls.runtime.listings.head import Leading, Words
from fxls.runtime.producers import torch_errors
from fxls.runtime.producers.backends import is_torchs
from fxls.runtime.producers.capture import (
    Capture,
    capturing,
    hushed,
    is_hushed,
    note_capture,
    of_backend,
    parents_by,
)
from fxls.runtime.producers.compile_cache import CompileCache
from fxls.runtime.producers.compiled_roots import CompiledRoots
from fxls.runtime.producers.compiler_steps import direction_of
from fxls.runtime.producers.error_notes import with_note
from fxls.runtime.producers.node_by_node import (
    BROKEN_INTO,
    WATCHED,
    node_by_node,
    not_run,
    not_run_either,
)
from fxls.runtime.producers.places.stack_traces import resumed
from fxls.runtime.producers.steps import InStep, Step, in_any_step
from fxls.runtime.producers.torch_errors import note_error
from fxls.runtime.torch_private import compile_id

__all__ = ["Dynamo"]

_Publish = Callable[[Any], Path | None]
"""Writes the listing of a graph module of torch.fx."""

_Stage = tuple[str, ...]
"""What was done with a captured graph, as ``("forward", "post-grad")``."""


@dataclass(frozen=True, slots=True)
class _Captured:
    """A graph of Dynamo's that was published."""

    capture: Capture
    path: Path | None
    given: dict[_Stage, tuple[Parent, ...]]
    """The parents of what is made of the graph of a stage; the captured one has none."""

    def parents(self, stage: _Stage) -> tuple[Parent, ...]:
        """The parents of the graph of a stage."""
        earlier = [(one,) for one in _BEFORE.get(stage[-1], ())]
        if stage[-1] == KERNELS:
            earlier = [(*stage[:-1], _CHANGED_IN_PLACE)]
        found = map(self.given.get, (*earlier, stage[:-1]))
        return next(filter(None, found), self.given[()])


class Dynamo:
    """What makes listings of what torch.compile does, by its hooks."""

    def __init__(
        self,
        publish: _Publish,
        watches: Callable[[], bool] = lambda: False,
        cached: CompileCache | None = None,
        root_of: Callable[[Any], tuple[str, str] | None] = lambda _: None,
        breakpoints: Breakpoints | None = None,
        in_step: InStep = in_any_step,
        follow: Callable[[Any, str], None] = lambda _module, _compilation: None,
    ) -> None:
        """`watches` tells whether the values of nodes are wanted, so that they are to be
        run one by one; `root_of` what a graph module was made of; `in_step` sees the
        passes of a step; `follow` those of a backend of the program's.
        """
        self._in_step = in_step
        self._follow = follow
        self._publish = publish
        self._watches = watches
        self._cached = cached
        self._breakpoints = breakpoints
        self._roots = CompiledRoots(root_of)
        self._captured: dict[str, _Captured] = {}
        """By torch's name of the compilation, as ``1/0``."""
        self._parts: dict[tuple[str, str], list[CodeType]] = {}
        """For each function, the parts of it that were compiled, in order.

        Not by the number in torch's name of a compilation: that begins again at nought,
        in another order, when torch is told to forget what it compiled.
        """

    def hooks(self) -> tuple[Hook, ...]:
        """Where torch.compile hands graphs on, and what changes them on the way."""
        passes = (
            Hook(
                "torch._inductor.compile_fx",
                without := f"{stage} graphs of inductor are no listings",
                {name: around(functools.partial(self._passes, stage), without)},
            )
            for name, stage in _PASSES
        )
        return (
            Hook(
                "torch._dynamo.trace_rules",
                "torch.compile may look into fxls and pdb",
                {"FORCE_SKIP_FILES": _skipped},
            ),
            Hook(
                "torch._dynamo.output_graph",
                _CAPTURED,
                {"OutputGraph.call_user_compiler": around(self._compile, _CAPTURED)},
            ),
            Hook(
                "torch._dynamo.backends.debugging",
                _LOWERED,
                {"boxed_nop": around(self._nop, _LOWERED)},
            ),
            *passes,
            Hook(
                "torch._inductor.compile_fx",
                _INNER,
                {"_compile_fx_inner": around(self._inner, _INNER)},
            ),
        )

    def compile_again(self) -> None:
        """Let torch compile anew what it compiled while the nodes were not wanted."""
        torch_dynamo: Any = sys.modules.get("torch._dynamo")
        if self._captured and torch_dynamo is not None:
            torch_dynamo.reset()

    def step(self, stage: _Stage) -> Step | None:
        """A step of the compilation that runs; None while inductor's passes run, which
        trace graphs of their own, and where the captured graph is not known.
        """
        parent = self._captured.get(compile_id())
        if parent is None or _inside.get():
            return None
        return Step(compile_id(), _stage_of(parent, stage))

    def listed(self, stage: _Stage) -> RevisionName | None:
        """The listing of a stage of the compilation that runs, or what that is made of."""
        parent = self._captured.get(compile_id())
        known = (
            () if parent is None else parent.given.get(stage) or parent.parents(stage)
        )
        return RevisionName(known[0].identity, known[0].file) if known else None

    # -- Dynamo ------------------------------------------------------------------

    def _compile(
        self, output: Any, /, gm: Any, *_: Any, **__: Any
    ) -> Generator[None, Any, Any]:
        if is_hushed():  # torch.export uses Dynamo on its way
            return (yield)
        theirs: Capture | None = None
        hush = is_torchs(output.compiler_fn)
        with logging_faults("a graph of torch.compile is no listing"):
            capture = self.captured(gm, output)
            if not hush:
                theirs = of_backend(capture, gm._graph)
                self._follow(gm, compile_id())
        with contextlib.ExitStack() as while_compiling:
            with logging_faults("breakpoints in compiled graphs stop nothing"):
                because = self._runs_nodes_because(gm, output)
                while_compiling.enter_context(node_by_node(output, because))
            while_compiling.enter_context(self._noticing_hits(gm))
            while_compiling.enter_context(capturing(theirs))
            while_compiling.enter_context(hushed(when=hush))
            compiled = yield
        compiled = _made_ready(compiled)
        # Others are objects that torch may want to look into.
        if isinstance(compiled, FunctionType | MethodType):
            return functools.wraps(compiled)(with_note(compiled, note_error))
        return compiled

    def _runs_nodes_because(self, gm: Any, output: Any) -> str:
        """Why a graph is to be run node by node; empty when it need not be."""
        if self._watches():
            return WATCHED
        known = self._captured.get(str(gm.meta.get("dynamo_compile_id")))
        if known is None or known.path is None:
            return ""
        if self._breakpoints is not None:
            if self._breakpoints.is_broken_into(known.path):
                return BROKEN_INTO
            if why := not_run(output.compiler_fn):
                self._breakpoints.compiled_away(known.path, why)
        return ""

    def _noticing_hits(self, gm: Any) -> contextlib.AbstractContextManager[object]:
        """Compile a graph in the block; torch may have done it before."""
        known = self._captured.get(str(gm.meta.get("dynamo_compile_id")))
        if self._cached is None or known is None:
            return contextlib.nullcontext()
        return self._cached.noticing(known.capture, known.path)

    def captured_before(self, gm: Any) -> None:
        """Publish a graph whose backend runs already."""
        with logging_faults("a graph of torch.compile is no listing"):
            frame: Any = sys._getframe()  # pyright: ignore[reportPrivateUsage]  # Dynamo is further out
            while frame is not None and frame.f_code.co_name != "call_user_compiler":
                frame = frame.f_back
            if frame is not None:
                self.captured(gm, frame.f_locals["self"])

    def captured(self, gm: Any, output: Any) -> Capture:
        """Publish a graph of Dynamo's, of the function that `output` is made for."""
        root = self._roots.of(output.root_tx)
        compilation = gm.meta["dynamo_compile_id"]
        name = str(compilation)
        code = output.root_tx.f_code
        parts = self._parts.setdefault(root, [])
        if code not in parts:
            parts.append(code)
        count = compilation.frame_compile_id or 0
        stage = f"graph {parts.index(code)}"
        if count:
            stage += f", compilation {count}"
        header: list[Words] = [(f"It is {stage} of {root[1]}.",)]
        remarks: list[Remark] = []
        if count and (reason := _recompiled_because()):
            header.append((f"Compiled again because {reason}",))
            remarks.append(Remark(About.RECOMPILATION, _ID.sub("", reason)))
        broken = _break(gm.compile_subgraph_reason)
        if broken is not None:
            header += broken.lines
            remarks.append(Remark(About.BREAK, broken.reason))
        capture = Capture(
            *("torch.compile", stage, root, tuple(header)), remarks=tuple(remarks)
        )
        note_capture(gm, capture)
        path = self._publish(gm)
        self._captured[name] = _Captured(capture, path, {(): parents_by(gm._graph)})
        return capture

    # -- AOTAutograd and Inductor ------------------------------------------------

    def _nop(self, gm: Any, /, *_: Any, **__: Any) -> Generator[None, Any, Any]:
        # Written after it, as the code that runs is that of the rules that it sets.
        publish = self._derived(gm, (direction_of(gm),))
        with hushed(when=False):
            result = yield
        with logging_faults(_LOWERED):
            publish()
        return result

    def _passes(
        self, stage: str, /, gm: Any, *_: Any, **__: Any
    ) -> Generator[None, Any, Any]:
        outermost = not _inside.get()
        token = _inside.set(True)
        try:
            with contextlib.ExitStack() as seen, hushed():
                with logging_faults(_OF_PASSES):
                    step = self._step(gm, stage) if outermost else None
                    ended = seen.enter_context(self._in_step(gm, step))
                result = yield
                with logging_faults(_OF_PASSES):
                    ended(gm if result is None else result)
        finally:
            _inside.reset(token)
        if outermost:
            changed = gm if result is None else result
            which = (direction_of(changed), stage) if result is None else (stage,)
            self._not_run(self._derived(changed, which)())
        return result

    def _step(self, gm: Any, stage: str) -> Step | None:
        """The step of inductor that begins with a graph."""
        parent = self._captured.get(compile_id())
        if parent is None:
            return None
        within = (direction_of(gm), stage) if stage == _CHANGED_IN_PLACE else (stage,)
        return Step(compile_id(), _stage_of(parent, within))

    def _inner(self, gm: Any, *_: Any, **__: Any) -> Generator[None, Any, Any]:
        with logging_faults(_INNER):
            self._not_run(self._derived(gm, (direction_of(gm),))())
        with hushed():
            return (yield)

    def _not_run(self, path: Path | None) -> None:
        """Take note that no code of a listing runs, as inductor goes on from its graph."""
        captured = self._captured.get(compile_id())
        if self._breakpoints and path and captured and captured.path:
            self._breakpoints.compiled_away(path, not_run_either(captured.path))

    def _derived(self, gm: Any, stage: _Stage) -> Callable[[], Path | None]:
        """Note that a graph was made from one of Dynamo's; what is returned publishes."""
        with logging_faults("a graph behind torch.compile is no listing"):
            parent = self._captured.get(compile_id())
            if parent is None:
                return _nothing  # compiled by somebody who does not use Dynamo
            note_capture(gm, _stage_of(parent, stage))

            def publish() -> Path | None:
                path = self._publish(gm)
                parent.given[stage] = parents_by(gm._graph)
                return path

            return publish
        return _nothing


def _stage_of(parent: _Captured, stage: _Stage) -> Capture:
    """What is said of the graph that a step made of a captured one."""
    whole = ", ".join((parent.capture.stage, *stage))
    root = parent.capture.root or ("", "")
    header: list[Words] = [(f"It is {whole} of {root[1]}.",)]
    if parent.path is not None:
        name = parent.path.name
        header.append(("It was made from ", Leading(name, ToParent(name)), "."))
    return replace(
        parent.capture,
        stage=whole,
        header=tuple(header),
        parents=parent.parents(stage),
        computes_gradients="backward" in stage,
        remarks=(),
    )


_CAPTURED = "graphs that torch.compile captures are no listings"
_LOWERED = "graphs of aot_eager are no listings"
_OF_PASSES = "passes of inductor are no revisions"
_INNER = "forward and backward graphs of inductor are no listings"

_CALLING = torch_errors.__file__
_OF_PDB = (bdb.__file__, fnmatch.__file__)

_PASSES = (
    ("_recursive_pre_grad_passes", "pre-grad"),
    ("_recursive_joint_graph_passes", "joint"),
    ("_recursive_post_grad_passes", "post-grad"),
)

_CHANGED_IN_PLACE = "post-grad"
"""The step that returns no module."""

_BEFORE = {
    "traced": ("pre-grad",),
    "joint": ("pre-grad",),
    "forward": ("joint", "pre-grad"),
    "backward": ("joint", "pre-grad"),
}
"""What torch.compile makes a graph of, the last one first, where it makes that at all."""

_inside: ContextVar[bool] = ContextVar("fxls_inside_passes", default=False)
"""Whether passes run already: they call themselves for graphs inside the graph."""

_ID = re.compile(r"^\d+/\d+: ")
"""torch's name of the compilation whose guard failed."""
_NUMBER = re.compile(r"\b(0x[0-9a-f]+|\d{9,})\b")


def _skipped(files: Any) -> set[str]:
    """The files that Dynamo is not to look into, and more of them.

    It begins behind the call of a graph module, as where that is torch's own, and what
    pdb does between two lines of the program it does not look into either.
    """
    return {*files, _CALLING, *_OF_PDB}


def _made_ready(compiled: Any) -> Any:
    """The forward that runs, of a graph module that would compile it at its first call.

    torch does the same with what it is given; ours it would not recognize.
    """
    module = getattr(compiled, "__self__", None)
    lazy: Any = private("torch.fx._lazy_graph_module:_LazyGraphModule", "")
    if isinstance(module, lazy) and compiled.__name__ == "_lazy_forward":
        lazy.force_recompile(module)
        return cast("Any", module).forward
    return compiled


def _nothing() -> None:
    """Publish nothing."""
    return None  # noqa: RET501  # which is a path else


class _Break(NamedTuple):
    """Why a graph ends before its function does."""

    reason: str
    """In a line, with the place."""
    lines: list[Words]
    """For the head."""


def _break(reason: Any) -> _Break | None:
    """Why a graph ends where it does, when that is not the end of the function."""
    if reason is None or not reason.graph_break:
        return None
    said = [line.strip() for line in str(reason.reason).splitlines() if line.strip()]
    short = said[0] if said else ""
    lines: list[Words] = [(f"It ends in a graph break: {said[0]}",)] if said else []
    lines += [(f"  {line}",) for line in said[1:3]]
    if reason.user_stack:
        frame = reason.user_stack[-1]
        where = f"{Path(frame.filename).name}, line {frame.lineno}"
        at: str | Leading = where
        if Path(frame.filename).is_file():
            at = Leading(where, ToLine(frame.filename, frame.lineno - 1))
        lines.append(("  At ", at, f", in {resumed(frame.name)}."))
        short = f"{Path(frame.filename).name}:{frame.lineno}: {short}"
    return _Break(short, lines)


def _recompiled_because() -> str:
    reason = ""
    with logging_faults("a graph that is compiled again does not say why"):
        metrics: Any = sys.modules["torch._dynamo.utils"].get_metrics_context()
        reason = metrics._metrics.get("recompile_reason") or ""
    first = str(reason).strip().splitlines()
    return _NUMBER.sub("…", first[0]) if first else ""
