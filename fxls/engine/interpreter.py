"""Running a graph node by node, with every step open to change."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import AbstractContextManager
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from torch.nn import Module

from fxls.engine import traceback
from fxls.engine.graph import Graph
from fxls.engine.graph_module import GraphModule
from fxls.engine.ir import gc_pause
from fxls.engine.ir.arguments import Argument, map_aggregate, map_references
from fxls.engine.ir.foreign import refuse_foreign
from fxls.engine.ir.last_uses import last_uses
from fxls.engine.late_names import late_names
from fxls.engine.module import attributes
from fxls.engine.tracing.proxy import Proxy
from fxls.engine.tracing.tracer import Tracer

if TYPE_CHECKING:
    from fxls.engine.ir.node import Node, Target

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs the graph of a module on values, one node after the other.

    Override `run_node`, or what it calls (`placeholder`, `get_attr`, `call_function`,
    `call_method`, `call_module`, `output`, and what fetches their arguments), to change
    what is run. Where nothing is overridden, a program made from the graph runs in their
    place, which does the same.

    - An error is raised again with the node and the user's lines in its message, unless
      `extra_traceback` is False.
    - `env` has the values of the nodes; without `garbage_collect_values`, all of them.
    """

    args_iter: Iterator[Any]
    """The inputs that no placeholder has taken yet."""

    def __init__(
        self,
        module: Module,
        garbage_collect_values: bool = True,  # noqa: FBT001, FBT002 - FX's signature
        graph: Graph | None = None,
    ) -> None:
        """Run `graph`, or else that of `module`; `module` has what it calls and reads.

        Values are dropped behind their last use when they are to be collected.
        """
        self.module = module
        self.graph: Graph = cast("Any", module).graph if graph is None else graph
        if type(self.graph) is not Graph:
            refuse_foreign(self.graph)
        self.env: dict[Node, Any] = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True

    @cached_property
    def submodules(self) -> dict[str, Module]:
        """The submodules by their paths."""
        return dict(_named_modules(self.module))

    @cached_property
    def user_to_last_uses(self) -> dict[Node, list[Node]]:
        """Per node, the nodes whose value is dropped once it has run."""
        return last_uses(self.graph) if self.garbage_collect_values else {}

    def run(
        self,
        *args: Any,
        initial_env: dict[Node, Any] | None = None,
        enable_io_processing: bool = True,
    ) -> Any:
        """The result of the graph for these inputs.

        Nodes that have a value in `initial_env` are not run. Without
        `enable_io_processing`, inputs and result are the graph's own, whatever function
        its code makes of them.
        """
        self.env = {} if initial_env is None else initial_env
        self.args_iter = iter(
            self.graph.process_inputs(*args) if enable_io_processing else args
        )
        if not self.env and self._is_plain and not traceback.has_preserved_node_meta():
            returns, result = self._run_program()
        else:
            returns, result = self._run_nodes()
        if returns and enable_io_processing:
            return self.graph.process_outputs(result)
        return result

    def boxed_run(self, args_list: list[Any]) -> Any:
        """The result for the inputs in a list, which is emptied at the start.

        So an input lives no longer than its last use.
        """
        nodes = self.graph.find_nodes(op="placeholder")
        if len(nodes) != len(args_list):
            which = "extra" if len(args_list) > len(nodes) else "missing"
            raise RuntimeError(
                f"Interpreter.boxed_run expected {len(nodes)} arguments, one for each"
                f" placeholder, but received {len(args_list)} ({which} arguments)"
            )
        env = dict(zip(nodes, args_list, strict=True))
        args_list.clear()
        return self.run(initial_env=env)

    def run_node(self, n: Node) -> Any:
        """The value of one node, from those in `env`."""
        if traceback.has_preserved_node_meta():
            with self._set_current_node(n):
                return self._run(n)
        return self._run(n)

    def placeholder(
        self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]
    ) -> Any:
        """The next input, all that are left for ``*name``, or the default."""
        if cast("str", target).startswith("*"):
            return list(self.args_iter)
        for value in self.args_iter:
            return value
        if args:
            return args[0]
        said = f"Expected positional argument for parameter {target}, but one was not"
        raise RuntimeError(f"{said} passed in!")

    def get_attr(
        self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]
    ) -> Any:
        """The attribute of the module at a dotted path."""
        return self.fetch_attr(cast("str", target))

    def call_function(
        self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]
    ) -> Any:
        """What the function gives."""
        assert not isinstance(target, str), f"{target!r} is no function"
        return target(*args, **kwargs)

    def call_method(
        self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]
    ) -> Any:
        """What the method of the first argument gives for the others."""
        value, *rest = args
        return getattr(value, cast("str", target))(*rest, **kwargs)

    def call_module(
        self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]
    ) -> Any:
        """What the submodule at a dotted path gives."""
        return self.fetch_attr(cast("str", target))(*args, **kwargs)

    def output(
        self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]
    ) -> Any:
        """The result."""
        return args[0]

    def fetch_attr(self, target: str) -> Any:
        """What a dotted path from the module leads to.

        Raises RuntimeError where it leads nowhere.
        """
        try:
            return attributes.fetch(self.module, target)
        except AttributeError as error:
            raise RuntimeError(
                f"Node referenced nonexistent target {target}: {error}"
            ) from error

    def fetch_args_kwargs_from_env(
        self, n: Node
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a node, with the values of the nodes in them."""
        args = self.map_nodes_to_values(n._args, n)
        return args, self.map_nodes_to_values(n._kwargs, n) if n._kwargs else {}

    def map_nodes_to_values(self, args: Argument, n: Node) -> Argument:
        """An argument of node `n` with the values of the nodes in it."""
        try:
            return map_references(args, self.env.__getitem__)
        except KeyError as error:
            raise RuntimeError(
                f"Node {n} referenced nonexistent value {error.args[0]}! Run"
                " Graph.lint() to diagnose such issues"
            ) from error

    def _set_current_node(self, node: Node) -> AbstractContextManager[None]:
        return traceback.set_current_meta(node, f"Interpreter_{type(self).__name__}")

    def _run(self, n: Node) -> Any:
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n._op)(n._target, args, kwargs)

    @property
    def _is_plain(self) -> bool:
        """Whether nobody changed what a step does."""
        return self._has_steps_of(Interpreter)

    def _has_steps_of(self, owner: type[Interpreter]) -> bool:
        kind = type(self)
        known = _same_steps.get((kind, owner))
        if known is None:
            known = all(getattr(kind, name) is getattr(owner, name) for name in _STEPS)
            _same_steps[kind, owner] = known
        return known and self.__dict__.keys().isdisjoint(_STEPS)

    def _observe(self, node: Node, value: Any) -> None:
        """Called with every value of a program, where a subclass has more to do."""

    def _refusal(self, node: Node, error: Exception) -> Exception:
        """What a program raises for an error of a node."""
        return error

    def _run_program(self) -> tuple[bool, Any]:
        """Run the steps; returns whether an output ended them, and the last value."""
        # Imported here, because few programs interpret graphs: 0.4 ms.
        from fxls.engine.ir.program import INTERPRETER, program_of  # noqa: PLC0415

        steps, start, returns = program_of(self.graph)
        registers = start.copy()
        registers[INTERPRETER] = self
        collects = self.garbage_collect_values
        is_plain = type(self)._observe is Interpreter._observe
        observe = None if is_plain else self._observe
        node = value = None
        try:
            for node, run, register, frees in steps:
                registers[register] = value = run(registers)
                if observe is not None:
                    observe(node, value)
                if collects:
                    for freed in frees:
                        registers[freed] = None
        except Exception as error:
            failed = cast("Node", node)
            refusal = self._refusal(failed, error)
            self._explain(failed, refusal)
            if refusal is error:
                raise
            raise refusal from error
        finally:
            if not collects:
                self.env.update((step.node, registers[step.register]) for step in steps)
        if collects and node is not None:
            self.env[node] = value
        return returns, value if returns else None

    def _run_nodes(self) -> tuple[bool, Any]:
        """Run the nodes by the methods; returns as `_run_program` does."""
        env = self.env
        last_uses = self.user_to_last_uses if self.garbage_collect_values else {}
        for node in self.graph.nodes:
            if node in env:
                continue
            try:
                env[node] = self.run_node(node)
            except Exception as error:
                self._explain(node, error)
                raise
            for used in last_uses.get(node, ()):
                env.pop(used, None)
            if node._op == "output":
                return True, env[node]
        return False, None

    def _explain(self, node: Node, error: Exception) -> None:
        """Put into an error's message which node raised it, and where that is from."""
        if not self.extra_traceback:
            return
        said = f"While executing {node.format_node()}"
        if error.args:
            said = f"{error.args[0]}\n\n{said}"
        said = f"{said}\nOriginal traceback:\n{node.stack_trace}"
        error.args = (said, *error.args[1:])
        if isinstance(error, KeyError):  # it shows its message as a repr, on one line
            raise RuntimeError(*error.args) from error


_STEPS = (
    "call_function",
    "call_method",
    "call_module",
    "fetch_args_kwargs_from_env",
    "fetch_attr",
    "get_attr",
    "map_nodes_to_values",
    "output",
    "placeholder",
    "run_node",
)
_same_steps: dict[tuple[type, type], bool] = {}


class Transformer(Interpreter):
    """Runs a graph on proxies, and so makes a new module of what its steps do.

    Override a step as for an `Interpreter`: what it calls on proxies is recorded. A node
    keeps the meta and the origin of the one that it is made from.
    """

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)
        self.tracer: Tracer = TransformerTracer(self.new_graph, module)

    def transform(self) -> GraphModule:
        """The module of the transformed graph."""
        with traceback.preserve_node_meta(), gc_pause.paused():
            result = super().run(enable_io_processing=False)
        if result is not None:
            old = self.graph.output_node()
            new = self.new_graph.output(map_aggregate(result, _node_of))
            new.meta.update(old.meta)
            new._frames = old._frames
        return GraphModule(self.module, self.new_graph)

    def run_node(self, n: Node) -> Any:
        """What stands for the node's value in the new graph."""
        value = super().run_node(n)
        if n._op == "placeholder" and isinstance(value, Proxy):
            value.node._frames = n._frames
        return value

    def placeholder(
        self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]
    ) -> Proxy:
        """An input of the new graph."""
        default = args[0] if args else inspect.Signature.empty
        node = self.new_graph.placeholder(cast("str", target), default_value=default)
        return Proxy(node, self.tracer)

    def get_attr(
        self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]
    ) -> Proxy:
        """A read of the attribute in the new graph."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_function(
        self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]
    ) -> Any:
        """A call in the new graph, also of a function that is wrapped."""
        assert not isinstance(target, str), f"{target!r} is no function"
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def call_module(
        self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]
    ) -> Any:
        """A call in the new graph, or what the module does, as the tracer decides."""
        submodule = self.fetch_attr(cast("str", target))
        return self.tracer.call_module(submodule, submodule.forward, args, kwargs)


class TransformerTracer(Tracer):
    """Appends to a graph what is done with the values of a module's graph."""

    def __init__(self, graph: Graph, root: Module) -> None:
        super().__init__()
        self.graph = graph
        self.root = root
        self.tensor_attrs = {}
        self._has_own_steps = type(self) is not TransformerTracer
        self.submodule_paths = {m: name for name, m in _named_modules(root)}

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Always: the modules that a graph calls were leaves when it was traced."""
        return True


def _named_modules(root: Module) -> Iterator[tuple[str, Module]]:
    yield from cast("Iterator[tuple[str, Module]]", root.named_modules())


def _node_of(a: Any) -> Any:
    return a.node if isinstance(a, Proxy) else a


if not TYPE_CHECKING:
    __getattr__ = late_names(__name__)
