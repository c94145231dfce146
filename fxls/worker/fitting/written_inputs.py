"""The example tensors that are written in an entry, and the entry with other ones."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from fxls.text import LineTable, Point

__all__ = ["Example", "WrittenInputs"]

_Kind = Literal["randn", "ones", "mask", "indices"]


@dataclass(frozen=True, slots=True)
class Example:
    """One tensor, as an entry writes it."""

    kind: _Kind
    """Numbers, a mask of ones or of truths, or the numbers of rows."""
    shape: tuple[int, ...]

    @property
    def text(self) -> str:
        sizes = ", ".join(map(str, self.shape))
        if self.kind == "indices":
            return f"torch.zeros({sizes}, dtype=torch.long)"
        if self.kind == "mask":
            return f"torch.ones({sizes}, dtype=torch.bool)"
        return f"torch.{self.kind}({sizes})"


class WrittenInputs:
    """An entry's expression, and where its example tensors are."""

    def __init__(self, expression: str) -> None:
        """Raises `SyntaxError`."""
        tree = ast.parse(expression, mode="eval").body
        lines = LineTable(expression)
        self._expression = expression
        self._places: list[tuple[int, int]] = []
        examples: list[Example] = []
        given: list[ast.expr] = []
        if isinstance(tree, ast.Call):
            given = [*tree.args, *(one.value for one in tree.keywords)]
        for call in (node for one in given for node in ast.walk(one)):
            example = _example(call)
            if example is not None and isinstance(call, ast.Call):
                start = _offset(lines, call.lineno, call.col_offset)
                end = _offset(lines, call.end_lineno or 1, call.end_col_offset or 0)
                self._places.append((start, end))
                examples.append(example)
        self.examples = tuple(examples)
        """In the order of `ast.walk`, one argument after the other."""

    def with_examples(self, examples: Sequence[Example]) -> str:
        """The expression with these tensors, in the same order."""
        text = self._expression
        changed = zip(self._places, self.examples, examples, strict=True)
        for (start, end), old, new in sorted(changed, key=lambda one: -one[0][0]):
            if old != new:
                text = text[:start] + new.text + text[end:]
        return text


def _offset(lines: LineTable, line: int, column: int) -> int:
    before = lines.line(line - 1).encode()[:column].decode()
    return lines.offset(Point(line - 1, len(before)))


def _example(node: ast.AST) -> Example | None:
    match node:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="torch"), attr=name),
            args=sizes,
            keywords=named,
        ):
            shape = tuple(
                one.value
                for one in sizes
                if isinstance(one, ast.Constant) and type(one.value) is int
            )
            if len(shape) != len(sizes) or not shape:
                return None
            dtypes = [ast.unparse(one.value) for one in named if one.arg == "dtype"]
            if name in ("randn", "rand", "ones") and not named:
                return Example("ones" if name == "ones" else "randn", shape)
            kinds: dict[tuple[str, str], _Kind] = {
                ("zeros", "torch.long"): "indices",
                ("ones", "torch.bool"): "mask",
            }
            if len(named) == len(dtypes) == 1 and (name, dtypes[0]) in kinds:
                return Example(kinds[name, dtypes[0]], shape)
        case _:
            pass
    return None
