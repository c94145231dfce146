"""Which nodes draw random numbers, and which values only say what was drawn."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import torch

from fxls.runtime.numbers.graphs import ReplayedGraph
from fxls.runtime.passes.graph_state import Row
from fxls.runtime.torch_private import schema_of

__all__ = ["RANDOM", "draws_alone", "is_random", "is_seed", "seeds_of"]

any_torch: Any = torch

RANDOM = "random numbers are drawn in between"


def is_random(row: Row) -> bool:
    """Whether a node draws random numbers, as far as its operator says."""
    if _dropout(row) == 0.0:
        return False  # the operators for attention draw for their dropout alone
    tags: Any = getattr(row.target, "tags", ())
    seeded = any_torch.Tag.nondeterministic_seeded
    return (isinstance(tags, list | tuple | set) and seeded in tags) or str(
        row.target
    ).startswith(
        ("prims.inductor_random", "prims.inductor_seed", "prims.inductor_lookup")
    )


def _dropout(row: Row) -> Any:
    """With which probability a node drops values; None where its operator has none."""
    schema: Any = schema_of(row.target)
    for at, one in enumerate(schema.arguments if schema else ()):
        if one.name == "dropout_p":
            given = row.kwargs.get(one.name, one.default_value)
            return row.args[at] if at < len(row.args) else given
    return None


def is_seed(graph: ReplayedGraph, name: str) -> bool:
    """Whether a value says what an operator drew, and is not computed of anything: where
    that drew nothing it is whatever was in its memory.
    """
    row = graph.by_name.get(name)
    if row is None or row.target is not operator.getitem:
        return False
    of = graph.by_name.get(graph.name_of(row.args[0]))
    return of is not None and row.args[1] in seeds_of(of)


def seeds_of(row: Row) -> Sequence[int]:
    """Which of several things that an operator returns say what it drew."""
    schema: Any = schema_of(row.target)
    returned: Any = schema.returns if schema else ()
    return [at for at, one in enumerate(returned) if one.name in _SEEDS]


_SEEDS = ("philox_seed", "philox_offset", "rng_state", "unused", "debug_attn_mask")


def draws_alone(row: Row) -> bool:
    """Whether a node reads no values, but how many numbers to draw, and as what."""
    target = str(row.target)
    return "bernoulli" not in target and any(
        word in target for word in ("rand", "inductor_")
    )
