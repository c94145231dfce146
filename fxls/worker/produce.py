"""Listings of an entry by one of torch's own producers."""

from __future__ import annotations

import contextlib
import io
import logging
from collections.abc import Generator

import msgspec

from fxls.entry import Entry, Producer
from fxls.listing import Failure, Listing, Reason
from fxls.repairs import Capture
from fxls.runtime.producers.by_request import compiled, exported
from fxls.worker.catching import UserRaised, caught
from fxls.worker.evaluate import Model, Refused

__all__ = ["listings_by", "others_advice"]


def listings_by(producer: Producer, model: Model, entry: Entry) -> tuple[Listing, ...]:
    """At least one listing; raises `Refused`, and what torch or the model raises."""
    inputs = model.inputs
    if inputs is None:
        message = f"torch.{producer.value} needs example inputs"
        advice = "Call the model with them: `Net()(torch.randn(1, 3))`."
        raise Refused(Failure(Reason.ENTRY, message, advice=advice))
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


def others_advice(model: Model, entry: Entry) -> tuple[str, Capture] | None:
    """Which producer makes a listing of a model that cannot be traced; maybe None.

    Each is tried on the example inputs.
    """
    if model.inputs is None:
        return None
    for producer, what in _OTHERS:
        with _silence():
            found = caught(lambda p=producer: listings_by(p, model, entry))
        if not isinstance(found, UserRaised):
            count = f" in {len(found)} graphs" if len(found) > 1 else ""
            advice = (
                f"{what} captures it{count}: write"
                f" `# fxls[{producer.value}]: {entry.expression}`."
            )
            return advice, Capture(producer.value)
    return None


@contextlib.contextmanager
def _silence() -> Generator[None]:
    """Nobody asked for what is tried here, and torch says much when it fails."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with (
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            yield
    finally:
        logging.disable(before)


_OTHERS = ((Producer.EXPORT, "torch.export"), (Producer.COMPILE, "torch.compile"))
