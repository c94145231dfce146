"""The one place where the worker catches whatever the user's code raises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

__all__ = ["Raised", "catch_all"]

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Raised:
    """Stands for the result of a step that raised."""

    error: BaseException


def catch_all(step: Callable[[], _Result]) -> _Result | Raised:
    """The result of a step that runs code of the user's, or of the installation."""
    try:
        return step()
    except BaseException as error:  # noqa: BLE001  such code may raise anything
        return Raised(error)
