"""What is said of how far a value is off, behind a line and beside a variable."""

from __future__ import annotations

from fxls.record.parts import JudgedValue

__all__ = ["judged_text", "sides_text"]


def judged_text(value: JudgedValue, step: str, stage: str) -> str:
    """In a few words, and who made the value."""
    by = f"{step}, {stage}" if stage else step
    if not value.is_finite:
        off = "not finite"
    elif value.error:
        off = f"off by {value.error:.3g}"
    else:
        return f"same in each bit ({by})"
    if value.is_wrong:
        return f"wrong: {off}, explained {value.allowed:.2g} ({by})"
    return f"{off}, explained {value.allowed:.2g} ({by})"


def sides_text(value: JudgedValue, step: str, stage: str) -> str:
    """The same with the values of both sides, where they are not the same."""
    text = judged_text(value, step, stage)
    return f"{text}; {value.sides}" if value.sides else text
