"""What torch.export finds out of sizes, and what it could not know, on its lines."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Any

import pytest
import torch

from fxls.ide.edits.remark_repairs import remark_fixes
from fxls.record import Entry, QuotedPlace
from fxls.record.remarks import RemarkKind
from fxls.record.sizes import DataSize, InputSize, sizes_of
from fxls.repairs import Check
from fxls.store.runs import Runs
from tests.runtime.producers.recording import loaded, quoted, recorded

any_torch: Any = torch

pytestmark = pytest.mark.slow

HEAD = "import torch\n"
ASKING = {
    "k = n.item(); z = x[0] if «k > 2» else x[1]": "u0 > 2",
    "k = n.item()\nif «k == 3»:\n    x = x + 1": "Eq(u0, 3)",
    "k = n.item()\nwhile «k > 1»:\n    k = k - 1": "u0 > 1",
    "k = n.item(); z = [x for _ in «range(k)»]": "u0",
    "y = x.nonzero(); z = 1 if «y.shape[0] > 2» else 2": "u0 > 2",
    "y = x.nonzero().float()\nif «y.size(0) % 2 == 0»: x = x * 2": "Eq(Mod(u0, 2), 0)",
    "y = x[x > 0]; z = 2 if «y.numel() < 9» else 3": "u0 < 9",
    "y = x.unique(); z = 1 if «y.shape[0] == 12» else 0": "Eq(u0, 12)",
    "k = x.sum().item(); z = 1 if «k > 0.0» else 2": "zuf0 > 0.0",
    "k = n.tolist(); z = 1 if «k >= 7» else 2": "u0 >= 7",
}
"""What depends on values, and the conditions that torch cannot know: between « and »."""


def program() -> str:
    """Each of them as the forward of a module, by its number."""
    parts = [HEAD]
    for number, marked in enumerate(ASKING):
        body = marked.replace("«", "").replace("»", "").split("\n")
        lines = [f"class M{number}(torch.nn.Module):", "    def forward(self, x, n):"]
        lines += [f"        {line}" for line in (*body, "return x.sum()")]
        parts.append("\n".join(lines) + "\n")
    return "\n\n".join(parts)


def entries_of(root: Path) -> tuple[Entry, ...]:
    runs = Runs(root, lambda trouble: pytest.fail(str(trouble)))
    (name,) = runs.newest_launch()
    return tuple(runs.read(name).entries)


@pytest.mark.parametrize("strict", [False, True], ids=["as Python", "strict"])
def test_what_torch_export_cannot_know_is_a_problem_at_its_expression(
    strict: bool,
    tmp_path: Path,
) -> None:
    path = tmp_path / "my exports.py"
    path.write_text(program(), "utf-8")
    module = loaded(path)
    found: list[list[tuple[str, str]]] = []
    for number in range(len(ASKING)):
        with recorded(tmp_path / str(number)) as remarks:
            exported = getattr(module, f"M{number}")()
            arguments = torch.rand(4, 3), torch.tensor(4)
            with contextlib.suppress(Exception):
                any_torch.export.export(exported, arguments, strict=strict)
        assert {one.kind for one in remarks} <= {RemarkKind.PROBLEM}
        found.append([(quoted(one.place), one.reason) for one in remarks])
        for one in remarks:
            assert one.place is not None
            first, line = exported.forward.__code__.co_firstlineno, one.hints[0]
            (said,) = re.findall(r"^z?uf?0 is from line (\d+) of my exports.py: ", line)
            assert int(said) == first + 1  # where each of them has its `k` or `y`
    wanted = [
        [
            (
                marked.partition("«")[2].partition("»")[0],
                f"{GUARD if ' ' in asked or '(' in asked else NUMBER} {asked}",
            )
        ]
        for marked, asked in ASKING.items()
    ]
    assert found == wanted
    assert len(wanted) >= 10


GUARD = "Could not guard on data-dependent expression"
NUMBER = "Could not extract specialized integer from data-dependent expression"

SIZED = """\
import torch


class Net(torch.nn.Module):
    def forward(self, x, n):
        k = n.item()
        torch._check(k >= 2)
        torch._check(k <= 10)
        if x.shape[0] > 3:
            x = x + 1
        torch._check(x.shape[0] < 100)
        y = x[:, 0].nonzero()
        return torch.zeros(k, 3), y + torch.ones(5, 1)[:1], x.view(-1, 2, 2)
