"""The place in a trace is what Python's own traceback of these columns is about."""

from __future__ import annotations

import ast
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

from fxls.listing import Place
from fxls.runtime.producers.places.stack_traces import origin_of

STATEMENTS = [
    "hidden = torch.relu(x + 1)",
    "hidden = torch.relu(torch.relu(x) + 1)",
    "hidden = relu(x)  # of all",
    "hidden = relu(name_of_größe, 'äöü').sum()",
    "größe = relu('äöü', größe)",
    "hidden = relu(x).sum() + 1",
    "hidden = other = relu(x)",
    "hidden, _ = relu(x)",
    "hidden[0] = relu(x)",
    "self.hidden = relu(x)",
    "hidden: int = relu(x)",
    "if x: hidden = relu(x)",
    "return relu(x)",
    "return torch.relu(x)",
    "return relu(x) + 1",
    "return relu(relu(x))",
    "relu(x)",
]


def expressions(text: str) -> Iterator[tuple[ast.Call | ast.BinOp, str]]:
    """What a statement computes, and what torch.compile would call that."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                yield node, name
            case ast.BinOp():
                yield node, "add"
            case _:
                pass


def place(path: Path, frame: traceback.FrameSummary, name: str) -> Place:
    trace = "".join(traceback.StackSummary.from_list([frame]).format())
    found = origin_of({"stack_trace": trace, "source_fn_stack": [("n", name)]})
    assert found is not None
    (said, *_) = found
    assert isinstance(said, Place)
    assert said.path == str(path)
    return said


def written(folder: Path, text: str) -> Path:
    path = folder / "model.py"
    path.write_text(f"def forward(x):\n    {text}\n", "utf-8")
    return path


@pytest.mark.parametrize("text", STATEMENTS)
def test_the_expression_of_known_columns(text: str, tmp_path: Path) -> None:
    path = written(tmp_path, text)
    line = path.read_text("utf-8").splitlines()[1]
    for node, name in expressions(text):
        assert node.end_col_offset is not None
        # As torch notes it: without the line in which the expression ends.
        frame = traceback.FrameSummary(
            *(str(path), 2, "forward"),
            lookup_line=False,
            colno=4 + node.col_offset,
            end_colno=4 + node.end_col_offset,
        )
        span = place(path, frame, name).span
        assert (span.start.line, span.end.line) == (1, 1)
        said = line[span.start.column : span.end.column]
        assert said == ast.get_source_segment(text, node)


@pytest.mark.parametrize("text", [*STATEMENTS, "hidden = relu(x); other = relu(y)"])
def test_what_has_no_columns_is_somewhere_in_its_place(
    text: str, tmp_path: Path
) -> None:
    path = written(tmp_path, text)
    line = path.read_text("utf-8").splitlines()[1]
    frame = traceback.FrameSummary(str(path), 2, "forward", lookup_line=False)
    for node, name in expressions(text):
        span = place(path, frame, name).span
        said = line[span.start.column : span.end.column]
        assert (ast.get_source_segment(text, node) or "?") in said


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hidden = torch.relu(x + 1)", "torch.relu(x + 1)"),
        ("return relu(x)", "relu(x)"),
        ("hidden = relu(x) + 1", "hidden = relu(x) + 1"),
        ("hidden[0] = relu(x)", "hidden[0] = relu(x)"),
    ],
)
def test_what_has_no_columns_is_at_the_call_that_is_all_of_its_line(
    text: str, expected: str, tmp_path: Path
) -> None:
    path = written(tmp_path, text)
    frame = traceback.FrameSummary(str(path), 2, "forward", lookup_line=False)
    span = place(path, frame, "relu").span
    line = path.read_text("utf-8").splitlines()[1]
    assert line[span.start.column : span.end.column] == expected
