"""What cannot be traced is refused as in torch.fx, with place, reason and advice."""

from __future__ import annotations

import doctest
import inspect
import linecache
import sys
from typing import Any

import pytest
import torch
from torch import nn

from fxls.engine import errors
from fxls.engine.errors import TraceError
from fxls.engine.tracing.tracer import Tracer
from tests.engine.oracle import assert_refused_alike

FOREIGN = nn.Linear(1, 1)


class Unknown:
    """What no argument can be."""


def in_a_branch(x: Any) -> Any:
    return x if x > 0 else -x


def in_a_while_loop(x: Any) -> Any:
    while x.sum() > 0:
        x = x - 1
    return x


def in_a_comparison_of_c(x: Any) -> Any:
    return max(x, 1)


def in_a_loop(x: Any) -> Any:
    for row in x:
        x = x + row
    return x


COMPREHENSION = "x" if sys.version_info >= (3, 13) else "[row for row in x]"
"""Where Python is when it asks for the iterator of a comprehension."""


def in_a_comprehension(x: Any) -> Any:
    return [row for row in x]  # noqa: C416 - the loop is the point


def in_a_call_of_list(x: Any) -> Any:
    return list(x)


def spread_over_arguments(x: Any) -> Any:
    return torch.add(*x)


def spread_over_keywords(x: Any) -> Any:
    return torch.zeros(**x)


def in_a_starred_target(x: Any) -> Any:
    first, *_rest = x
    return first


def asked_for_membership(x: Any) -> Any:
    return 1 in x


def asked_for_its_length(x: Any) -> Any:
    return len(x)


def needed_as_an_integer(x: Any) -> Any:
    return int(x)


def needed_as_a_float(x: Any) -> Any:
    return float(x)


def needed_as_a_range(x: Any) -> Any:
    return list(range(x))


def needed_by_c(x: Any) -> Any:
    return bytes.fromhex(x)


def assigned_to(x: Any) -> Any:
    x[0] = 1
    return x


def used_as_a_key(x: Any) -> Any:
    return {x: 1}


def given_an_unknown_argument(x: Any) -> Any:
    return x.f(Unknown())


def given_to_a_foreign_module(x: Any) -> Any:
    return FOREIGN(x)


def given_a_foreign_parameter(x: Any) -> Any:
    return x + FOREIGN.weight


class TakesNoSelf(nn.Module):
    def forward(*args: Any) -> Any:  # pyright: ignore[reportSelfClsParameterName]  # the point
        return args[1]


@pytest.mark.parametrize(
    ("root", "reason", "place"),
    [
        (in_a_branch, errors.ControlFlowError, "x > 0"),
        (in_a_while_loop, errors.ControlFlowError, "x.sum() > 0"),
        (in_a_comparison_of_c, errors.ControlFlowError, "max(x, 1)"),
        (in_a_loop, errors.LoopError, "x"),
        (in_a_comprehension, errors.LoopError, COMPREHENSION),
        (in_a_call_of_list, errors.IterationError, "list(x)"),
        (spread_over_arguments, errors.StarredArgumentError, "torch.add(*x)"),
        (spread_over_keywords, errors.KeywordExpansionError, "torch.zeros(**x)"),
        (in_a_starred_target, errors.StarredTargetError, "first, *_rest"),
        (asked_for_membership, errors.MembershipError, "1 in x"),
        (asked_for_its_length, errors.LengthError, "len(x)"),
        (needed_as_an_integer, errors.ValueNeededError, "int(x)"),
        (needed_as_a_float, errors.ValueNeededError, "float(x)"),
        (needed_as_a_range, errors.ValueNeededError, "range(x)"),
        (assigned_to, errors.ValueNeededError, "x[0]"),
        (used_as_a_key, errors.DictKeyError, "return {x: 1}"),
        (given_an_unknown_argument, errors.UnsupportedArgumentError, "x.f(Unknown())"),
        (given_to_a_foreign_module, errors.ForeignModuleError, "FOREIGN(x)"),
        (given_a_foreign_parameter, errors.ForeignParameterError, "x + FOREIGN.weight"),
        (TakesNoSelf(), errors.SelfExpansionError, None),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_value_is_refused(
    root: Any, reason: type[TraceError], place: str | None
) -> None:
    error = assert_refused_alike(root)

    assert type(error) is reason
    if place is not None:
        assert _source_of(error) == place
    assert error.advice


def test_the_text_of_an_error_of_c_comes_first_and_the_advice_last() -> None:
    error = assert_refused_alike(needed_by_c)

    assert isinstance(error, errors.ValueNeededError)
    assert str(error).splitlines()[0].endswith("Proxy")
    assert str(error).splitlines()[-1] == error.advice


def test_values_of_two_traces_do_not_mix() -> None:
    escaped: list[Any] = []

    def leaking(x: Any) -> Any:
        escaped.append(x)
        return x

    def mixing(x: Any) -> Any:
        return torch.add(x, escaped[0])

    Tracer().trace(leaking)

    with pytest.raises(errors.MixedTracersError, match="Found multiple different"):
        Tracer().trace(mixing)


def test_a_tracer_that_wants_no_mutation_refuses_it() -> None:
    class Functional(Tracer):
        check_mutable_operations = True

    with pytest.raises(errors.MutationError, match="mutable operation"):
        Functional().trace(_mutating)


def test_an_override_decides_what_a_branch_does() -> None:
    class Optimist(Tracer):
        def to_bool(self, obj: Any) -> bool:
            return True

        def iter(self, obj: Any) -> Any:
            return iter([obj[0], obj[1]])

        def keys(self, obj: Any) -> Any:
            return ["size"]

    def f(x: Any) -> Any:
        if x > 0:
            return [row + 1 for row in x], dict(**x)
        return x

    graph = Optimist().trace(f)

    assert [node.name for node in graph.nodes] == [
        "x",
        "gt",
        "getitem",
        "getitem_1",
        "add",
        "add_1",
        "getitem_2",
        "output",
    ]


def test_programs_may_raise_it_with_a_text_of_their_own() -> None:
    assert str(TraceError("not here")) == "not here"
    assert TraceError("not here").origin is None
    assert isinstance(TraceError(), ValueError)


@pytest.mark.parametrize("reason", errors.__all__)
def test_every_reason_is_a_page(reason: str) -> None:
    page = inspect.getdoc(getattr(errors, reason))

    assert page is not None
    assert len(page.splitlines()) >= 3
    for example in doctest.DocTestParser().get_examples(page):
        compile(example.source, reason, "exec")


def _mutating(x: Any) -> Any:
    return torch.relu_(x)


def _source_of(error: TraceError) -> str:
    assert error.origin is not None
    place = error.origin.places[0]
    line = linecache.getline(place.path, place.span.start.line + 1)
    return line[place.span.start.column : place.span.end.column]
