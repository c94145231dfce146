"""Which backwards begin with a loss that a scaler of torch's made larger.

A scaler tries how large the loss may be: when gradients overflow, it skips the step.
"""

from __future__ import annotations

import functools
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, cast

import torch

from fxls.attempt import leave_out_frame
from fxls.runtime.checks.verdict import tensors_of
from fxls.runtime.patches import Patches
from fxls.runtime.torch_private import graph_task, is_dynamo_compiling

__all__ = ["forget", "is_scaled", "notice"]


def notice() -> None:
    """Take note of what is scaled from now on."""
    with _lock:
        if _patches.is_empty:
            for kind in _kinds(cast("Any", torch).amp.GradScaler):
                if "scale" in kind.__dict__:
                    _patches.put(kind, "scale", _noticing(kind.__dict__["scale"]))


def forget() -> None:
    """Take note no longer; the scalers are as they were."""
    with _lock:
        _patches.undo()


def is_scaled(task: int) -> bool:
    """Whether a backward, by its number, began with a scaled loss."""
    return task in _scaled


def _noticing(own: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(own)
    def scale(self: Any, outputs: Any, *args: Any, **more: Any) -> Any:
        try:
            scaled = own(self, outputs, *args, **more)
        except Exception as error:
            leave_out_frame(error)
            raise
        if scaled is not outputs and not is_dynamo_compiling():
            for tensor in tensors_of(scaled):
                if tensor.grad_fn is not None:
                    cast("Any", tensor).register_hook(_began)
        return scaled

    return scale


def _began(_gradient: torch.Tensor) -> None:
    task = graph_task()
    if task not in _scaled:
        _scaled.append(task)


def _kinds(kind: type) -> Iterator[type]:
    yield kind
    for one in kind.__subclasses__():
        yield from _kinds(one)


_patches = Patches()
_lock = threading.Lock()
_scaled: deque[int] = deque(maxlen=16)
"""The numbers of the last backwards of that kind."""
