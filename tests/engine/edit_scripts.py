# Modules and graphs of two systems, whose types have nothing in common.
# pyright: reportUnknownMemberType=false, reportUnknownLambdaType=false
"""Random programs that make, edit, recompile, copy and call graph modules.

A script is a seed. What it does next depends on what is there, which is the same under
every system that behaves alike; so it is run under two, and all that it saw is compared.
"""

from __future__ import annotations

import copy
import operator
import re
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any, TypeAlias

import torch

__all__ = ["STEPS", "normalized", "seen"]

STEPS = 16
"""How many things a script does."""

FUNCTIONS = (torch.relu, torch.neg, torch.abs, torch.add, torch.mul, operator.add)
METHODS = ("relu", "neg", "abs", "sign")


Log: TypeAlias = list[tuple[str, object]]
"""What was done or asked, and what came of it."""


def seen(fx: Any, seed: int) -> Log:
    """What the script of a seed sees under a system: texts, results and errors."""
    return _Script(fx, seed).run()


def normalized(log: Log) -> Log:
    """What a script saw, with texts that do not depend on how a graph came to be so.

    In which order torch.fx frees names depends on the edits before, and it writes a blank
    in front of the comma of an unpacking.
    """
    return [(action, _text(result)) for action, result in log]


def _text(result: object) -> object:
    if not isinstance(result, str):
        return result
    return _FREED.sub(lambda found: _sorted_names(found[1]), result.replace(" ,", ","))


def _sorted_names(freed: str) -> str:
    return (
        ";  "
        + " = ".join(sorted(set(freed.removesuffix(" = ").split(" = "))))
        + " = None"
    )


