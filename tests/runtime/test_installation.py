"""An installation is built of its parts, and says what it will replace."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import pytest

from fxls.runtime.installation import built
from fxls.store import Store

COMPILED = "graphs of torch.compile are no listings"
EXPORTED = "programs of torch.export are no listings"
TRACED = "nodes of torch.fx have no exact origins"

PRINTED = {
    ("sys", "a traceback shows the lines that a file has when it is printed"): (
        "excepthook",
    )
}
HOOKS = {
    ("torch.fx.graph_module", "graph modules of torch.fx run from memory"): (
        "GraphModule.recompile",
        "_exec_with_source",
    ),
    ("torch.fx._symbolic_trace", TRACED): ("Tracer.trace",),
    ("torch.fx.proxy", TRACED): ("TracerBase.create_node",),
    ("torch.fx.graph", TRACED): ("Graph.node_copy", "Graph.__deepcopy__"),
    ("torch.fx.interpreter", "what a Transformer makes has no origins"): (
        "Transformer.transform",
    ),
    ("torch.fx.passes.split_module", "the parts of a split module have no origins"): (
        "_make_graph_module",
    ),
    ("torch._dynamo.trace_rules", COMPILED): ("FORCE_SKIP_FILES",),
    ("torch._dynamo.output_graph", COMPILED): ("OutputGraph.call_user_compiler",),
    ("torch._dynamo.backends.debugging", COMPILED): ("boxed_nop",),
    ("torch._inductor.compile_fx", COMPILED): (
        "_recursive_pre_grad_passes",
        "_recursive_joint_graph_passes",
        "_recursive_post_grad_passes",
        "_compile_fx_inner",
    ),
    ("torch.export.exported_program", EXPORTED): (
        "ExportedProgram.__init__",
        "ExportedProgram.module",
        "ExportedProgram.run_decompositions",
    ),
    ("torch.export._trace", EXPORTED): ("_export",),
    ("torch._export.serde.serialize", EXPORTED): (
        "ExportedProgramDeserializer.deserialize",
    ),
}


def test_its_hooks_are_a_table_of_what_is_replaced_and_what_is_so_without(
    tmp_path: Path,
) -> None:
    rows = built(Store(tmp_path / ".fxls")).hooks.rows
    wanted = HOOKS if sys.version_info >= (3, 13) else {**PRINTED, **HOOKS}
    assert {
        (one.module, one.without): tuple(one.replacements) for one in rows
    } == wanted
    assert len(rows) == len(wanted), "a module has one hook"


def test_its_parts_stay_what_they_are(tmp_path: Path) -> None:
    installation = built(Store(tmp_path / ".fxls"))
    for part in dataclasses.fields(installation):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(installation, part.name, None)


def test_while_it_is_only_built_nothing_is_replaced_or_written(tmp_path: Path) -> None:
    finders, hook = list(sys.meta_path), sys.excepthook
    built(Store(tmp_path / ".fxls"))
    assert (list(sys.meta_path), sys.excepthook) == (finders, hook)
    assert list(tmp_path.iterdir()) == []
