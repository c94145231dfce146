"""The parts that a module is split into: their nodes, and what they are called with."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, cast

import torch

from fxls.engine.lasting import lasting
from fxls.engine.passes.tools_common import NodeList, submodules_of

__all__ = ["Subgraph", "generate_inputs_for_submodules"]


@lasting("fxls.engine.passes.splitter_base")
@dataclass
class Subgraph:
    """The nodes of one part."""

    is_acc: bool
    """Whether the accelerator runs it."""
    nodes: NodeList
    device_ordinal: int | None = None


@lasting("fxls.engine.passes.splitter_base")
def generate_inputs_for_submodules(
    model: torch.nn.Module,
    inputs: Sequence[Any],
    target_submodules: Iterable[str],
    deepcopy: bool = False,  # noqa: FBT001, FBT002 - FX's signature
) -> dict[str, Any]:
    """What some submodules are called with (the last time) when a model is run.

    With `deepcopy` as copies: the run may change them later. A module that has several
    paths is known by the first.
    """
    wanted = set(target_submodules)
    results: dict[str, Any] = {}
    with ExitStack() as hooks, torch.no_grad():
        for name, module in submodules_of(model).items():
            if name not in wanted or isinstance(module, torch.jit.ScriptModule):
                continue

            def note(_module: Any, given: Any, name: str = name) -> None:
                results[name] = copy.deepcopy(given) if deepcopy else given

            handle = cast("Any", module).register_forward_pre_hook(note)
            hooks.callback(handle.remove)
        model(*inputs)
    return results
