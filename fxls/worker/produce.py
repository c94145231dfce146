"""Listings of an entry by one of torch's own producers."""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Generator

import msgspec

from fxls.entry import Entry, Producer
from fxls.listing import Failure, Listing, Reason
from fxls.worker.evaluate import Model, Refused

__all__ = ["able", "ignore_compilers", "listings_by", "silence"]


def listings_by(producer: Producer, model: Model, entry: Entry) -> tuple[Listing, ...]:
    """At least one listing; raises `Refused`, and what torch or the model raises."""
    inputs = model.inputs
    if inputs is None:
        message = f"torch.{producer.value} needs example inputs"
        advice = "Call the model with them: `Net()(torch.randn(1, 3))`."
        raise Refused(Failure(Reason.ENTRY, message, advice=advice))
    # The engine needs none of it, and comes first.
    from fxls.runtime.producers.by_request import compiled, exported  # noqa: PLC0415

    if producer is Producer.EXPORT:
        found = (exported(model.root, inputs.args, inputs.kwargs),)
    else:
        found = compiled(model.root, inputs.args, inputs.kwargs)
    if not found:
        message = "torch.compile captured no graph of it"
        advice = "It may be that the model calls nothing of torch's."
        raise Refused(Failure(Reason.TRACE, message, advice=advice))
    replace = msgspec.structs.replace
    return tuple(replace(listing, entry=entry.expression) for listing in found)


def able(
    entry: Entry, model: Model, order: tuple[Producer, ...]
) -> tuple[Producer, ...]:
    """Who is tried for an entry; never empty.

    torch's own producers run the model, so that they are left out where there is
    nothing to run it on, unless nobody else is wanted.
    """
    if entry.producer is not None:
        return (entry.producer,)
    if model.inputs is None and Producer.ENGINE in order:
        return (Producer.ENGINE,)
    return order


def ignore_compilers() -> None:
    """Let torch's private modules warn nobody of a compilation that the user's program
    does not ask for, as of a slow Python; what the program warns of is shown.
    """
    warnings.filterwarnings("ignore", module=r"torch\._")


@contextlib.contextmanager
def silence() -> Generator[None]:
    """Nobody asked for what is tried here, and torch says much when it fails."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with (
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
