"""What a transform says about the nodes that it makes next: meta carried along.

Inside `preserve_node_meta`, a node made by tracing gets the meta and the origin of the
node that `set_current_meta` names: that of the program that is run again.
"""

from __future__ import annotations

import copy
import functools
import threading
import traceback
from collections import OrderedDict
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from fxls.engine.ir.provenance import (
    NodeSource,
    NodeSourceAction,
    get_graph_provenance_json,
)
from fxls.engine.late_names import late_names
from fxls.engine.torch_private import forward_steps

if TYPE_CHECKING:
    from fxls.engine.ir.node import Node

__all__ = [
    "NodeSource",
    "NodeSourceAction",
    "annotate",
    "annotate_fn",
    "annotate_node",
    "format_stack",
    "get_current_meta",
    "get_current_replay_node",
    "get_graph_provenance_json",
    "has_preserved_node_meta",
    "is_preserving",
    "preserve_node_meta",
    "reset_grad_fn_seq_nr",
    "set_current_meta",
    "set_current_replay_node",
    "set_grad_fn_seq_nr",
    "set_stack_trace",
]

P = ParamSpec("P")
R = TypeVar("R")


class _Current(threading.local):
    """What the running transform of this thread said."""

    def __init__(self) -> None:
        self.preserves = False
        self.meta: dict[str, Any] = {}
        self.node: Node | None = None
        self.replayed: Node | None = None


_current = _Current()

_CARRIED = (
    *("ac_graph_id", "custom", "from_node", "has_backward_hook", "nn_module_stack"),
    *("_numeric_debug_handle", "original_aten", "partitioner_tag", "quantization_tag"),
    *("recompute", "source_fn_stack", "torch_fn"),
)
"""The entries of meta that a node made from another one keeps."""


@contextmanager
def preserve_node_meta(enable: bool = True) -> Generator[None]:  # noqa: FBT001, FBT002 - FX's signature
    """A block in which nodes get the meta of the one they are made from."""
    before = (_current.preserves, _current.meta, _current.node)
    _current.preserves = enable
    # What was said outside of the block holds inside; what is said inside ends with it.
    _current.meta = before[1].copy()
    try:
        yield
    finally:
        _current.preserves, _current.meta, _current.node = before


def has_preserved_node_meta() -> bool:
    """Whether nodes get the meta of the one they are made from."""
    return _current.preserves


is_preserving = has_preserved_node_meta


class set_current_meta:  # noqa: N801 - FX's name
    """A block in which nodes are made from `node`, by the pass of this name."""

    __slots__ = ("_before", "_node", "_pass_name")

    def __init__(self, node: Node, pass_name: str = "") -> None:
        self._node = node
        self._pass_name = pass_name
        self._before: tuple[dict[str, Any], Node | None] | None = None

    def __enter__(self) -> None:
        current = _current
        if not current.preserves:
            return
        node = self._node
        before = current.meta
        self._before = (before, current.node)
        meta = node.meta.copy()
        if meta:  # as in torch.fx, where a node without meta leaves no trace
            meta["from_node"] = [
                NodeSource(node, self._pass_name, NodeSourceAction.CREATE)
            ]
        if "custom" in before:  # what `annotate` said, a single node does not undo
            meta["custom"] = before["custom"]
        current.meta, current.node = meta, node

    def __exit__(self, *_raised: object) -> None:
        if self._before is not None:
            _current.meta, _current.node = self._before


def get_current_meta() -> dict[str, Any]:
    """The meta that the next node gets."""
    return _current.meta


def set_stack_trace(stack: list[str]) -> None:
    """Give the next nodes a stack trace, or with `[]` none, while meta is preserved."""
    if _current.preserves and stack:
        _current.meta["stack_trace"] = "".join(stack)
    elif _current.preserves:
        _current.meta.pop("stack_trace", None)


def format_stack() -> list[str]:
    """The stack trace of the next node, or of the caller, as a list of texts."""
    if _current.preserves:
        return [_current.meta.get("stack_trace", "")]
    return traceback.format_list(traceback.extract_stack()[:-1])


@contextmanager
def annotate(annotation_dict: dict[str, Any]) -> Generator[None]:
    """A block whose nodes have these entries in ``meta["custom"]``."""
    before = _current.meta.get("custom")
    _current.meta["custom"] = {**(before or {}), **annotation_dict}
    try:
        yield
    finally:
        if before is None:
            del _current.meta["custom"]
        else:
            _current.meta["custom"] = before


def annotate_fn(
    annotation_dict: dict[str, Any],
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator: nodes that the function makes have these entries, as in `annotate`."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def annotated(*args: P.args, **kwargs: P.kwargs) -> R:
            with annotate(annotation_dict):
                return function(*args, **kwargs)

        return annotated

    return decorate


@contextmanager
def set_current_replay_node(node: Node | None) -> Generator[None]:
    """A block in which `node` is the one that is run again."""
    before, _current.replayed = _current.replayed, node
    try:
        yield
    finally:
        _current.replayed = before


def get_current_replay_node() -> Node | None:
    """The node that is run again, as `set_current_replay_node` says."""
    return _current.replayed


def set_grad_fn_seq_nr(seq_nr: int) -> None:
    """Say which backward step runs, while meta is preserved."""
    if _current.preserves:
        meta = _current.meta
        meta["grad_fn_seq_nr"] = [*meta.get("grad_fn_seq_nr", ()), seq_nr]
        meta["in_grad_fn"] = meta.get("in_grad_fn", 0) + 1


def reset_grad_fn_seq_nr() -> None:
    """Take back what `set_grad_fn_seq_nr` said last."""
    if not _current.preserves:
        return
    meta = _current.meta
    depth = meta["in_grad_fn"]
    assert depth > 0, "no backward step is running"
    if depth == 1:
        del meta["in_grad_fn"], meta["grad_fn_seq_nr"]
    else:
        meta["in_grad_fn"] = depth - 1
        meta["grad_fn_seq_nr"] = meta["grad_fn_seq_nr"][:-1]


def annotate_node(node: Node) -> None:
    """Give a node that was just made what the current meta says."""
    meta = _current.meta
    node._scope = None  # the module stack is the one of the node it is made from
    own = node.meta
    trace = meta.get("stack_trace")
    if trace:
        own["stack_trace"] = trace
    for entry in _CARRIED:
        if entry in meta:
            value = meta[entry]
            quick = type(value) in _COPIED_QUICKLY
            own[entry] = value.copy() if quick else copy.copy(value)
    if meta.get("in_grad_fn", 0) > 0:
        own["seq_nr"] = meta["grad_fn_seq_nr"][-1]
    else:
        # Making the value has moved the counter on already.
        own["seq_nr"] = forward_steps() - 1
    source = _current.node
    if source is not None:
        node._frames = source._frames


_COPIED_QUICKLY = frozenset({dict, list, OrderedDict})

if not TYPE_CHECKING:
    __getattr__ = late_names(__name__)
