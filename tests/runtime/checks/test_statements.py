"""What the text of a statement says of the value that it binds."""

from __future__ import annotations

import ast

from fxls.runtime.checks.statements import Statement, statement_of

BOUND = {"x", "y", "size"}

SIZES = [
    *("x.size()", "x.size(-1)", "x.shape", "x.shape[0]", "x.dtype", "x.device"),
    *("size", "size[0]", "size[slice(None, -1, None)]", "size + (192,)", "size * 2"),
    *("2 - size", "size // 2", "size + (size, 3)"),
    *("torch.ops.aten.sym_size.int(x, 0)", "torch.ops.aten.sym_numel.default(x)"),
]
NO_SIZES = [
    *("x", "x[0]", "x * 2", "x.mean()", "x.size", "size / 2", "size * 0.5", "size + x"),
    *("size * y", "self.shape", "self.size()", "sym_size(x)", "torch.numel(x)"),
    *("1 / size", "size ** -1"),
]
PARTS = [
    *("x[0]", "x[0, :]", "x[y]", "x.view(2, 3)", "x.view((2, size))", "x.t()"),
    *("x.split(64, dim = 2)", "torch.cat([x, y], 1)", "torch.stack((x, y))"),
    *("torch.flatten(x, 1)", "x.contiguous(memory_format = torch.channels_last)"),
    *(
        "torch.ops.aten.view.default(x, [2, 3])",
        "torch.ops.aten.permute.default(x, [])",
    ),
]
NO_PARTS = [
    *("x", "x * 2", "x.mul(2)", "x.relu()", "x + y", "torch.relu(x)", "-x"),
    *("x.view(torch.float32)", "torch.ops.aten.view.dtype(x, torch.float32)"),
    *("x.view(dtype = torch.int32)", "self.view(x)", "view(x)", "split(x, 2)"),
    *("other.view(2)", "torch.cat(x.unbind())", "torch.cat([x, self.y])"),
    *("torch.cat([x * 2, y])", "getattr(self, 'x')[0]", "x.view"),
]


def test_which_values_are_sizes() -> None:
    assert [text for text in SIZES + NO_SIZES if read(text).is_bare] == SIZES


def test_which_values_have_no_numbers_of_their_own() -> None:
    assert [text for text in PARTS + NO_PARTS if read(text).hands_on] == PARTS


def read(text: str) -> Statement:
    (assignment,) = ast.parse(f"value = {text}").body
    return statement_of(assignment, (), BOUND, {"size"})
