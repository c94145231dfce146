"""With example inputs, models are traced that ask for sizes; a graph is never wrong."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from fxls.engine import ExampleTracer, GraphModule, Node, errors, trace_by_example
from fxls.engine.origins.resolve import resolve
from fxls.engine.torch_private import assert_true

TABLE = torch.arange(40.0).reshape(5, 8)


def branches(x: Any) -> Any:
    return x + 1 if x.shape[0] == 2 else x - 1


def branches_on_neither(x: Any) -> Any:
    if x.size(1) % 2 != 0 and x.dim() > 2:
        return x * 2
    return x


def slices_a_table(x: Any) -> Any:
    return x + TABLE[0, : x.shape[1]]


def makes_a_tensor(x: Any) -> Any:
    return x + torch.ones(x.shape[0], x.shape[1], dtype=x.dtype)


def counts(x: Any) -> Any:
    return x + torch.arange(x.size(1))


def loops(x: Any) -> Any:
    total = x[0]
    for n in range(1, x.shape[0]):
        total = total + x[n] * n
    return total


def loops_over_rows(x: Any) -> Any:
    return sum(row.sum() for row in x)


def halves(x: Any) -> Any:
    n = x.shape[1]
    while n > 1:
        n = n // 2
        x = x[:, :n]
    return x


def spreads(x: Any) -> Any:
    return x.reshape(*x.shape, 1)


def asks_for_length(x: Any) -> Any:
    return x / len(x)


def scales(x: Any) -> Any:
    return x * math.sqrt(x.shape[-1]) * float(x.shape[0])


def fills_with_the_least(x: Any) -> Any:
    return x.masked_fill(x > 0, torch.finfo(x.dtype).min)


def asks_for_the_type(x: Any) -> Any:
    return x.double() if x.dtype in (torch.float16, torch.float32) else x


def asks_a_set(x: Any) -> Any:
    return x * 3 if x.shape[0] in {2, 3} else x


def asks_a_dict(x: Any) -> Any:
    return x * {2: 5}.get(x.shape[0], 7)


def asserts(x: Any) -> Any:
    assert x.shape[1] <= 8
    return x.relu()


def changes_in_place(x: Any) -> Any:
    y = x.clone()
    y.t_()
    return y.add_(1) if y.shape[0] > 2 else y


def splits(x: Any) -> Any:
    return torch.cat(x.split(x.shape[1] // 2 or 1, dim=1)[::-1], dim=1)


def formats(x: Any) -> Any:
    return x + {"2": 1, "3": 2}.get(f"{x.shape[0]}", 3) + (f"{x.dim():d}d" == "2d")


def asks_for_the_device(x: Any) -> Any:
    with torch.autocast(x.device.type, enabled=False):
        return x @ x.t()


def asks_a_set_of_shapes(x: Any) -> Any:
    return x * 3 if x.shape in {(2, 4), (3, 3)} else x


def asks_for_the_kind_of_a_size(x: Any) -> Any:
    size = x.shape[-1]
    size = (size, size) if isinstance(size, int) else size
    return x.reshape(-1) * size[0] if isinstance(x.shape, tuple) else x


def asks_for_none(x: Any) -> Any:
    found = (x + 1, x.grad, None)
    return found[0] if x.grad is None and found[1] is None else x


PROGRAMS = [
    *(branches, branches_on_neither, slices_a_table, makes_a_tensor, counts, loops),
    *(loops_over_rows, halves, spreads, asks_for_length, scales),
    *(fills_with_the_least, asks_for_the_type, asks_a_set, asks_a_dict, asserts),
    *(changes_in_place, splits, formats, asks_for_the_device),
    *(asks_a_set_of_shapes, asks_for_the_kind_of_a_size, asks_for_none),
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.__name__)
def test_a_graph_does_what_the_program_does_or_says_that_it_does_not(
    program: Callable[[Any], Any],
) -> None:
    example = torch.randn(2, 4)
    graph_module = trace_by_example(program, (example,))
    assert torch.equal(graph_module(example), program(example))
    for rows in (1, 2, 3, 5):
        for columns in (1, 3, 4, 8):
            for dtype in (torch.float32, torch.float64):
                compare(graph_module, program, torch.randn(rows, columns, dtype=dtype))


def compare(
    graph_module: GraphModule, program: Callable[[Any], Any], x: torch.Tensor
) -> None:
    """Outputs are equal, or the graph raises: what is false never comes out."""
    try:
        expected = program(x.clone())
    except (AssertionError, RuntimeError, IndexError):
        expected = None
    try:
        found = graph_module(x.clone())
    except (AssertionError, RuntimeError, IndexError):
        return
    assert expected is not None
    assert torch.equal(found, expected)


CONDITIONS = st.builds(
    "x.{} {} {}".format,
    st.sampled_from(
        ["shape[0]", "size(1)", "shape[0] * x.size(1)", "dim()", "numel()"]
    ),
    st.sampled_from(["==", "!=", "<", ">=", "in"]),
    st.sampled_from(["2", "3", "4", "TABLE.shape[1]"]),
).map(
    lambda text: text.replace("in ", "in [1, 2, 6] or 9 < ") if " in " in text else text
)

STEPS = st.one_of(
    CONDITIONS.map("if {}:\n        x = x * 2 + 1\n    else:\n        x = -x".format),
    CONDITIONS.map("x = x + 1 if not ({}) else x.sin()".format),
    st.just("x = x + TABLE[0, : x.shape[1]]"),
    st.just("x = torch.cat([x, x[:, :1]], dim=1)"),
    st.just("x = x.t().contiguous()"),
    st.just("for n in range(x.shape[0]):\n        x = x + n"),
    st.just("x = x + torch.zeros(x.shape[0], x.size(1)) + len(x)"),
    st.just("x = x.reshape(*x.shape[:-1], -1, 1).squeeze(-1)"),
    st.just("x = x * max(x.shape[0], x.shape[1])"),
)


@given(
    steps=st.lists(STEPS, min_size=1, max_size=6),
    example=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    others=st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), max_size=4),
)
def test_programs_that_ask_for_sizes_by_chance(
    steps: list[str],
    example: tuple[int, int],
    others: list[tuple[int, int]],
) -> None:
    body = "\n".join(f"    {step}" for step in [*steps, "return x"])
    names: dict[str, Any] = {"TABLE": TABLE, "torch": torch}
    exec(f"def program(x):\n{body}\n", names)
    program = names["program"]
    x = torch.randn(*example)
    try:
        expected = program(x)
    except RuntimeError:
        return
    graph_module = trace_by_example(program, (x,))
    assert torch.equal(graph_module(x), expected)
    for other in others:
        compare(graph_module, program, torch.randn(*other))


def assertions(graph_module: GraphModule) -> list[Node]:
    """What a graph asserts of its inputs."""
    found = graph_module.graph.find_nodes(op="call_function", target=assert_true)
    return list(found)


def test_where_nobody_asks_a_size_stays_open() -> None:
    def program(x: Any) -> Any:
        return x.reshape(x.shape[0], -1) * x.size(1)

    graph_module = trace_by_example(program, (torch.randn(2, 3, 4),))
    x = torch.randn(5, 6, 7)
    assert torch.equal(graph_module(x), program(x))
    assert assertions(graph_module) == []


def test_an_assertion_names_the_line_that_asked_and_is_of_it() -> None:
    graph_module = trace_by_example(branches, (torch.randn(2, 3),))
    (node,) = assertions(graph_module)
    line = branches.__code__.co_firstlineno + 1
    text = f"The inputs that this was traced for give True at test_by_example.py:{line}"
    assert node.args[1] == text
    found = resolve(node._frames)  # pyright: ignore[reportPrivateUsage]  # the engine's tests ask for it
    assert found is not None
    assert found.places[0].span.start.line == line - 1
    with pytest.raises(AssertionError, match=r"test_by_example\.py"):
        graph_module(torch.randn(3, 3))


def test_the_same_question_is_asserted_once() -> None:
    def program(x: Any) -> Any:
        n = x.shape[0]
        return TABLE[:n] + TABLE[:n, : x.shape[1]] if n == 5 and n == 5 else TABLE[n]

    graph_module = trace_by_example(program, (torch.randn(5, 8),))
    # n == 5, twice because it is written twice, n, and the columns
    assert len(assertions(graph_module)) == 4


def test_what_is_in_a_tensor_decides_nothing() -> None:
    def program(x: Any) -> Any:
        return x if x.sum() > 0 else -x

    with pytest.raises(errors.ControlFlowError, match=r"test_by_example\.py:\d+:\d+"):
        trace_by_example(program, (torch.ones(3),))

    def number(x: Any) -> Any:
        return torch.zeros(int(x.sum()))

    with pytest.raises(errors.ValueNeededError, match=r"test_by_example\.py:\d+:\d+"):
        trace_by_example(number, (torch.ones(3),))

    def item(x: Any) -> Any:
        return x if x.sum().item() > 0 else -x

    with pytest.raises(errors.ControlFlowError, match=r"test_by_example\.py:\d+:\d+"):
        trace_by_example(item, (torch.ones(3),))


class Attending(nn.Module):
    """Asks whether a part of what a module gave is there."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(4, 2)

    def forward(self, x: Any) -> Any:
        out, weights = self.attention(x, x, x, need_weights=False)
        both = self.attention(x, x, x, need_weights=False)
        return out + both[0] if weights is None and both[1] is None else x


