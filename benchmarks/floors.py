"""What the same work costs where nothing is kept, checked or promised: the floors.

A floor does the part of a row's work that no engine written in Python can leave out. It
is timed in the same turns as the two engines: the time of ``torch.fx`` divided by it is
the ratio that no such engine exceeds.
"""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from benchmarks import bare, models
from benchmarks.made_once import named
from benchmarks.measure import Prepare
from benchmarks.packages import OURS

__all__ = ["FLOORS", "GROWING", "Floor"]


class Floor(NamedTuple):
    """The least that an operation takes."""

    what: str
    """What is timed, in words."""
    prepare: Callable[[str], Prepare]
    """Makes it ready for what a row names."""


# -- tracing ---------------------------------------------------------------------


def _trace(on: str) -> Prepare:
    model = models.GRAPHS[on]()
    parts = 2 if on == "300 unpackings" else 3
    return lambda: bare.Trace(model, inputs=len(models.example(model)), parts=parts).run


def _end_to_end(on: str) -> Prepare:
    trace, compiled = _trace(on)(), _compiled_and_run(on)()
    return lambda: lambda: (trace(), compiled())


# -- code ------------------------------------------------------------------------


def _lines(on: str) -> Prepare:
    rows = [
        (node.name, str(node.target), tuple(map(str, node.args)))
        for node in _graph(on).nodes
    ]

    def run() -> str:
        return "\n".join(
            [f"    {name} = {target}({', '.join(args)})" for name, target, args in rows]
        )

    return lambda: run


def _compiled_and_run(on: str) -> Prepare:
    module = OURS.symbolic_trace(named(on)).eval()
    module(*models.example(named(on)))
    names = module.forward.__globals__
    inputs = models.example(named(on))

    def run() -> Any:
        made: dict[str, Any] = {}
        exec(compile(module.code, "floor", "exec"), names, made)
        return made["forward"](module, *inputs)

    return lambda: run


def _shells(on: str) -> Prepare:
    paths = [
        node.target.split(".")
        for node in _graph(on).nodes
        if node.op in ("call_module", "get_attr")
    ]
    holders = {tuple(path[:end]) for path in paths for end in range(len(path))}

    def run() -> list[nn.Module]:
        return [nn.Module() for _ in holders]

    return lambda: run


# -- nodes -----------------------------------------------------------------------


def _checked(on: str) -> Prepare:
    rows = [(node, node.all_input_nodes) for node in _graph(on).nodes]

    def run() -> None:
        seen: set[Any] = set()
        for node, inputs in rows:
            assert seen.issuperset(inputs)
            seen.add(node)

    return lambda: run


def _chain_of(count: int) -> Prepare:
    """Nodes made one by one."""
    return lambda: lambda: bare.chain(count)


def _copies_of(count: int) -> Prepare:
    """Nodes copied all at once."""
    return _copied([(step, step.args) for step in bare.chain(count)])


def _created(on: str) -> Prepare:
    return _chain_of({"10k calls": 10_000, "100k calls": 100_000}[on])


def _graph_copied(on: str) -> Prepare:
    return _copied([(node, tuple(node.all_input_nodes)) for node in _graph(on).nodes])


def _copied(rows: list[tuple[Any, tuple[Any, ...]]]) -> Prepare:
    return lambda: lambda: bare.copies(rows)


def _transformed(on: str) -> Prepare:
    graph = _graph(on)
    notes = [node.meta for node in graph.nodes]
    copied, shells = _graph_copied(on)(), _shells(on)()
    return lambda: lambda: (copied(), shells(), [dict(meta) for meta in notes])


def _replaced(on: str) -> Prepare:
    count = {"1k nodes, n/4 matches": 1_000, "10k nodes, n/4 matches": 10_000}[on]
    graph = OURS.symbolic_trace(models.Patterned(count)).graph

    def run() -> Any:
        ends = [node for node in graph.nodes if node.target is torch.relu]
        found = [node for node in ends if node.args[0].target is torch.neg]
        return bare.chain(len(found))

    return lambda: run


# -- modules ---------------------------------------------------------------------


def _cloned(on: str) -> Prepare:
    model = named(on)
    tensors = [*model.parameters(), *model.buffers()]
    modules = list(model.modules())
    copied = _graph_copied(on)()

    def run() -> Any:
        copies = [nn.Parameter(t.detach().clone(), t.requires_grad) for t in tensors]
        return copies, [nn.Module() for _ in modules], copied()

    return lambda: run


def _cloned_and_run(on: str) -> Prepare:
    cloned, run_model = _cloned(on)(), _model(on)()
    return lambda: lambda: (cloned(), run_model())


def _pickled(on: str) -> Prepare:
    model = named(on)
    tensors = [*model.parameters(), *model.buffers()]
    trace = _trace(on)()
    return lambda: lambda: (pickle.loads(pickle.dumps(tensors)), trace())


# -- running ---------------------------------------------------------------------


def _model(on: str) -> Prepare:
    model = named(on).eval()
    inputs = models.example(model)
    return lambda: lambda: model(*inputs)


def _model_on_fakes(on: str) -> Prepare:
    model = named(on).eval()
    tensors = dict((*model.named_parameters(), *model.named_buffers()))
    inputs = models.example(model)

    def run() -> Any:
        fake: Any = FakeTensorMode()
        state = {name: fake.from_tensor(value) for name, value in tensors.items()}
        values = tuple([fake.from_tensor(value) for value in inputs])
        with fake:
            return torch.func.functional_call(model, state, values)

    return lambda: run


