"""Attributes of other people's modules and classes, replaced for a while."""

from __future__ import annotations

from typing import Any

__all__ = ["Patches"]


class Patches:
    """What is replaced, and by what; `undo` puts the identical objects back.

    - Where somebody else replaced our object in turn, theirs stays. What is put in an
      attribute must therefore do no more than the original once it is undone.
    """

    def __init__(self) -> None:
        self._done: list[tuple[Any, str, Any, Any]] = []

    @property
    def is_empty(self) -> bool:
        """Whether nothing is replaced."""
        return not self._done

    def put(self, owner: Any, name: str, value: Any) -> None:
        """Replace an attribute that `owner` has, also by its class."""
        self._done.append((owner, name, owner.__dict__.get(name, _NONE), value))
        setattr(owner, name, value)

    def undo(self) -> None:
        """Give every owner its own back."""
        while self._done:
            owner, name, before, value = self._done.pop()
            if owner.__dict__.get(name) is not value:
                continue
            if before is _NONE:
                delattr(owner, name)
            else:
                setattr(owner, name, before)


_NONE = object()
"""What an owner has that inherits an attribute."""
