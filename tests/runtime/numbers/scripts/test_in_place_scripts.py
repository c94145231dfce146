"""A change of a graph that writes into its values has a script, which begins in the middle."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from tests.runtime.numbers.judging.test_in_place import (
    Normalized,
    Remembering,
    Replaced,
    Writing,
    drops_a_write,
    forgets_faster,
    scales_otherwise,
    writes_in_another_order,
)
from tests.runtime.numbers.looking import (
    COMPILING,
    Numbers,
    aten,
    config,
    nodes,
    reads_what_is_overwritten,
)
from tests.runtime.numbers.scripts.alone import RIGHT, WRONG, said

pytestmark = COMPILING


class Beside(nn.Module):
    """It writes into parts of a value, and into others that matter nothing."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y, other = x.sin(), x.cos()
        first, last = y[:2], y[2:]
        first.mul_(3.0)
        other.add_(1.0)
        last.add_(first.sum())
        return y.exp()


def adds_twice(graph: Any) -> None:
    node = next(one for one in graph.nodes if one.target == "mul_")
    node.args = (node.args[0], 4.0)


def overwrites(graph: Any) -> None:
    nodes(graph, aten.index_put.default)[0].target = aten.index_put_.default


@pytest.mark.parametrize(
    ("model", "hook", "wrong", "count", "right"),
    [
        (
            Writing,
            "pre_grad_custom_pass",
            scales_otherwise,
            1,
            ("mul_(2.5)", "mul_(2.0)"),
        ),
        (Writing, "pre_grad_custom_pass", drops_a_write, 4, None),
        (Writing, "pre_grad_custom_pass", writes_in_another_order, 2, None),
        (Beside, "pre_grad_custom_pass", adds_twice, 1, ("mul_(4.0)", "mul_(3.0)")),
        (Normalized, "pre_grad_custom_pass", forgets_faster, 1, ("0.9", "0.1")),
        (Replaced, "post_grad_custom_post_pass", overwrites, 3, ("put_.", "put.")),
    ],
    ids=lambda one: getattr(one, "__name__", None),
)
def test_a_change_in_place_is_the_nodes_around_it_before_and_behind(
    model: Callable[[], Any],
    hook: str,
    wrong: Any,
    count: int,
    right: tuple[str, str] | None,
    numbers: Numbers,
    tmp_path: Path,
) -> None:
    with config.patch({hook: wrong}):
        numbers.run(model(), torch.randn(5, 6))
    found = numbers.found(is_reproducing=True)

    assert found.no_reproducer == ""
    (script,) = found.reproducers
    assert (script.nodes, script.compiles) == (count, False), script.text
    assert said(script.text, tmp_path) == WRONG
    head, _, after = script.text.partition("def after")
    if right is None:
        _, _, before = head.partition("def before")
        before = before.rpartition("\n\n\n")[0]
        after = before + after[after.index("\n\n\n") :]
    else:
        assert right[0] in after
        after = after.replace(*right)
    assert said(f"{head}def after{after}", tmp_path) == RIGHT


def test_what_is_read_when_it_is_overwritten_already_is_a_script(
    numbers: Numbers, tmp_path: Path
) -> None:
    with config.patch(post_grad_custom_post_pass=reads_what_is_overwritten):
        numbers.run(Remembering(), torch.randn(5, 6))
    (script,) = numbers.found(is_reproducing=True).reproducers

    assert script.nodes == 2, script.text
    assert said(script.text, tmp_path) == WRONG
