"""The code of a listing whose text is one function, in sections all the same.

A breakpoint slows every line of the function that it is in, the more the longer the
function is. The text stays as it is, and so does the place of each statement.
"""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Iterator, Sequence
from types import CodeType

from fxls.engine.module.compile import pin
from fxls.runtime.listings.sections import DRIVER, SectionedText, divided

__all__ = ["sectioned_code"]


@functools.lru_cache(maxsize=64)
def sectioned_code(text: str, path: str) -> CodeType | None:
    """The function of a listing as code that calls its sections, under the listing's path.

    None where one section has it all, or it is in sections, or no row of statements.
    The code that only calls them has a name that is no path, as that of a text in
    sections has.
    """
    lines = text.split("\n")[:-1]
    head = next((i for i, line in enumerate(lines) if line.startswith("def ")), None)
    written = None if head is None else divided(lines, head, dict, shown=None)
    if head is None or written is None:
        return None
    tree = ast.parse("\n".join(written.lines))
    _put_back(tree, lines, head, written)
    name = f"{DRIVER}{path}>"
    pin(name, text)
    (code,) = _functions(compile(tree, path, "exec", dont_inherit=True))
    parts = {
        one: one.replace(co_name=code.co_name, co_qualname=code.co_qualname)
        for one in _functions(code)
    }
    if len(parts) == 1:
        return None
    consts = tuple(
        parts.get(one, one) if isinstance(one, CodeType) else one
        for one in code.co_consts
    )
    return code.replace(co_filename=name, co_consts=consts)


def _functions(code: CodeType) -> Iterator[CodeType]:
    """The functions that a code defines; the annotations of one are code as well."""
    return (
        one
        for one in code.co_consts
        if isinstance(one, CodeType)
        and one.co_flags & inspect.CO_OPTIMIZED
        and not one.co_name.startswith("__annotate")
    )


def _put_back(
    tree: ast.Module, lines: Sequence[str], head: int, written: SectionedText
) -> None:
    """Give each node the place that it has in the text as it was."""
    was = {now: line for line, now in enumerate(written.moved)}
    # What has no place is where what follows it is. So a section begins on its first
    # line, from which its code counts the others; the calls are on that of the ``def``.
    line = head
    for now in range(len(written.lines) - 1, written.moved[head], -1):
        line = was.setdefault(now, line)
    for node in ast.walk(tree):
        if isinstance(node, ast.expr | ast.stmt | ast.arg | ast.keyword):
            if node.lineno - 1 <= head:
                continue  # what stands above the body did not move, and the ``def``
            assert node.end_lineno is not None, "the parser knows"
            assert node.end_col_offset is not None, "as above"
            begin, end = was[node.lineno - 1], was[node.end_lineno - 1]
            node.col_offset = _column(node.col_offset, lines, begin, written)
            node.end_col_offset = _column(node.end_col_offset, lines, end, written)
            node.lineno, node.end_lineno = begin + 1, end + 1


def _column(
    column: int, lines: Sequence[str], line: int, written: SectionedText
) -> int:
    """A column of a line in sections, in bytes, where the line is as it was."""
    column = max(column - written.indented, 0)
    if line in written.cut:
        start, end = (len(lines[line][:at].encode()) for at in written.cut[line])
        if column >= start:
            column += end - start
    return column
