"""A torch in which one name is another one, or takes other arguments: one hook is off.

The user's program gets what it gets without fxls, one line says what is off, and every
listing of the other hooks is there.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import importlib
import inspect
import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

import fxls
from fxls import installed_torch
from fxls.runtime import installing
from fxls.runtime.hooks import Hook, Hooks
from fxls.runtime.installation import Installation, built
from fxls.runtime.record.run_head import ThisRun
from fxls.store import Store
from tests.runtime.passes.watching import passes_alone
from tests.runtime.splitting import MAKES_PARTS, OF_MODULE

any_torch: Any = torch

NAMES = {
    "Tracer.trace": "torch.fx._symbolic_trace",
    "TracerBase.create_node": "torch.fx.proxy",
    "Graph.node_copy": "torch.fx.graph",
    "Graph.__deepcopy__": "torch.fx.graph",
    "GraphModule.recompile": "torch.fx.graph_module",
    "_exec_with_source": "torch.fx.graph_module",
    "GraphModule.__init__": "torch.fx.graph_module",
    "GraphModule.__deepcopy__": "torch.fx.graph_module",
    "_LazyGraphModule.recompile": "torch.fx._lazy_graph_module",
    "Transformer.transform": "torch.fx.interpreter",
    "Interpreter.run": "torch.fx.interpreter",
    "GraphTransformObserver.__enter__": "torch.fx.passes.graph_transform_observer",
    "GraphTransformObserver.__exit__": "torch.fx.passes.graph_transform_observer",
    "_replace_pattern": "torch.fx.subgraph_rewriter",
    "SubgraphMatcher.match": "torch.fx.passes.utils.matcher_utils",
    "PassManager.__call__": "torch.fx.passes.infra.pass_manager",
    MAKES_PARTS: OF_MODULE,
    "GraphModule.__reduce__": "torch.fx.graph_module",
    "GraphModule.__reduce_package__": "torch.fx.graph_module",
    "FORCE_SKIP_FILES": "torch._dynamo.trace_rules",
    "OutputGraph.call_user_compiler": "torch._dynamo.output_graph",
    "InstructionTranslatorBase.log_graph_break": "torch._dynamo.symbolic_convert",
    "InstructionTranslatorBase.frame_summary": "torch._dynamo.symbolic_convert",
    "TracingContext._populate_loc_in_frame_summary": "torch._guards",
    "CheckFunctionManager.__init__": "torch._dynamo.guards",
    "boxed_nop": "torch._dynamo.backends.debugging",
    "_recursive_pre_grad_passes": "torch._inductor.compile_fx",
    "_recursive_joint_graph_passes": "torch._inductor.compile_fx",
    "_recursive_post_grad_passes": "torch._inductor.compile_fx",
    "_compile_fx_inner": "torch._inductor.compile_fx",
    "trace_structured": "torch._inductor.compile_fx",
    "CppScheduling.codegen_comment": "torch._inductor.codegen.cpp",
    "TritonScheduling.codegen_comment": "torch._inductor.codegen.triton",
    "BaseScheduling.codegen_comment": "torch._inductor.scheduler",
    "ExternKernel.codegen_comment": "torch._inductor.ir",
    "GraphLowering.warn_fallback": "torch._inductor.graph",
    "ExternKernel.copy_input": "torch._inductor.ir",
    "WhyNoFuse.__call__": "torch._inductor.scheduler",
    "Scheduler.fuse_nodes": "torch._inductor.scheduler",
    "GraphLowering._compile_to_module_lines": "torch._inductor.graph",
    "CompiledFxGraph.after_deserialization": "torch._inductor.output_code",
    "stable_topological_sort": "torch._inductor.fx_passes.post_grad",
    "PatternMatcherPass.apply": "torch._inductor.pattern_matcher",
    "fx_to_pattern": "torch._inductor.pattern_matcher",
    "GraphPatternEntry.apply": "torch._inductor.pattern_matcher",
    "LoweringPatternEntry.apply": "torch._inductor.pattern_matcher",
    "ReplacementPatternEntry.apply": "torch._inductor.pattern_matcher",
    "aot_dispatch_autograd_graph": "torch._functorch._aot_autograd.graph_compile",
    "aot_dispatch_base_graph": "torch._functorch._aot_autograd.graph_compile",
    "_aot_stage2a_partition": "torch._functorch._aot_autograd.graph_compile",
    "_create_graph": "torch._functorch._aot_autograd.graph_capture",
    "maybe_handle_decomp": "torch.fx.experimental.proxy_tensor",
    "get_name_to_node": "torch._functorch.partitioners",
    "ExportedProgram.__init__": "torch.export.exported_program",
    "ExportedProgram.module": "torch.export.exported_program",
    "ExportedProgram.run_decompositions": "torch.export.exported_program",
    "UnflattenedModule.__init__": "torch.export.unflatten",
    "_export": "torch.export._trace",
    "InterpreterModule.__init__": "torch.export.unflatten",
    "ExportedProgramDeserializer.deserialize": "torch._export.serde.serialize",
}
"""Every hook that is put into torch, and its module."""


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x).relu() + 1


def traced() -> list[float]:
    """What torch.fx makes and remakes."""
    importlib.import_module("torch.fx.passes.split_module")
    importlib.import_module("torch.fx.passes.infra.pass_manager")
    importlib.import_module("torch.fx.passes.graph_transform_observer")
    importlib.import_module("torch.fx.passes.utils.matcher_utils")
    x = torch.ones(1, 3)
    gm: Any = torch.fx.symbolic_trace(net())
    copied: Any = torch.fx.GraphModule(gm, copy.deepcopy(gm.graph))
    remade: Any = torch.fx.Transformer(gm).transform()
    from torch.fx.passes.split_module import split_module  # noqa: PLC0415

    parts = {"linear": 0, "relu": 0, "add": 1}
    split: Any = split_module(gm, gm, lambda node: parts.get(node.name, 0))
    return [number(m(x)) for m in (gm, copied, remade, split)]


def compiled() -> list[float]:
    """What torch.compile captures, and aot_eager makes of it; forward and backward."""
    any_torch.compiler.reset()
    x = torch.ones(1, 3, requires_grad=True)
    run = any_torch.compile(net(), backend="aot_eager")
    total = run(x).sum()
    total.backward()
    assert x.grad is not None
    return [number(total), number(x.grad)]


def exported() -> list[float]:
    """What torch.export makes, and makes of that."""
    x = torch.ones(1, 3)
    program: Any = torch.export.export(net(), (x,))
    passed = program.run_decompositions({})
    made = (program.module(), passed.module(), any_torch.export.unflatten(program))
    return [number(one(x)) for one in made]


def lowered() -> list[float]:
    """What inductor makes on its way."""
    any_torch.compiler.reset()
    # What an earlier run left in the cache would not be made again.
    inductor: Any = importlib.import_module("torch._inductor.config")
    autograd: Any = importlib.import_module("torch._functorch.config")
    with (
        torch.no_grad(),
        inductor.patch(fx_graph_cache=False),
        autograd.patch(enable_autograd_cache=False),
    ):
        run = any_torch.compile(net(), backend="inductor")
        return [number(run(torch.ones(1, 3)))]


def passed() -> list[float]:
    """What inductor's passes make, without code for it; forward and backward."""
    any_torch.compiler.reset()
    x = torch.ones(1, 3, requires_grad=True)
    total = any_torch.compile(net(), backend=passes_alone)(x).sum()
    total.backward()
    assert x.grad is not None
    return [number(total), number(x.grad)]


