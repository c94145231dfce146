"""How near the limit a recompilation is, judged by where torch stops."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from fxls.record import Subject
from fxls.record.remark_wording import costs_of
from fxls.record.remarks import SourceRemark
from fxls.record.trace_texts import of_limit
from tests.runtime.producers.recording import loaded, recorded

any_torch: Any = torch

NET = """\
import torch


class Scaled(torch.nn.Module):
    def forward(self, x):
        return x * 2
"""


def said_of(sizes: range, folder: Path) -> list[SourceRemark]:
    """What is said of a module that is compiled for each of these sizes."""
    folder.mkdir()
    path = folder / "scaled.py"
    path.write_text(NET, "utf-8")
    config: Any = any_torch._dynamo.config
    with config.patch(recompile_limit=5), recorded(folder / ".fxls") as remarks:
        net = loaded(path).Scaled()
        fast = any_torch.compile(net, backend="eager", dynamic=False)
        for size in sizes:
            fast(torch.ones(size))
    return remarks


@pytest.mark.slow
def test_a_recompilation_says_how_near_it_is_to_where_torch_stops(
    tmp_path: Path,
) -> None:
    (again,) = said_of(range(2, 6), tmp_path / "four")
    assert again.of_limit == (4, 5)
    assert [*costs_of(again)] == [
        "in 3 compilations: 0/1, 0/2, 0/3",
        "the function has 4 of at most 5 compilations",
    ]
    (again,) = said_of(range(2, 7), tmp_path / "five")
    assert again.of_limit == (5, 5)

    again, limit = said_of(range(2, 8), tmp_path / "six")

    assert again.of_limit == (5, 5)
    assert (limit.subject, limit.of_limit) == (Subject.LIMIT, None)


@pytest.mark.parametrize(
    "metrics",
    [
        {},
        {"cache_size": 3},
        {"cache_size": "3", "dynamo_config": '{"recompile_limit": 8}'},
        {"cache_size": 3, "dynamo_config": '{"recompile_limit": '},
        {"cache_size": 3, "dynamo_config": "[8]"},
        {"cache_size": 9, "dynamo_config": '{"recompile_limit": 8}'},
        {"cache_size": -1, "dynamo_config": '{"recompile_limit": 8}'},
    ],
)
def test_metrics_that_do_not_tell_say_nothing_of_the_limit(metrics: Any) -> None:
    assert of_limit(metrics) is None
    known = {"cache_size": 3, "dynamo_config": '{"recompile_limit": 8}'}
    assert of_limit(known) == (4, 8)
