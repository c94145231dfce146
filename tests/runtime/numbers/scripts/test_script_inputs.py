"""A value that is written into a script is the value that was there."""

from __future__ import annotations

import pytest
import torch

from fxls.runtime.numbers.graphs import NotRun
from fxls.runtime.numbers.scripts.script_inputs import drawn, evaluated, recorded
from tests.runtime.numbers.looking import any_torch

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
DTYPES = [*FLOATS, torch.complex64, torch.int64, torch.int8, torch.bool]
SHAPES = [(), (0,), (3,), (2, 3), (1, 1), (8, 16), (4, 1, 32)]


def tensor(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    return (torch.randn(shape) * 3).to(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_recorded_tensor_has_each_bit_and_its_layout(
    shape: tuple[int, ...], dtype: torch.dtype
) -> None:
    value = tensor(shape, dtype)
    views = [value, value.movedim(0, -1)] if shape else [value]

    for view in views:
        (again,) = evaluated([recorded(view)])

        assert again.dtype is view.dtype
        assert (again.shape, again.stride()) == (view.shape, view.stride())
        assert any_torch.equal(again, view)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_what_is_not_finite_is_recorded(dtype: torch.dtype) -> None:
    value = torch.tensor([float("inf"), -float("inf"), float("nan"), -0.0], dtype=dtype)

    (again,) = evaluated([recorded(value)])

    assert any_torch.equal(again[:2], value[:2])
    assert again[2].isnan()
    assert again[3].signbit()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_drawn_tensor_has_the_form_and_the_range(
    shape: tuple[int, ...], dtype: torch.dtype
) -> None:
    value = tensor(shape, dtype)

    first, second = (evaluated([drawn(value)])[0] for _ in range(2))

    assert any_torch.equal(first, second)
    assert first.dtype is value.dtype
    assert (first.shape, first.stride()) == (value.shape, value.stride())
    if value.numel() and not value.is_complex() and dtype is not torch.bool:
        wide, room = value.double(), 0.02 * float(value.double().abs().max())
        assert float(first.double().min()) >= float(wide.min()) - room
        assert float(first.double().max()) <= float(wide.max()) + room


@pytest.mark.parametrize("value", [3, -1.5, float("inf"), True, None, "none"])
def test_what_is_no_tensor_is_written_as_python(value: object) -> None:
    assert evaluated([recorded(value), drawn(value)]) == [value, value]


def test_what_no_expression_gives_is_refused() -> None:
    shared = torch.randn(4, 1).expand(4, 8)

    with pytest.raises(NotRun, match="share their memory"):
        recorded(shared)
    with pytest.raises(NotRun, match="an input is a object"):
        recorded(object())
    with pytest.raises(NotRun, match="KB when it is compressed"):
        recorded(torch.randn(512, 512))
    with pytest.raises(NotRun, match="not finite"):
        drawn(torch.tensor([float("nan")]))