PROGRAMS: Mapping[str, Callable[[], list[float]]] = {
    "torch.fx.experimental": passed,
    "torch._functorch": passed,
    "torch._inductor.fx_passes": passed,
    "torch._inductor.pattern_matcher": passed,
    "torch.fx": traced,
    "torch._dynamo": compiled,
    "torch._guards": compiled,
    "torch.export": exported,
    "torch._export": exported,
    "torch._inductor": lowered,
}


def number(value: torch.Tensor) -> float:
    return float(value.detach().sum())


def net() -> Net:
    any_torch.manual_seed(0)
    return Net()


@dataclass(frozen=True)
class Seen:
    """What a program did, and what was said and written meanwhile."""

    results: list[float]
    said: list[str]
    listings: set[tuple[str, str]]
    """Producer and stage of each."""


_as_it_is: dict[Callable[[], list[float]], Seen] = {}
"""What each program did, and each is run once for all tests."""


def module_of(name: str) -> str:
    """Where a hook is, also one that a comparison alone puts in."""
    if name == "aot_stage2_compile":
        return "torch._functorch.aot_autograd"
    return NAMES.get(name, "torch._inductor.graph")


class Torch:
    """The torch that is installed, with one name that is different."""

    def __init__(self, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
        self._folder = folder
        self._caplog = caplog

    def without(self, name: str, program: Callable[[], list[float]]) -> Seen:
        """Where a name is not there."""

        def renamed(hook: Hook) -> Hook:
            if name not in hook.replacements or hook.module != module_of(name):
                return hook
            others = {
                f"{one}_of_yore" if one == name else one: ours
                for one, ours in hook.replacements.items()
            }
            return dataclasses.replace(hook, replacements=others)

        def installed(*parts: Any) -> Installation:
            whole = built(*parts)
            hooks = Hooks(map(renamed, whole.hooks.rows))
            return dataclasses.replace(whole, hooks=hooks)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(installing, "built", installed)
            return self.run(program)

    def calling(self, name: str, program: Callable[[], list[float]], to: str) -> Seen:
        """Where a function takes other arguments, and does the same."""
        owner: Any = importlib.import_module(module_of(name))
        *path, last = name.split(".")
        for part in path:
            owner = getattr(owner, part)
        own = owner.__dict__[last]

        @functools.wraps(own)
        def other(*args: Any, **kwargs: Any) -> Any:
            return own(*args, **kwargs)

        space: dict[str, Any] = {}
        exec(f"def signed({to}): ...", space)
        other.__signature__ = inspect.signature(space["signed"])  # pyright: ignore[reportAttributeAccessIssue]  # as inspect documents it
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(owner, last, other)
            return self.run(program)

    def as_it_is(self, program: Callable[[], list[float]]) -> Seen:
        if program not in _as_it_is:
            _as_it_is[program] = self.run(program)
        return _as_it_is[program]

    def run(self, program: Callable[[], list[float]]) -> Seen:
        root = self._folder / f"store {len(list(self._folder.iterdir()))}"
        installed_torch.lacking.clear()
        self._caplog.clear()
        with contextlib.ExitStack() as done, self._caplog.at_level("WARNING", "fxls"):
            done.callback(fxls.uninstall)
            fxls.install(root)
            results = program()
            fxls.uninstall()
        identities = Store(root).identities() if root.exists() else ()
        return Seen(
            results,
            [r.getMessage() for r in self._caplog.records if r.name == "fxls"],
            {(one.producer, one.stage) for one in identities},
        )


@pytest.fixture(autouse=True)
def _with_debugger(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a hook waits for a debugger: that one is loaded, and nobody is connected."""
    if "Interpreter.run" in request.node.nodeid:
        constants: Any = ModuleType("_pydevd_bundle.pydevd_constants")
        constants.get_global_debugger = lambda: None
        debugger: Any = ModuleType("pydevd")
        debugger.PyDB = type("PyDB", (), {"initialize_network": print})
        for module in (debugger, constants):
            monkeypatch.setitem(sys.modules, module.__name__, module)


@pytest.fixture
def torch_(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Iterator[Torch]:
    logging.getLogger("fxls")
    yield Torch(tmp_path, caplog)
    installed_torch.lacking.clear()


def program_of(name: str) -> Callable[[], list[float]]:
    module = NAMES[name]
    return next(p for start, p in PROGRAMS.items() if module.startswith(start))


def said(what: str, hook: Hook) -> str:
    return f"fxls: torch {torch.__version__} {what}: {hook.without}"


def hooks_of(name: str, tmp_path: Path) -> list[Hook]:
    """All that replace it: two parts of an installation may watch one function."""
    rows = built(Store(tmp_path), ThisRun()).hooks.rows
    return [
        hook
        for hook in rows
        if name in hook.replacements and hook.module == NAMES.get(name, hook.module)
    ]


def test_every_hook_in_torch_is_tried(tmp_path: Path) -> None:
    rows = built(Store(tmp_path), ThisRun()).hooks.rows
    found = {
        name: hook.module
        for hook in rows
        for name in hook.replacements
        if hook.module.startswith("torch")
    }
    # Three modules sort, and the last of them stands for all.
    assert found == NAMES


TORCHS_WARNINGS = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::FutureWarning"
)
"""Compilers of torch's warn of other parts of torch."""

FAST = [
    name
    for name, module in NAMES.items()
    if module.startswith("torch.fx") and "experimental" not in module
]
SLOW = [name for name in NAMES if name not in FAST]
EACH = [*FAST, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)]

DIVIDED = {
    ("torch.compile", "graph 0, forward"),
    ("torch.compile", "graph 0, backward"),
}
TRACED = {("torch.compile", "graph 0, traced")}

FEWER: Mapping[str, set[tuple[str, str]]] = {
    "aot_dispatch_autograd_graph": TRACED | DIVIDED,
    "aot_dispatch_base_graph": TRACED | DIVIDED,
    "_create_graph": TRACED | DIVIDED,
    "_aot_stage2a_partition": DIVIDED,
    "maybe_handle_decomp": TRACED,
    "GraphModule.recompile": {("torch.fx", ""), ("torch.fx", "submod_0")}
    | {("torch.fx", "submod_1")},
    "_exec_with_source": {("torch.fx", ""), ("torch.fx", "submod_0")}
    | {("torch.fx", "submod_1")},
    MAKES_PARTS: {("torch.fx", "submod_0"), ("torch.fx", "submod_1")},
    "OutputGraph.call_user_compiler": {
        ("torch.compile", stage)
        for stage in ("graph 0", "graph 0, forward", "graph 0, backward")
    }
    | TRACED,
    "boxed_nop": {
        ("torch.compile", "graph 0, forward"),
        ("torch.compile", "graph 0, backward"),
    },
    "_recursive_pre_grad_passes": {("torch.compile", "graph 0, pre-grad")},
    "_recursive_joint_graph_passes": {("torch.compile", "graph 0, joint")},
    "_recursive_post_grad_passes": {("torch.compile", "graph 0, forward, post-grad")},
    "_compile_fx_inner": {("torch.compile", "graph 0, forward")},
    "GraphLowering._compile_to_module_lines": {
        ("torch.compile", "graph 0, forward, kernels")
    },
    "ExportedProgram.__init__": {("torch.export", "")},
    "ExportedProgram.module": {("torch.export", "module")},
    "UnflattenedModule.__init__": {
        ("torch.export", "unflattened"),
        ("torch.export", "unflattened, linear"),
    },
}
"""The listings that are not there without a hook."""


@TORCHS_WARNINGS
@pytest.mark.parametrize("name", EACH)
def test_without_a_name_one_hook_is_off_and_says_so(
    name: str, torch_: Torch, tmp_path: Path
) -> None:
    program, hooks = program_of(name), hooks_of(name, tmp_path)
    whole = torch_.as_it_is(program)
    seen = torch_.without(name, program)
    assert seen.results == whole.results
    assert whole.said == []
    assert sorted(seen.said) == sorted(
        said(f"has no {hook.module}.{name}_of_yore", hook) for hook in hooks
    )
    assert whole.listings - seen.listings <= FEWER.get(name, set())


@TORCHS_WARNINGS
@pytest.mark.parametrize(
    "name",
    [
        one
        for one in EACH
        # A set, which takes no arguments, and what looks at the first of any.
        if one not in FAST[13:]
        and (one if isinstance(one, str) else one.values[0])
        not in (
            "FORCE_SKIP_FILES",
            "_export",
            "ExportedProgramDeserializer.deserialize",
            "aot_dispatch_autograd_graph",
            "aot_dispatch_base_graph",
            "_create_graph",
            "get_name_to_node",
            "trace_structured",
        )
    ],
)
def test_a_function_that_takes_other_arguments_is_left_as_it_is(
    name: str, torch_: Torch, tmp_path: Path
) -> None:
    program, hooks = program_of(name), hooks_of(name, tmp_path)
    whole = torch_.as_it_is(program)
    seen = torch_.calling(name, program, to="*, everything")
    assert seen.results == whole.results
    assert whole.said == []
    assert seen.said == [
        said(f"has another {hook.module}.{name}(*, everything)", hook) for hook in hooks
    ]
    assert whole.listings - seen.listings <= FEWER.get(name, set())


@pytest.mark.parametrize("name", FAST)
def test_a_hook_that_raises_harms_nothing(
    name: str, torch_: Torch, tmp_path: Path
) -> None:
    """As where an object of torch's has another attribute than a hook reads."""
    program = program_of(name)
    whole = torch_.as_it_is(program)

    def failing(hook: Hook) -> Hook:
        if name not in hook.replacements:
            return hook

        def replacement(original: Any) -> Any:
            from fxls.runtime.hooks import around  # noqa: PLC0415

            def watch(*_: Any, **__: Any) -> Iterator[None]:
                raise AttributeError("torch of tomorrow")
                yield

            return around(watch, hook.without)(original)  # pyright: ignore[reportArgumentType]  # it never yields

        return dataclasses.replace(
            hook, replacements={**hook.replacements, name: replacement}
        )

    def installed(*parts: Any) -> Installation:
        all_of_it = built(*parts)
        return dataclasses.replace(
            all_of_it, hooks=Hooks(map(failing, all_of_it.hooks.rows))
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(installing, "built", installed)
        seen = torch_.run(program)
    assert seen.results == whole.results
    assert whole.listings - seen.listings <= FEWER.get(name, set())