"""


def line_of(text: str) -> int:
    return next(n for n, line in enumerate(SIZED.split("\n")) if text in line)


def test_sizes_of_an_export_are_those_of_its_program_with_the_lines_that_asked(
    tmp_path: Path,
) -> None:
    path = tmp_path / "sized.py"
    path.write_text(SIZED, "utf-8")
    net = loaded(path).Net()
    dim = any_torch.export.Dim
    rows = {"x": {0: dim.AUTO, 1: dim.AUTO}, "n": None}
    with recorded(tmp_path / ".fxls") as remarks:
        program = any_torch.export.export(
            net, (torch.rand(8, 4), torch.tensor(4)), dynamic_shapes=rows
        )
    # What torch says itself of the symbols of this program.
    ranges = {
        str(symbol): (int(one.lower), int(one.upper))
        for symbol, one in program.range_constraints.items()
        if str(one.upper).isdecimal()
    }
    sizes = sizes_of(entries_of(tmp_path / ".fxls"))
    inputs = [one for one in sizes if isinstance(one, InputSize)]
    of_data = [one for one in sizes if isinstance(one, DataSize)]

    (first,) = [one for one in inputs if (one.name, one.dimension) == ("x", 0)]
    assert (int(first.low), int(first.high)) in ranges.values()
    assert (first.low, first.high) == ("4", "99")
    asked = [(one.text, one.place and line(one.place)) for one in first.guards]
    assert asked[:2] == [
        ("x.size(0) > 3", line_of("if x.shape[0] > 3")),
        ("x.size(0) < 100", line_of("< 100")),
    ]
    k, y = of_data
    assert (k.symbol, line(k.place)) == ("u0", line_of("n.item()"))
    assert (int(k.low), int(k.high)) == ranges["u0"] == (2, 10)
    assert [(one.text, one.place and line(one.place)) for one in k.guards] == [
        ("u0 >= 2", line_of("k >= 2")),
        ("u0 <= 10", line_of("k <= 10")),
    ]
    assert (y.symbol, line(y.place)) == ("u1", line_of("nonzero"))
    assert [one for one in remarks if one.kind is RemarkKind.PROBLEM] == []


def line(place: QuotedPlace) -> int:
    return place.place.span.start.line


def test_a_size_that_was_to_be_dynamic_and_is_not_is_a_problem_at_the_line_that_fixed_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "fixed.py"
    text = "import torch\n\nclass Net(torch.nn.Module):\n"
    text += "    def forward(self, x):\n        y = x * 2\n"
    text += "        return y.view(-1, 2, 3) + torch.ones(5, 2, 3)\n"
    path.write_text(text, "utf-8")
    net = loaded(path).Net()
    rows = {"x": {0: any_torch.export.Dim("rows")}}
    with (
        recorded(tmp_path / ".fxls") as remarks,
        pytest.raises(Exception, match="rows"),
    ):
        any_torch.export.export(net, (torch.rand(5, 6),), dynamic_shapes=rows)
    (problem,) = [one for one in remarks if one.kind is RemarkKind.PROBLEM]
    assert problem.reason.startswith("You marked rows as dynamic but your code")
    assert quoted(problem.place) == "return y.view(-1, 2, 3) + torch.ones(5, 2, 3)"
    assert problem.hints == ("rows = 5",)


def test_an_error_of_the_programs_own_is_no_remark(tmp_path: Path) -> None:
    path = tmp_path / "wrong.py"
    text = "import torch\n\nclass Net(torch.nn.Module):\n"
    text += "    def forward(self, x):\n        return x + self.nothing\n"
    path.write_text(text, "utf-8")
    net = loaded(path).Net()
    right = torch.nn.Linear(6, 2)
    with recorded(tmp_path / ".fxls") as remarks:
        with pytest.raises(AttributeError):
            any_torch.export.export(net, (torch.rand(5, 6),))
        any_torch.compile(right, backend="eager")(torch.rand(5, 6))
    assert remarks == []


@pytest.mark.parametrize("strict", [False, True], ids=["as Python", "strict"])
def test_the_record_of_an_export_offers_what_tells_torch_of_a_number(
    strict: bool, tmp_path: Path
) -> None:
    path = tmp_path / "repaired exports.py"
    path.write_text(program(), "utf-8")
    module = loaded(path)
    offered: list[list[str]] = []
    for number in range(len(ASKING)):
        with recorded(tmp_path / str(number)) as remarks:
            arguments = torch.rand(4, 3), torch.tensor(4)
            exported = getattr(module, f"M{number}")()
            with contextlib.suppress(Exception):
                any_torch.export.export(exported, arguments, strict=strict)
        (remark,) = remarks
        assert remark.check is not None
        assert not remark.check.is_tensor
        assert remark.place is not None
        span = remark.place.place.span
        found = remark_fixes(remark, span, str(path), program())
        assert all(one.can_be_tried for one in found)
        offered.append([one.title.partition(": ")[2] for one in found])
    # Above a statement that shares its line with another one no line can stand.
    assert offered == [
        *([], ["torch._check(k == 3)", "torch._check(k != 3)"], [], [], []),
        ["torch._check(y.size(0) % 2 == 0)", "torch._check(y.size(0) % 2 != 0)"],
        *([], [], [], []),
    ]


def test_a_branch_on_a_tensor_in_an_export_is_computed_on_both_sides(
    tmp_path: Path,
) -> None:
    path = tmp_path / "repaired branch.py"
    text = "import torch\n\nclass Net(torch.nn.Module):\n"
    text += "    def forward(self, x):\n"
    text += "        return x + 1 if x.sum() > 0 else x - 1\n"
    path.write_text(text, "utf-8")
    with recorded(tmp_path / ".fxls") as remarks, contextlib.suppress(Exception):
        any_torch.export.export(loaded(path).Net(), (torch.rand(4),), strict=False)
    (remark,) = remarks
    assert remark.place is not None
    assert remark.check == Check((), is_tensor=True)
    found = remark_fixes(remark, remark.place.place.span, str(path), text)
    assert [one.title for one in found] == [
        "Compute both and choose: torch.where",
        "Branch in the graph: torch.cond",
    ]
