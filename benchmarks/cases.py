"""What is measured: one case for each row of the table, with the target it has.

A case is made for either package: `fx` is ``torch.fx`` or ``fxls.engine``, which have
the same names.
"""

from __future__ import annotations

import copy
import importlib
import itertools
import pickle
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any, TypeAlias

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from benchmarks import models
from benchmarks.measure import Prepare

__all__ = [
    "OURS",
    "THEIRS",
    "Case",
    "cases",
    "forget_models",
    "growing",
    "is_quick",
]

Fx: TypeAlias = Any
"""``torch.fx`` or ``fxls.engine``."""

THEIRS = importlib.import_module("torch.fx")
OURS = importlib.import_module("fxls.engine")


@dataclass(frozen=True, slots=True)
class Case:
    """One row of the table."""

    operation: str
    on: str
    """The graph it is done with."""
    target: float
    """How many times faster than ``torch.fx`` it shall be."""
    prepare: Callable[[Fx], Prepare]
    is_quick: bool = True
    """Whether it is among those of a quick run."""
    repeats: bool = False
    """Whether what is timed changes nothing, so that it may be called again."""
    cost: int = 1
    """Divides the number of pairs."""


def cases() -> Iterator[Case]:
    """All rows, in the order of the table."""
    yield from _tracing()
    yield from _code()
    yield from _printing()
    yield from _checking()
    yield from _copying()
    yield from _running()
    yield from _editing()


def is_quick(case: Case) -> bool:
    """Whether a row is among those of a quick run: few that take a second each."""
    if case.on == "GPT-2, 48 layers":
        return case.operation in _QUICK_AT_SCALE
    return case.is_quick


_QUICK_AT_SCALE = ("Tracer().trace", "python_code after one edit", "graph_copy")


def growing() -> dict[str, Callable[[Fx, int], Prepare]]:
    """The operations whose time must grow as the graph does, for a number of nodes."""
    return {
        "trace": lambda fx, n: _trace(fx, _model(models.Chain, n)),
        "create": _create,
        "graph_copy": lambda fx, n: _graph_copy(fx, _model(models.Chain, n)),
        "python_code": lambda fx, n: _python_code(fx, _model(models.Chain, n)),
        "str": lambda fx, n: _on_graph(fx, _model(models.Chain, n), str),
        "lint": lambda fx, n: _on_graph(fx, _model(models.Chain, n), _lint),
        "dce": lambda fx, n: _on_graph(fx, _model(models.Chain, n), _dce),
        "replace_all_uses_with": _rauw,
        "insert": _insert,
        "insert zig-zag": _zigzag,
        "erase": _erase,
        "find_nodes": _find,
        "compare": _compare_nodes,
        "iterate": _iterate,
    }


# -- groups of rows --------------------------------------------------------------


def _tracing() -> Iterator[Case]:
    def trace(
        on: str, target: float, model: Callable[[], nn.Module], cost: int = 1
    ) -> Case:
        quick = on in ("chain 1k", *models.MODELS)
        return Case(
            "Tracer().trace", on, target, lambda fx: _trace(fx, model()), quick,
            repeats=True, cost=cost,
        )  # fmt: skip

    yield trace("chain 1k", 8, lambda: _model(models.Chain, 1_000))
    yield trace("chain 10k", 8, lambda: _model(models.Chain, 10_000), 2)
    yield trace("chain 100k", 5, lambda: _model(models.Chain, 100_000), 6)
    for (name, make), target in zip(models.MODELS.items(), (4, 6, 8, 12), strict=True):
        yield trace(name, target, make)
    yield trace("1,000 parameters", 50, lambda: _model(models.Parameters, 1000), 3)
    yield trace("300 unpackings", 100, models.Unpackings, 6)
    yield trace("modules 200 deep", 3, lambda: _model(models.Nested, 200))
    yield trace("10,000 submodules", 4, lambda: _model(models.Submodules, 10_000), 2)
    yield trace("fan-out 10k", 8, lambda: _model(models.WideFanOut, 10_000), 2)
    yield trace("two lists of 5k", 8, lambda: _model(models.LongLists, 10_000), 2)
    yield Case(
        "symbolic_trace", "one node", 3,
        lambda fx: _symbolic_trace(fx, nn.ReLU()), repeats=True,
    )  # fmt: skip
    yield Case(
        "symbolic_trace", "ResNet-50", 5,
        lambda fx: _symbolic_trace(fx, _named("ResNet-50")), repeats=True,
    )  # fmt: skip
    yield Case(
        "end to end", "chain 10k", 6,
        lambda fx: _end_to_end(fx, _model(models.Chain, 10_000)),
        is_quick=False, repeats=True, cost=3,
    )  # fmt: skip
    yield Case(
        "end to end", "GPT-2, 48 layers", 6,
        lambda fx: _end_to_end(fx, _named("GPT-2, 48 layers")), repeats=True, cost=2,
    )  # fmt: skip


