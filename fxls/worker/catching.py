"""The one place where the worker catches whatever the user's code raises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

__all__ = ["UserRaised", "caught"]

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class UserRaised:
    """What came of a step instead of a result; anything may, also a `SystemExit`."""

    error: BaseException


def caught(step: Callable[[], _Result]) -> _Result | UserRaised:
    """The result of a step that runs code of the user's, or of the installation."""
    try:
        return step()
    except BaseException as error:  # noqa: BLE001  such code may raise anything
        return UserRaised(error)
