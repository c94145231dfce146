"""How the value of a node is written: short for hints and tables, long for cards."""

from __future__ import annotations

from fxls.listing import Items, Plain, Tensor, Value
from fxls.short_dtype import short_dtype

__all__ = ["bytes_of", "device_of", "dtype_of", "holds_tensor", "long_form"]
__all__ += ["shape_of", "short_form", "size_of"]

_ITEMS = 8
"""So many items of a tuple, list or dict are written."""


def short_form(value: Value) -> str:
    """``f32[1, 64]`` for a tensor; ``(f32[1], i64[])`` for a tuple of tensors."""
    match value:
        case Tensor():
            return f"{short_dtype(value.dtype)}[{_sizes(value.shape)}]"
        case Items():
            return _items(value)
        case Plain():
            return value.text


def holds_tensor(value: Value) -> bool:
    """Whether it is a tensor, or a tuple, list or dict with one in it."""
    if isinstance(value, Items):
        return any(map(holds_tensor, value.items))
    return isinstance(value, Tensor)


def shape_of(value: Value | None) -> str:
    """``(1, 64)`` for a tensor, nothing for anything else."""
    if not isinstance(value, Tensor):
        return ""
    return f"({_sizes(value.shape)}{',' if len(value.shape) == 1 else ''})"


def dtype_of(value: Value | None) -> str:
    """``float32`` for a tensor, the name of the class for anything else."""
    match value:
        case Tensor():
            return value.dtype.removeprefix("torch.")
        case Items() | Plain():
            return value.kind
        case None:
            return ""


def device_of(value: Value | None) -> str:
    """``cpu`` for a tensor, nothing for anything else."""
    return value.device if isinstance(value, Tensor) else ""


def bytes_of(value: Value | None) -> int | None:
    """How much memory a tensor takes, as far as it is known."""
    return value.bytes if isinstance(value, Tensor) else None


def long_form(value: Value) -> str:
    """All that is known of a value, on one line."""
    if not isinstance(value, Tensor):
        short = short_form(value)
        # ``None`` and ``device(type='cpu')`` say their type themselves.
        says_it = short == "None" or short.startswith(f"{value.kind}(")
        return short if says_it else f"{value.kind} {short}"
    words = [f"{dtype_of(value)} {shape_of(value)}"]
    if value.stride is not None:
        words.append(f"stride ({_sizes(value.stride)})")
    if value.device:
        words.append(value.device)
    if value.bytes is not None:
        words.append(size_of(value.bytes))
    if value.requires_grad:
        words.append("requires grad")
    return ", ".join(words)


def _sizes(sizes: tuple[int | str, ...]) -> str:
    return ", ".join(map(str, sizes))


def _items(value: Items) -> str:
    words = [short_form(item) for item in value.items[:_ITEMS]]
    if value.keys is not None:
        words = [f"{key}: {word}" for key, word in zip(value.keys, words, strict=False)]
    if len(value.items) > _ITEMS:
        words.append(f"… {len(value.items) - _ITEMS} more")
    left, right = {"list": "[]", "dict": "{}"}.get(value.kind, "()")
    return left + ", ".join(words) + right


def size_of(count: int) -> str:
    """``1.5 KiB``."""
    size = float(count)
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.4g} {unit}"
        size /= 1024
    return f"{size:.4g} GiB"
