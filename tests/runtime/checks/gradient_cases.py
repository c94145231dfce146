"""Models whose backward makes a NaN, for values that are used, changed and viewed in ways
that hide where it came from.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, cast

import torch
from torch import nn

fx: Any = torch.fx
functional: Any = nn.functional

Run = Callable[[Any], Any]


class _DividesByZero(torch.autograd.Function):
    """A function of the user's whose backward divides 0 by 0."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x * 1

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return grad_outputs[0] * (x - x) / (x - x)


class _TwoResults(torch.autograd.Function):
    """One with two results, whose backward is bad for the first alone."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x * 2, x * 3

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> torch.Tensor:
        first, second = grad_outputs
        return first * float("nan") + second


def divides(x: Any) -> Any:
    return cast("Any", _DividesByZero).apply(x)


def two_results(x: Any) -> Any:
    return cast("Any", _TwoResults).apply(x)


def scale_in_place(x: Any) -> float:
    """Changes what it gets, and gives nothing that leads there."""
    x.mul_(0).sqrt_()
    return 1.0


fx.wrap("divides")
fx.wrap("two_results")
fx.wrap("scale_in_place")


def several_users(x: Any) -> Any:
    r = torch.relu(x)
    root = r.sqrt()
    out = torch.where(r > 0, root * 2, r)
    return out.sum()


def the_last_user_is_fine(x: Any) -> Any:
    flat = x * 0
    root = flat.sqrt()
    one = flat.exp()
    two = flat.sin()
    return root.sum() + one.sum() + two.sum()


def the_first_user_is_fine(x: Any) -> Any:
    flat = x * 0
    one = flat.exp()
    root = flat.sqrt()
    return (one + root).sum()


def masked_fill_trap(x: Any) -> Any:
    logs = torch.log(x * 0)
    kept = logs.masked_fill(x > -10, 0.0)
    return (kept + x).sum()


def where_trap_of_division(x: Any) -> Any:
    zero = x - x
    ratio = x / zero
    return torch.where(zero == 0, x, ratio).sum()


def power_of_zero(x: Any) -> Any:
    zero = x * 0
    half = zero.pow(0.5)
    return (half * zero + x).sum()


def norm_of_zero(x: Any) -> Any:
    zero = x * 0
    length = (zero * zero).sum().sqrt()
    return length + x.sum()


def arc_cosine_of_one(x: Any) -> Any:
    one = x * 0 + 1
    angle = torch.acos(one)
    return (angle * 0).sum() + one.sum()


def arc_sine_behind_a_mask(x: Any) -> Any:
    one = x * 0 + 1
    angle = torch.asin(one)
    return torch.where(one < 1, angle, one).sum()


def custom_function(x: Any) -> Any:
    y = x.sin()
    z = divides(y)
    return (z + y).sum()


def custom_function_with_two_results(x: Any) -> Any:
    y = x.exp()
    first, second = two_results(y)
    return (first * second + y).sum()


def custom_function_used_twice(x: Any) -> Any:
    y = divides(x.cos())
    return (y * y + y.tanh()).sum()


def view_of_a_bad_one(x: Any) -> Any:
    root = (x * 0).sqrt()
    rows = root.view(2, 2)
    turned = rows.t()
    return torch.where(turned > 1, turned, turned * 0).sum()


def views_of_one_value(x: Any) -> Any:
    flat = x * 0
    first = flat[:2]
    last = flat[2:]
    return first.exp().sum() + last.sqrt().sum()


def unbound(x: Any) -> Any:
    flat = (x * 0).view(2, 2)
    first, second = flat.unbind(0)
    return (first.sqrt() + second).sum()


def split(x: Any) -> Any:
    first, second = torch.split(x * 0, 2)
    return (second.sqrt() * 2 + first.exp()).sum()


def chunked(x: Any) -> Any:
    first, second = torch.chunk(x, 2)
    return (first + (second * 0).sqrt()).sum()


def in_place_addition(x: Any) -> Any:
    y = (x * 0).pow(0.5)
    y.add_(1)
    return torch.where(y > 5, y, x).sum()


def in_place_root(x: Any) -> Any:
    y = x * 0
    y.sqrt_()
    return torch.where(y > 5, y, x).sum()


def in_place_of_a_view(x: Any) -> Any:
    y = x * 0
    part = y[1:]
    part.sqrt_()
    return torch.where(y > 5, y, x).sum()


def in_place_of_a_view_then_the_view(x: Any) -> Any:
    y = x * 0
    part = y[1:]
    part.sqrt_()
    return part.sum() + y.exp().sum()


def in_place_addition_to_a_view(x: Any) -> Any:
    y = (x * 0).pow(0.5)
    part = y[:2]
    part.add_(3)
    return torch.where(part > 9, part, part * 0).sum()


def in_place_behind_the_back(x: Any) -> Any:
    y = x * 1
    factor = scale_in_place(y)
    return (torch.where(y > 5, y, x) * factor).sum()


def in_place_behind_the_back_at_the_end(x: Any) -> Any:
    y = x * 1
    scale_in_place(y)
    return y


def residual(x: Any) -> Any:
    y = torch.relu(x)
    y = y + (y * 0).sqrt()
    return (y + y.tanh()).sum()


def residuals_in_a_loop(x: Any) -> Any:
    for i in range(5):
        inner = torch.tanh(x)
        if i == 3:
            inner = (inner * 0).sqrt()
        x = x + inner
    return x.sum()


def gathered(x: Any) -> Any:
    index = torch.tensor([0, 0, 1])
    root = (x * 0).sqrt()
    picked = torch.gather(root, 0, index)
    return torch.where(picked > 3, picked, picked * 0).sum() + x.sum()


def indexed(x: Any) -> Any:
    zero = x * 0
    logs = zero.log()
    picked = logs[torch.tensor([1, 2])]
    return (picked * 0).sum() + zero.sum()


def scattered(x: Any) -> Any:
    zero = x * 0
    to = torch.zeros(4).scatter(0, torch.tensor([0, 1, 2, 3]), zero.sqrt())
    return torch.where(to > 1, to, zero).sum()


def index_added(x: Any) -> Any:
    zero = x * 0
    to = torch.zeros(4).index_add(0, torch.tensor([0, 0, 1, 1]), zero.rsqrt())
    return torch.where(to < 0, to, x).sum()


def concatenated(x: Any) -> Any:
    zero = x * 0
    both = torch.cat([zero.sqrt(), zero.exp()])
    return torch.where(both > 0.5, both, both * 0).sum()


def stacked(x: Any) -> Any:
    zero = x * 0
    both = torch.stack([zero.exp(), zero.sqrt()])
    return (both * both.detach()).sum()


def two_bad_users(x: Any) -> Any:
    zero = x * 0
    one = zero.sqrt()
    two = zero.log()
    return (torch.where(one > 1, one, x) + torch.where(two > 1, two, x)).sum()


def bad_at_the_input(x: Any) -> Any:
    return torch.where(x > 100, (x - x.detach()).sqrt(), x).sum()


def bad_far_below(x: Any) -> Any:
    y = (x * 0).sqrt().view(2, 2).sum(0)
    for _ in range(6):
        y = torch.tanh(y) + y
    return torch.where(y > 1, y, y * 0).sum()


def expanded(x: Any) -> Any:
    row = (x * 0).sqrt().unsqueeze(0)
    wide = row.expand(3, 4)
    return torch.where(wide > 1, wide, wide * 0).sum()


def infinite_of_both_signs(x: Any) -> Any:
    zero = (x * 0).exp() - 1
    root = zero.sqrt()
    return (root - zero.sqrt()).sum()


def log_of_softmax(x: Any) -> Any:
    far = x * 1000
    odds = torch.softmax(far, 0)
    return (odds * odds.log()).nan_to_num().sum()


def standard_deviation_of_one(x: Any) -> Any:
    same = x * 0 + 3
    spread = same.std()
    return (same - same.mean()).sum() / (spread + 1)


def cosine_of_zero(x: Any) -> Any:
    zero = x * 0
    length = zero.norm(dim=0, p=3)
    return (zero / (length + 1)).sum() + (length * length).sum()


def distance_of_the_same(x: Any) -> Any:
    rows = (x * 0).view(2, 2)
    apart = ((rows[0] - rows[1]) ** 2).sum().sqrt()
    return apart * 2 + rows.exp().sum()


def product_with_infinite(x: Any) -> Any:
    huge = (x * 0).reciprocal()
    return (huge * 0).nan_to_num().sum() + x.sum()


def logarithm_of_a_sum(x: Any) -> Any:
    zero = torch.relu(x - 100)
    return torch.where(zero > 0, (zero.sum() * zero).log(), zero).sum()


def hypotenuse(x: Any) -> Any:
    zero = x * 0
    return torch.hypot(zero, zero).sum() + zero.sum()


def angle(x: Any) -> Any:
    zero = x * 0
    return torch.atan2(zero, zero).sum() + zero.cos().sum()


def clamped(x: Any) -> Any:
    root = (x * 0).sqrt()
    return (root.clamp(min=1.0) + x).sum()


def largest(x: Any) -> Any:
    zero = x * 0
    root = zero.sqrt()
    return torch.maximum(root, zero.exp()).sum()


def complex_length(x: Any) -> Any:
    zero = torch.complex(x * 0, x * 0)
    return (zero.abs() * zero.abs().sqrt()).sum()


def matrix_product(x: Any) -> Any:
    rows = (x * 0).view(2, 2)
    root = rows.sqrt()
    return (root @ rows + rows.exp()).sum()


def normalized(x: Any) -> Any:
    rows = (x * 0).view(2, 2)
    scaled = functional.normalize(rows, eps=0.0)
    return scaled.nan_to_num().sum() + rows.sum()


FUNCTIONS: list[Run] = [
    *(several_users, the_last_user_is_fine, the_first_user_is_fine, masked_fill_trap),
    *(where_trap_of_division, power_of_zero, norm_of_zero, arc_cosine_of_one),
    *(arc_sine_behind_a_mask, custom_function, custom_function_with_two_results),
    *(custom_function_used_twice, view_of_a_bad_one, views_of_one_value, unbound),
    *(split, chunked, in_place_addition, in_place_root, in_place_of_a_view),
    *(in_place_of_a_view_then_the_view, in_place_addition_to_a_view),
    *(in_place_behind_the_back, in_place_behind_the_back_at_the_end, residual),
    *(residuals_in_a_loop, gathered, indexed, scattered, index_added, concatenated),
    *(stacked, two_bad_users, bad_at_the_input, bad_far_below, expanded),
    *(infinite_of_both_signs, log_of_softmax, standard_deviation_of_one),
    *(cosine_of_zero, distance_of_the_same, product_with_infinite),
    *(logarithm_of_a_sum, hypotenuse, angle, clamped, largest, complex_length),
    *(matrix_product, normalized),
]


class Called(nn.Module):
    """A function as a model."""

    def __init__(self, function: Run) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x)


class Gate(nn.Module):
    """A submodule with a parameter, at whose zeros its backward is NaN."""

    def __init__(self, *, planted: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(4) if planted else torch.ones(4))
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        strength = torch.sqrt(self.weight * self.weight)
        return torch.tanh(self.linear(x)) * strength + x


class Gates(nn.Module):
    """Submodules in a row, one of which is planted."""

    def __init__(self, planted: int) -> None:
        super().__init__()
        self.gates = nn.Sequential(*(Gate(planted=i == planted) for i in range(4)))

    def forward(self, x: Any) -> Any:
        return self.gates(x).sum()


_GOOD: list[Run] = [
    *(torch.tanh, torch.sin, torch.exp, torch.relu, torch.sigmoid),
    *(
        lambda v: v.view(2, 2).t().reshape(4),
        lambda v: v * 0.5,
        lambda v: v[[3, 1, 0, 2]],
    ),
    *(lambda v: torch.cat(torch.split(v, 2)[::-1]), lambda v: v.clone().add_(1.0)),
    *(lambda v: torch.stack(v.unbind()), lambda v: v.masked_fill(v > 3, 0.0)),
    *(lambda v: v / 4 - 1.5, lambda v: torch.add(v, v), lambda v: v - v.sum()),
    *(lambda v: v.expand(3, 4).sum(0), lambda v: v.view(4, 1).expand(4, 1).view(4)),
    lambda v: (v.view(2, 1, 2) @ v.view(2, 2, 1)).view(2).repeat(2),
]
_BAD: list[Run] = [
    *(lambda v: (v * 0).sqrt(), lambda v: (v * 0).log().nan_to_num()),
    *(lambda v: (v - v.detach()).pow(0.25), lambda v: (v * 0 + 1).acos(), divides),
    *(
        lambda v: (v * 0).rsqrt().nan_to_num(posinf=1.0),
        lambda v: (v * 0).clone().sqrt_(),
    ),
    *(lambda v: v / (v * 0), lambda v: torch.where(v > 99, (v * 0).sqrt(), v)),
]


class Random(nn.Module):
    """A graph of values that take part in one another, with one bad one planted."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        choose = random.Random(seed)
        planted = choose.randrange(3, 12)
        self.steps: list[tuple[int, Run, bool, int | None]] = []
        """The value that is read, what is made of it, whether that is planted, and the
        value that is added. They are drawn here, where no tracer is."""
        for i in range(14):
            made = 2 + i
            read = choose.randrange(max(0, made - 4), made)
            run = choose.choice(_BAD if i == planted else _GOOD)
            added = choose.randrange(made) if choose.random() < 0.5 else None
            self.steps.append((read, run, i == planted, added))

    def forward(self, x: Any) -> Any:
        values = [x, torch.tanh(x)]
        for read, run, is_planted, added in self.steps:
            value = values[read]
            made = run(value)
            if is_planted:
                # What is NaN forward would be NaN everywhere.
                made = torch.where(made > 1e30, made, value)
            values.append(made if added is None else made + values[added])
        return sum(value.sum() * 0.1 for value in values)


def models() -> dict[str, Callable[[], nn.Module]]:
    """Every case by its name; a model is made anew for each use."""
    cases: dict[str, Callable[[], nn.Module]] = {
        function.__name__.replace("_", " "): lambda function=function: Called(function)
        for function in FUNCTIONS
    }
    for i in range(4):
        cases[f"gate {i}"] = lambda i=i: Gates(i)
    for seed in range(60):
        cases[f"random {seed}"] = lambda seed=seed: Random(seed)
    return cases
