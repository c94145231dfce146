"""How `fxls compare` names a node, and where the program has it."""

from __future__ import annotations

from pathlib import Path

import pytest

from fxls.cli.command import sources_here
from fxls.cli.reports.compare_report import named_text
from fxls.listing import Place
from fxls.text import Span
from fxls.verdicts.comparison import Where


@pytest.mark.parametrize(
    ("submodule", "is_call", "says"),
    [
        ("layers.4.up (Linear)", False, "in layers.4.up (Linear), from"),
        ("Block", False, "from"),
        ("1 (ReLU)", True, "in 1 (ReLU), called from"),
        ("TransformerEncoderLayer", True, "in TransformerEncoderLayer, called from"),
        ("", True, "called from"),
    ],
)
def test_a_node_has_the_submodule_that_was_called_and_a_place(
    submodule: str, is_call: bool, says: str, tmp_path: Path
) -> None:
    path = tmp_path / "train.py"
    path.write_text("y = layer(x)\n")
    place = Place(str(path), "<module>", Span.of(0, 4, 0, 12))
    where = Where("addmm", "aten.addmm", (place,), submodule=submodule, is_call=is_call)

    first, *shown = named_text(where, sources_here())

    assert first.replace(str(path), "train.py").endswith(
        f"addmm, aten.addmm, {says} train.py:1:5"
    )
    assert shown == [" 1 | y = layer(x)", "   |     ^^^^^^^^"]


def test_a_node_of_which_nobody_knows_a_place_says_so() -> None:
    one = Where("add", "aten.add"), Where("add", "aten.add", submodule="1 (ReLU)")

    assert [named_text(where, sources_here()) for where in one] == [
        ["  add, aten.add, whose expression nobody noted"],
        ["  add, aten.add, in 1 (ReLU)"],
    ]