_FREED = re.compile(r";  ((?:\w+ = )+)None")


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.act = torch.nn.Tanh()
        self.inner = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Hardtanh())
        self.bias = torch.nn.Parameter(torch.tensor([0.25, -2.0, 3.0]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.act(x + self.bias)
        return torch.abs(self.inner(y) - x).neg()


class _Script:
    def __init__(self, fx: Any, seed: int) -> None:
        self.fx = fx
        self.random = Random(seed)
        self.modules: list[Any] = [fx.symbolic_trace(Net())]
        self.graphs: list[Any] = [self.modules[0].graph]
        self.log: Log = []

    def run(self) -> Log:
        for _ in range(STEPS):
            self.note(self.random.choice(_ACTIONS))
        for module in self.modules:
            self.log.append(("code", _attempt(partial(getattr, module, "code"))))
            self.log.append(("result", _attempt(partial(self.result_of, module))))
        return self.log

    def note(self, action: Callable[[_Script], object]) -> None:
        """Do something, and keep what came of it."""
        self.log.append((action.__name__, _attempt(lambda: action(self))))

    # -- what there is to choose from ----------------------------------------------

    @property
    def module(self) -> Any:
        return self.random.choice(self.modules)

    @property
    def graph(self) -> Any:
        return self.random.choice(self.graphs)

    def node(self, graph: Any, *, calls: bool = False) -> Any:
        nodes = list(graph.nodes)
        if calls:
            nodes = [n for n in nodes if n.op not in ("placeholder", "output")]
        return self.random.choice(nodes)

    def value(self, graph: Any) -> Any:
        """A node that has a value, or now and then a number."""
        if self.random.random() < 0.1:
            return self.random.randint(1, 3)
        return self.random.choice([n for n in graph.nodes if n.op != "output"])

    def arguments(self, graph: Any, count: int) -> tuple[Any, ...]:
        """Nodes and numbers; first a node, because no method is called on a literal."""
        first = self.random.choice([n for n in graph.nodes if n.op != "output"])
        return (first, *[self.value(graph) for _ in range(count - 1)])

    def add(self, module: Any) -> int:
        self.modules.append(module)
        if all(module.graph is not graph for graph in self.graphs):
            self.graphs.append(module.graph)
        return len(self.modules)

    def result_of(self, module: Any) -> str:
        return repr(module(torch.tensor([-1.5, 0.5, 2.0])))


def _attempt(action: Callable[[], object]) -> object:
    try:
        return action()
    except Exception as error:  # noqa: BLE001 - compared by who runs the script
        return type(error).__name__


_ACTIONS: list[Callable[[_Script], object]] = []


def _action(action: Callable[[_Script], object]) -> Callable[[_Script], object]:
    """Let scripts do this."""
    _ACTIONS.append(action)
    return action


# -- edits of a graph -------------------------------------------------------------------


@_action
def _insert(script: _Script) -> None:
    graph, function = script.graph, script.random.choice(FUNCTIONS)
    with graph.inserting_before(script.node(graph, calls=True)):
        graph.call_function(
            function, script.arguments(graph, 2 if function in FUNCTIONS[3:] else 1)
        )


@_action
def _insert_and_use(script: _Script) -> str:
    graph = script.graph
    old = script.node(graph, calls=True)
    with graph.inserting_after(old):
        new = graph.call_method(script.random.choice(METHODS), (old,))
    return str(old.replace_all_uses_with(new, lambda user: user is not new))


@_action
def _append_at_the_end(script: _Script) -> None:
    graph = script.graph
    graph.call_function(torch.neg, (script.value(graph),))


@_action
def _insert_module_call(script: _Script) -> None:
    graph = script.graph
    with graph.inserting_before(script.node(graph, calls=True)):
        graph.create_node("call_module", "act", (script.value(graph),))


def first_input(graph: Any, node: Any) -> Any:
    """The input that is the first in the graph.

    Behind `insert_arg`, torch.fx has the inputs of a node in another order than its
    arguments, which is not what its documentation says.
    """
    inputs = node.all_input_nodes
    return next(n for n in graph.nodes if n in inputs)


@_action
def _erase(script: _Script) -> None:
    graph = script.graph
    graph.erase_node(script.node(graph, calls=True))


@_action
def _erase_an_unused_one(script: _Script) -> None:
    graph = script.graph
    unused = [n for n in graph.nodes if not n.users and n.op.startswith("call")]
    graph.erase_node(script.random.choice(unused))


@_action
def _bypass_and_erase(script: _Script) -> None:
    graph = script.graph
    node = script.node(graph, calls=True)
    node.replace_all_uses_with(first_input(graph, node))
    graph.erase_node(node)


@_action
def _set_args(script: _Script) -> None:
    graph = script.graph
    node = script.node(graph, calls=True)
    node.args = script.arguments(graph, len(node.args)) if node.args else ()


@_action
def _update_arg(script: _Script) -> None:
    graph = script.graph
    script.node(graph, calls=True).update_arg(0, *script.arguments(graph, 1))


@_action
def _insert_arg(script: _Script) -> None:
    graph = script.graph
    script.node(graph, calls=True).insert_arg(0, *script.arguments(graph, 1))


@_action
def _set_kwargs(script: _Script) -> None:
    graph = script.graph
    node = next(n for n in graph.nodes if n.target is torch.add)
    node.kwargs = {"alpha": script.random.randint(2, 4)}


@_action
def _update_kwarg(script: _Script) -> None:
    graph = script.graph
    node = next(n for n in graph.nodes if n.target is torch.add)
    node.update_kwarg("alpha", script.random.randint(2, 4))


@_action
def _replace_input(script: _Script) -> None:
    graph = script.graph
    node = script.node(graph)
    node.replace_input_with(first_input(graph, node), script.node(graph, calls=True))


@_action
def _set_target(script: _Script) -> None:
    graph = script.graph
    nodes = [n for n in graph.nodes if n.op == "call_function" and len(n.args) == 1]
    script.random.choice(nodes).target = script.random.choice(FUNCTIONS[:3])


@_action
def _set_opcode(script: _Script) -> None:
    graph = script.graph
    nodes = [n for n in graph.nodes if n.op == "call_module"]
    node = script.random.choice(nodes)
    node.op, node.target = "call_function", script.random.choice(FUNCTIONS[:3])


@_action
def _set_name(script: _Script) -> None:
    graph = script.graph
    script.node(graph, calls=True).name = f"named_{script.random.randint(0, 3)}"


@_action
def _set_type(script: _Script) -> None:
    graph = script.graph
    node = script.node(graph)
    node.type = script.random.choice([None, torch.Tensor, int])


@_action
def _prepend(script: _Script) -> None:
    graph = script.graph
    script.node(graph, calls=True).prepend(script.node(graph, calls=True))


@_action
def _append(script: _Script) -> None:
    graph = script.graph
    script.node(graph, calls=True).append(script.node(graph, calls=True))


@_action
def _return_another(script: _Script) -> None:
    graph = script.graph
    graph.output_node().args = (script.value(graph),)


@_action
def _return_two(script: _Script) -> None:
    graph = script.graph
    value = script.value(graph)
    graph.output_node().args = ((value, {"second": script.value(graph)}),)


@_action
def _add_parameter(script: _Script) -> None:
    graph = script.graph
    with graph.inserting_before(script.node(graph, calls=True)):
        graph.placeholder(f"more_{len(script.log)}", default_value=1)


@_action
def _eliminate(script: _Script) -> bool:
    # torch.fx refuses graphs without a module; these have one.
    return script.module.graph.eliminate_dead_code()


@_action
def _other_rules(script: _Script) -> None:
    class Listed(script.fx.graph.CodeGen):
        def generate_output(self, output_args: Any, **_: Any) -> str:
            return f"return [{output_args!r}]"

        def process_outputs(self, outputs: Any) -> Any:
            return [outputs]

    script.graph.set_codegen(Listed())


@_action
def _usual_rules(script: _Script) -> None:
    script.graph._codegen = script.fx.graph.CodeGen()


@_action
def _transform_for_one_recompile(script: _Script) -> None:
    def make(_current: Any) -> Callable[[list[str]], list[str]]:
        return lambda body: ["_transformed = 1\n", *body]

    module = script.module
    with module.graph.on_generate_code(make):
        module.recompile()


# -- what is done with modules ----------------------------------------------------------


@_action
def _recompile(script: _Script) -> str:
    return script.module.recompile().src


@_action
def _recompile_unread(script: _Script) -> None:
    script.module.recompile()


@_action
def _call(script: _Script) -> str:
    return script.result_of(script.module)


@_action
def _read_code(script: _Script) -> str:
    return script.module.code


@_action
def _call_forward(script: _Script) -> str:
    return repr(script.module.forward(torch.ones(3)))


@_action
def _interpret(script: _Script) -> str:
    return str(script.fx.Interpreter(script.module).run(torch.tensor([-1.0, 0.0, 2.0])))


@_action
def _transform(script: _Script) -> int:
    return script.add(script.fx.Transformer(script.module).transform())


@_action
def _another_module(script: _Script) -> int:
    module = script.module
    return script.add(script.fx.GraphModule(module, module.graph, "Another"))


@_action
def _module_with_the_graph_of_another(script: _Script) -> int:
    return script.add(script.fx.GraphModule(script.module, script.graph))


@_action
def _assign_a_graph(script: _Script) -> None:
    script.module.graph = script.graph


@_action
def _copy_of_a_graph(script: _Script) -> int:
    script.graphs.append(copy.deepcopy(script.graph))
    return len(script.graphs)


@_action
def _deep_copy(script: _Script) -> int:
    return script.add(copy.deepcopy(script.module))


@_action
def _shallow_copy(script: _Script) -> int:
    return script.add(copy.copy(script.module))


@_action
def _drop(script: _Script) -> None:
    if len(script.modules) > 1:
        script.modules.remove(script.module)


@_action
def _text_of_a_graph(script: _Script) -> str:
    return str(script.graph)
