"""A program that compiles a model: with fxls, or with what torch itself notes of kernels.

`python -m tests.runtime.inductor.compile_kernels MODEL fxls STORE` makes listings, and
with `torch FILE` in their place it writes what torch's provenance says of each graph.
"""

from __future__ import annotations

import copy
import functools
import importlib
import json
import sys
from pathlib import Path
from typing import Any

import fxls
from fxls.runtime import finish
from tests.runtime.inductor.kernel_models import MODELS


def with_fxls(model: str, store: str) -> None:
    fxls.install(store)
    MODELS[model]()
    finish()
    fxls.uninstall()


def with_provenance(model: str, file: str) -> None:
    config: Any = importlib.import_module("torch._inductor.config")
    debug: Any = importlib.import_module("torch._inductor.debug")
    lowering: Any = importlib.import_module("torch._inductor.graph").GraphLowering
    own = lowering._compile_to_module_lines
    found: list[Any] = []

    @functools.wraps(own)
    def noting(self: Any, wrapper_code: Any) -> Any:
        nodes = debug._inductor_triton_kernel_to_post_grad_node_info
        stacks = debug._inductor_kernel_stack_trace
        found.append([copy.deepcopy(nodes), copy.deepcopy(stacks)])
        return own(self, wrapper_code)

    lowering._compile_to_module_lines = noting
    with config.patch({"trace.provenance_tracking_level": 1}):
        MODELS[model]()
    Path(file).write_text(json.dumps(found))


if __name__ == "__main__":
    _, asked, how, where = sys.argv
    {"fxls": with_fxls, "torch": with_provenance}[how](asked, where)
