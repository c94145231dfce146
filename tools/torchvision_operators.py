"""torchvision beside a torch that its operators in C++ do not load with.

Its wheel is for one build of torch. Beside another, such as that for the CPU, it cannot
be imported until its operators are declared; models do without running them.
"""

from __future__ import annotations

import contextlib
import importlib

import torch

__all__ = ["declare"]

_NAMES = (
    *("nms", "qnms", "roi_align", "qroi_align", "roi_pool", "deform_conv2d"),
    *("ps_roi_align", "ps_roi_pool", "_roi_align_backward", "_roi_pool_backward"),
    *("_ps_roi_align_backward", "_ps_roi_pool_backward", "_deform_conv2d_backward"),
)


def declare() -> None:
    """Declare its operators, for as long as the process lives, unless they are there."""
    with contextlib.suppress(ImportError, RuntimeError):
        importlib.import_module("torchvision")
        return
    for name in _NAMES:
        with contextlib.suppress(RuntimeError):  # one that is declared already
            torch.library.define(f"torchvision::{name}", "(Tensor x) -> Tensor")
