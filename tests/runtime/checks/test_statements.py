"""What the text of a statement says of the value that it binds."""

from __future__ import annotations

import ast

import pytest
import torch

from fxls.runtime.checks.statements import Statement, statement_of, taken_by

BOUND = {"x", "y", "size"}

SIZES = [
    *("x.size()", "x.size(-1)", "x.shape", "x.shape[0]", "x.dtype", "x.device"),
    *("size", "size[0]", "size[slice(None, -1, None)]", "size + (192,)", "size * 2"),
    *("2 - size", "size // 2", "size + (size, 3)"),
    *("torch.ops.aten.sym_size.int(x, 0)", "torch.ops.aten.sym_numel.default(x)"),
]
NO_SIZES = [
    *("x", "x[0]", "x * 2", "x.mean()", "x.size", "size / 2", "size * 0.5", "size + x"),
    *("size * y", "self.shape", "self.size()", "sym_size(x)", "torch.numel(x)"),
    *("1 / size", "size ** -1"),
]
PARTS = [
    *("x[0]", "x[0, :]", "x[y]", "x.view(2, 3)", "x.view((2, size))", "x.t()"),
    *("x.split(64, dim = 2)", "torch.cat([x, y], 1)", "torch.stack((x, y))"),
    *("torch.flatten(x, 1)", "x.contiguous(memory_format = torch.channels_last)"),
    *(
        "torch.ops.aten.view.default(x, [2, 3])",
        "torch.ops.aten.permute.default(x, [])",
    ),
]
NO_PARTS = [
    *("x", "x * 2", "x.mul(2)", "x.relu()", "x + y", "torch.relu(x)", "-x"),
    *("x.view(torch.float32)", "torch.ops.aten.view.dtype(x, torch.float32)"),
    *("x.view(dtype = torch.int32)", "self.view(x)", "view(x)", "split(x, 2)"),
    *("other.view(2)", "torch.cat(x.unbind())", "torch.cat([x, self.y])"),
    *("torch.ops.mine.view.default(x, [2])", "torchvision.split(x, 2)"),
    *("torch.cat([x * 2, y])", "getattr(self, 'x')[0]", "x.view"),
]
WITHOUT_NAN = [
    *("x * 2", "2.5 * x", "x * -0.5", "x + 1", "0 + x", "x - 1.5", "1 - x", "x / 4"),
    *("torch.mul(x, 3)", "x.add(1.0)", "torch.tanh(x)", "x.exp()", "torch.sigmoid(x)"),
    *("torch.ops.aten.mul.Tensor(x, 2)", "torch.ops.aten.neg.default(x)", "x.relu()"),
    *("x.masked_fill(y, -10000.0)", "torch.masked_fill(x, y, 0)"),
    *("x ** 2", "torch.pow(x, 3.0)"),
]
MAYBE_NAN = [
    *("x + y", "x * 0", "x * y", "x / 0", "1 / x", "x * 1e-30", "x + inf", "x * nan"),
    *("x.masked_fill(y, float('nan'))", "x.masked_fill(y, x)", "x ** 0.5", "x % 2"),
    *("x ** -1", "x ** 0", "2 ** x", "x ** y", "torch.ops.mine.tanh.default(x)"),
    *("torch_mine.tanh(x)", "torch_mine_tanh(x)"),
    *("torch.sin(x)", "torch.add(x, 1, alpha = 2)", "x.sub(y)", "self.relu(x)"),
    *("tanh(x)", "mod.tanh(x)", "x * True", "x * 1e300", "x // 2", "x * 'a'"),
    *("torch.tanh(x, y)", "torch.softmax(x, 0)", "x.div(2, rounding_mode = 'floor')"),
]
KEEPING_FINITE = [
    *("x + y", "x - y", "x + 1", "1 - x", "x * 0.5", "-1 * x", "x / 2", "x / -1.0"),
    *("torch.add(x, y)", "x.sub(y)", "torch.ops.aten.add.Tensor(x, y)", "x.div(8)"),
    *("x.expand(2, 3)", "torch.ops.aten.expand.default(x, [2, 3])", "x.expand_as(y)"),
    *("x.masked_fill(y > 0, -1.0)", "torch.masked_fill(x, y > 0, 0)"),
]
NOT_KEEPING_FINITE = [
    *("x * 2", "x * 0", "x * 1e-30", "x / 0.5", "1 / x", "x * y", "x / y", "-x"),
    *("torch.add(x, y, alpha = 2)", "x.sqrt()", "add(x, y)", "mod.add(x, y)", "x ** 1"),
    *("self.add(x, y)", "x + y + 1", "torch.sub(x)", "0.5 * 0.5"),
    *("x.masked_fill(y, x)", "x.masked_fill(y, 1e38)", "x.masked_fill(0.0, y, 0.0)"),
    "torch.ops.mine.add.Tensor(x, y)",
]


