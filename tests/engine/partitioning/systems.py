"""Our passes and those of the installed `torch.fx`, run by the same lines of a test."""

from __future__ import annotations

import copy
import importlib
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch.fx
from torch.fx.passes.shape_prop import TensorMetadata as TheirMetadata

from fxls import engine
from fxls.engine.passes.shape_prop import TensorMetadata as OurMetadata

Case = Callable[["System"], Any]


@dataclass(frozen=True)
class System:
    """An FX system: its own classes, and its passes by the names they share."""

    fx: Any
    package: str

    def passes(self, name: str) -> Any:
        return importlib.import_module(f"{self.package}.passes.{name}")

    def trace(self, program: Any) -> Any:
        return self.fx.symbolic_trace(copy.deepcopy(program))


THEIRS = System(torch.fx, "torch.fx")
OURS = System(engine, "fxls.engine")


def known(
    module: str, name: str, rows: Iterable[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Of some keyword arguments those that a pass of the installed torch.fx takes."""
    takes = inspect.signature(getattr(THEIRS.passes(module), name)).parameters
    return [row for row in rows if row.keys() <= takes.keys()]


def alike(case: Case) -> Any:
    """What a case gives, which must be the same in both systems."""
    expected = case(THEIRS)
    found = case(OURS)
    assert found == expected
    return found


def refused_alike(case: Case) -> Exception:
    """The error that a case raises with ours, of the type that torch.fx raises."""
    errors: list[Exception] = []
    for system in (THEIRS, OURS):
        try:
            made = case(system)
        except Exception as error:  # noqa: BLE001 - compared below
            errors.append(error)
        else:
            raise AssertionError(f"{system.package} should refuse, and gives {made}")
    expected, found = errors
    assert type(found).__name__ == type(expected).__name__
    return found


def shown(module: Any) -> Any:
    """A module as a value: its code, its nodes with their meta, and what it holds."""
    if not hasattr(module, "graph"):
        return type(module).__name__
    return {
        "class": type(module).__name__,
        "code": module.code,
        "graph": str(module.graph),
        "meta": [_meta(node) for node in module.graph.nodes],
        "parameters": [name for name, _ in module.named_parameters(recurse=False)],
        "children": {name: shown(child) for name, child in module.named_children()},
    }


def _meta(node: Any) -> dict[str, Any]:
    meta = {key: _plain(value) for key, value in node.meta.items()}
    return {key: value for key, value in meta.items() if key != "nn_module_stack"}


def _plain(value: Any) -> Any:
    """The two systems' own types are compared by what they hold."""
    if isinstance(value, TheirMetadata | OurMetadata):
        return tuple(value)
    return value
