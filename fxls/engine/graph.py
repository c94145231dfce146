"""The graph: an ordered list of nodes, and the ways to make, find and remove them."""

from __future__ import annotations

import contextlib
import copy
import inspect
import warnings
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, cast, final

from fxls.engine.code.codegen import CodeGen, PythonCode, TransformCode
from fxls.engine.code.pytree_codegen import PyTreeCodeGen as _PyTreeCodeGen
from fxls.engine.code.pytree_codegen import PyTreeInfo as _PyTreeInfo
from fxls.engine.ir import gc_pause, lint, node_text, purity
from fxls.engine.ir.arguments import (
    EMPTY_KWARGS,
    Argument,
    Arguments,
    Keywords,
    freeze,
)
from fxls.engine.ir.copying import append_copies, copy_notes, is_blank
from fxls.engine.ir.names import Namespace, target_name
from fxls.engine.ir.node import (
    Node,
    Target,
    freeze_kwargs,
    map_arg,
)
from fxls.engine.ir.node_index import NodeIndex
from fxls.engine.ir.node_list import NodeList, Order, ordered
from fxls.engine.ir.opcodes import check_op_and_target
from fxls.engine.ir.order import GAP, link_before
from fxls.engine.ir.snapshot import note_node, note_order
from fxls.engine.ir.users import add_uses, release_uses
from fxls.engine.late_names import late_names

if TYPE_CHECKING:
    from types import TracebackType
    from weakref import ref

    from fxls.engine.graph_module import GraphModule
    from fxls.engine.ir.program import Program
    from fxls.engine.ir.snapshot import Content, Snapshot
    from fxls.engine.tracing.tracer import Tracer

__all__ = ["CodeGen", "Graph", "PythonCode", "_PyTreeCodeGen", "_PyTreeInfo", "map_arg"]