def test_a_part_of_a_result_that_is_none_is_none() -> None:
    model = Attending().eval()
    graph_module = trace_by_example(model, (torch.randn(3, 4),))
    x = torch.randn(5, 4)
    assert torch.equal(graph_module(x), model(x))


def test_a_set_is_not_asked_for_what_a_tensor_holds() -> None:
    def program(x: Any) -> Any:
        return x if x.sum().item() in {1.0, 2.0} else -x

    with pytest.raises(errors.ValueNeededError, match=r"test_by_example\.py:\d+:\d+"):
        trace_by_example(program, (torch.ones(2),))


def test_a_dict_has_the_keys_of_the_example() -> None:
    def added(a: Any, b: Any) -> Any:
        return a - b

    def program(batch: Any) -> Any:
        total = added(**batch)
        for key in batch:
            total = total + batch[key]
        for key, value in batch.items():
            total = total + value * len(key)
        for value in batch.values():
            total = total * value
        return dict.fromkeys(batch.keys(), total)

    batch = {"a": torch.randn(2), "b": torch.randn(2)}
    graph_module = trace_by_example(program, (batch,))
    other = {"a": torch.randn(3), "b": torch.randn(3)}
    for one in (batch, other):
        expected, found = program(one), graph_module(one)
        assert list(found) == list(expected)
        assert all(torch.equal(found[key], expected[key]) for key in expected)
    with pytest.raises(AssertionError, match=r"give \['a', 'b'\] at test_by_example"):
        graph_module({"b": torch.randn(2), "a": torch.randn(2)})


