"""Code of the user's, or of a library we do not know, whose exceptions become values."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

__all__ = ["Raised", "attempt", "attempting"]

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Raised:
    """What came instead of a result."""

    error: Exception


def attempt(call: Callable[[], _Result]) -> _Result | Raised:
    """The result of a call, whatever the call does."""
    try:
        return call()
    except Exception as error:  # noqa: BLE001 - that is the purpose
        return Raised(error)


@contextmanager
def attempting(raised: Callable[[Exception], object]) -> Generator[None]:
    """Do what is in the block; `raised` gets what comes out of it, and nobody else."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - as above
        raised(error)
