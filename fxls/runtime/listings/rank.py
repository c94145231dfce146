"""Which of the processes of a distributed program this one is, and of which launch."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping

import torch

from fxls import machine

__all__ = ["launch_of_ranks", "launched_as", "rank"]

_launched: list[int] = []
"""The rank that a launcher gave this process, if one did."""


_JOB = ("TORCHELASTIC_RUN_ID", "SLURM_JOB_ID")
"""What tells jobs of several machines apart, where somebody gave them names."""
_ATTEMPT = (
    *("MASTER_ADDR", "MASTER_PORT"),
    *("TORCHELASTIC_RESTART_COUNT", "SLURM_STEP_ID"),
)


def launched_as(environment: Mapping[str, str]) -> None:
    """Take the rank that `torchrun` and its like write into the environment."""
    _launched.clear()
    given = _given(environment)
    if given is not None:
        _launched.append(given[0])


def launch_of_ranks(environment: Mapping[str, str]) -> str | None:
    """A name that all ranks of a launch have, and no other process; None for what is no
    rank.

    The launcher of the ranks of one machine is the parent of all of them.
    """
    given = _given(environment)
    if given is None:
        return None
    here = environment.get("LOCAL_WORLD_SIZE", "")
    job = [environment.get(name, "") for name in _JOB]
    is_spread = here.isdecimal() and int(here) < given[1]
    if not is_spread or not {*job} - {"", "none"}:
        job = [machine.host(), machine.boot(), str(os.getppid())]
    words = [*job, *(environment.get(name, "") for name in _ATTEMPT)]
    return f"ranks-{hashlib.sha256(repr(words).encode()).hexdigest()[:16]}"


def _given(environment: Mapping[str, str]) -> tuple[int, int] | None:
    """The rank and the number of ranks that a launcher gave this process."""
    number, size = environment.get("RANK", ""), environment.get("WORLD_SIZE", "")
    if number.isdecimal() and size.isdecimal() and int(size) > 1:
        return int(number), int(size)
    return None


def rank() -> int | None:
    """The rank of this process; None where there is one process."""
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank() if distributed.get_world_size() > 1 else None
    return _launched[0] if _launched else None
