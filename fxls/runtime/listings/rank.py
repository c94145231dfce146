"""Which of the processes of a distributed program this one is."""

from __future__ import annotations

from collections.abc import Mapping

import torch

__all__ = ["launched_as", "rank"]

_launched: list[int] = []
"""The rank that a launcher gave this process, if one did."""


def launched_as(environment: Mapping[str, str]) -> None:
    """Take the rank that `torchrun` and its like write into the environment."""
    number, size = environment.get("RANK", ""), environment.get("WORLD_SIZE", "")
    _launched.clear()
    if number.isdecimal() and size.isdecimal() and int(size) > 1:
        _launched.append(int(number))


def rank() -> int | None:
    """The rank of this process; None where there is one process."""
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank() if distributed.get_world_size() > 1 else None
    return _launched[0] if _launched else None
