"""Repairs of what torch.export cannot know of values: exported, and equal to eager."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.export import export

from fxls.entry import Entry, Kind, Producer
from fxls.ide.code_actions import fixes
from fxls.ide.edits.checks import check_fixes
from fxls.ide.edits.fix import applied
from fxls.ide.edits.python_source import source_of
from fxls.listing import Failure, Reason
from fxls.text import LineTable, Span
from fxls.wire import Tried
from fxls.worker.failures import failure_of
from fxls.worker.load import home_of, load
from fxls.worker.places import Territory
from tests.ide.edits.trial import as_before, changed_lines, tried

CALL = "Net()(torch.arange(8.0), torch.tensor(4))"
HEAD = """\
import torch


class Net(torch.nn.Module):
    def forward(self, x, n):
"""

WHERE = "Compute both and choose: torch.where"
HOLDS = "Tell torch that it holds: torch._check({})"

REFUSED: dict[str, tuple[str, list[str]]] = {
    "k = n.item()\nif k > 3:\n    return x + 1\nreturn x - 1": (
        HOLDS.format("k > 3"),
        ["+         torch._check(k > 3)"],
    ),
    "k = n.item()\nreturn x + 1 if k == 4 else x - 1": (
        HOLDS.format("k == 4"),
        ["+         torch._check(k == 4)"],
    ),
    "y = x.nonzero()\nif y.shape[0] < 2:\n    return x\nreturn x.sum()": (
        HOLDS.format("y.shape[0] >= 2"),
        ["+         torch._check(y.shape[0] >= 2)"],
    ),
    "y = torch.zeros(n.item())\nif y.numel() != 0:\n    return y + 1\nreturn x": (
        HOLDS.format("y.numel() != 0"),
        ["+         torch._check(y.numel() != 0)"],
    ),
    "k = n.item()\nif k % 2 == 0:\n    x = x * 2\nreturn x": (
        HOLDS.format("k % 2 == 0"),
        ["+         torch._check(k % 2 == 0)"],
    ),
    "x = x[n.item():]\nif x.shape[0] == 4:\n    x = x * 2\nreturn x": (
        HOLDS.format("x.shape[0] == 4"),
        ["+         torch._check(x.shape[0] == 4)"],
    ),
    "k = n.item()\nif 0 < k < 5:\n    x = x * 2\nreturn x": (
        "Tell torch that it holds: torch._check(0 < k); torch._check(k < 5)",
        ["+         torch._check(0 < k)", "+         torch._check(k < 5)"],
    ),
    "k = n.item()\nif k > 2 and not k >= 5:\n    x = x * 2\nreturn x": (
        "Tell torch that it holds: torch._check(k > 2); torch._check(k < 5)",
        ["+         torch._check(k > 2)", "+         torch._check(k < 5)"],
    ),
    "k = n.item()\nif not k:\n    return x\nreturn x * 2": (
        HOLDS.format("k != 0"),
        ["+         torch._check(k != 0)"],
    ),
    "k = n.item()\nif k < 3 or k > 5:\n    return x\nreturn x * 2": (
        "Tell torch that it holds: torch._check(k >= 3); torch._check(k <= 5)",
        ["+         torch._check(k >= 3)", "+         torch._check(k <= 5)"],
    ),
    "if x.sum() > 0:\n    return x + 1\nreturn x - 1": (
        WHERE,
        [
            "+         return torch.where(x.sum() > 0, x + 1, x - 1)",
            "-         if x.sum() > 0:",
            "-             return x + 1",
            "-         return x - 1",
        ],
    ),
    "x = x if (x * 2).max() > 3 else x + 1\nreturn x": (
        "Branch in the graph: torch.cond",
        [
            "-         x = x if (x * 2).max() > 3 else x + 1",
            "+         x = torch.cond((x * 2).max() > 3, lambda: x.clone(), lambda: x + 1)",
        ],
    ),
}
"""Bodies that torch.export refuses, a repair of each, and the lines that it changes."""


def refusal(path: Path, entry: Entry) -> Failure:
    """What the worker says of an export that torch refuses."""
    load_it: Callable[..., Any] = load
    with as_before():
        module = load_it(home_of(path), path.parent)
        with pytest.raises(RuntimeError) as raised:
            export(module.Net(), (torch.arange(8.0), torch.tensor(4)))
        del sys.modules[module.__name__]
    return failure_of(raised.value, Reason.TRACE, Territory(path), entry, None)


@pytest.mark.slow
def test_what_depends_on_values_is_repaired_then_exported_and_equal_to_eager(
    tmp_path: Path,
) -> None:
    (tmp_path / "pyproject.toml").touch()
    for number, (body, (title, wanted)) in enumerate(REFUSED.items()):
        path = tmp_path / f"repaired_export_{number}.py"
        lines = (f"        {line}\n" for line in body.split("\n"))
        text = HEAD + "".join(lines)
        path.write_text(text, "utf-8")
        entry = Entry(str(path), CALL, Kind.COMMENT, None, Producer.EXPORT)
        found = fixes(refusal(path, entry), entry, str(path), text)
        (chosen,) = (one for one in found if one.title == title)

        after = applied(chosen, text)

        assert chosen.can_be_tried
        assert changed_lines(text, after) == wanted
        outcome = tried(path, CALL, after, Producer.EXPORT)
        assert outcome == Tried(1), title
        # The contrary does not hold for these inputs, and a trial tells.
        for other in found:
            if other.title.startswith("Tell") and other is not chosen:
                outcome = tried(path, CALL, applied(other, text), Producer.EXPORT)
                assert isinstance(outcome, Tried)
                assert outcome.raised, other.title
    assert len(REFUSED) >= 10


def said(text: str, expression: str, *conditions: str) -> list[list[str]]:
    source = source_of(text, "/m.py")
    assert source is not None
    lines, start = LineTable(text), text.index(expression)
    span = Span(lines.point(start), lines.point(start + len(expression)))
    found = check_fixes(source, span, conditions, is_tensor=False)
    return [changed_lines(text, applied(one, text)) for one in found]


def test_what_torch_advises_is_written_above_the_statement() -> None:
    text = "def step(x, k):\n    return x.chunk(\n        k)\n"

    assert said(text, "x.chunk(\n        k)", "k", "not (k)", "Eq(k, 2)") == [
        ["+ import torch", "+     torch._check(k != 0)"],
        ["+ import torch", "+     torch._check(k == 0)"],
        ["+ import torch", "+     torch._check(Eq(k, 2))"],
    ]


@pytest.mark.parametrize(
    "text",
    [
        "def step(x, k):\n    if x: pass\n    elif k > 3: pass\n",
        "def step(x, k):\n    y = 1; z = 2 if k > 3 else 1\n",
        "def step(x, k):\n    while k > 3: k = k - 1\n",
        "def step(x, k):\n    y = lambda: k > 3\n",
    ],
)
def test_where_no_line_can_stand_none_is_written(text: str) -> None:
    assert said(text, "k > 3") == []
