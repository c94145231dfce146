"""A plugin of pytest that changes what the tests import: see `redirect`.

``FXLS_CLIENT`` says which packages and folders, separated by ``:``; without it the tests
run as they are.
"""

from __future__ import annotations

import contextlib
import importlib
import os

import torch

from tools.clients import redirect

TORCHVISION = (
    *("nms", "qnms", "roi_align", "qroi_align", "roi_pool", "deform_conv2d"),
    *("ps_roi_align", "ps_roi_pool", "_roi_align_backward", "_roi_pool_backward"),
    *("_ps_roi_align_backward", "_ps_roi_pool_backward", "_deform_conv2d_backward"),
)
"""Operators without which torchvision cannot be imported; beside a torch for the CPU its
own do not load, and no client's test calls them."""


def declare_operators() -> None:
    """Declare the operators of torchvision, unless they are there."""
    with contextlib.suppress(ImportError, RuntimeError):
        importlib.import_module("torchvision")
        return
    for name in TORCHVISION:
        with contextlib.suppress(RuntimeError):
            torch.library.define(f"torchvision::{name}", "(Tensor x) -> Tensor")


declare_operators()
asked = os.environ.get("FXLS_CLIENT", "")
if asked:
    names = asked.split(":")
    redirect.install(
        [name for name in names if "/" not in name],
        [name for name in names if "/" in name],
    )
