"""Splitting a module into parts for an accelerator and parts for the processor."""

from __future__ import annotations

import argparse
import heapq
import logging
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias, cast

from fxls.engine.graph_module import GraphModule
from fxls.engine.ir.foreign import refuse_foreign
from fxls.engine.ir.node import Node
from fxls.engine.passes import split_preview, split_utils
from fxls.engine.passes.acc_nodes import FxNetAccNodesFinder
from fxls.engine.passes.node_events import NodeEvent, NodeEventTracker
from fxls.engine.passes.operator_support import OperatorSupportBase
from fxls.engine.passes.shape_prop import ShapeProp
from fxls.engine.passes.split_parts import (
    Subgraph,
    generate_inputs_for_submodules,
)
from fxls.engine.passes.tools_common import (
    CALLABLE_NODE_OPS,
    FxNetAccFusionsFinder,
    NodeList,
    NodeSet,
    Tensors,
)

__all__ = [
    "FxNetAccNodesFinder",
    "FxNetSplitterInternalError",
    "NodeEvent",
    "NodeEventTracker",
    "SplitResult",
    "Subgraph",
    "_SplitterBase",
    "_SplitterSettingBase",
    "generate_inputs_for_submodules",
]

logger = logging.getLogger(__name__)

_Inputs: TypeAlias = Sequence[Any]


class FxNetSplitterInternalError(Exception):
    """Raised when nodes cannot be put into parts."""


class SplitResult(NamedTuple):
    """A module that was split, and what its parts are called with."""

    split_module: GraphModule
    submodule_inputs: dict[str, Any]
    """By the name of a submodule."""
    non_acc_submodule_prefix: str
    """What the names of the processor's parts begin with."""


class _SplitterSettingBase:
    """How to split.

    Options of the program with the same names (``--min-acc-module-size 10``,
    ``--skip-fusion``) go first.
    """

    def __init__(
        self,
        min_acc_module_size: int = 1,
        skip_fusion: bool = False,  # noqa: FBT001, FBT002 - FX's signature
        allow_non_tensor: bool = False,  # noqa: FBT001, FBT002 - FX's signature
        max_acc_splits: int = -1,
        move_non_tensor_nodes_on_boundary: bool = False,  # noqa: FBT001, FBT002 - FX's signature
    ) -> None:
        given = _options()
        self.min_acc_module_size: int = given.min_acc_module_size or min_acc_module_size
        """Smaller parts are left to the processor."""
        self.skip_fusion: bool = given.skip_fusion or skip_fusion
        """Nodes that hand each other something else than tensors may be parted."""
        self.allow_non_tensor: bool = given.allow_non_tensor or allow_non_tensor
        """Others than tensors may cross the border."""
        self.max_acc_splits: int = max_acc_splits
        """`generate_split_results` refuses more parts; -1 for any number."""
        self.move_non_tensor_nodes_on_boundary: bool = (
            given.move_non_tensor_nodes_on_boundary or move_non_tensor_nodes_on_boundary
        )
        """What gives no tensor goes to the part that uses it."""


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(add_help=False)
    for name in ("min-acc-module-size", "max-acc-splits"):
        parser.add_argument(f"--{name}", f"--{name.replace('-', '_')}", type=int)
    for name in (
        "skip-fusion",
        "allow-non-tensor",
        "move-non-tensor-nodes-on-boundary",
    ):
        spelled = name.replace("-", "_")
        parser.add_argument(f"--{name}", f"--{spelled}", action="store_true")
    return parser.parse_known_args()[0]


