"""What is measured: one case for each row of the table, with the target it has."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from torch import nn

from benchmarks import graph_operations as graphs
from benchmarks import models
from benchmarks import node_operations as nodes
from benchmarks.made_once import models_and_chain, named, of_size
from benchmarks.measure import Prepare
from benchmarks.mutations import MUTATIONS
from benchmarks.packages import Fx

__all__ = ["Case", "cases", "growing", "is_quick"]


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
        "trace": lambda fx, n: graphs.trace(fx, of_size(models.Chain, n)),
        "create": nodes.create,
        "graph_copy": lambda fx, n: graphs.graph_copy(fx, of_size(models.Chain, n)),
        "python_code": lambda fx, n: graphs.python_code(fx, of_size(models.Chain, n)),
        "str": lambda fx, n: graphs.on_graph(fx, of_size(models.Chain, n), str),
        "lint": lambda fx, n: graphs.on_graph(
            fx, of_size(models.Chain, n), graphs.lint
        ),
        "dce": lambda fx, n: graphs.on_graph(fx, of_size(models.Chain, n), graphs.dce),
        "replace_all_uses_with": nodes.replace_all_uses,
        "insert": nodes.insert,
        "insert zig-zag": nodes.zigzag,
        "erase": nodes.erase,
        "find_nodes": nodes.find,
        "compare": nodes.compare,
        "iterate": nodes.iterate,
    }


# -- groups of rows --------------------------------------------------------------


def _tracing() -> Iterator[Case]:
    def trace(
        on: str, target: float, model: Callable[[], nn.Module], cost: int = 1
    ) -> Case:
        quick = on in ("chain 1k", *models.MODELS)
        return Case(
            "Tracer().trace", on, target, lambda fx: graphs.trace(fx, model()), quick,
            repeats=True, cost=cost,
        )  # fmt: skip

    yield trace("chain 1k", 8, lambda: of_size(models.Chain, 1_000))
    yield trace("chain 10k", 8, lambda: of_size(models.Chain, 10_000), 2)
    yield trace("chain 100k", 5, lambda: of_size(models.Chain, 100_000), 6)
    for (name, make), target in zip(models.MODELS.items(), (4, 6, 8, 12), strict=True):
        yield trace(name, target, make)
    yield trace("1,000 parameters", 50, lambda: of_size(models.Parameters, 1000), 3)
    yield trace("300 unpackings", 100, models.Unpackings, 6)
    yield trace("modules 200 deep", 3, lambda: of_size(models.Nested, 200))
    yield trace("10,000 submodules", 4, lambda: of_size(models.Submodules, 10_000), 2)
    yield trace("fan-out 10k", 8, lambda: of_size(models.WideFanOut, 10_000), 2)
    yield trace("two lists of 5k", 8, lambda: of_size(models.LongLists, 10_000), 2)
    yield Case(
        "symbolic_trace", "one node", 3,
        lambda fx: graphs.symbolic_trace(fx, nn.ReLU()), repeats=True,
    )  # fmt: skip
    yield Case(
        "symbolic_trace", "ResNet-50", 5,
        lambda fx: graphs.symbolic_trace(fx, named("ResNet-50")), repeats=True,
    )  # fmt: skip
    yield Case(
        "end to end", "chain 10k", 6,
        lambda fx: graphs.end_to_end(fx, of_size(models.Chain, 10_000)),
        is_quick=False, repeats=True, cost=3,
    )  # fmt: skip
    yield Case(
        "end to end", "GPT-2, 48 layers", 6,
        lambda fx: graphs.end_to_end(fx, named("GPT-2, 48 layers")),
        repeats=True, cost=2,
    )  # fmt: skip


def _code() -> Iterator[Case]:
    for on, model in models_and_chain():
        yield Case(
            "graph.python_code", on, 6, lambda fx, m=model: graphs.python_code(fx, m()),
            is_quick=on != "chain 10k", cost=2,
        )  # fmt: skip
    for on, model in models_and_chain():
        yield Case(
            "python_code after one edit", on, 20,
            lambda fx, m=model: graphs.code_after_edit(fx, m()),
            on == "GPT-2, 48 layers", repeats=True,
        )  # fmt: skip
    for operation, run in (
        ("GraphModule()", graphs.graph_module),
        ("recompile", graphs.recompile),
    ):
        for on in ("ResNet-50", "GPT-2, 48 layers"):
            yield Case(
                operation, on, 100,
                lambda fx, r=run, m=on: r(fx, named(m)), repeats=True,
            )  # fmt: skip
    for on, model in models_and_chain():
        yield Case(
            "edit, recompile and run", on, 1.7,
            lambda fx, m=model: graphs.recompile_and_run(fx, m()),
            on == "GPT-2, 48 layers", repeats=True, cost=2,
        )  # fmt: skip
    yield Case(
        "20 passes, each with recompile, then a run", "GPT-2, 48 layers", 10,
        lambda fx: graphs.passes(fx, named("GPT-2, 48 layers")),
        is_quick=False, repeats=True, cost=4,
    )  # fmt: skip


def _printing() -> Iterator[Case]:
    def chain() -> nn.Module:
        return of_size(models.Chain, 10_000)

    yield Case(
        "str(graph)", "chain 10k", 5, lambda fx: graphs.on_graph(fx, chain(), str),
        repeats=True, cost=2,
    )  # fmt: skip
    yield Case(
        "print_readable", "chain 10k", 5, lambda fx: graphs.print_readable(fx, chain()),
        is_quick=False, repeats=True, cost=2,
    )  # fmt: skip
    yield Case(
        "print_tabular", "chain 10k", 2, lambda fx: graphs.print_tabular(fx, chain()),
        is_quick=False, repeats=True, cost=4,
    )  # fmt: skip


def _checking() -> Iterator[Case]:
    for operation, run, target in (("lint", graphs.lint, 3), ("dce", graphs.dce, 6)):
        for on, model in models_and_chain():
            yield Case(
                "eliminate_dead_code" if run is graphs.dce else operation, on, target,
                lambda fx, r=run, m=model: graphs.on_owned_graph(fx, m(), r), repeats=True,
            )  # fmt: skip


def _copying() -> Iterator[Case]:
    yield Case(
        "Graph.call_function", "10k calls", 4, lambda fx: nodes.create(fx, 10_000),
        repeats=True,
    )  # fmt: skip
    yield Case(
        "Graph.call_function", "100k calls", 4, lambda fx: nodes.create(fx, 100_000),
        is_quick=False, repeats=True, cost=4,
    )  # fmt: skip
    for on in ("GPT-2, 48 layers", "chain 100k"):
        is_model = on in models.MODELS

        def model(on: str = on) -> nn.Module:
            return named(on) if on in models.MODELS else of_size(models.Chain, 100_000)

        cost = 1 if is_model else 6
        yield Case(
            "graph_copy", on, 5, lambda fx, m=model: graphs.graph_copy(fx, m()), is_model,
            repeats=True, cost=cost,
        )  # fmt: skip
        yield Case(
            "deepcopy(graph)", on, 5,
            lambda fx, m=model: graphs.on_graph(fx, m(), copy.deepcopy), is_model,
            repeats=True, cost=cost,
        )  # fmt: skip
    for on in ("ResNet-50", "GPT-2, 48 layers"):
        yield Case(
            "deepcopy(graph module)", on, 8,
            lambda fx, m=on: graphs.deepcopy(fx, named(m)), repeats=True, cost=2,
        )  # fmt: skip
        yield Case(
            "deepcopy(graph module) and run", on, 8,
            lambda fx, m=on: graphs.deepcopy_and_run(fx, named(m)),
            is_quick=False, repeats=True, cost=2,
        )  # fmt: skip
    for on in ("ResNet-50", "GPT-2, 48 layers"):
        yield Case(
            "pickle, there and back", on, 6,
            lambda fx, m=on: graphs.there_and_back(fx, named(m)), on == "ResNet-50",
            repeats=True, cost=3,
        )  # fmt: skip


def _running() -> Iterator[Case]:
    yield Case(
        "Interpreter.run", "chain 1k, tiny tensors", 2.3,
        lambda fx: graphs.interpret(fx, of_size(models.Chain, 1_000)), repeats=True,
    )  # fmt: skip
    yield Case(
        "Interpreter.run", "10k additions of ints", 10,
        lambda fx: graphs.interpret(fx, of_size(models.Operators, 10_000)), repeats=True,
    )  # fmt: skip
    for operation, run, target in (
        ("Transformer.transform", graphs.transform, 5),
        ("ShapeProp", graphs.shape_prop, 4),
        ("FakeTensorProp", graphs.fake_tensor_prop, 5),
    ):
        for on in ("ResNet-50", "GPT-2, 48 layers"):
            is_fake = operation == "FakeTensorProp"
            yield Case(
                operation, on, target, lambda fx, r=run, m=on: r(fx, named(m)),
                not is_fake, repeats=True, cost=6 if is_fake else 2,
            )  # fmt: skip
    yield Case(
        "replace_pattern", "10k nodes, n/4 matches", 10,
        lambda fx: graphs.replace_pattern(fx, 10_000), is_quick=False, cost=6,
    )  # fmt: skip
    yield Case(
        "replace_pattern", "1k nodes, n/4 matches", 4,
        lambda fx: graphs.replace_pattern(fx, 1_000), cost=2,
    )  # fmt: skip


def _editing() -> Iterator[Case]:
    for operation, prepare, repeats in (
        ("iterate over nodes", nodes.iterate, True),
        ("read op, target, args and users", nodes.read, True),
        ("node < node", nodes.compare, True),
        ("all_input_nodes", nodes.inputs, True),
        ("map_arg", nodes.map_arg, True),
        ("find_nodes", nodes.find, True),
        ("find_nodes, unsorted", nodes.find_unsorted, True),
        ("insert", nodes.insert, False),
        ("erase", nodes.erase, False),
        ("replace_all_uses_with, one user each", nodes.replace_all_uses, False),
        ("replace_all_uses_with, n users", nodes.replace_many_uses, True),
        ("replace_input_with", nodes.replace_input, True),
        ("node.args =", nodes.set_args, True),
        ("node.name =", nodes.set_name, True),
    ):
        yield Case(
            operation, "chain 10k", 1, lambda fx, p=prepare: p(fx, 10_000),
            repeats=repeats,
        )  # fmt: skip
    for count in (1_000, 10_000):
        yield Case(
            "replace_all_uses_with, 50 times", f"cat of {count // 1000}k", 1,
            lambda fx, n=count: nodes.replace_in_one_list(fx, n),
        )  # fmt: skip
    for count in (1_000, 10_000):
        for one in MUTATIONS:
            yield Case(
                one.operation, f"{one.shape}, {count // 1000}k", 1,
                lambda fx, m=one, n=count: m.prepare(fx, n),
                is_quick=False, repeats=one.repeats, cost=1 if count == 1_000 else 3,
            )  # fmt: skip
