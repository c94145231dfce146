"""Shapes beside the names of a listing."""

from __future__ import annotations

from fxls.ide.inlay_hints import hints
from tests.ide.nets import NET, TEXT


def test_a_name_that_binds_a_tensor_says_its_shape() -> None:
    lines = TEXT.split("\n")
    for hint in reversed(hints(NET, 0, len(lines))):
        line, column = hint.point.line, hint.point.column
        lines[line] = f"{lines[line][:column]}⟦{hint.text}⟧{lines[line][column:]}"

    assert lines[2:6] == [
        "def forward(self, x⟦: f32[1, 3, 8, 8]⟧):",
        "    conv⟦: f32[1, 4, 8, 8]⟧ = self.conv(x);  x = None",
        "    relu⟦: f32[1, 4, 8, 8]⟧ = torch.relu(conv);  conv = None",
        "    block_fc = self.block.fc(relu)",
    ]
    assert "⟦" not in "\n".join(lines[6:])


def test_only_the_lines_that_were_asked_for_are_answered() -> None:
    assert [hint.point.line for hint in hints(NET, 3, 3)] == [3]
    assert hints(NET, 5, 99) == ()