# -- single steps ----------------------------------------------------------------


def _over(step: Callable[[Any], Any]) -> Callable[[str], Prepare]:
    """One step for each node of a chain."""

    def prepare(on: str) -> Prepare:
        nodes = bare.chain(_SIZES[on])

        def run() -> None:
            for node in nodes:
                step(node)

        return lambda: run

    return prepare


def _walked(on: str) -> Prepare:
    nodes = bare.chain(_SIZES[on])

    def run() -> None:
        for _ in nodes:
            pass

    return lambda: run


def _read(on: str) -> Prepare:
    nodes = [bare.Guarded(step) for step in bare.chain(_SIZES[on])]

    def run() -> None:
        for node in nodes:
            _ = (node.op, node.target, node.args, node.users)

    return lambda: run


def _compared(on: str) -> Prepare:
    nodes = bare.chain(_SIZES[on])

    def run() -> None:
        for one, other in itertools.pairwise(nodes):
            _ = one < other

    return lambda: run


def _mapped(on: str) -> Prepare:
    rows = [node.args for node in bare.chain(_SIZES[on])]

    def run() -> None:
        for args in rows:
            _map(args, _identity)

    return lambda: run


def _map(args: tuple[Any, ...], fn: Callable[[Any], Any]) -> tuple[Any, ...]:
    return tuple(map(fn, args))


def _identity(value: Any) -> Any:
    return value


def _found(on: str) -> Prepare:
    found = bare.chain(_SIZES[on] // 2)
    return lambda: found.copy


def _moved(on: str) -> Prepare:
    steps = bare.chain(_size(on) if on.startswith("few") else 15)

    def run() -> None:
        before = steps[2]
        for step in steps[3:-2]:
            step.put_before(before)
            before.put_before(step)
            before = step

    return lambda: run


def _told(on: str) -> Prepare:
    steps = bare.chain(_size(on) * (1 if "list" in on or "many" in on else 2))

    def run() -> None:
        for _ in range(2):
            for step in steps:
                if type(step) is bare.Step:
                    step.users = step

    return lambda: run


def _size(on: str) -> int:
    return 1_000 if on.endswith(", 1k") else 10_000


_SIZES = {"chain 10k": 10_000}


def _graph(on: str) -> Any:
    return OURS.Tracer().trace(named(on))


_TRACE = Floor(
    "the program on values of which each is its node, with a name and the instruction",
    _trace,
)
_COMPILE = Floor("`compile()` of our code, and one run of that", _compiled_and_run)
_COPY = Floor(
    "an object with sixteen slots and a tuple of arguments for each node", _graph_copied
)

_MOVE = Floor("a method that writes the six links and a label", _moved)

FLOORS: dict[str, Floor] = {
    "Tracer().trace": _TRACE,
    "symbolic_trace": _TRACE,
    "end to end": Floor(f"that of a trace, then {_COMPILE.what}", _end_to_end),
    "graph.python_code": Floor("one f-string a line of words that are known", _lines),
    "GraphModule()": Floor(
        "an `nn.Module()` for each module on the way to what is called", _shells
    ),
    "edit, recompile and run": _COMPILE,
    "str(graph)": Floor("one f-string a line of words that are known", _lines),
    "lint": Floor("a set of the nodes seen, searched for each argument", _checked),
    "eliminate_dead_code": Floor("that of lint, which comes first", _checked),
    "Graph.call_function": Floor(
        "an object with sixteen slots, a tuple of arguments and a name, linked",
        _created,
    ),
    "graph_copy": _COPY,
    "deepcopy(graph)": _COPY,
    "deepcopy(graph module)": Floor(
        "that of graph_copy, a copy of each parameter, an `nn.Module()` for each module",
        _cloned,
    ),
    "deepcopy(graph module) and run": Floor(
        "the same, and one run of the model", _cloned_and_run
    ),
    "pickle, there and back": Floor(
        "that of a trace, and torch's own pickle of the parameters and buffers",
        _pickled,
    ),
    "Interpreter.run": Floor("the model itself", _model),
    "Transformer.transform": Floor(
        "those of graph_copy and GraphModule(), and a copy of each node's meta",
        _transformed,
    ),
    "replace_pattern": Floor(
        "the targets of each node and of its argument, and a node for each match",
        _replaced,
    ),
    "ShapeProp": Floor("the model itself", _model),
    "FakeTensorProp": Floor(
        "each parameter faked once, and the model itself on fake tensors",
        _model_on_fakes,
    ),
    "iterate over nodes": Floor("a loop over a list", _walked),
    "read op, target, args and users": Floor(
        "three properties made of `attrgetter`, so that a write is seen, and a slot",
        _read,
    ),
    "node < node": Floor("a `__lt__` that compares two slots", _compared),
    "all_input_nodes": Floor(
        "a property that makes a list of the arguments", _over(lambda node: node.inputs)
    ),
    "map_arg": Floor("a `map` over the arguments, made a tuple", _mapped),
    "prepend": _MOVE,
    "append": _MOVE,
    "node.args =": Floor(
        "a slot written for each argument that goes, and for each that comes", _told
    ),
    "find_nodes, unsorted": Floor("a copy of a list", _found),
}
"""By operation; a row whose operation is not here is far above its target."""

GROWING: dict[str, Callable[[int], Prepare]] = {
    "create": _chain_of,
    "insert": _chain_of,
    "insert zig-zag": _chain_of,
    "graph_copy": _copies_of,
}
"""How the floors of operations grow that make nodes, for a number of them."""