def _code() -> Iterator[Case]:
    for on, model in _models_and_chain():
        yield Case(
            "graph.python_code", on, 6, lambda fx, m=model: _python_code(fx, m()),
            is_quick=on != "chain 10k", cost=2,
        )  # fmt: skip
    for on, model in _models_and_chain():
        yield Case(
            "python_code after one edit", on, 20,
            lambda fx, m=model: _code_after_edit(fx, m()), on == "GPT-2, 48 layers",
            repeats=True,
        )  # fmt: skip
    for operation, run in (("GraphModule()", _module), ("recompile", _recompile)):
        for on in ("ResNet-50", "GPT-2, 48 layers"):
            yield Case(
                operation, on, 100,
                lambda fx, r=run, m=on: r(fx, _named(m)), repeats=True,
            )  # fmt: skip
    for on, model in _models_and_chain():
        yield Case(
            "edit, recompile and run", on, 1.7,
            lambda fx, m=model: _recompile_and_run(fx, m()),
            on == "GPT-2, 48 layers", repeats=True, cost=2,
        )  # fmt: skip
    yield Case(
        "20 passes, each with recompile, then a run", "GPT-2, 48 layers", 10,
        lambda fx: _passes(fx, _named("GPT-2, 48 layers")),
        is_quick=False, repeats=True, cost=4,
    )  # fmt: skip


def _printing() -> Iterator[Case]:
    def chain() -> nn.Module:
        return _model(models.Chain, 10_000)

    yield Case(
        "str(graph)", "chain 10k", 5, lambda fx: _on_graph(fx, chain(), str),
        repeats=True, cost=2,
    )  # fmt: skip
    yield Case(
        "print_readable", "chain 10k", 5, lambda fx: _print_readable(fx, chain()),
        is_quick=False, repeats=True, cost=2,
    )  # fmt: skip
    yield Case(
        "print_tabular", "chain 10k", 2, lambda fx: _print_tabular(fx, chain()),
        is_quick=False, repeats=True, cost=4,
    )  # fmt: skip


def _checking() -> Iterator[Case]:
    for operation, run, target in (("lint", _lint, 3), ("dce", _dce, 6)):
        for on, model in _models_and_chain():
            yield Case(
                "eliminate_dead_code" if run is _dce else operation, on, target,
                lambda fx, r=run, m=model: _on_owned_graph(fx, m(), r), repeats=True,
            )  # fmt: skip