def test_which_values_are_sizes() -> None:
    assert [text for text in SIZES + NO_SIZES if read(text).is_bare] == SIZES


def test_which_values_have_no_numbers_of_their_own() -> None:
    assert [text for text in PARTS + NO_PARTS if read(text).hands_on] == PARTS


def test_which_values_have_a_nan_only_where_one_is_read() -> None:
    known = [text for text in WITHOUT_NAN + MAYBE_NAN if read(text).makes_no_nan]
    assert known == WITHOUT_NAN


def test_which_backwards_keep_finite_gradients_finite() -> None:
    texts = KEEPING_FINITE + NOT_KEEPING_FINITE
    assert [text for text in texts if read(text).keeps_finite] == KEEPING_FINITE


@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.float32, torch.half, torch.bfloat16]
)
def test_what_the_texts_say_holds_for_the_largest_and_the_smallest_numbers(
    dtype: torch.dtype,
) -> None:
    limits = torch.finfo(dtype)
    sizes = [
        limits.tiny,
        limits.smallest_normal,
        limits.eps,
        1.0,
        limits.max,
        torch.inf,
    ]
    numbers = torch.tensor([0.0, *sizes, *(-size for size in sizes)], dtype=dtype)
    x, y = (one.clone() for one in torch.meshgrid(numbers, numbers, indexing="ij"))
    for text in WITHOUT_NAN:
        value = eval(text, {"torch": torch, "x": x, "y": y > 0})
        assert not value.isnan().any(), text
    finite = numbers[numbers.isfinite()]
    for text in KEEPING_FINITE:
        if "expand" in text:
            continue  # a shape that changes is judged when it runs
        given = {one: torch.zeros_like(x).requires_grad_() for one in ("x", "y")}
        value = eval(text, {"torch": torch, **given})
        for gradient in finite:
            value.backward(torch.full_like(value, gradient.item()), retain_graph=True)
            for one in given.values():
                assert one.grad is None or one.grad.isfinite().all(), text
                one.grad = None


TAKING = (
    """
given = fx_pytree.tree_flatten_spec([x, y], self._in_spec)
one, two, = given
""",
    """
one, x, = fx_pytree.tree_flatten_spec(([x], {"y": y}), self._in_spec)
add = x + one
""",
    """
items = iter(x)
x.clear()
one = next(items)
other = next(y)
""",
    """
lower = x
relu = lower.relu();  lower = None
last = relu
""",
)


def test_which_parameters_are_nodes() -> None:
    found: list[tuple[list[str], list[str], list[int]]] = []
    for text in TAKING:
        body = ast.parse(text).body
        taken = taken_by(body, ["x", "y"])
        lines = [at.lineno - 1 for at in body if at in taken.statements]
        found.append((sorted(taken.parameters), sorted(taken.iterators), lines))

    assert found == [
        ([], [], []),
        (["x", "y"], [], [1]),
        (["x"], ["items"], [1, 3]),
        (["x"], [], [1]),
    ]


def read(text: str) -> Statement:
    (assignment,) = ast.parse(f"value = {text}").body
    return statement_of(assignment, (), BOUND, {"size"}, taken_by([], []))
