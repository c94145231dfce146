"""`uninstall` leaves torch as `install` found it, whatever was imported in between."""

from __future__ import annotations

import importlib
import inspect
import sys
from pathlib import Path
from typing import Any

import pytest

import fxls
from tests.runtime.splitting import MAKES_PARTS, OF_MODULE

_SORTING = ("pre_grad", "joint_graph", "post_grad")

FOLLOWED = (
    "torch.fx",
    "torch.fx.passes.split_module",
    "torch.fx.passes.graph_transform_observer",
    "torch.fx.passes.infra.pass_manager",
    "torch.fx.passes.utils.matcher_utils",
    "torch.fx.subgraph_rewriter",
    "torch.export.exported_program",
    "torch.export.unflatten",
    "torch.export._trace",
    "torch._export.serde.serialize",
    "torch._dynamo.output_graph",
    "torch._dynamo.symbolic_convert",
    "torch._dynamo.trace_rules",
    "torch._dynamo.backends.debugging",
    "torch._inductor.codegen.cpp",
    "torch._inductor.codegen.triton",
    "torch._inductor.scheduler",
    "torch._inductor.ir",
    "torch._inductor.graph",
    "torch._inductor.output_code",
    "torch._inductor.compile_fx",
    "torch._inductor.pattern_matcher",
    *(f"torch._inductor.fx_passes.{one}" for one in _SORTING),
    "torch._functorch._aot_autograd.graph_capture",
    "torch._functorch._aot_autograd.graph_compile",
    "torch._functorch.partitioners",
    "torch.fx.experimental.proxy_tensor",
)

PUT = {
    "torch.fx.graph_module._exec_with_source",
    "torch.fx.graph_module.GraphModule.recompile",
    "torch.fx.graph_module.GraphModule.__init__",
    "torch.fx.graph_module.GraphModule.__deepcopy__",
    "torch.fx._lazy_graph_module._LazyGraphModule.recompile",
    "torch.fx.graph_module.GraphModule.__reduce__",
    "torch.fx.graph_module.GraphModule.__reduce_package__",
    "torch.fx.graph.Graph.__deepcopy__",
    "torch.fx.graph.Graph.node_copy",
    "torch.fx._symbolic_trace.Tracer.trace",
    "torch.fx.interpreter.Transformer.transform",
    f"{OF_MODULE}.{MAKES_PARTS}",
    "torch.fx.passes.graph_transform_observer.GraphTransformObserver.__enter__",
    "torch.fx.passes.graph_transform_observer.GraphTransformObserver.__exit__",
    "torch.fx.passes.infra.pass_manager.PassManager.__call__",
    "torch.fx.passes.utils.matcher_utils.SubgraphMatcher.match",
    "torch.fx.subgraph_rewriter._replace_pattern",
    "torch.fx.proxy.TracerBase.create_node",
    "torch.export.exported_program.ExportedProgram.__init__",
    "torch.export.exported_program.ExportedProgram.module",
    "torch.export.exported_program.ExportedProgram.run_decompositions",
    "torch.export.unflatten.InterpreterModule.__init__",
    "torch.export.unflatten.UnflattenedModule.__init__",
    "torch.export._trace._export",
    "torch._export.serde.serialize.ExportedProgramDeserializer.deserialize",
    "torch._dynamo.output_graph.OutputGraph.call_user_compiler",
    "torch._dynamo.symbolic_convert.InstructionTranslatorBase.log_graph_break",
    "torch._dynamo.trace_rules.FORCE_SKIP_FILES",
    "torch._dynamo.backends.debugging.boxed_nop",
    "torch._inductor.codegen.cpp.CppScheduling.codegen_comment",
    "torch._inductor.codegen.triton.TritonScheduling.codegen_comment",
    "torch._inductor.scheduler.BaseScheduling.codegen_comment",
    "torch._inductor.ir.ExternKernel.codegen_comment",
    "torch._inductor.graph.GraphLowering._compile_to_module_lines",
    "torch._inductor.output_code.CompiledFxGraph.after_deserialization",
    "torch._inductor.graph.GraphLowering.warn_fallback",
    "torch._inductor.ir.ExternKernel.copy_input",
    "torch._inductor.scheduler.WhyNoFuse.__call__",
    "torch._inductor.scheduler.Scheduler.fuse_nodes",
    "torch._inductor.compile_fx._compile_fx_inner",
    "torch._inductor.compile_fx._recursive_pre_grad_passes",
    "torch._inductor.compile_fx._recursive_joint_graph_passes",
    "torch._inductor.compile_fx._recursive_post_grad_passes",
    "torch._inductor.compile_fx.trace_structured",
    "torch._inductor.pattern_matcher.PatternMatcherPass.apply",
    "torch._inductor.pattern_matcher.fx_to_pattern",
    "torch._inductor.pattern_matcher.GraphPatternEntry.apply",
    "torch._inductor.pattern_matcher.LoweringPatternEntry.apply",
    "torch._inductor.pattern_matcher.ReplacementPatternEntry.apply",
    *(f"torch._inductor.fx_passes.{one}.stable_topological_sort" for one in _SORTING),
    "torch._functorch._aot_autograd.graph_capture._create_graph",
    "torch._functorch._aot_autograd.graph_compile.aot_dispatch_autograd_graph",
    "torch._functorch._aot_autograd.graph_compile.aot_dispatch_base_graph",
    "torch._functorch._aot_autograd.graph_compile._aot_stage2a_partition",
    "torch._functorch.partitioners.get_name_to_node",
    "torch.fx.experimental.proxy_tensor.maybe_handle_decomp",
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # torch's own
def test_every_attribute_is_put_back(tmp_path: Path) -> None:
    for name in FOLLOWED:
        importlib.import_module(name)
    before, finders, hooks = attributes(), list(sys.meta_path), sys.excepthook
    fxls.install(tmp_path / "one")
    fxls.install(tmp_path / "one")
    fxls.install(tmp_path / "other")
    now = attributes()
    assert list(before) == list(now)
    assert {key for key, value in now.items() if value is not before[key]} == (
        PUT | with_columns(before)
    )
    fxls.uninstall()
    after = attributes()
    assert list(before) == list(after)
    assert [key for key in before if before[key] is not after[key]] == []
    assert (list(sys.meta_path), sys.excepthook) == (finders, hooks)


def with_columns(before: dict[str, Any]) -> set[str]:
    """What is replaced where torch, or Python, notes less of a place."""
    name = "torch._dynamo.symbolic_convert.InstructionTranslatorBase.frame_summary"
    code = before[name].__code__
    is_known = "colno" in (*code.co_consts, *code.co_names)
    return set() if is_known and sys.version_info < (3, 13) else {name}


def attributes() -> dict[str, Any]:
    """What every module of torch's has that fxls may know, and every class in it."""
    found: dict[str, Any] = {}
    for name, module in list(sys.modules.items()):
        if name.startswith(FOLLOWED):
            for key, value in vars(module).items():
                found[f"{name}.{key}"] = value
                if inspect.isclass(value) and value.__module__ == name:
                    for member, of in vars(value).items():
                        found[f"{name}.{key}.{member}"] = of
    return {key: value for key, value in found.items() if not key.endswith("_cache")}