def _copying() -> Iterator[Case]:
    yield Case(
        "Graph.call_function", "10k calls", 4, lambda fx: _create(fx, 10_000),
        repeats=True,
    )  # fmt: skip
    yield Case(
        "Graph.call_function", "100k calls", 4, lambda fx: _create(fx, 100_000),
        is_quick=False, repeats=True, cost=4,
    )  # fmt: skip
    for on in ("GPT-2, 48 layers", "chain 100k"):
        is_model = on in models.MODELS

        def model(on: str = on) -> nn.Module:
            return _named(on) if on in models.MODELS else _model(models.Chain, 100_000)

        cost = 1 if is_model else 6
        yield Case(
            "graph_copy", on, 5, lambda fx, m=model: _graph_copy(fx, m()), is_model,
            repeats=True, cost=cost,
        )  # fmt: skip
        yield Case(
            "deepcopy(graph)", on, 5,
            lambda fx, m=model: _on_graph(fx, m(), copy.deepcopy), is_model,
            repeats=True, cost=cost,
        )  # fmt: skip
    for on in ("ResNet-50", "GPT-2, 48 layers"):
        yield Case(
            "deepcopy(graph module)", on, 8,
            lambda fx, m=on: _deepcopy(fx, _named(m)), repeats=True, cost=2,
        )  # fmt: skip
        yield Case(
            "deepcopy(graph module) and run", on, 8,
            lambda fx, m=on: _deepcopy_and_run(fx, _named(m)),
            is_quick=False, repeats=True, cost=2,
        )  # fmt: skip
    for on in ("ResNet-50", "GPT-2, 48 layers"):
        yield Case(
            "pickle, there and back", on, 6,
            lambda fx, m=on: _pickle(fx, _named(m)), on == "ResNet-50",
            repeats=True, cost=3,
        )  # fmt: skip


def _running() -> Iterator[Case]:
    yield Case(
        "Interpreter.run", "chain 1k, tiny tensors", 2.3,
        lambda fx: _interpret(fx, _model(models.Chain, 1_000)), repeats=True,
    )  # fmt: skip
    yield Case(
        "Interpreter.run", "10k additions of ints", 10,
        lambda fx: _interpret(fx, _model(models.Operators, 10_000)), repeats=True,
    )  # fmt: skip
    for operation, run, target in (
        ("Transformer.transform", _transform, 5),
        ("ShapeProp", _shape_prop, 4),
        ("FakeTensorProp", _fake_tensor_prop, 5),
    ):
        for on in ("ResNet-50", "GPT-2, 48 layers"):
            is_fake = operation == "FakeTensorProp"
            yield Case(
                operation, on, target, lambda fx, r=run, m=on: r(fx, _named(m)),
                not is_fake, repeats=True, cost=6 if is_fake else 2,
            )  # fmt: skip
    yield Case(
        "replace_pattern", "10k nodes, n/4 matches", 10,
        lambda fx: _replace_pattern(fx, 10_000), is_quick=False, cost=6,
    )  # fmt: skip
    yield Case(
        "replace_pattern", "1k nodes, n/4 matches", 4,
        lambda fx: _replace_pattern(fx, 1_000), cost=2,
    )  # fmt: skip


def _editing() -> Iterator[Case]:
    for operation, prepare, repeats in (
        ("iterate over nodes", _iterate, True),
        ("read op, target, args and users", _read, True),
        ("node < node", _compare_nodes, True),
        ("all_input_nodes", _inputs, True),
        ("map_arg", _map_arg, True),
        ("find_nodes", _find, True),
        ("find_nodes, unsorted", _find_unsorted, True),
        ("insert", _insert, False),
        ("erase", _erase, False),
        ("replace_all_uses_with, one user each", _rauw, False),
        ("replace_all_uses_with, n users", _rauw_many, True),
        ("replace_input_with", _replace_input, True),
        ("node.args =", _set_args, True),
        ("node.name =", _set_name, True),
    ):
        yield Case(
            operation, "chain 10k", 1, lambda fx, p=prepare: p(fx, 10_000),
            repeats=repeats,
        )  # fmt: skip


# -- what is timed ---------------------------------------------------------------


def _trace(fx: Fx, model: nn.Module) -> Prepare:
    return lambda: lambda: fx.Tracer().trace(model)


def _symbolic_trace(fx: Fx, model: nn.Module) -> Prepare:
    return lambda: lambda: fx.symbolic_trace(model)


def _end_to_end(fx: Fx, model: nn.Module) -> Prepare:
    inputs = models.example(model)

    def run() -> Any:
        module = fx.symbolic_trace(model)
        _swap_activations(module.graph)
        module.graph.lint()
        module.recompile()
        return module(*inputs)

    return lambda: run


