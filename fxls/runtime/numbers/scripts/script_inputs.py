"""Writes a value as an expression of Python that needs torch alone."""

from __future__ import annotations

import base64
import textwrap
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch

from fxls.runtime.numbers.graphs import NotRun
from fxls.runtime.numbers.replaying import alone

__all__ = [
    "UNPACKED",
    "Variant",
    "drawn",
    "evaluated",
    "imagined",
    "recorded",
    "variants",
]

any_torch: Any = torch

_LITERAL = 32
"""A tensor with as many elements is written as numbers."""
_MOST = 256 << 10
"""So many bytes of one tensor are written, once they are compressed."""

UNPACKED = '''\
def unpacked(text, dtype):
    """A recorded tensor: its bytes, compressed, as letters."""
    data = zlib.decompress(base64.b85decode("".join(text.split())))
    return torch.frombuffer(bytearray(data), dtype=dtype)
'''
"""What scripts with recorded tensors define; needs base64 and zlib."""


Variant = tuple[Mapping[str, str], str, Mapping[str, Any]]


def recorded(value: Any) -> str:
    """An expression for exactly this value; raises `NotRun` where there is none."""
    if not isinstance(value, torch.Tensor):
        return _plain(value)
    flat: Any = value.detach().cpu().contiguous().reshape(-1)
    if value.numel() <= _LITERAL:
        numbers = ", ".join(map(_number, flat.tolist()))
        return _formed(f"torch.tensor([{numbers}], dtype={value.dtype})", value)
    data = zlib.compress(bytes(flat.view(torch.uint8).tolist()), 9)
    if len(data) > _MOST:
        raise NotRun(f"an input needs {len(data) >> 10} KB when it is compressed")
    text = textwrap.fill(base64.b85encode(data).decode(), 96)
    return _formed(f'unpacked(r"""\n{text}\n""", {value.dtype})', value)


def drawn(value: Any) -> str:
    """An expression for a value of the same form, whose numbers are random and between
    the least and the greatest of this one.
    """
    if not isinstance(value, torch.Tensor):
        return _plain(value)
    count, shape = value.numel(), tuple(value.shape)
    if not count:
        return _formed(f"torch.empty(0, dtype={value.dtype})", value)
    if value.is_complex():
        return _formed(f"torch.randn({count}, dtype={value.dtype})", value)
    low, high = value.min().item(), value.max().item()
    if value.dtype is torch.bool:
        text = f"torch.rand({shape}) < 0.5"
        return _laid_out(f"({text})", value)
    if not value.is_floating_point():
        text = f"torch.randint({low}, {high + 1}, {shape}, dtype={value.dtype})"
        return _laid_out(text, value)
    if not value.isfinite().all():
        raise NotRun("an input is not finite")
    low, high = float(f"{low:.3g}"), float(f"{high:.3g}")
    text = f"(torch.rand({shape}) * {high - low:.3g} + {low})"
    if value.dtype is not torch.float32:
        text += f".to({value.dtype})"
    return _laid_out(text, value)


def imagined(noted: Any) -> str:
    """An expression for a value of the form that torch noted, where nobody knows its
    numbers: between 0 and 1, or 0 where they are whole, so that they may be indices.
    """
    if isinstance(noted, torch.SymInt):
        return str(_hint(noted))
    if not isinstance(noted, torch.Tensor):
        return _plain(noted)
    shape = tuple(map(_hint, noted.shape))
    if noted.dtype is torch.bool:
        text = f"(torch.rand({shape}) < 0.5)"
    elif noted.dtype.is_floating_point or noted.dtype.is_complex:
        text = f"torch.rand({shape})"
        if noted.dtype is not torch.float32:
            text += f".to({noted.dtype})"
    else:
        text = f"torch.zeros({shape}, dtype={noted.dtype})"
    strides = tuple(map(_hint, noted.stride()))
    return _placed(text, shape, strides, noted)


def _hint(size: Any) -> int:
    """A size as a number; of a symbol, that of the first call."""
    symbol: Any = size
    return int(symbol.node.hint) if isinstance(size, torch.SymInt) else int(symbol)


def evaluated(texts: Sequence[str]) -> list[Any]:
    """What these expressions give in a script; draws from the generators of torch."""
    scope: dict[str, Any] = {"base64": base64, "zlib": zlib, "torch": torch}
    exec(UNPACKED, scope)  # it is the text above, as a script has it
    any_torch.manual_seed(0)
    return [eval(text, scope) for text in texts]  # they are made above


def variants(names: Sequence[str], given: Mapping[str, Any]) -> Iterator[Variant]:
    """The inputs as text, where they are from, and what the text gives; raises `NotRun`
    where there is no text.
    """
    ways: Sequence[tuple[Callable[[Any], str], str]] = (
        (drawn, "drawn from a seed"),
        (recorded, "those that the program had"),
    )
    why: NotRun | None = None
    count = 0
    for way, said in ways:
        try:
            texts = {name: way(given[name]) for name in names}
        except NotRun as error:
            why = error
            continue
        count += 1
        with alone():
            values = evaluated([*texts.values()])
        yield texts, said, dict(zip(names, values, strict=True))
    if not count and why is not None:
        raise why


def _plain(value: Any) -> str:
    if value is None or isinstance(value, bool | int | str):
        return repr(value)
    if isinstance(value, float):
        return _number(value)
    raise NotRun(f"an input is a {type(value).__name__}")


def _number(value: Any) -> str:
    if isinstance(value, complex):
        return f"complex({_number(value.real)}, {_number(value.imag)})"
    is_finite = not isinstance(value, float) or value - value == 0.0
    return repr(value) if is_finite else f'float("{value}")'


def _formed(flat: str, value: torch.Tensor) -> str:
    """With the shape of a tensor, of one that has its elements in a row."""
    shape = tuple(value.shape)
    return _laid_out(flat if len(shape) == 1 else f"{flat}.reshape({shape})", value)


def _laid_out(text: str, value: torch.Tensor) -> str:
    """With the strides and the device of a tensor."""
    return _placed(text, tuple(value.shape), value.stride(), value)


def _placed(
    text: str, shape: tuple[int, ...], strides: tuple[int, ...], like: torch.Tensor
) -> str:
    if 0 in strides and 0 not in shape:
        raise NotRun("an input is a tensor whose elements share their memory")
    if not _is_in_a_row(shape, strides):
        empty = f"torch.empty_strided({shape}, {strides}, dtype={like.dtype})"
        text = f"{empty}.copy_({text})"
    return text if like.device.type == "cpu" else f'{text}.to("{like.device.type}")'


def _is_in_a_row(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    expected = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size != 1:
            if stride != expected and 0 not in shape:
                return False
            expected *= size
    return True
