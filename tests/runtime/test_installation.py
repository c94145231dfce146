"""An installation is built of its parts, and says what it will replace."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import pytest

from fxls.runtime.installation import built
from fxls.runtime.record.run_head import ThisRun
from fxls.store import Store
from tests.runtime.splitting import MAKES_PARTS, OF_MODULE

TRACED = "nodes of torch.fx have no exact origins"
WAY = "graphs that torch.export makes on its way to {} are listings"
INDUCTOR = "torch._inductor.compile_fx"
PROGRAM = "torch.export.exported_program"

PRINTED = [
    (
        "sys",
        "a traceback shows the lines that a file has when it is printed",
        "excepthook",
    )
]
HOOKS = [
    (
        "torch.fx.graph_module",
        "graph modules of torch.fx run from memory",
        "GraphModule.recompile",
        "_exec_with_source",
    ),
    ("torch.fx._symbolic_trace", TRACED, "Tracer.trace"),
    ("torch.fx.proxy", TRACED, "TracerBase.create_node"),
    (
        "torch.fx.graph",
        "copies of nodes of torch.fx have no exact origins",
        "Graph.node_copy",
    ),
    (
        "torch.fx.graph",
        "the outputs of copied graphs of torch.fx have no origins",
        "Graph.__deepcopy__",
    ),
    (
        "torch.fx.interpreter",
        "what a Transformer makes has no origins",
        "Transformer.transform",
    ),
    (
        OF_MODULE,
        "the parts of a split module have no origins",
        MAKES_PARTS,
    ),
    (
        "torch.fx.graph_module",
        "unpickled graph modules of torch.fx do not have the name of their model",
        "GraphModule.__reduce__",
        "GraphModule.__reduce_package__",
    ),
    *(
        (
            f"{package}.interpreter",
            "nobody is told that Interpreter.run stops at no breakpoint of a listing",
            "Interpreter.run",
        )
        for package in ("torch.fx", "fxls.engine")
    ),
    (
        "torch._dynamo.symbolic_convert",
        "what torch.compile captures has lines without columns",
        "InstructionTranslatorBase.frame_summary",
    ),
    (
        "torch._guards",
        "errors of torch.compile have lines without columns",
        "TracingContext._populate_loc_in_frame_summary",
    ),
    (
        "torch._dynamo.trace_rules",
        "torch.compile may look into fxls and pdb",
        "FORCE_SKIP_FILES",
    ),
    (
        "torch._dynamo.output_graph",
        "graphs that torch.compile captures are no listings",
        "OutputGraph.call_user_compiler",
    ),
    (
        "torch._dynamo.backends.debugging",
        "graphs of aot_eager are no listings",
        "boxed_nop",
    ),
    (
        INDUCTOR,
        "pre-grad graphs of inductor are no listings",
        "_recursive_pre_grad_passes",
    ),
    (
        INDUCTOR,
        "joint graphs of inductor are no listings",
        "_recursive_joint_graph_passes",
    ),
    (
        INDUCTOR,
        "post-grad graphs of inductor are no listings",
        "_recursive_post_grad_passes",
    ),
    (
        INDUCTOR,
        "forward and backward graphs of inductor are no listings",
        "_compile_fx_inner",
    ),
    *(
        (
            f"torch._inductor.{module}",
            f"listings of inductor's code do not say what {whose} compute",
            f"{kind}.codegen_comment",
        )
        for module, kind, whose in (
            ("codegen.cpp", "CppScheduling", "kernels of C++"),
            ("codegen.triton", "TritonScheduling", "kernels of Triton"),
            ("scheduler", "BaseScheduling", "kernels of other kinds"),
            ("ir", "ExternKernel", "kernels of libraries"),
        )
    ),
    (
        "torch._inductor.graph",
        "the code that inductor writes is no listing",
        "GraphLowering._compile_to_module_lines",
    ),
    (
        "torch._inductor.output_code",
        "code of inductor's from a cache is no listing",
        "CompiledFxGraph.after_deserialization",
    ),
    (
        "torch._dynamo.symbolic_convert",
        "graph breaks are recorded without their columns",
        "InstructionTranslatorBase.log_graph_break",
    ),
    (
        "torch._dynamo.guards",
        "the guards of compilations are not recorded",
        "CheckFunctionManager.__init__",
    ),
    (
        INDUCTOR,
        "inductor writes texts of its graphs, which nobody reads, while fxls records",
        "trace_structured",
    ),
    (
        "torch.export._trace",
        "what torch.export finds out of sizes, and could not, is not recorded",
        "_export",
    ),
    (
        "torch._inductor.graph",
        "operators that inductor has no code for are not recorded",
        "GraphLowering.warn_fallback",
    ),
    (
        "torch._inductor.ir",
        "copies that inductor makes are not recorded",
        "ExternKernel.copy_input",
    ),
    (
        "torch._inductor.scheduler",
        "the fusions that inductor did not make are not recorded",
        "WhyNoFuse.__call__",
        "Scheduler.fuse_nodes",
    ),
    (
        "torch._inductor.pattern_matcher",
        "near misses of patterns are not recorded",
        "PatternMatcherPass.apply",
        "fx_to_pattern",
    ),
    *(
        (
            f"{package}.{module}",
            "near misses of `replace_pattern` are not recorded",
            name,
        )
        for package in ("torch.fx", "fxls.engine")
        for module, name in (
            ("subgraph_rewriter", "_replace_pattern"),
            ("passes.utils.matcher_utils", "SubgraphMatcher.match"),
        )
    ),
    *(
        (
            f"{package}.graph_module",
            f"functions that change graphs of {package} are no passes",
            "GraphModule.recompile",
        )
        for package in ("torch.fx", "fxls.engine")
    ),
    (
        "torch.fx.graph_module",
        "functions of a backend that make or copy graph modules are no passes",
        "GraphModule.__init__",
        "GraphModule.__deepcopy__",
    ),
    (
        "torch.fx._lazy_graph_module",
        "functions that change graph modules of AOTAutograd are no passes",
        "_LazyGraphModule.recompile",
    ),
    *(
        (
            f"{package}.passes.graph_transform_observer",
            f"passes of {whose} are no revisions",
            "GraphTransformObserver.__enter__",
            "GraphTransformObserver.__exit__",
        )
        for package, whose in (
            ("torch.fx", "torch.fx and inductor"),
            ("fxls.engine", "the engine"),
        )
    ),
    *(
        (
            f"{package}.passes.infra.pass_manager",
            f"passes of a PassManager of {package} are no revisions",
            "PassManager.__call__",
        )
        for package in ("torch.fx", "fxls.engine")
    ),
    *(
        (
            f"torch._inductor.fx_passes.{module}",
            "what inductor sorts between two passes has no name",
            "stable_topological_sort",
        )
        for module in ("pre_grad", "joint_graph", "post_grad")
    ),
    (
        "torch._inductor.pattern_matcher",
        "passes of inductor do not say which patterns they found",
        "GraphPatternEntry.apply",
        "LoweringPatternEntry.apply",
        "ReplacementPatternEntry.apply",
    ),
    (
        "torch._functorch._aot_autograd.graph_compile",
        "what AOTAutograd cleans up is no revision",
        "aot_dispatch_autograd_graph",
        "aot_dispatch_base_graph",
    ),
    (
        "torch._functorch._aot_autograd.graph_capture",
        "what AOTAutograd cleans up is no revision",
        "_create_graph",
    ),
    (
        "torch.fx.experimental.proxy_tensor",
        "nodes do not say which operator was decomposed into them",
        "maybe_handle_decomp",
    ),
    (
        "torch._functorch._aot_autograd.graph_compile",
        "partitions of torch.compile are no revisions",
        "_aot_stage2a_partition",
    ),
    (
        "torch._functorch.partitioners",
        "partitions do not say why a value is saved or recomputed",
        "get_name_to_node",
    ),
    (PROGRAM, "programs of torch.export are no listings", "ExportedProgram.__init__"),
    (
        PROGRAM,
        "the modules of programs of torch.export are no listings",
        "ExportedProgram.module",
    ),
    (
        PROGRAM,
        "decomposed programs of torch.export do not say what they were made from",
        "ExportedProgram.run_decompositions",
    ),
    (
        "torch.export.unflatten",
        "the parts of unflattened programs do not say what they are",
        "UnflattenedModule.__init__",
    ),
    ("torch.export._trace", WAY.format("a program"), "_export"),
    (
        "torch.export.unflatten",
        "in what `unflatten` of torch.export gives, breakpoints stop nothing",
        "InterpreterModule.__init__",
    ),
    (
        "torch._export.serde.serialize",
        WAY.format("a program of a file"),
        "ExportedProgramDeserializer.deserialize",
    ),
]


def test_its_hooks_are_a_table_of_what_is_replaced_and_what_is_so_without(
    tmp_path: Path,
) -> None:
    rows = built(Store(tmp_path / ".fxls"), ThisRun()).hooks.rows
    wanted = HOOKS if sys.version_info >= (3, 13) else [*PRINTED, *HOOKS]
    assert [(one.module, one.without, *one.replacements) for one in rows] == wanted


def test_without_a_run_nothing_is_replaced_for_its_record(tmp_path: Path) -> None:
    rows = built(Store(tmp_path / ".fxls")).hooks.rows
    names = {name for hook in rows for name in hook.replacements}
    assert "OutputGraph.call_user_compiler" in names
    assert "InstructionTranslatorBase.log_graph_break" not in names
    assert "fxls.engine.graph_module" not in {hook.module for hook in rows}


def test_its_parts_stay_what_they_are(tmp_path: Path) -> None:
    installation = built(Store(tmp_path / ".fxls"))
    for part in dataclasses.fields(installation):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(installation, part.name, None)


def test_while_it_is_only_built_nothing_is_replaced_or_written(tmp_path: Path) -> None:
    finders, hook = list(sys.meta_path), sys.excepthook
    built(Store(tmp_path / ".fxls"), ThisRun())
    assert (list(sys.meta_path), sys.excepthook) == (finders, hook)
    assert list(tmp_path.iterdir()) == []
