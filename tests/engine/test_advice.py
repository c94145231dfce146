"""Every advice of an error is followed here, in a program that it was given for.

The changed program is traced, and its graph computes what the program computes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest
import torch
from torch import nn

from fxls.engine import PH, GraphModule, errors, wrap
from fxls.engine.tracing.tracer import Tracer
from tests.engine.asserting import Asserting, asserts_a_matrix

X = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
TABLE = torch.arange(12.0).reshape(3, 4)
WEIGHT = nn.Parameter(torch.ones(2))
HELPER = nn.Linear(2, 2)


class Kept:
    """An argument that generated code cannot write down, until it says how."""

    def __init__(self, factor: float) -> None:
        self.factor = factor


class Told(Kept):
    def __fx_create_arg__(self, tracer: Any) -> Any:
        return tracer.create_node("call_function", Told, args=(self.factor,), kwargs={})


def _negative_or_not(x: Any) -> Any:
    return x if x.sum() > 0 else -x


def _rows(x: Any) -> Any:
    return list(x)


def _scaled(x: Any, kept: Any) -> Any:
    return x * (kept.factor if isinstance(kept, Kept) else kept)


def _number(x: Any) -> Any:
    return torch.zeros(int(x.sum()))


def _mapped(x: Any) -> Any:
    return torch.vmap(torch.sin)(x)


wrap("_negative_or_not")
wrap("_rows")
wrap("_scaled")
wrap("_number")
wrap("_mapped")


def chooses(x: Any, flag: Any = True) -> Any:
    return x + 1 if flag else x - 1


def branches(x: Any) -> Any:
    return x if x.sum() > 0 else -x


def iterates(x: Any) -> Any:
    return sum(list(x))


def loops(x: Any) -> Any:
    y = 0
    for row in x:
        y = y + row
    return y


def expands(x: Any) -> Any:
    return torch.add(*x.split(2))


def expands_keywords(x: Any, options: Any) -> Any:
    return x.sum(**options)


def stars(x: Any) -> Any:
    first, *rest = x
    return first + rest[0]


def asks(x: Any) -> Any:
    return torch.tensor(1 in x)


def measures(x: Any) -> Any:
    return x / len(x)


def needs(x: Any) -> Any:
    return torch.zeros(int(x.sum()))


def sizes(x: Any) -> Any:
    return torch.ones(x.shape[0], 2)


def slices(x: Any) -> Any:
    return TABLE[:, : x.shape[1]]


def refuses(x: Any) -> Any:
    return torch.vmap(torch.sin)(x)


def keys(x: Any) -> Any:
    return {x: 1}


def unsupported(x: Any) -> Any:
    return _scaled(x, Kept(2.0))


class HasForeign(nn.Module):
    def forward(self, x: Any) -> Any:
        return HELPER(x) * WEIGHT


class HasThem(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.helper = HELPER
        self.several = nn.ModuleList([HELPER])
        self.weight = WEIGHT

    def forward(self, x: Any) -> Any:
        return self.several[0](self.helper(x)) * self.weight


class UsesForeignParameter(nn.Module):
    def forward(self, x: Any) -> Any:
        return x * WEIGHT


class NamesNoSelf(nn.Module):
    def forward(*args: Any) -> Any:  # pyright: ignore[reportSelfClsParameterName]  # the point
        return args[1] + 1


class NamesSelf(nn.Module):
    def forward(self, *args: Any) -> Any:
        return args[0] + 1


class Mutates(Tracer):
    check_mutable_operations = True


def changes_in_place(x: Any) -> Any:
    return torch.relu_(x)


def _of_two(x: Any) -> Any:
    a, b, c = x
    return a + b + c


Fixed = tuple[str, Any, dict[str, Any]]
"""What of the advice is followed, the program then, and how it is traced."""


def _fixed(said: str, program: Callable[[Any], Any], **how: Any) -> Fixed:
    return said, program, how


def _of_unpacked(x: Any) -> Any:
    a, b = x.split(2)
    return torch.add(a, b)


def _asserts_by_call(x: Any) -> Any:
    cast("Any", torch)._assert(x.dim() == 2, "it is a matrix")
    return x + 1


CASES: list[tuple[Any, dict[str, Any], type[errors.TraceError], list[Fixed]]] = [
    (
        branches,
        {},
        errors.ControlFlowError,
        [
            _fixed("torch.where", lambda x: torch.where(x.sum() > 0, x, -x)),
            _fixed("wrap()", lambda x: _negative_or_not(x)),
        ],
    ),
    (
        chooses,
        {},
        errors.ControlFlowError,
        [_fixed("concrete_args", chooses, concrete_args={"flag": True})],
    ),
    (
        asserts_a_matrix,
        {},
        errors.ControlFlowError,
        [
            _fixed(
                "torch._assert(condition, text)",
                _asserts_by_call,
            ),
            _fixed("trace_asserts = True", asserts_a_matrix, tracer=Asserting),
        ],
    ),
    (
        iterates,
        {},
        errors.IterationError,
        [
            _fixed("a, b = x", _of_two),
            _fixed("index it in a loop", lambda x: sum(x[i] for i in range(3))),
            _fixed("wrap()", lambda x: _rows(x)),
        ],
    ),
    (
        loops,
        {},
        errors.LoopError,
        [
            _fixed("range", lambda x: sum(x[i] for i in range(3))),
            _fixed("wrap()", lambda x: _rows(x)),
        ],
    ),
    (
        expands,
        {},
        errors.StarredArgumentError,
        [_fixed("a, b = x", _of_unpacked)],
    ),
    (
        stars,
        {},
        errors.StarredTargetError,
        [_fixed("first, rest = x[0], x[1:]", lambda x: x[0] + x[1:][0])],
    ),
    (
        asks,
        {},
        errors.MembershipError,
        [_fixed("(x == value).any()", lambda x: (x == 1).any())],
    ),
    (
        measures,
        {},
        errors.LengthError,
        [_fixed("x.size(0)", lambda x: x / x.size(0))],
    ),
    (
        needs,
        {},
        errors.ValueNeededError,
        [
            _fixed("Keep it a tensor", lambda x: x.sum() * 0),
            _fixed("wrap()", lambda x: _number(x)),
        ],
    ),
    (
        sizes,
        {},
        errors.ValueNeededError,
        [_fixed("one tuple", lambda x: torch.ones((x.shape[0], 2)))],
    ),
    (
        slices,
        {},
        errors.ValueNeededError,
        [_fixed("torch.narrow", lambda x: torch.narrow(TABLE, 1, 0, x.shape[1]))],
    ),
    (
        refuses,
        {},
        errors.RefusedValueError,
        [_fixed("wrap()", lambda x: _mapped(x))],
    ),
    (
        keys,
        {},
        errors.DictKeyError,
        [_fixed("plain keys", lambda x: {"x": x})],
    ),
    (
        unsupported,
        {},
        errors.UnsupportedArgumentError,
        [
            _fixed("Pass its parts", lambda x: _scaled(x, 2.0)),
            _fixed("__fx_create_arg__", lambda x: _scaled(x, Told(2.0))),
        ],
    ),
    (
        HasForeign(),
        {},
        errors.ForeignModuleError,
        [_fixed("attribute of the traced module (a ModuleList", HasThem())],
    ),
    (
        UsesForeignParameter(),
        {},
        errors.ForeignParameterError,
        [_fixed("attribute of the traced module", HasThem())],
    ),
    (
        NamesNoSelf(),
        {},
        errors.SelfExpansionError,
        [_fixed("def forward(self, *args)", NamesSelf())],
    ),
    (
        changes_in_place,
        {"tracer": Mutates},
        errors.MutationError,
        [_fixed("returns a new tensor", lambda x: torch.relu(x), tracer=Mutates)],
    ),
]


@pytest.mark.parametrize(
    ("program", "how", "reason", "fixed"),
    CASES,
    ids=[getattr(case[0], "__name__", type(case[0]).__name__) for case in CASES],
)
def test_an_advice_that_is_followed_works(
    program: Any, how: Any, reason: type[errors.TraceError], fixed: list[Fixed]
) -> None:
    with pytest.raises(reason) as raised:
        _traced(program, **how)
    for said, changed, traced_by in fixed:
        assert said in raised.value.advice
        traced = _traced(changed, **traced_by)
        given = (X.clone(),) if "concrete_args" not in traced_by else (X, True)
        torch.testing.assert_close(traced(*given), changed(*given))


def test_the_keys_of_options_are_given_with_concrete_args() -> None:
    with pytest.raises(errors.KeywordExpansionError) as raised:
        _traced(expands_keywords)
    assert "concrete_args={'options': {'size': PH}}" in raised.value.advice
    assert "options['size']" in raised.value.advice

    options = {"dim": 1}
    traced = _traced(expands_keywords, concrete_args={"options": {"dim": PH}})
    torch.testing.assert_close(traced(X, options), X.sum(dim=1))

    def by_name(x: Any, options: Any) -> Any:
        return x.sum(dim=options["dim"])

    by_key = _traced(by_name)
    torch.testing.assert_close(by_key(X, options), X.sum(dim=1))


def _traced(
    program: Any,
    *,
    tracer: type[Tracer] = Tracer,
    concrete_args: dict[str, Any] | None = None,
) -> Any:
    tracing = tracer()
    graph = tracing.trace(program, concrete_args)
    return GraphModule(tracing.root, graph)