class Graph:
    """The steps of one function, in the order in which they run.

    - Every node has a name of its own and is in the list of each node that it uses.
    - New nodes go in front of the insert point, which is the end unless
      `inserting_before` or `inserting_after` moved it.
    - Independent graphs may be changed from several threads, one graph may not.
    """

    def __init__(
        self,
        owning_module: GraphModule | None = None,
        tracer_cls: type[Tracer] | None = None,
        tracer_extras: dict[str, Any] | None = None,
    ) -> None:
        self._edits = 0
        """Counts changes of what the nodes do and of their order. Adding a node changes
        `_len` alone, which costs the same; so the two together tell a state."""
        self._snapshot: ref[Snapshot] | None = None
        """The last one that was taken."""
        self._were: dict[Node, Content] | None = None
        """What the nodes that changed were at that snapshot; None when nobody has it."""
        self._keeps_order = False
        """Whether somebody has that snapshot, and the order is still what it was then."""
        self._touched: dict[Node, None] = {}
        """The nodes that were moved or named since lines were written last: these lines,
        and those of the nodes that they use or that use them, may be out of date."""
        self._root = root = Node(self, "", "root", "", (), EMPTY_KWARGS)
        self._insert_point: Node | Behind = root
        """In front of which node new ones go, or behind which."""
        self._len = 0
        self._order: Order | tuple[()] | None = None
        """The nodes as a list, which `node_list` makes and `_reordered` drops."""
        self._graph_namespace = Namespace()
        self._index: NodeIndex | None = None
        """Made by the first search."""
        self._has_given_names = False
        """Whether names were assigned, so that they may repeat or be no identifiers."""
        self._may_mismatch = False
        """Whether an opcode or a target was assigned that the other did not go with."""
        self._owning_module = owning_module
        self._lines_of: tuple[str, str, bool] | None = None
        """For which names of the module and of ``__main__`` nodes keep their lines, and
        whether with fences."""
        self._program: tuple[tuple[int, int], Program] | None = None
        """What an Interpreter runs, and the state that it was made for."""
        self._may_wrap_torch = False
        """Whether a function of torch may be wrapped, which a node's meta says."""
        self._tracer_cls = tracer_cls
        self._tracer_extras = tracer_extras
        self._codegen = CodeGen()
        self._co_fields: dict[str, Any] = {}
        self.traced: tuple[str, str] | None = None
        """Module and qualified name of the class or function that was traced."""

    @property
    def owning_module(self) -> GraphModule | None:
        """The module whose forward the graph is, the last one that it was given to."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, module: GraphModule | None) -> None:
        self._owning_module = module

    @property
    def state(self) -> tuple[int, int]:
        """Another one after every change of what the nodes do and of their order."""
        return (self._edits, self._len)

    @property
    def nodes(self) -> NodeList:
        """The nodes in order: a live view that can be iterated while nodes go."""
        return NodeList(self)

    def output_node(self) -> Node:
        """The output; raises AssertionError when there is none, or not at the end."""
        last = self._root._prev
        if last._op != "output":
            raise AssertionError(
                f"the last node of the graph is {last!r} ({last._op}), not an output"
            )
        return last

    def find_nodes(
        self,
        *,
        op: str,
        target: Target | None = None,
        sort: bool = True,
    ) -> list[Node]:
        """The nodes with an opcode, and for call_function a target; fast at any size.

        `sort` puts them in the order of the graph.
        """
        if op == "call_function" and target is None:
            return [node for node in ordered(self) if node._op == op]
        if self._index is None:
            self._index = NodeIndex(ordered(self))
        return self._index.find(op, target, sort=sort)

    def create_node(
        self,
        op: str,
        target: Target,
        args: Arguments | None = None,
        kwargs: Keywords | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A new node at the insert point.

        Its name is `name`, or one made from the target, with a number where taken.
        """
        check_op_and_target(op, target)
        if args is None:
            args = ()
        elif type(args) is not tuple and not isinstance(args, tuple | list):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are untyped
            raise AssertionError(f"args of a node are a tuple, not {args!r}")
        if kwargs is None:
            kwargs = EMPTY_KWARGS
        elif not isinstance(kwargs, dict):
            raise AssertionError(f"kwargs of a node are a dict, not {kwargs!r}")
        node = self._add(
            op,
            target,
            freeze(args),
            freeze_kwargs(kwargs),
            target_name(target) if name is None else name,
            type_expr,
        )
        module = self._owning_module
        if module is not None:
            for hook in getattr(module, "_create_node_hooks", ()):
                hook(node)
        return node

    def _add(
        self,
        op: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: Any,
        name: str,
        type_expr: Any | None,
    ) -> Node:
        """Make a node of checked parts; args and kwargs are immutable already."""
        name = self._graph_namespace.create_name(name, None)
        return self._append(op, target, args, kwargs, name, type_expr)

    def _append(
        self,
        op: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: Any,
        name: str,
        type_expr: Any | None,
    ) -> Node:
        """Make a node at the insert point whose name is its own."""
        if self._keeps_order:
            note_order(self)
        node = Node.__new__(Node)
        node.graph = self
        node._op = op
        node._target = target
        node._args = args
        node._kwargs = kwargs
        node._name = name
        node._type = type_expr
        node._erased = False
        node._users = node._meta = node._origin = node._scope = None
        node._last_user = node._line = None
        add_uses(node)
        place = self._insert_point
        root = self._root
        if place is root:
            before = root._prev
            node._sort_key = before._sort_key + GAP
            node._prev = before
            node._next = root
            before._next = root._prev = node
        else:
            link_before(node, place.node._next if type(place) is Behind else place)
        self._len += 1
        if self._order is not None:
            self._reordered()
        if self._index is not None:
            self._index_add(node)
        return node

    def placeholder(
        self,
        name: str,
        type_expr: Any = None,
        default_value: Any = inspect.Signature.empty,
    ) -> Node:
        """An input of the function; ``*name`` and ``**name`` take the rest."""
        args = () if default_value is inspect.Signature.empty else (default_value,)
        return self.create_node("placeholder", name, args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """A read of an attribute of the module, by its dotted path."""
        self._warn_if_nothing_is_at(qualified_name)
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(
        self,
        module_name: str,
        args: Arguments | None = None,
        kwargs: Keywords | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A call of a submodule, by its dotted path."""
        if self._owning_module is not None:
            self._owning_module.get_submodule(module_name)  # raises, as in torch.fx
        return self.create_node(
            "call_module", module_name, args, kwargs, type_expr=type_expr
        )

    def call_method(
        self,
        method_name: str,
        args: Arguments | None = None,
        kwargs: Keywords | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A call of a method of the first argument."""
        return self.create_node(
            "call_method", method_name, args, kwargs, type_expr=type_expr
        )

    def call_function(
        self,
        the_function: Callable[..., Any],
        args: Arguments | None = None,
        kwargs: Keywords | None = None,
        type_expr: Any = None,
        name: str | None = None,
    ) -> Node:
        """A call of a function."""
        return self.create_node(
            "call_function", the_function, args, kwargs, name, type_expr
        )

    def output(self, result: Argument, type_expr: Any = None) -> Node:
        """The value that the function returns: the last node."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def node_copy(
        self, node: Node, arg_transform: Callable[[Node], Argument] = lambda x: x
    ) -> Node:
        """A copy of a node, of this or another graph, with its arguments mapped."""
        new = self.create_node(
            node._op,
            node._target,
            map_arg(node._args, arg_transform),
            map_arg(node._kwargs, arg_transform),
            node._name,
            node._type,
        )
        copy_notes(node, new)
        return new

    def graph_copy(
        self,
        g: Graph,
        val_map: dict[Node, Node],
        return_output_node: bool = False,  # noqa: FBT001, FBT002 - FX's signature
    ) -> Argument | None:
        """Copy the nodes of a graph here; `val_map` gives, and gets, node to node.

        Returns what the copied graph's output would return (with the output node, when
        asked for); the output itself is not copied.
        """
        with gc_pause.paused():
            nodes: list[Node] = ordered(g)
            ops = [None if node in val_map else node._op for node in nodes]
            end = ops.index("output") if "output" in ops else len(nodes)
            if is_blank(self) and not val_map and not g._has_given_names:
                append_copies(nodes[:end], self, val_map)
            else:
                for node in nodes[:end]:
                    if node not in val_map:
                        val_map[node] = self.node_copy(node, val_map.__getitem__)
            if end == len(nodes):
                return None
            output = nodes[end]
            result = map_arg(output._args[0], val_map.__getitem__)
            return (result, output) if return_output_node else result

    def erase_node(self, to_erase: Node) -> None:
        """Remove a node that nobody uses; raises RuntimeError while somebody does."""
        if to_erase._users:
            users = to_erase.users
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(users)} users in"
                f" the graph: {users}! Replace it first:"
                f" {to_erase}.replace_all_uses_with(other)"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"cannot erase {to_erase}: it is of another graph")
        if to_erase._erased:
            warnings.warn(
                f"erase_node({to_erase}) on an already erased node", stacklevel=2
            )
            return
        if self._owning_module is not None:
            for hook in getattr(self._owning_module, "_erase_node_hooks", ()):
                hook(to_erase)
        if self._keeps_order:
            note_order(self)
        if self._were is not None:
            note_node(to_erase)
        if self._index is not None:
            self._index_remove(to_erase)
        next_, prev = to_erase._next, to_erase._prev
        place = self._insert_point
        if place is to_erase:
            self._insert_point = next_
        elif type(place) is Behind and place.node is to_erase:
            self._insert_point = Behind(prev)
        # Its own links stay: an iteration that stands on it goes on from where it was.
        prev._next, next_._prev = next_, prev
        to_erase._erased = True
        self._len -= 1
        if self._order is not None:
            self._reordered()
        release_uses(to_erase)
        to_erase._line = None
        self._touched.pop(to_erase, None)
        self._edits += 1

    def inserting_before(self, n: Node | None = None) -> InsertPoint:
        """New nodes go in front of `n`, or to the start; as a block, until its end."""
        if n is None:
            return self.inserting_after(self._root)
        self._check_own(n)
        return InsertPoint(self, n)

    def inserting_after(self, n: Node | None = None) -> InsertPoint:
        """New nodes go directly behind `n`, or to the end; as a block, until its end.

        Each goes in front of the one that was put behind `n` before it.
        """
        if n is None:
            return self.inserting_before(self._root)
        self._check_own(n)
        return InsertPoint(self, Behind(n))

    def eliminate_dead_code(
        self, is_impure_node: Callable[[Node], bool] | None = None
    ) -> bool:
        """Erase the nodes that nobody uses and that do nothing else; whether any was.

        `is_impure_node` decides in place of `Node.is_impure`.
        """
        return purity.eliminate_dead_code(self, is_impure_node)

    def lint(self) -> None:
        """Check every rule of a well-formed graph; raises RuntimeError with all faults."""
        lint.check(self)

    def python_code(
        self,
        root_module: str,
        *,
        additional_meta: list[str] | None = None,
        colored: bool = False,
        expanded_def: bool = False,
        include_device: bool = False,
        include_stride: bool = False,
        record_func: bool = False,
        verbose: bool = False,
    ) -> PythonCode:
        """The graph as Python source; `root_module` is the name of the module in it."""
        return self._codegen.generate(
            self,
            root_module,
            verbose=verbose,
            include_stride=include_stride,
            include_device=include_device,
            colored=colored,
            expanded_def=expanded_def,
            record_func=record_func,
            additional_meta=additional_meta,
        )

    def set_codegen(self, codegen: CodeGen) -> None:
        """Write, and run, the graph by another set of rules."""
        self._codegen = codegen

    def on_generate_code(
        self,
        make_transformer: Callable[[TransformCode | None], TransformCode],
    ) -> contextlib.AbstractContextManager[None]:
        """Let a function change the lines of the body whenever code is generated.

        `make_transformer` gets the function in force (or None) and returns the next
        one. As a block, the old one is in force again at its end.
        """
        before = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(before)

        @contextlib.contextmanager
        def until_end() -> Generator[None]:
            try:
                yield
            finally:
                self._codegen._body_transformer = before

        return until_end()

    def process_inputs(self, *args: Any) -> Any:
        """What the function is called with, as the graph's placeholders take it."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """What the graph's output gives, as the function returns it."""
        return self._codegen.process_outputs(out)

    def print_tabular(self) -> None:
        """Print the nodes as a table."""
        from fxls.engine.ir.table import table  # noqa: PLC0415 - few programs print one

        rows = [
            [n._op, n._name, str(n._target), str(n._args), str(n._kwargs)]
            for n in ordered(self)
        ]
        # Without an output, all targets may be numbers: those of a Sequential's parts.
        has_words = self._root._prev._op == "output"
        headers = ["opcode", "name", "target", "args", "kwargs"]
        print(table(headers, rows, has_words=has_words))  # noqa: T201 - FX's method prints

    @property
    def _insert(self) -> Callable[[Node], None]:
        """What puts a node where new ones go; assign ``node.append`` or ``prepend``."""
        place = self._insert_point
        return place.node.append if isinstance(place, Behind) else place.prepend

    @_insert.setter
    def _insert(self, insert: Callable[[Node], None]) -> None:
        place = cast("Any", insert).__self__
        is_behind = cast("Any", insert).__name__ == "append"
        self._insert_point = Behind(place) if is_behind else place

    def _warn_if_nothing_is_at(self, path: str) -> None:
        if self._owning_module is not None and not _reaches(self._owning_module, path):
            warnings.warn(_NOTHING_THERE, stacklevel=3)

    def _target_to_str(self, target: Target | None) -> str:
        assert target is not None, "a node without a target has no name of its own"
        return target_name(target)

    def _clear_nodes(self) -> None:
        note_order(self)
        self._edits += 1
        self._root._next = self._root._prev = self._root
        self._insert_point = self._root
        self._len = 0
        self._index = None
        self._touched.clear()
        self._reordered()

    def _reordered(self) -> None:
        """Note that a node came, went or moved, after it did."""
        order = self._order
        self._order = None
        if type(order) is Order:
            order.end()

    def _check_own(self, node: Node) -> None:
        if node.graph is not self:
            raise AssertionError(f"cannot insert at {node}: it is of another graph")

    def _index_add(self, node: Node) -> None:
        if self._index is not None and node._op != "root":
            self._index.add(node, is_last=node._next is self._root)

    def _index_remove(self, node: Node) -> None:
        if self._index is not None:
            self._index.remove(node)

    def _blank(self) -> Graph:
        """A graph without nodes that says of itself what this one says."""
        new = Graph(tracer_cls=self._tracer_cls)
        new._co_fields = dict(self._co_fields)
        new.traced = self.traced
        return new

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Graph:
        memo = {} if memo is None else memo
        new = self._blank()
        new._codegen = copy.deepcopy(self._codegen, memo)
        val_map: dict[Node, Node] = {}
        copied = new.graph_copy(self, val_map, return_output_node=True)
        if isinstance(copied, tuple):
            result, old_output = cast("tuple[Argument, Node]", copied)
            output = new.create_node(
                "output", "output", (result,), {}, old_output._name, old_output._type
            )
            copy_notes(old_output, output)
            val_map[old_output] = output
        memo.update(zip(map(id, val_map), val_map.values(), strict=True))
        return new

    def __reduce__(self) -> tuple[Any, ...]:
        from fxls.engine.ir import serialization  # noqa: PLC0415 - few are written

        return serialization.reduce_graph(self)

    def __str__(self) -> str:
        return node_text.format_graph(self.nodes)


@final
class Behind:
    """The place directly behind a node, whatever stands there already."""

    __slots__ = ("node",)

    def __init__(self, node: Node) -> None:
        self.node = node


Node._graph_class = Graph


class InsertPoint:
    """Where new nodes of a graph go, from now on or until the end of a block."""

    def __init__(self, graph: Graph, place: Node | Behind) -> None:
        self._graph = graph
        self._before = graph._insert_point
        graph._insert_point = place

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self._graph._insert_point = self._before


# The very words of torch.fx, because programs filter the warning by them.
_NOTHING_THERE = "Attempted to insert a get_attr Node with no underlying reference in the owning GraphModule! Call GraphModule.add_submodule to add the necessary submodule, GraphModule.add_parameter to add the necessary Parameter, or nn.Module.register_buffer to add the necessary buffer"


def _reaches(module: Any, path: str) -> bool:
    """Whether a dotted path leads from a module to an attribute."""
    for atom in path.split("."):
        if not hasattr(module, atom):
            return False
        module = getattr(module, atom)
    return True


if not TYPE_CHECKING:
    __getattr__ = late_names(__name__)
