"""Reports on how a module would be split."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Protocol

from fxls.engine.graph_module import GraphModule
from fxls.engine.ir.node import Node
from fxls.engine.passes.graph_drawer import FxGraphDrawer
from fxls.engine.passes.graph_manipulation import get_size_of_node
from fxls.engine.passes.operator_support import OperatorSupportBase
from fxls.engine.passes.shape_prop import ShapeProp
from fxls.engine.passes.split_parts import (
    Subgraph,
    generate_inputs_for_submodules,
)
from fxls.engine.passes.tools_common import (
    CALLABLE_NODE_OPS,
    Tensors,
    get_node_target,
    is_node_output_tensor,
    submodules_of,
)

__all__ = ["Splitter", "node_support", "split"]


class Splitter(Protocol):
    """What a preview asks of a splitter."""

    @property
    def module(self) -> GraphModule: ...

    @property
    def operator_support(self) -> OperatorSupportBase: ...

    @property
    def sample_input(self) -> Sequence[Any]: ...

    @property
    def non_acc_submodule_name(self) -> str: ...

    @property
    def PCIe_BW(self) -> int:  # noqa: N802 - FX's name
        """Bytes that can be handed to the accelerator in a second."""
        ...

    def put_nodes_into_subgraphs(self) -> list[Subgraph]: ...

    def remove_small_acc_subgraphs(
        self, subgraphs: list[Subgraph]
    ) -> list[Subgraph]: ...

    def tag(self, subgraphs: list[Subgraph]) -> None: ...

    def split(self, *, remove_tag: bool) -> GraphModule: ...

    def _lower_model_to_backend(self, mod: GraphModule, inputs: Tensors) -> Any: ...

    def _find_culprit(self, mod: GraphModule, inputs: Tensors) -> str: ...


def node_support(splitter: Splitter, *, dump_graph: bool) -> str:
    """Which operations are supported, and the dtypes of their arguments."""
    submodules = submodules_of(splitter.module)
    found: dict[bool, dict[str, dict[str, None]]] = {
        True: defaultdict(dict),
        False: defaultdict(dict),
    }
    supported: set[Node] = set()
    for node in splitter.module.graph.nodes:
        if node.op not in CALLABLE_NODE_OPS:
            continue
        is_supported = splitter.operator_support.is_node_supported(submodules, node)
        if is_supported:
            supported.add(node)
        target = get_node_target(submodules, node)
        found[is_supported][target][_dtypes(node)] = None
    if dump_graph:
        _draw_support(splitter.module, supported)
    report = ""
    for kind, title in ((True, "Supported"), (False, "Unsupported")):
        report += f"\n{title} node types in the model:\n"
        for target, forms in found[kind].items():
            report += "".join(f"{target}: {form}\n" for form in forms)
    print(report)  # noqa: T201 - FX's method prints
    return report


def split(splitter: Splitter, *, dump_graph: bool) -> str:
    """What the parts are, what crosses their borders, and whether they run."""
    subgraphs = splitter.put_nodes_into_subgraphs()
    report = f"As found: {_counted(subgraphs)}\n"
    subgraphs = splitter.remove_small_acc_subgraphs(subgraphs)
    report += f"Without small ones: {_counted(subgraphs)}\n"
    for place, subgraph in enumerate(subgraphs):
        prefix = "_run_on_acc_" if subgraph.is_acc else splitter.non_acc_submodule_name
        report += f"{prefix}{place}: {len(subgraph.nodes)} node(s)\n"
    splitter.tag(subgraphs)
    module = splitter.split(remove_tag=True)
    module.eval()
    if dump_graph:
        drawn: Any = FxGraphDrawer(module, "preview", ignore_getattr=True)
        for name, dot in drawn.get_all_dot_graphs().items():
            dot.write_raw(f"{name}.dot")
    slowest, bottleneck = float(splitter.PCIe_BW), ""
    for node in module.graph.nodes:
        if node.op == "call_module" and "acc" in str(node.target):
            name = str(node.target)
            told, most = _part(splitter, module, name)
            report += told
            if most < slowest:
                slowest, bottleneck = most, name
    report += (
        f"\nThe transfer allows at most {slowest} runs of the model per second, because of"
        f" submodule {bottleneck}."
    )
    print(report)  # noqa: T201 - FX's method prints
    return report


def _part(splitter: Splitter, module: GraphModule, name: str) -> tuple[str, float]:
    """What is to say of one part of the accelerator, and how often it can run."""
    inputs = generate_inputs_for_submodules(module, splitter.sample_input, [name])[name]
    part: GraphModule = getattr(module, name)
    ShapeProp(part).propagate(*inputs)
    report = f"\nAcc submodule {name}\n"
    nodes = list(part.graph.nodes)
    given = [node for node in nodes if node.op == "placeholder"]
    sizes: list[int] = []
    for title, border in (("Input", given), ("Output", nodes[-1].all_input_nodes)):
        total = 0
        for node in border:
            if is_node_output_tensor(node):
                total += get_size_of_node(part, node).output_size
            else:
                report += f"{title} {node.name} is not a tensor: lowering may fail\n"
        sizes.append(total)
    most = splitter.PCIe_BW / max(1, *sizes)
    report += (
        f"{sizes[0]} bytes go in and {sizes[1]} come out, so the transfer allows at most"
        f" {most} runs per second.\n"
    )
    try:
        lowered = splitter._lower_model_to_backend(part, inputs)
    except RuntimeError as error:
        culprit = splitter._find_culprit(part, inputs)
        return f"{report}Lowering failed: {error}\n{culprit}\n", most
    try:
        lowered(*inputs)
    except RuntimeError as error:
        culprit = splitter._find_culprit(part, inputs)
        return f"{report}The lowered submodule failed: {error}\n{culprit}\n", most
    return f"{report}It is lowered, and runs.\n", most


def _counted(subgraphs: list[Subgraph]) -> str:
    count = sum(subgraph.is_acc for subgraph in subgraphs)
    return (
        f"{len(subgraphs)} subgraphs, {count} on the accelerator and"
        f" {len(subgraphs) - count} on the processor"
    )


def _dtypes(node: Node) -> str:
    """The dtypes of a node's arguments; None for what is no tensor."""
    args = [_dtype(arg) for arg in node.args]
    while args and args[-1] is None:
        args.pop()
    kwargs = {k: _dtype(arg) for k, arg in node.kwargs.items() if isinstance(arg, Node)}
    return f"({tuple(args)}, {kwargs})"


def _dtype(argument: Any) -> Any:
    noted = argument.meta.get("tensor_meta") if isinstance(argument, Node) else None
    return getattr(noted, "dtype", None)


def _draw_support(module: GraphModule, supported: set[Node]) -> None:
    class Drawer(FxGraphDrawer):
        def _style(self, node: Node) -> dict[str, str]:
            style = super()._style(node)
            if node in supported:
                style["fillcolor"] = "chartreuse1"
            elif node.op in CALLABLE_NODE_OPS:
                style["fillcolor"] = "crimson"
            else:
                style["fillcolor"] = "AliceBlue"
            return style

    drawn: Any = Drawer(module, "node_support", ignore_getattr=True)
    drawn.get_main_dot_graph().write_raw("node_support.dot")
