"""What a pass did to a graph: which nodes it made, erased and replaced."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, TypeVar

from fxls.engine.graph import Graph
from fxls.engine.graph_module import GraphModule
from fxls.engine.ir.node import Node
from fxls.engine.ir.provenance import NodeSource, NodeSourceAction
from fxls.engine.passes.graph_drawer import FxGraphDrawer
from fxls.engine.torch_private import inductor_bisector, inductor_settings

__all__ = ["GraphTransformObserver"]

T = TypeVar("T")


class _Hooks(NamedTuple):
    created: Callable[[Node], None]
    erased: Callable[[Node], None]
    replaced: Callable[[Node, str, Node], None]
    copied: Callable[[GraphModule], None]


class GraphTransformObserver:
    """A block, or the run of a pass, that writes down what happens to a graph.

    - A new node gets a `NodeSource` in ``meta["from_node"]``, and one that is used in
      place of another gets one that names that.
    - `created_nodes` and `erased_nodes` have the names of those.
    - With a `log_url`, which is a folder, the graph is drawn there before and behind a
      pass that changed it, with what came and went in yellow. That needs ``pydot``.
    - Without, nothing is observed, unless Inductor tracks provenance.
    - A pass that Inductor's settings disable is not run.
    """

    _observed = 0

    def __init__(
        self,
        gm: GraphModule,
        passname: str,
        subsystem: str | None = None,
        log_url: str | None = None,
    ) -> None:
        """`log_url` is that of Inductor's settings unless given."""
        self.gm = gm
        self.passname = passname
        self.subsystem = subsystem
        settings = inductor_settings()
        if log_url is None and settings is not None:
            log_url = settings.trace.log_url_for_graph_xform
        self.log_url = log_url
        self.active = log_url is not None or (
            settings is not None and settings.trace.provenance_tracking_level == 1
        )
        self.created_nodes: set[str] = set()
        self.erased_nodes: set[str] = set()
        self.name_to_node: dict[str, Node] = {}
        self.copied_gms: list[GraphModule] = []
        """Deep copies that the pass made: what happens to them counts as well."""
        self._hooks = _Hooks(
            self.get_node_creation_hook(),
            self.get_node_erase_hook(),
            self.get_node_replace_hook(),
            self.get_deepcopy_hook(),
        )
        if self.log_url is not None:
            GraphTransformObserver._observed += 1
            self.input_dot_graph = self._drawing()

    @classmethod
    def get_current_pass_count(cls) -> int:
        """How many passes were observed, and drawn, in this process."""
        return GraphTransformObserver._observed

    def apply_gm_pass(self, pass_fn: Callable[[GraphModule], T]) -> T | None:
        """Run a pass over the module; None when it is disabled."""
        with self:
            return None if self._is_disabled() else pass_fn(self.gm)

    def apply_graph_pass(self, pass_fn: Callable[[Graph], T]) -> T | None:
        """Run a pass over the graph; None when it is disabled."""
        with self:
            return None if self._is_disabled() else pass_fn(self.gm.graph)

    def __enter__(self) -> GraphTransformObserver:
        if self.active:
            self.gm._register_create_node_hook(self._hooks.created)
            self.gm._register_erase_node_hook(self._hooks.erased)
            self.gm._register_replace_node_hook(self._hooks.replaced)
            self.gm._register_deepcopy_hook(self._hooks.copied)
            self.created_nodes.clear()
            self.erased_nodes.clear()
            self.copied_gms.clear()
            self.name_to_node = {node.name: node for node in self.gm.graph.nodes}
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        if not self.active:
            return
        for gm in (*self.copied_gms, self.gm):
            gm._unregister_create_node_hook(self._hooks.created)
            gm._unregister_erase_node_hook(self._hooks.erased)
            gm._unregister_replace_node_hook(self._hooks.replaced)
            gm._unregister_deepcopy_hook(self._hooks.copied)
        if self.log_url is not None and (self.created_nodes or self.erased_nodes):
            self._write(self.input_dot_graph, self.erased_nodes, "input")
            self._write(self._drawing(), self.created_nodes, "output")

    # A copy of a module copies its hooks. Functions are copied as themselves; bound
    # methods would be copied with this object, and with the module that it holds.

    def get_node_creation_hook(self) -> Callable[[Node], None]:
        """What is called with each node that is made."""

        def created(node: Node) -> None:
            self._on_create(node)

        return created

    def get_node_erase_hook(self) -> Callable[[Node], None]:
        """What is called with each node that is erased."""

        def erased(node: Node) -> None:
            self._on_erase(node)

        return erased

    def get_node_replace_hook(self) -> Callable[[Node, str, Node], None]:
        """What is called for each user that changes from a node to another one."""

        def replaced(old: Node, new: str, user: Node) -> None:
            self._on_replace(old, new)

        return replaced

    def get_deepcopy_hook(self) -> Callable[[GraphModule], None]:
        """What is called with each deep copy of the module."""

        def copied(gm: GraphModule) -> None:
            self.copied_gms.append(gm)

        return copied

    def _on_create(self, node: Node) -> None:
        self.created_nodes.add(node.name)
        self.name_to_node[node.name] = node
        source = NodeSource(None, self.passname, NodeSourceAction.CREATE)
        node.meta.setdefault("from_node", []).append(source)

    def _on_erase(self, node: Node) -> None:
        self.erased_nodes.add(node.name)
        self.name_to_node.pop(node.name, None)

    def _on_replace(self, old: Node, new: str) -> None:
        """Called for each user that changes over, so the second time all is said."""
        node = self.name_to_node.get(new)
        if node is None:
            return
        sources: list[NodeSource] = node.meta.get("from_node", [])
        if any(source.name == old.name for source in sources):
            return
        action = [NodeSourceAction.REPLACE]
        if node.name in self.created_nodes:
            action.append(NodeSourceAction.CREATE)
        # That the pass made the node is now said together with what for.
        made = [NodeSourceAction.CREATE]
        kept = [s for s in sources if s.pass_name != self.passname or s.action != made]
        node.meta["from_node"] = [*kept, NodeSource(old, self.passname, action)]

    def _is_disabled(self) -> bool:
        settings = inductor_settings()
        if settings is None:
            return False
        if self.passname.upper() in settings.disabled_passes.upper():
            return True
        if self.subsystem is None:
            return False
        bisector = inductor_bisector()
        return bisector is not None and bisector.disable_subsystem(
            "inductor", self.subsystem, lambda: self.passname
        )

    def _drawing(self) -> Any:
        return FxGraphDrawer(
            self.gm,
            self.passname,
            ignore_getattr=True,
            ignore_parameters_and_buffers=True,
        ).get_dot_graph()

    def _write(self, drawing: Any, changed: set[str], which: str) -> None:
        for node in drawing.get_node_list():
            color = "yellow" if node.get_name() in changed else "grey"
            node.obj_dict["attributes"]["fillcolor"] = color
        number = GraphTransformObserver._observed
        file = f"pass_{number}_{self.passname}_{which}_graph.dot"
        assert self.log_url is not None, "there is a drawing only with a folder for it"
        drawing.write(str(Path(self.log_url) / file))