def _swap_activations(graph: Any) -> None:
    for node in graph.nodes:
        if node.op == "call_function" and node.target in (torch.relu, torch.tanh):
            with graph.inserting_after(node):
                new = graph.call_function(torch.sigmoid, node.args, node.kwargs)
            node.replace_all_uses_with(new)
            graph.erase_node(node)


def _python_code(fx: Fx, model: nn.Module) -> Prepare:
    """On a graph that was never written."""

    def prepare() -> Callable[[], Any]:
        graph = fx.Tracer().trace(model)
        return lambda: graph.python_code("self")

    return prepare


def _code_after_edit(fx: Fx, model: nn.Module) -> Prepare:
    graph = fx.Tracer().trace(model)
    graph.python_code("self")
    edit = _edit(graph)

    def run() -> Any:
        edit()
        return graph.python_code("self")

    return lambda: run


def _edit(graph: Any) -> Callable[[], None]:
    """Changes one node in the middle to and fro."""
    calls = [
        node for node in graph.nodes if node.op in ("call_function", "call_module")
    ]
    node = calls[len(calls) // 2]
    args = node.args

    def edit() -> None:
        node.args = args

    return edit


def _module(fx: Fx, model: nn.Module) -> Prepare:
    graph = fx.Tracer().trace(model)
    return lambda: lambda: fx.GraphModule(model, graph)


def _recompile(fx: Fx, model: nn.Module) -> Prepare:
    module = fx.symbolic_trace(model)
    return lambda: module.recompile


def _recompile_and_run(fx: Fx, model: nn.Module) -> Prepare:
    module = fx.symbolic_trace(model).eval()
    inputs = models.example(model)
    args = itertools.cycle(((1,), (2,)))
    node = next(node for node in module.graph.nodes if node.op == "placeholder")
    with module.graph.inserting_after(node):
        extra = module.graph.call_function(_same, (node, 0))

    def is_other(user: Any) -> bool:
        return user is not extra

    node.replace_all_uses_with(extra, is_other)

    def run() -> Any:
        extra.args = (node, *next(args))
        module.recompile()
        return module(*inputs)

    return lambda: run


def _same(value: Any, _number: int) -> Any:
    return value


def _passes(fx: Fx, model: nn.Module) -> Prepare:
    module = fx.symbolic_trace(model).eval()
    inputs = models.example(model)

    def run() -> Any:
        for _ in range(20):
            _swap_activations(module.graph)
            module.graph.lint()
            module.recompile()
        return module(*inputs)

    return lambda: run


def _on_graph(fx: Fx, model: nn.Module, run: Callable[[Any], Any]) -> Prepare:
    graph = fx.Tracer().trace(model)
    return lambda: lambda: run(graph)


def _on_owned_graph(fx: Fx, model: nn.Module, run: Callable[[Any], Any]) -> Prepare:
    module = fx.symbolic_trace(model)
    return lambda: lambda: run(module.graph)


def _lint(graph: Any) -> None:
    graph.lint()


def _dce(graph: Any) -> None:
    graph.eliminate_dead_code()


def _print_readable(fx: Fx, model: nn.Module) -> Prepare:
    module = fx.symbolic_trace(model)
    return lambda: lambda: module.print_readable(print_output=False)


def _print_tabular(fx: Fx, model: nn.Module) -> Prepare:
    graph = fx.Tracer().trace(model)

    def run() -> None:
        before, sys.stdout = sys.stdout, _Nowhere()
        try:
            graph.print_tabular()
        finally:
            sys.stdout = before

    return lambda: run


class _Nowhere:
    def write(self, text: str) -> int:
        return len(text)

    def flush(self) -> None:
        pass


def _create(fx: Fx, nodes: int) -> Prepare:
    def run() -> None:
        graph = fx.Graph()
        last = graph.placeholder("x")
        for _ in range(nodes):
            last = graph.call_function(torch.relu, (last,))

    return lambda: run


def _graph_copy(fx: Fx, model: nn.Module) -> Prepare:
    graph = fx.Tracer().trace(model)
    return lambda: lambda: fx.Graph().graph_copy(graph, {})


def _deepcopy(fx: Fx, model: nn.Module) -> Prepare:
    module = fx.symbolic_trace(model).eval()
    module(*models.example(model))
    return lambda: lambda: copy.deepcopy(module)


def _deepcopy_and_run(fx: Fx, model: nn.Module) -> Prepare:
    inputs = models.example(model)
    module = fx.symbolic_trace(model).eval()
    module(*inputs)
    return lambda: lambda: copy.deepcopy(module)(*inputs)


def _pickle(fx: Fx, model: nn.Module) -> Prepare:
    module = fx.symbolic_trace(model)
    return lambda: lambda: pickle.loads(pickle.dumps(module))


def _interpret(fx: Fx, model: nn.Module) -> Prepare:
    module = fx.symbolic_trace(model)
    inputs = models.example(model)
    interpreter = fx.Interpreter(module)
    return lambda: lambda: interpreter.run(*inputs)


def _transform(fx: Fx, model: nn.Module) -> Prepare:
    module = fx.symbolic_trace(model)
    return lambda: lambda: fx.Transformer(module).transform()


def _shape_prop(fx: Fx, model: nn.Module) -> Prepare:
    module = fx.symbolic_trace(model).eval()
    inputs = models.example(model)
    shape_prop = _pass_of(fx, "shape_prop").ShapeProp
    return lambda: lambda: shape_prop(module).propagate(*inputs)


def _fake_tensor_prop(fx: Fx, model: nn.Module) -> Prepare:
    module = fx.symbolic_trace(model).eval()
    inputs = models.example(model)
    prop = _pass_of(fx, "fake_tensor_prop").FakeTensorProp

    def run() -> Any:
        # Without this, torch.fx refuses a module whose parameters are real.
        mode = FakeTensorMode(allow_non_fake_inputs=True)
        return prop(module, mode).propagate(*inputs)

    return lambda: run


def _pass_of(fx: ModuleType, name: str) -> Any:
    return importlib.import_module(f"{fx.__name__}.passes.{name}")


def _replace_pattern(fx: Fx, nodes: int) -> Prepare:
    rewriter = importlib.import_module(f"{fx.__name__}.subgraph_rewriter")

    def pattern(x: Any) -> Any:
        return torch.relu(torch.neg(x))

    def replacement(x: Any) -> Any:
        return torch.abs(x)

    def prepare() -> Callable[[], Any]:
        module = fx.symbolic_trace(_model(models.Patterned, nodes))
        return lambda: rewriter.replace_pattern(module, pattern, replacement)

    return prepare


def _nodes(fx: Fx, count: int) -> tuple[Any, list[Any]]:
    """What `models.Chain` is traced to, without tracing it."""
    graph = fx.Graph()
    h, w, b = map(graph.placeholder, "hwb")
    for _ in range(count // 2):
        linear = graph.call_function(nn.functional.linear, (h, w, b))
        h = graph.call_function(torch.relu, (linear,))
    graph.output(h)
    return graph, list(graph.nodes)


def _iterate(fx: Fx, count: int) -> Prepare:
    graph, _ = _nodes(fx, count)

    def run() -> None:
        for _ in graph.nodes:
            pass

    return lambda: run


def _read(fx: Fx, count: int) -> Prepare:
    _, nodes = _nodes(fx, count)

    def run() -> None:
        for node in nodes:
            _ = (node.op, node.target, node.args, node.users)

    return lambda: run


def _compare_nodes(fx: Fx, count: int) -> Prepare:
    _, nodes = _nodes(fx, count)

    def run() -> None:
        for one, other in itertools.pairwise(nodes):
            _ = one < other

    return lambda: run


def _inputs(fx: Fx, count: int) -> Prepare:
    _, nodes = _nodes(fx, count)

    def run() -> None:
        for node in nodes:
            _ = node.all_input_nodes

    return lambda: run


def _map_arg(fx: Fx, count: int) -> Prepare:
    _, nodes = _nodes(fx, count)
    map_arg = fx.node.map_arg

    def run() -> None:
        for node in nodes:
            map_arg(node.args, _identity)

    return lambda: run


def _identity(value: Any) -> Any:
    return value


def _find(fx: Fx, count: int) -> Prepare:
    graph, _ = _nodes(fx, count)
    return lambda: lambda: graph.find_nodes(op="call_function", target=torch.relu)


def _find_unsorted(fx: Fx, count: int) -> Prepare:
    graph, _ = _nodes(fx, count)
    return lambda: (
        lambda: graph.find_nodes(op="call_function", target=torch.relu, sort=False)
    )


def _insert(fx: Fx, count: int) -> Prepare:
    """In front of every node of a chain."""

    def prepare() -> Callable[[], Any]:
        graph, nodes = _nodes(fx, count)
        used = nodes[0]

        def run() -> None:
            for node in nodes[1:]:
                with graph.inserting_before(node):
                    graph.call_function(torch.relu, (used,))

        return run

    return prepare


def _zigzag(fx: Fx, count: int) -> Prepare:
    """Each node between the last two."""

    def prepare() -> Callable[[], Any]:
        graph = fx.Graph()
        used = graph.placeholder("x")
        right = graph.call_function(torch.relu, (used,))

        def run() -> None:
            left, other = used, right
            for turn in range(count):
                with graph.inserting_after(left):
                    new = graph.call_function(torch.relu, (used,))
                left, other = (new, other) if turn % 2 else (left, new)

        return run

    return prepare


def _erase(fx: Fx, count: int) -> Prepare:
    """The whole chain, last node first."""

    def prepare() -> Callable[[], Any]:
        graph, nodes = _nodes(fx, count)

        def run() -> None:
            for node in reversed(nodes):
                graph.erase_node(node)

        return run

    return prepare


def _rauw(fx: Fx, count: int) -> Prepare:
    """Every node by the input."""

    def prepare() -> Callable[[], Any]:
        _, nodes = _nodes(fx, count)
        by = nodes[0]

        def run() -> None:
            for node in nodes[3:-1]:
                node.replace_all_uses_with(by)

        return run

    return prepare


def _rauw_many(fx: Fx, count: int) -> Prepare:
    """The weight, which half of all nodes use."""
    _, nodes = _nodes(fx, count)
    one, other = nodes[1], nodes[0]

    def run() -> None:
        one.replace_all_uses_with(other)
        other.replace_all_uses_with(one)

    return lambda: run


def _replace_input(fx: Fx, count: int) -> Prepare:
    _, nodes = _nodes(fx, count)
    pairs = [(node, node.all_input_nodes[0]) for node in nodes[3:]]
    by = nodes[0]

    def run() -> None:
        for node, used in pairs:
            node.replace_input_with(used, by)
            node.replace_input_with(by, used)

    return lambda: run


def _set_args(fx: Fx, count: int) -> Prepare:
    _, nodes = _nodes(fx, count)

    def run() -> None:
        for node in nodes:
            node.args = node.args

    return lambda: run


def _set_name(fx: Fx, count: int) -> Prepare:
    _, nodes = _nodes(fx, count)

    def run() -> None:
        for node in nodes:
            node.name = node.name

    return lambda: run


# -- the models, each made once --------------------------------------------------


@cache
def _model(kind: Callable[[int], nn.Module], size: int) -> nn.Module:
    return kind(size)


@cache
def _named(name: str) -> nn.Module:
    return models.MODELS[name]()


def forget_models() -> None:
    """Let models go, which every full collection would walk."""
    _model.cache_clear()
    _named.cache_clear()


def _models_and_chain() -> Iterator[tuple[str, Callable[[], nn.Module]]]:
    for name in models.MODELS:
        yield name, lambda name=name: _named(name)
    yield "chain 10k", lambda: _model(models.Chain, 10_000)