class _SplitterBase:
    """Groups the nodes that an accelerator supports into as few parts as possible.

    Calling it gives a module whose submodules ``_run_on_acc_N`` and ``_run_on_cpu_N``
    take turns; the nodes of the given module keep the name of their part as `tag`.
    """

    PCIe_BW = 100 * 2**30
    """Bytes that can be handed to the accelerator in a second."""

    MERGES_OVERLAPPING_FUSIONS = False
    """Whether groups of nodes that must stay together are one when they share a node."""

    def __init__(
        self,
        module: GraphModule,
        sample_input: _Inputs,
        operator_support: OperatorSupportBase,
        settings: _SplitterSettingBase,
        non_acc_submodule_name: str = "_run_on_cpu_",
        return_tuple: bool = False,  # noqa: FBT001, FBT002 - FX's signature
        nodes_finder: FxNetAccNodesFinder | None = None,
    ) -> None:
        if not isinstance(module, GraphModule):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are untyped
            refuse_foreign(module)
            raise AssertionError(f"a GraphModule can be split, not {type(module)}")
        self.module = module
        ShapeProp(module).propagate(*sample_input)
        self.sample_input = sample_input
        self.operator_support = operator_support
        self.settings = settings
        self.acc_nodes: NodeSet = (
            nodes_finder
            or FxNetAccNodesFinder(module, operator_support, settings.allow_non_tensor)
        )()
        self.fusions: dict[Node, NodeSet] = {}
        if not settings.skip_fusion:
            self.fusions = FxNetAccFusionsFinder(module, self.acc_nodes)()
            if self.MERGES_OVERLAPPING_FUSIONS:
                self._merge_overlapping_fusions()
        self.deps: dict[Node, NodeSet] = self.find_deps()
        self.update_deps_for_fusions()
        self.tags: list[str] = []
        self.non_acc_submodule_name = non_acc_submodule_name
        self._return_tuple = return_tuple
        self._node_submodule_map: dict[str, str] = {}

    def __call__(self) -> GraphModule:
        """Split the module."""
        subgraphs = self.put_nodes_into_subgraphs()
        if self.settings.move_non_tensor_nodes_on_boundary:
            split_utils.move_non_tensor_nodes_on_boundary(subgraphs)
        subgraphs = self.remove_small_acc_subgraphs(subgraphs)
        count = sum(subgraph.is_acc for subgraph in subgraphs)
        logger.info("%d parts on the accelerator of %d", count, len(subgraphs))
        self.tag(subgraphs)
        return self.split()

    def generate_split_results(self) -> SplitResult:
        """Split the module, and run it to know what its parts are called with."""
        split = self()
        names = [name for name, _ in split.named_children()]
        most = self.settings.max_acc_splits
        if 0 < most < len(names):
            raise ValueError(
                f"the module falls into {len(names)} parts, and max_acc_splits allows"
                f" {most}: support more operations, or raise min_acc_module_size"
            )
        inputs = generate_inputs_for_submodules(split, self.sample_input, names)
        return SplitResult(split, inputs, self.non_acc_submodule_name)

    def get_node_submodule_map(self) -> dict[str, str]:
        """The name of a node to the name of the submodule that it is in."""
        return self._node_submodule_map

    # -- what depends on what ----------------------------------------------------

    def find_deps(self) -> dict[Node, NodeSet]:
        """Node to the calls that it uses."""
        deps: dict[Node, NodeSet] = defaultdict(set)
        for node in self._calls():
            for user in node.users:
                if user.op != "output":
                    deps[user].add(node)
        return deps

    def update_deps_for_fusions(self) -> None:
        """Let a group depend, and be depended on, as a whole."""
        for node, fusion in self.fusions.items():
            for other in fusion:
                self.deps[node].update(self.deps[other] - fusion)
                for user in other.users:
                    if user not in fusion:
                        self.deps[user].add(node)

    def find_reverse_deps(self, tag_id: int | None = None) -> dict[Node, NodeSet]:
        """Node to the calls that use it; those in parts before `tag_id`, when given."""
        deps: dict[Node, NodeSet] = defaultdict(set)
        for node in self._calls():
            for user in node.users:
                if user.op in CALLABLE_NODE_OPS and (
                    tag_id is None or _number(user.tag) < tag_id
                ):
                    deps[node].add(user)
        return deps

    def update_reverse_deps_for_fusions(self, deps: dict[Node, NodeSet]) -> None:
        """Let a group be used, and use, as a whole."""
        done: NodeSet = set()
        for node, fusion in self.fusions.items():
            if node in done:
                continue
            users: NodeSet = {user for one in fusion for user in deps[one]} - fusion
            for one in fusion:
                deps[one] = users
                for used in one.all_input_nodes:
                    if used not in fusion:
                        deps[used].update(fusion)
            done |= fusion

    def find_parent_nodes_of_subgraph(self, tag: str) -> NodeSet:
        """The calls that a part uses of other parts."""
        return {
            used
            for node in self._calls()
            if node.tag == tag
            for used in node.all_input_nodes
            if used.op in CALLABLE_NODE_OPS and used.tag != tag
        }

    def extend_acc_subgraph(self, tag: str) -> None:
        """Take into a part the supported nodes in front of it that it alone uses."""
        deps = self.find_reverse_deps(tag_id=_number(tag))
        self.update_reverse_deps_for_fusions(deps)
        parents = self.find_parent_nodes_of_subgraph(tag)
        taken: NodeSet = set()
        while True:
            node: Any = next(
                (
                    n
                    for n in sorted(parents)
                    if n in self.acc_nodes and deps[n] <= taken
                ),
                None,
            )
            if node is None:
                return
            node.tag = tag
            parents.remove(node)
            taken.add(node)
            parents |= self.fusions.get(node, set()) - taken
            for used in node.all_input_nodes:
                if used.op in CALLABLE_NODE_OPS and used not in taken:
                    parents.add(used)

    # -- putting nodes into parts ------------------------------------------------

    def starter_nodes(self) -> tuple[NodeSet, NodeSet]:
        """The calls that use an input or an attribute, or nothing: the processor's, and
        the accelerator's.
        """
        starters: NodeSet = {
            node
            for node in self._calls()
            if not node.all_input_nodes
            or any(
                used.op in ("placeholder", "get_attr") for used in node.all_input_nodes
            )
        }
        return starters - self.acc_nodes, starters & self.acc_nodes

    def put_nodes_into_subgraphs(self) -> list[Subgraph]:
        """The parts, in the order in which they can run.

        A part goes on while there is a node of its kind all of whose inputs are there.
        """
        users: dict[Node, NodeList] = defaultdict(list)
        missing = {node: len(self.deps[node]) for node in self._calls()}
        place = {node: i for i, node in enumerate(missing)}
        ready: dict[bool, list[tuple[int, Node]]] = {True: [], False: []}
        for node, count in missing.items():
            for used in self.deps[node]:
                users[used].append(node)
            if not count:
                ready[node in self.acc_nodes].append((place[node], node))
        subgraphs: list[Subgraph] = []
        is_acc = not ready[False]
        left = len(missing)
        while left:
            if not ready[is_acc]:
                raise FxNetSplitterInternalError(
                    "Subgraph can't be empty: nodes that must stay together depend on"
                    " each other in a circle; MERGES_OVERLAPPING_FUSIONS makes them one,"
                    " skip_fusion lets them be parted"
                )
            nodes: NodeList = []
            while ready[is_acc]:
                _, node = heapq.heappop(ready[is_acc])
                nodes.append(node)
                for user in users[node]:
                    missing[user] -= 1
                    if not missing[user]:
                        kind = user in self.acc_nodes
                        heapq.heappush(ready[kind], (place[user], user))
            subgraphs.append(Subgraph(is_acc, nodes))
            left -= len(nodes)
            is_acc = not is_acc
        if not subgraphs:
            raise FxNetSplitterInternalError(
                "Couldn't create subgraphs: no node of the graph calls anything"
            )
        return subgraphs

    def remove_small_acc_subgraphs(self, subgraphs: list[Subgraph]) -> list[Subgraph]:
        """Parts of the processor that are neighbours become one; small ones of the
        accelerator are the processor's.
        """
        kept: list[Subgraph] = []
        for subgraph in subgraphs:
            is_small = len(subgraph.nodes) < self.settings.min_acc_module_size
            if subgraph.is_acc and not is_small:
                kept.append(subgraph)
            elif kept and (subgraph.is_acc or not kept[-1].is_acc):
                kept[-1].nodes.extend(subgraph.nodes)
            else:
                subgraph.is_acc = False
                kept.append(subgraph)
        return kept

    def tag(self, subgraphs: list[Subgraph]) -> None:
        """Give each node the name of its part as `tag`."""
        for subgraph in subgraphs:
            for node in subgraph.nodes:
                if hasattr(node, "tag"):
                    raise FxNetSplitterInternalError(f"Node {node} was already tagged")
        self.tags = []
        for place, subgraph in enumerate(subgraphs):
            prefix = "_run_on_acc_" if subgraph.is_acc else self.non_acc_submodule_name
            tag = f"{prefix}{place}"
            self.tags.append(tag)
            for node in subgraph.nodes:
                cast("Any", node).tag = tag
                self._node_submodule_map[node.name] = tag

    def split(self, remove_tag: bool = False) -> GraphModule:  # noqa: FBT001, FBT002 - FX's signature
        """Make a submodule of each part; with `remove_tag` the nodes' tags go."""
        split = split_utils.split_by_tags(
            self.module, self.tags, return_tuple=self._return_tuple
        )
        if remove_tag:
            for node in self.module.graph.nodes:
                if hasattr(node, "tag"):
                    del cast("Any", node).tag
        return cast("GraphModule", split)

    # -- previews ----------------------------------------------------------------

    def node_support_preview(self, dump_graph: bool = False) -> str:  # noqa: FBT001, FBT002 - FX's signature
        """Print, and return, which operations are supported, with their dtypes.

        `dump_graph` draws the graph into ``node_support.dot``.
        """
        return split_preview.node_support(self, dump_graph=dump_graph)

    def split_preview(self, dump_graph: bool = False) -> str:  # noqa: FBT001, FBT002 - FX's signature
        """Print, and return, what the parts would be, and how they run.

        `dump_graph` draws the split module into files.
        """
        return split_preview.split(self, dump_graph=dump_graph)

    def _lower_model_to_backend(self, mod: GraphModule, inputs: Tensors) -> Any:
        """What runs a part on the accelerator; to be overridden."""
        return mod

    def _find_culprit(self, mod: GraphModule, inputs: Tensors) -> str:
        """Which nodes make a part fail; to be overridden."""
        return "_find_culprit() is not overridden, so nobody looked for what fails."

    def _merge_overlapping_fusions(self) -> None:
        """Make groups one that share a node."""
        group_of: dict[Node, NodeSet] = {}
        for fusion in self.fusions.values():
            merged = set(fusion).union(*(group_of.get(node, ()) for node in fusion))
            group_of.update(dict.fromkeys(merged, merged))
        self.fusions = {node: group_of[node] for node in group_of}

    def _calls(self) -> list[Any]:
        return [n for n in self.module.graph.nodes if n.op in CALLABLE_NODE_OPS]


def _number(tag: str) -> int:
    return int(tag.rpartition("_")[2])
