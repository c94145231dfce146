"""Code of the user's, or of a library we do not know, whose exceptions become values."""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

__all__ = ["Raised", "attempt", "attempting", "watched"]

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


def watched(
    call: Callable[..., Any],
    watch: Callable[..., Generator[None, Any, Any]],
    raised: Callable[[Exception], object],
) -> Callable[..., Any]:
    """`call`, with what stands in `watch` before and behind its ``yield``.

    `watch` takes the same arguments, gets the result from its ``yield``, and returns what
    the caller gets; when it returns before, there is no call. What it raises itself
    `raised` gets, and the caller gets what `call` alone gives.
    """

    @functools.wraps(call)
    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            steps = watch(*args, **kwargs)
            next(steps)
        except StopIteration as instead:
            return instead.value
        except Exception as error:  # noqa: BLE001 - as above
            raised(error)
            return call(*args, **kwargs)
        try:
            result = call(*args, **kwargs)
        except BaseException:
            with attempting(raised):
                steps.close()
            raise
        try:
            steps.send(result)
        except StopIteration as end:
            return end.value
        except Exception as error:  # noqa: BLE001 - as above
            raised(error)
        return result

    return called