def test_a_program_that_asks_is_told_that_it_is_traced() -> None:
    def program(x: Any) -> Any:
        if isinstance(x.sum(), torch.fx.Proxy):
            return x + 1
        return x if x.sum() > 0 else -x

    graph_module = trace_by_example(program, (torch.zeros(2),))
    assert torch.equal(graph_module(torch.zeros(2)), torch.ones(2))


class Options(nn.Module):
    """A forward with what forwards of transformers have."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.norm = nn.BatchNorm1d(4)
        self.register_buffer("ids", torch.arange(16)[None])

    def forward(
        self, x: Any, mask: Any = None, scale: float = 1.0, *, twice: bool = False
    ) -> Any:
        y = self.norm(self.linear(x)) * scale
        if mask is not None:
            y = y.masked_fill(mask[: x.shape[0]], 0.0)
        if twice:
            y = y * 2
        ids: Any = self.ids
        return {"y": y, "ids": ids[:, : x.shape[0]]}


def test_what_is_no_tensor_is_as_the_call_gives_it() -> None:
    model = Options()
    x, mask = torch.randn(3, 4), torch.tensor([[True], [False], [True]])
    for args, kwargs in (
        ((x,), {}),
        ((x, mask), {"twice": True}),
        ((x, None, 2.5), {"twice": False}),
    ):
        model.train()
        graph_module = trace_by_example(model, args, kwargs)
        model.eval()
        graph_module.eval()
        expected = model(*args, **kwargs)
        found = graph_module(*args, *[None] * (2 - len(args)), **_numbered(kwargs))
        assert list(found) == list(expected)
        assert all(torch.equal(found[key], expected[key]) for key in expected)


def _numbered(kwargs: dict[str, Any]) -> dict[str, Any]:
    """As FX does, the engine numbers an input whose value is fixed."""
    return {f"{name}_1": value for name, value in kwargs.items()}


def adds_one(x: Any) -> Any:
    return x.add_(1)


def test_nothing_is_computed_and_nothing_changes() -> None:
    model = nn.Sequential(nn.BatchNorm1d(4), nn.Dropout())
    before = {name: value.clone() for name, value in model.state_dict().items()}
    state = torch.get_rng_state()
    trace_by_example(model, (torch.randn(3, 4),))
    state_behind = torch.get_rng_state()
    torch.set_rng_state(state)
    torch.randn(3, 4)
    assert torch.equal(torch.get_rng_state(), state_behind)
    after = model.state_dict()
    assert all(torch.equal(after[name], value) for name, value in before.items())
    x = torch.ones(2)
    trace_by_example(adds_one, (x,))
    assert torch.equal(x, torch.ones(2))


def test_a_tracer_of_ones_own_may_have_other_leaves() -> None:
    class Leaves(ExampleTracer):
        def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
            return False

    graph = Leaves({"input": torch.randn(2, 3)}).trace(nn.Linear(3, 4))
    assert [str(node.target) for node in graph.nodes][1:3] == ["weight", "bias"]


def test_arguments_that_do_not_fit_are_refused() -> None:
    with pytest.raises(TypeError, match="too many positional arguments"):
        trace_by_example(branches, (1, 2))
