"""Code of the user's, or of a library we do not know, whose exceptions become values."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

__all__ = ["Raised", "attempt", "attempting", "leave_out_frame", "watched"]

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


def leave_out_frame(error: BaseException) -> None:
    """Take the frame that caught an error out of its traceback.

    To be called where it is caught, with a bare ``raise`` behind it: that one adds no
    frame again, so that nobody sees who only passed the error on.
    """
    caught = error.__traceback__
    if caught is not None and caught.tb_frame is sys._getframe(1):  # pyright: ignore[reportPrivateUsage]  # CPython has it
        error.__traceback__ = caught.tb_next


def watched(
    call: Callable[..., Any],
    watch: Callable[..., Generator[None, Any, Any]],
    raised: Callable[[Exception], object],
) -> Callable[..., Any]:
    """`call`, with what stands in `watch` before and behind its ``yield``.

    `watch` takes the same arguments, gets the result from its ``yield``, and returns what
    the caller gets; when it returns before, there is no call. What it raises itself
    `raised` gets, and the caller gets what `call` alone gives.
    An error of `call` leaves without a frame of ours.
    """

    @functools.wraps(call)
    def called(*args: Any, **kwargs: Any) -> Any:
        steps: Generator[None, Any, Any] | None = None
        try:
            steps = watch(*args, **kwargs)
            next(steps)
        except StopIteration as instead:
            return instead.value
        except Exception as error:  # noqa: BLE001 - as above
            raised(error)
            steps = None
        try:
            result = call(*args, **kwargs)
        except BaseException as error:
            if steps is not None:
                with attempting(raised):
                    steps.close()
            leave_out_frame(error)
            raise
        if steps is None:
            return result
        try:
            steps.send(result)
        except StopIteration as end:
            return end.value
        except Exception as error:  # noqa: BLE001 - as above
            raised(error)
        return result

    return called
