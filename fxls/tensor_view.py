"""What a debugger shows of a tensor: a line first, and the parts that people look for.

This runs for every local variable at every stop, so its cost has a bound and it never
raises. It does not import torch: where there is a tensor, torch is loaded.
"""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Generator, Iterator
from typing import Any, cast

from fxls.attempt import Raised, attempt
from fxls.short_dtype import short_dtype

__all__ = ["INLINE", "TensorView", "brief", "is_plain", "shown", "unseen"]

EXACT = 1 << 17
"""Elements that are looked at. Of a larger tensor every n-th of each dimension is."""

INLINE = "inline"
"""In what context an editor asks that has room for a few characters alone."""

_SHOWN = 4
_PARTS = 16


class TensorView:
    """How pydevd is told to show a tensor: a provider of its strings and its parts."""

    def can_provide(self, type_object: Any, type_name: str) -> bool:
        """Whether values of a class are shown by this one."""
        torch = sys.modules.get("torch")
        tensor: Any = getattr(torch, "Tensor", None)
        return isinstance(tensor, type) and issubclass(type_object, tensor)

    def get_str(self, val: Any) -> str:
        """The line of a variable."""
        return shown(val)

    def get_str_in_context(self, val: Any, context: str) -> str:
        """The line; the whole `repr` where a person asked for the value itself."""
        if context == INLINE:
            return brief(val)
        return repr(val) if context in ("repl", "clipboard") else shown(val)

    def resolve(self, var: Any, attribute: str) -> Any:
        """One part."""
        return _parts(var)[attribute]

    def get_dictionary(self, var: Any) -> dict[str, Any]:
        """The parts, by name."""
        return _parts(var)

    def get_contents_debug_adapter_protocol(
        self, obj: Any, fmt: Any = None
    ) -> list[tuple[str, Any, str]]:
        """Name, value, and what to write behind the tensor to evaluate the part."""
        return [
            (name, part, name if name.startswith("[") else f".{name}")
            for name, part in _parts(obj).items()
        ]


def shown(tensor: Any) -> str:
    """A tensor as one line: what it is, its numbers at large, and the first of them."""
    # A tensor may be of any backend, and of any class that behaves like one.
    line = attempt(lambda: ", ".join([_kind(tensor), *_numbers(tensor)]))
    if isinstance(line, Raised):
        return f"{type(tensor).__name__} that cannot be read: {line.error}"
    return line


def brief(tensor: Any) -> str:
    """``f32[2, 3]``, as shapes are written beside code."""
    written = attempt(
        lambda: f"{short_dtype(str(tensor.dtype))}[{', '.join(map(str, tensor.shape))}]"
    )
    return type(tensor).__name__ if isinstance(written, Raised) else written


def _kind(tensor: Any) -> str:
    words = [
        str(tensor.dtype).removeprefix("torch."),
        str(tuple(tensor.shape)),
        str(tensor.device),
    ]
    if tensor.requires_grad:
        words.append("grad")
    return " ".join(words)


def _numbers(tensor: Any) -> Iterator[str]:
    """Statistics and the first values, where looking is cheap and changes nothing."""
    if not is_plain(tensor):
        return
    if tensor.numel() == 0:
        yield "empty"
        return
    with unseen():
        first = _first(tensor)
        if tensor.dim() == 0:
            yield _number(first[0])
            return
        sample = _sample(tensor.detach())
        if sample.dtype.is_complex:
            sample = sample.abs()
        yield from _statistics(sample)
        if sample.numel() < tensor.numel():
            yield f"judged by {sample.numel():,} of {tensor.numel():,}"
        more = ", ..." if tensor.numel() > len(first) else ""
        yield f"[{', '.join(map(_number, first))}{more}]"


def _statistics(sample: Any) -> Iterator[str]:
    torch: Any = sys.modules["torch"]
    if sample.dtype == torch.bool:
        yield f"{int(sample.sum())} true of {sample.numel():,}"
        return
    values = sample.double().flatten()
    finite = values[values.isfinite()]
    if finite.numel():
        low, high = finite.aminmax()
        yield (
            f"min {_number(low.item())} max {_number(high.item())}"
            f" mean {_number(finite.mean().item())}"
        )
    nans, infinite = int(values.isnan().sum()), int(values.isinf().sum())
    if nans:
        yield f"{nans:,} NaN"
    if infinite:
        yield f"{infinite:,} Inf"


def is_plain(tensor: Any) -> bool:
    """Whether the tensor is numbers in memory, and no stand-in that records or wraps."""
    torch: Any = sys.modules["torch"]
    functorch = torch._C._functorch
    kind = cast("Any", type(tensor))
    return (
        tensor.layout is torch.strided
        and tensor.device.type in ("cpu", "cuda")
        and not tensor.is_quantized
        and kind.__torch_dispatch__ is torch.Tensor.__torch_dispatch__
        and not functorch.is_functorch_wrapped_tensor(tensor)
        and not torch._is_functional_tensor(tensor)
        and tensor.untyped_storage().nbytes() > 0
    ) or (tensor.layout is torch.strided and tensor.numel() == 0)


@contextlib.contextmanager
def unseen() -> Generator[None]:
    """Let nothing that traces or records at the moment of the stop see what is done."""
    torch: Any = sys.modules["torch"]
    no_modes: Any = torch.utils._python_dispatch._disable_current_modes
    with torch._C.DisableTorchFunction(), torch.no_grad(), no_modes():
        yield


def _sample(tensor: Any) -> Any:
    """A view of at most `EXACT` elements, spread over the whole tensor."""
    while tensor.numel() > EXACT:
        longest = max(range(tensor.dim()), key=lambda i: tensor.shape[i])
        step = min(math.ceil(tensor.numel() / EXACT), tensor.shape[longest])
        index = [slice(None)] * tensor.dim()
        index[longest] = slice(None, None, max(2, min(step, 8)))
        tensor = tensor[tuple(index)]
    return tensor


def _first(tensor: Any) -> list[Any]:
    """The first numbers, in the order of rows."""
    row = tensor.detach()
    while row.dim() > 1:
        row = row[0]
    return row.reshape(-1)[:_SHOWN].tolist()


def _number(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _parts(tensor: Any) -> dict[str, Any]:
    names = ["shape", "dtype", "device", "requires_grad", "grad_fn"]
    if attempt(lambda: tensor.requires_grad and tensor.is_leaf) is True:
        names.append("grad")  # torch warns where a gradient is never kept
    parts = {name: attempt(lambda name=name: getattr(tensor, name)) for name in names}
    rows = attempt(lambda: _rows(tensor))
    return {**parts, **(rows if isinstance(rows, dict) else {})}


def _rows(tensor: Any) -> dict[str, Any]:
    if not tensor.dim() or not is_plain(tensor):
        return {}
    with unseen():
        rows = tensor.detach()
        return {f"[{i}]": rows[i] for i in range(min(len(rows), _PARTS))}
