"""Values whose text UTF-8 can say: half of a surrogate pair is written as an escape.

Texts of the user's code may hold one: the message of an exception, a docstring, the name
of a file that is no UTF-8. Encoders refuse it, and what was to be said would be lost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import msgspec

__all__ = ["encoded"]

T = TypeVar("T")


def encoded(value: T, encode: Callable[[T], bytes]) -> bytes:
    """The bytes of a value; of one with escapes where the encoder refuses its text."""
    try:
        return encode(value)
    except UnicodeEncodeError:
        return encode(_escaped(value))


def _escaped(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, msgspec.Struct):
        parts = {
            name: _escaped(getattr(value, name)) for name in value.__struct_fields__
        }
        return msgspec.structs.replace(value, **parts)
    if isinstance(value, dict):
        table = cast("dict[Any, Any]", value)
        return {_escaped(key): _escaped(part) for key, part in table.items()}
    if isinstance(value, tuple | list):
        parts = [_escaped(part) for part in cast("list[Any]", value)]
        return tuple(parts) if isinstance(value, tuple) else parts
    return value
