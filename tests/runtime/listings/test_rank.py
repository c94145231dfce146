"""Which ranks are of one launch, by what a launcher says in the environment."""

from __future__ import annotations

import os

import pytest

from fxls.runtime.listings.rank import launch_of_ranks

OF_ONE_MACHINE = {
    "RANK": "0",
    "WORLD_SIZE": "4",
    "LOCAL_WORLD_SIZE": "4",
    "MASTER_ADDR": "localhost",
    "MASTER_PORT": "29500",
    "TORCHELASTIC_RUN_ID": "none",
    "TORCHELASTIC_RESTART_COUNT": "0",
}
OF_TWO_MACHINES = OF_ONE_MACHINE | {
    "LOCAL_WORLD_SIZE": "2",
    "MASTER_ADDR": "first.cluster",
    "TORCHELASTIC_RUN_ID": "job-7",
}


def launches(parents: tuple[int, int], *environments: dict[str, str]) -> int:
    """How many launches processes with these environments and parents are of."""
    found: set[str | None] = set()
    for parent, environment in zip(parents, environments, strict=True):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(os, "getppid", lambda parent=parent: parent)
            found.add(launch_of_ranks(environment))
    assert None not in found
    return len(found)


def test_a_process_that_is_no_rank_is_of_no_launch_of_ranks() -> None:
    alone = OF_ONE_MACHINE | {"WORLD_SIZE": "1"}

    assert [launch_of_ranks(one) for one in ({}, {"RANK": "0"}, alone)] == [None] * 3


@pytest.mark.parametrize("of", [OF_ONE_MACHINE, OF_TWO_MACHINES])
def test_ranks_of_one_parent_are_one_launch(of: dict[str, str]) -> None:
    assert launches((7, 7), of, of | {"RANK": "1"}) == 1


@pytest.mark.parametrize("of", [OF_ONE_MACHINE, OF_TWO_MACHINES])
def test_a_restart_is_another_launch(of: dict[str, str]) -> None:
    assert launches((7, 7), of, of | {"TORCHELASTIC_RESTART_COUNT": "1"}) == 2


def test_the_same_program_started_again_is_another_launch() -> None:
    assert launches((7, 8), OF_ONE_MACHINE, OF_ONE_MACHINE) == 2


def test_ranks_of_several_machines_are_one_launch_where_the_job_has_a_name() -> None:
    there = OF_TWO_MACHINES | {"RANK": "3"}
    unnamed = {"TORCHELASTIC_RUN_ID": "none"}

    assert launches((7, 8), OF_TWO_MACHINES, there) == 1
    assert launches((7, 8), OF_TWO_MACHINES | unnamed, there | unnamed) == 2
