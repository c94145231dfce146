"""What repairs a problem that a compiler had with a source."""

from __future__ import annotations

from dataclasses import replace

from fxls.ide.edits.checks import check_fixes
from fxls.ide.edits.fix import Fix
from fxls.ide.edits.graph_breaks import break_fixes
from fxls.ide.edits.python_source import source_of
from fxls.ide.edits.recompilations import recompilation_fixes
from fxls.record import Subject
from fxls.record.remarks import SourceRemark
from fxls.text import Span

__all__ = ["remark_fixes"]


def remark_fixes(
    remark: SourceRemark, span: Span, path: str, text: str
) -> tuple[Fix, ...]:
    """Changes to a file that would repair a remark, whose place is this span of it.

    None of them was tried.
    """
    source = source_of(text, path)
    if source is None:
        return ()
    match remark.subject:
        case Subject.BREAK | Subject.SKIPPED:
            return tuple(break_fixes(source, span, remark.id))
        case Subject.RECOMPILATION:
            return tuple(recompilation_fixes(source, span, remark.about))
        case Subject.ERROR if remark.check is not None:
            conditions, is_tensor = remark.check.conditions, remark.check.is_tensor
            found = check_fixes(source, span, conditions, is_tensor=is_tensor)
            return tuple(replace(one, can_be_tried=True) for one in found)
        case _:
            return ()
