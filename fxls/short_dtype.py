"""How a dtype is written where shapes stand beside code, and where a debugger stops."""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["short_dtype"]

_SHORT = {"bfloat": "bf", "float": "f", "uint": "u", "int": "i", "complex": "c"}


@lru_cache(maxsize=64)
def short_dtype(dtype: str) -> str:
    """``f32`` for ``torch.float32``; a name that has no short form stays.

    Remembered, because a table asks for a hundred thousand nodes of few dtypes.
    """
    name = dtype.removeprefix("torch.")
    match = re.fullmatch(r"([a-z]+)(\d\w*)", name)
    if match and match[1] in _SHORT:
        return _SHORT[match[1]] + match[2]
    return name
