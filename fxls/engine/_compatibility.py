"""`compatibility`, which programs decorate with as torch.fx decorates what is its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["compatibility"]

T = TypeVar("T")

_BACK_COMPAT_OBJECTS: dict[Any, None] = {}
"""What was promised to stay as it is."""
_MARKED_WITH_COMPATIBILITY: dict[Any, None] = {}
"""All of which something was said."""


def compatibility(is_backward_compatible: bool) -> Callable[[T], T]:  # noqa: FBT001 - FX's signature
    """Say whether a function or class stays as it is; its documentation says so too."""

    def marked(target: T) -> T:
        documented: Any = target
        promise = (
            "Backwards-compatibility for this API is guaranteed."
            if is_backward_compatible
            else "This API is experimental and is *NOT* backward-compatible."
        )
        text = documented.__doc__ or ""
        documented.__doc__ = f"{text}\n\n.. note::\n    {promise}\n"
        _MARKED_WITH_COMPATIBILITY.setdefault(target)
        if is_backward_compatible:
            _BACK_COMPAT_OBJECTS.setdefault(target)
        return target

    return marked
