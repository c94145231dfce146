"""Which nodes an accelerator can run, when only tensors may cross its border."""

from __future__ import annotations

from fxls.engine.graph_module import GraphModule
from fxls.engine.ir.node import Node
from fxls.engine.passes import node_events
from fxls.engine.passes.node_events import NodeEventTracker
from fxls.engine.passes.operator_support import OperatorSupportBase
from fxls.engine.passes.tools_common import (
    CALLABLE_NODE_OPS,
    NodeList,
    NodeSet,
    is_node_output_tensor,
    submodules_of,
)

__all__ = ["FxNetAccNodesFinder"]


class FxNetAccNodesFinder:
    """Finds the nodes that are supported and do not hand others than tensors across.

    With `allow_non_tensor` all that are supported. `ShapeProp` has noted what gives
    tensors. `tracker` says why each node is in or out.
    """

    def __init__(
        self,
        module: GraphModule,
        operator_support: OperatorSupportBase,
        allow_non_tensor: bool,  # noqa: FBT001 - FX's signature
    ) -> None:
        self.acc_nodes: NodeSet = set()
        self.module = module
        self.allow_non_tensor = allow_non_tensor
        self.operator_support = operator_support
        self.tracker = NodeEventTracker(
            int(node_events.TRACKER_MODE), node_events.DUMP_PREFIX
        )

    def __call__(self) -> NodeSet:
        """The nodes."""
        submodules = submodules_of(self.module)
        self.acc_nodes = set()
        for node in self.module.graph.nodes:
            if node.op not in CALLABLE_NODE_OPS:
                self.tracker.add(node, "init_cpu|not_callable")
            elif not self.operator_support.is_node_supported(submodules, node):
                self.tracker.add(node, "init_cpu|operator_support")
            else:
                self.tracker.add(node, "init_acc|callable_and_operator_supported")
                self.acc_nodes.add(node)
        if not self.allow_non_tensor:
            self.reduce_acc_nodes_non_tensor_input()
            self.reduce_acc_nodes_non_tensor_output()
        self.tracker.dump()
        return self.acc_nodes

    def reduce_acc_nodes_non_tensor_input(self) -> None:
        """Take out what uses something else than a tensor of a node that is out."""
        outside: NodeList = []
        for node in self.module.graph.nodes:
            if (
                node.op in CALLABLE_NODE_OPS
                and node not in self.acc_nodes
                and not is_node_output_tensor(node)
            ):
                self.tracker.add(node, "new_cpu_node|callable_non_tensor_input")
                outside.append(node)
        self.reduce_acc_nodes_non_tensor_input_helper(outside)

    def reduce_acc_nodes_non_tensor_input_helper(self, cpu_worklist: NodeList) -> None:
        """Take out the users of some nodes, and theirs where they give no tensor."""
        for node in cpu_worklist:  # which grows meanwhile
            for user in node.users:
                if user not in self.acc_nodes:
                    continue
                self.acc_nodes.remove(user)
                self.tracker.add(user, "acc_del|user_of_new_cpu_node", node)
                if not is_node_output_tensor(user):
                    self.tracker.add(user, "new_cpu_node|non_tensor_output")
                    cpu_worklist.append(user)

    def reduce_acc_nodes_non_tensor_output(self) -> None:
        """Take out what gives something else than a tensor to a node that is out."""
        while leaving := self._giving_others():
            self.acc_nodes.difference_update(leaving)
            self.reduce_acc_nodes_non_tensor_input_helper(leaving)

    def _giving_others(self) -> NodeList:
        found: NodeList = []
        for node in sorted(self.acc_nodes):
            if is_node_output_tensor(node):
                continue
            outside: Node | None = next(
                (user for user in node.users if user not in self.acc_nodes), None
            )
            if outside is not None:
                self.tracker.add(
                    node, "acc_del|non_tensor_output_with_cpu_user", outside
                )
                found.append(node)
        return found
