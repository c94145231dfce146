"""Whether operators give values of the form that their fake kernels say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from fxls.runtime.numbers.graphs import ReplayedGraph, leaves
from fxls.runtime.numbers.replaying import Replay
from fxls.runtime.passes.graph_state import Row
from fxls.runtime.torch_private import schema_of
from fxls.verdicts.comparison import Evidence

__all__ = [
    "GIVES_MEMORY",
    "WrongFake",
    "lies_of_memory",
    "lies_of_writing",
    "wrong_fakes",
]

GIVES_MEMORY = (
    "gives memory of what it is given, and its signature says that it does not"
)
"""What an operator does of which `lies_of_memory` says that it lies."""

_TORCHS = ("aten", "prims", "prim", "mkldnn", "quantized", "inductor", "higher_order")


@dataclass(frozen=True, slots=True)
class WrongFake:
    """An operator of the program whose values have another form than it says."""

    operator: str
    node: str
    evidence: Evidence


def wrong_fakes(graph: ReplayedGraph, run: Replay) -> Iterator[WrongFake]:
    """Compare what operators of the program gave with what torch noted of them."""
    for row in graph.rows:
        if _is_programs(row.target) and row.name in run.values:
            said = leaves(graph.said_of(row).get("val"))
            for real, fake in zip(leaves(run.values[row.name]), said, strict=False):
                reason = _difference(real, fake)
                if reason:
                    yield _wrong(row, real, reason)
                    break


def lies_of_memory(graph: ReplayedGraph, run: Replay) -> Iterator[WrongFake]:
    """The operators of the program that give memory of what they are given, which their
    signatures do not say. Most programs never notice.
    """
    for row in graph.rows:
        if not _is_programs(row.target) or row.name not in run.values:
            continue
        schema: Any = schema_of(row.target)
        if any(one.alias_info is not None for one in schema.returns):
            continue
        given = {
            memory
            for used in graph.uses(row)
            if used in run.values
            for one in leaves(run.values[used])
            if (memory := _memory(one))
        }
        for one in leaves(run.values[row.name]):
            if _memory(one) in given:
                yield _wrong(row, one, f"it {GIVES_MEMORY}")
                break


def _wrong(row: Row, value: torch.Tensor, reason: str) -> WrongFake:
    form = (str(value.dtype).removeprefix("torch."), tuple(value.shape))
    evidence = Evidence(*form, float("inf"), 0.0, 0.0, 0.0, reason)
    return WrongFake(str(row.target), row.name, evidence)


def _memory(value: Any) -> int:
    """Where the numbers of a tensor are; zero where there are none."""
    is_there = isinstance(value, torch.Tensor) and value.layout == torch.strided
    return value.untyped_storage().data_ptr() if is_there else 0


def lies_of_writing(graph: ReplayedGraph, name: str) -> WrongFake | None:
    """What is to be said of an operator that changed a value, if it is one of the program
    and its signature says that it changes none.
    """
    row = graph.by_name[name]
    operator, reason = row.target, "it changes what it is given, and its signature says"
    schema: Any = schema_of(operator)
    if "auto_functionalized" in str(operator):
        # It is given copies of what its signature says that it changes.
        operator, reason = row.args[0], f"{reason} so of other arguments"
    elif schema is None or schema.is_mutable:
        return None
    else:
        reason += " that it does not"
    if not _is_programs(operator):
        return None
    evidence = Evidence("", (), float("inf"), 0.0, 0.0, 0.0, reason)
    return WrongFake(str(operator), name, evidence)


def _is_programs(operator: Any) -> bool:
    namespace = getattr(operator, "namespace", None)
    return schema_of(operator) is not None and namespace not in _TORCHS


def _difference(real: Any, fake: Any) -> str:
    if not isinstance(real, torch.Tensor) or not isinstance(fake, torch.Tensor):
        return ""
    if real.dtype != fake.dtype:
        is_, said = (str(one.dtype).removeprefix("torch.") for one in (real, fake))
        return f"it is {is_}, and its fake kernel says {said}"
    if (forms := _forms(real.shape, fake.shape)) is not None:
        return "it has the shape {}, and its fake kernel says {}".format(*forms)
    if real.numel() and not _is_strided_alike(real, fake):
        return (
            f"it has the strides {real.stride()}, and its fake kernel says"
            f" {tuple(fake.stride())}"
        )
    return ""


def _forms(real: Any, fake: Any) -> tuple[Any, Any] | None:
    """Both, where they differ in a number that is known."""
    one, other = tuple(real), tuple(fake)
    is_other = len(one) != len(other) or any(
        _is_known(size) and size != known
        for known, size in zip(one, other, strict=True)
    )
    return (one, other) if is_other else None


def _is_strided_alike(real: torch.Tensor, fake: torch.Tensor) -> bool:
    """Whether strides are the same, but those of dimensions of one element, which say
    nothing.
    """
    return all(
        size == 1 or not _is_known(said) or said == stride
        for size, stride, said in zip(
            real.shape, real.stride(), fake.stride(), strict=True
        )
    )


def _is_known(size: object) -> bool:
    return isinstance(size, int)
