"""Writes docs/errors.md: one section for each reason why a model cannot be traced.

    python -m tools.errors_page

The sections are the docstrings of the classes in `fxls.engine.errors`; a test keeps the
page and the classes in step.
"""

from __future__ import annotations

import doctest
import inspect
from pathlib import Path

from fxls.engine import errors

PAGE = Path(__file__).parent.parent / "docs" / "errors.md"

_TITLE = """# What cannot be traced

`python -m tools.errors_page` makes this page from the docstrings of `fxls.engine.errors`.
Every error below is a `TraceError`; its message names the exact expression, and `error.origin` has that place as a value.
"""


def page() -> str:
    """The text of the page."""
    names = sorted(name for name in errors.__all__ if name != "TraceError")
    return "\n".join([_TITLE, *map(section, names)])


def section(name: str) -> str:
    """One error: what happened, the smallest example, and how to change it."""
    kind = getattr(errors, name)
    text = inspect.getdoc(kind)
    assert text is not None, f"{name} has no docstring"
    parts = [f"## {name}"]
    code: list[str] = []
    for part in [*doctest.DocTestParser().parse(text), "."]:
        if isinstance(part, doctest.Example):
            code.append(part.source.rstrip())
            continue
        if not part.strip():
            continue
        if code:
            parts.append("\n".join(["```python", *code, "```"]))
            code = []
        if part != ".":
            parts.append(part.strip().replace("``", "`"))
    also = [base.__name__ for base in kind.__mro__ if base.__module__ == "builtins"]
    others = [name for name in also if name not in _COMMON]
    if others:
        parts.append(f"Also a `{others[0]}`, as in `torch.fx`.")
    return "\n\n".join(parts) + "\n"


_COMMON = {"ValueError", "Exception", "BaseException", "object"}


if __name__ == "__main__":
    PAGE.write_text(page())
