"""Long answers are made in a thread, so that requests about other files go before."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

import msgspec

from fxls.ide.listing.document import Document
from fxls.serving.connection import Connection
from fxls.serving.made_first import Attempts, NotYetMade

__all__ = ["aside", "begun_again", "in_thread"]

_T = TypeVar("_T")
_P = ParamSpec("_P")

_FEW = 2_000
"""Nodes of a listing whose answers take less time than to start a thread."""


async def aside(
    ls: Connection, document: Document, made: Callable[[], _T]
) -> _T | msgspec.Raw:
    """An answer about a whole listing, encoded where it is made of many nodes.

    `made` asks no state of the server: listings and what is said of them never change.
    """
    if len(document.listing.nodes) < _FEW:
        return made()
    return await ls.asides.run(_encoded, made)


async def in_thread(ls: Connection, document: Document, made: Callable[[], _T]) -> _T:
    """`aside` for what an answer about a listing is made from."""
    return await ls.asides.run(made) if len(document.listing.nodes) >= _FEW else made()


def begun_again(
    task: Callable[Concatenate[Connection, _P], Awaitable[_T]],
) -> Callable[Concatenate[Connection, _P], Awaitable[_T]]:
    """A handler that changes nothing before its last wait: where it needs what is not
    made yet, it is begun again when a thread has made that.
    """

    @wraps(task)
    async def answer(ls: Connection, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        attempts = Attempts()
        while True:
            try:
                with attempts.run():
                    return await task(ls, *args, **kwargs)
            except NotYetMade as wanted:
                making = ls.made_first.make(wanted, attempts)
            await making

    return answer


def _encoded(made: Callable[[], _T]) -> _T | msgspec.Raw:
    answer = made()
    try:
        return msgspec.Raw(msgspec.json.encode(answer))
    except UnicodeEncodeError:
        # A name of a file that is not Unicode: the protocol escapes it.
        return answer
