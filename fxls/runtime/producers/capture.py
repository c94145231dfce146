"""Who made a graph of torch's FX, when it was not traced by its own `symbolic_trace`."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Generator
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import msgspec

from fxls.listing import About, How, Identity, Parent, Remark
from fxls.runtime.listings.head import Words
from fxls.runtime.torch_private import fx, is_compiling

__all__ = [
    "PLAIN",
    "Capture",
    "Revised",
    "capture_of",
    "capturing",
    "hushed",
    "in_backend",
    "in_place_of",
    "is_hushed",
    "note_capture",
    "note_file",
    "of_backend",
    "parents_by",
    "published_as",
    "with_reason",
]


@dataclass(frozen=True, slots=True)
class Capture:
    """What a producer says of a graph that it gives to be a listing."""

    producer: str
    stage: str = ""
    root: tuple[str, str] | None = None
    """Module and qualified name of what was captured, where the producer knows."""
    header: tuple[Words, ...] = ()
    """Lines about this graph, for the comment above its code."""
    parents: tuple[Parent, ...] = ()
    """What it was made from, the nearest first."""
    called_by: weakref.ref[Any] | None = None
    """The graph module that it is a part of."""
    computes_gradients: bool = False
    remarks: tuple[Remark, ...] = ()
    parameters: int | None = None
    """How many numbers those hold that are inputs, where the producer knows."""

    def lineage(self) -> tuple[Parent, ...]:
        """Its `parents`, or the graph that calls it and the parents of that."""
        outer = None if self.called_by is None else self.called_by()
        return self.parents if outer is None else parents_by(outer._graph, How.CALLED)


class Revised(NamedTuple):
    """A listing that is in the store, though its facts may follow."""

    identity: Identity
    file: str


def note_capture(module: Any, capture: Capture) -> None:
    """Let the listings of a graph module say this, and those of the graph modules in it,
    as the branches of ``torch.cond`` are.
    """
    _captures[module] = capture
    for path, part in module.named_modules():
        if path and isinstance(part, fx.GraphModule):
            stage = f"{capture.stage}, {path}" if capture.stage else path
            _captures[part] = replace(
                capture,
                stage=stage,
                header=((f"It is called by the graph as {path}.",),),
                parents=(),
                remarks=(),
                parameters=None,
                called_by=weakref.ref(module),
            )


def note_file(
    graph: Any, identity: Identity, file: str, parents: tuple[Parent, ...]
) -> None:
    """Take note of the file that has the code of a graph of torch's FX."""
    _files[graph] = (Parent(identity, file), *parents)


def parents_by(graph: Any, how: How = How.PASSES) -> tuple[Parent, ...]:
    """The parents of what is made from a graph; none when that is no listing."""
    known = _files.get(graph)
    if known is None:
        return ()
    nearest, *others = known
    return (msgspec.structs.replace(nearest, how=how), *others)


def capture_of(module: Any) -> Capture | None:
    """What is known of who made the graph of a module; None keeps it from being shown.

    That is one of the many that torch.compile makes for itself on its way.
    """
    if _hushed.get():
        return None
    known = _captures.get(module)
    if known is not None:
        return known
    return _here.get() if is_compiling() else PLAIN


@contextlib.contextmanager
def capturing(capture: Capture | None) -> Generator[None]:
    """Say this of the graphs that torch.compile, or its backend, makes in the block."""
    token = _here.set(capture)
    try:
        yield
    finally:
        _here.reset(token)


def of_backend(capture: Capture, graph: Any) -> Capture:
    """What is said of a graph that a backend of the program's makes of one."""
    stage = capture.stage.removesuffix(_OF_BACKEND) + _OF_BACKEND
    return replace(capture, stage=stage, parents=parents_by(graph), remarks=())


def in_backend() -> bool:
    """Whether a backend of the program's compiles a graph."""
    return _here.get() is not None and not _hushed.get()


@contextlib.contextmanager
def in_place_of(whom: str, reason: str) -> Generator[None]:
    """Say of each graph that is made in the block who could not capture the model."""
    token = _instead.set((whom, reason))
    try:
        yield
    finally:
        _instead.reset(token)


def with_reason(capture: Capture) -> Capture:
    """What is said of a graph, and in whose place it stands."""
    instead = _instead.get()
    if instead is None:
        return capture
    whom, reason = instead
    remark = Remark(About.INSTEAD, f"{whom} cannot capture it: {reason}")
    return replace(
        capture,
        header=((remark.reason,), *capture.header),
        remarks=(remark, *capture.remarks),
    )


@contextlib.contextmanager
def hushed(*, when: bool = True) -> Generator[None]:
    """Let what is compiled in the block be torch's own business, or not after all."""
    token = _hushed.set(when)
    try:
        yield
    finally:
        _hushed.reset(token)


def is_hushed() -> bool:
    """Whether what is made is torch's own business."""
    return _hushed.get()


def published_as(module: Any) -> Capture:
    """What the listing of a module says that somebody asks for."""
    return _captures.get(module) or PLAIN


PLAIN = Capture("torch.fx")
_OF_BACKEND = ", of the backend"
_here: ContextVar[Capture | None] = ContextVar("fxls_capture", default=None)
_hushed: ContextVar[bool] = ContextVar("fxls_hushed", default=False)
_instead: ContextVar[tuple[str, str] | None] = ContextVar("fxls_instead", default=None)
_captures: weakref.WeakKeyDictionary[Any, Capture] = weakref.WeakKeyDictionary()
_files: weakref.WeakKeyDictionary[Any, tuple[Parent, ...]] = weakref.WeakKeyDictionary()
