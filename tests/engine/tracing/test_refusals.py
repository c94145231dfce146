"""An error that a traced value caused says where and what helps; others stay as raised."""

from __future__ import annotations

import io
import linecache
import sys
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from torch import nn

from fxls.engine import errors
from fxls.engine.tracing.tracer import Tracer

RELU: Any = torch.relu
LINEAR: Any = nn.functional.linear
TABLE = torch.arange(12.0).reshape(3, 4)
ROWS = [1, 2, 3]


def sizes_one_by_one(x: Any) -> Any:
    return torch.ones(x.shape[0], 2, dtype=torch.long)


def a_slice_of_a_tensor(x: Any) -> Any:
    return TABLE[:, : x.shape[1]]


def a_slice_of_a_list(x: Any) -> Any:
    return ROWS[: x.size(0)]


def an_index_of_a_dict(x: Any) -> Any:
    return {1: 2}[x.shape[0]]


def an_array(x: Any) -> Any:
    return np.asarray(x)


def a_tensor_of_it(x: Any) -> Any:
    return torch.tensor(x)


def the_limits_of_its_type(x: Any) -> Any:
    return torch.finfo(x.dtype).min


def its_device_for_autocast(x: Any) -> Any:
    with torch.autocast(x.device.type):
        return x + 1


def packed(x: Any) -> Any:
    return nn.utils.rnn.pack_padded_sequence(x, x.shape, enforce_sorted=False)


def mapped(x: Any) -> Any:
    return torch.vmap(torch.sin)(x)


def formatted(x: Any) -> Any:
    return f"{x.sum():.2f}"


def formatted_by_percent(x: Any) -> Any:
    return "%d" % x.sum()  # noqa: UP031 - the point


def kept_in_a_list(x: Any) -> Any:
    sizes = [x.size(0), 2]
    return torch.rand(*sizes)


def asked_for_its_class(x: Any) -> Any:
    return torch.distributions.Normal(0.0, 1.0, validate_args=True).log_prob(x)


class OfABuffer(nn.Module):
    positions: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("positions", torch.arange(8))

    def forward(self, x: Any) -> Any:
        return self.positions[: x.size(0)]


@pytest.mark.parametrize(
    ("root", "kind", "place"),
    [
        (sizes_one_by_one, TypeError, "torch.ones(x.shape[0], 2, dtype=torch.long)"),
        (a_slice_of_a_tensor, TypeError, "TABLE[:, : x.shape[1]]"),
        (a_slice_of_a_list, TypeError, "ROWS[: x.size(0)]"),
        (an_index_of_a_dict, KeyError, "{1: 2}[x.shape[0]]"),
        (an_array, ValueError, "np.asarray(x)"),
        (a_tensor_of_it, TypeError, "torch.tensor(x)"),
        (the_limits_of_its_type, TypeError, "torch.finfo(x.dtype)"),
        (its_device_for_autocast, ValueError, "torch.autocast(x.device.type)"),
        (
            packed,
            TypeError,
            "nn.utils.rnn.pack_padded_sequence(x, x.shape, enforce_sorted=False)",
        ),
        (mapped, ValueError, "torch.vmap(torch.sin)(x)"),
        (formatted_by_percent, TypeError, '"%d" % x.sum()'),
        (kept_in_a_list, TypeError, "torch.rand(*sizes)"),
        (
            asked_for_its_class,
            ValueError,
            "torch.distributions.Normal(0.0, 1.0, validate_args=True).log_prob(x)",
        ),
        (OfABuffer(), TypeError, "self.positions[: x.size(0)]"),
    ],
)
def test_a_function_that_refuses_a_traced_value_is_named(
    root: Any, kind: type[Exception], place: str
) -> None:
    if root is the_limits_of_its_type and sys.version_info >= (3, 13):
        pytest.skip("torch refuses it in one process and takes it in another")
    original = _error(torch.fx.Tracer(), root)
    error = _error(Tracer(), root)

    assert isinstance(error, errors.TraceError)
    assert isinstance(error, kind)
    assert isinstance(original, kind)
    assert _source_of(error) == place
    first, *rest = str(error).splitlines()
    assert first.split()[:3] == str(original).splitlines()[0].split()[:3]
    assert rest[-1] == error.advice
    assert place in rest[-3]
    assert error.__cause__ is not None


def test_a_format_of_a_traced_value_is_explained() -> None:
    """Where it is in an f-string differs between Pythons."""
    error = _error(Tracer(), formatted)
    assert isinstance(error, errors.ValueNeededError)
    assert '    return f"{x.sum():.2f}"\n' in str(error)
    assert str(error).endswith(error.advice)


def two_parameters(a: Any, b: Any) -> Any:
    return a + b


class Checked(ValueError):
    """An error of the program's own."""


def a_check_of_its_own(x: Any) -> Any:
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"expected a tensor, got {type(x).__name__}")
    return x


def an_error_of_its_own(_x: Any) -> Any:
    raise Checked("no")


def a_call_without_an_argument(x: Any) -> Any:
    return cast("Any", two_parameters)(x)


def a_subscript_of_none(x: Any) -> Any:
    none: Any = None
    return none[x]


def a_missing_key(x: Any) -> Any:
    return {"a": x}["b"]


def a_division_by_zero(x: Any) -> Any:
    return x + 1 // 0


def a_full_disk(x: Any) -> Any:
    with open("/dev/full", "w", encoding="utf-8") as disk:  # noqa: PTH123 - a device
        print(x, file=disk, flush=True)
    return x


def a_closed_file(x: Any) -> Any:
    file = io.StringIO()
    file.close()
    print(x, file=file)
    return x


def a_bad_shape(x: Any) -> Any:
    return x + TABLE.view(5, 5)


def an_unknown_keyword(x: Any) -> Any:
    return RELU(x, inplace=True)


def a_missing_weight(x: Any) -> Any:
    return LINEAR(x)


class Pair(nn.Module):
    forward = staticmethod(two_parameters)


class OfAPart(nn.Module):
    """What calls a part of it in a way that the part does not allow."""

    def __init__(self, part: nn.Module, count: int) -> None:
        super().__init__()
        self.part, self.count = part, count

    def forward(self, x: Any) -> Any:
        return self.part(*[x] * self.count)


class NamesABufferAsAPart(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.part = nn.ReLU()

    def forward(self, x: Any) -> Any:
        self.register_buffer("part", x)
        return x


class WithoutIt(nn.Module):
    def forward(self, x: Any) -> Any:
        return x + self.missing


@pytest.mark.parametrize(
    "root",
    [
        a_check_of_its_own,
        an_error_of_its_own,
        a_call_without_an_argument,
        a_subscript_of_none,
        a_missing_key,
        a_division_by_zero,
        pytest.param(
            a_full_disk,
            marks=pytest.mark.skipif(
                not Path("/dev/full").exists(), reason="this system has no full device"
            ),
        ),
        a_closed_file,
        a_bad_shape,
        an_unknown_keyword,
        a_missing_weight,
        pytest.param(OfAPart(Pair(), 1), id="a part without an argument"),
        pytest.param(OfAPart(nn.Sequential(nn.ReLU()), 2), id="a part with one more"),
        pytest.param(nn.ModuleList([nn.ReLU()]), id="a list of modules"),
        NamesABufferAsAPart(),
        WithoutIt(),
    ],
)
def test_a_mistake_of_the_program_stays_as_it_was_raised(root: Any) -> None:
    original = _error(torch.fx.Tracer(), root)
    error = _error(Tracer(), root)

    assert type(error) is type(original)
    assert error.args == original.args
    assert error.__cause__ is None
    assert not hasattr(error, "__notes__")


def _error(tracer: Any, root: Any) -> Exception:
    try:
        graph = tracer.trace(root)
    except Exception as error:  # noqa: BLE001 - compared by the caller
        return error
    raise AssertionError(f"this should not be traceable, but gives {graph}")


def _source_of(error: errors.TraceError) -> str:
    assert error.origin is not None
    place = error.origin.places[0]
    line = linecache.getline(place.path, place.span.start.line + 1)
    return line[place.span.start.column : place.span.end.column]
