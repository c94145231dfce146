"""What scripts of all that raises have in common: how they end, and what they are given."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import torch

from fxls.runtime.numbers.scripts.script_inputs import imagined, recorded

__all__ = ["ending", "form_text", "is_noted", "is_sized"]


def is_noted(value: Any) -> bool:
    """Whether a value stands for one that nobody knows."""
    return is_sized(value) or getattr(value, "fake_mode", None) is not None


def is_sized(value: Any) -> bool:
    """Whether sizes of a value are symbols."""
    if isinstance(value, torch.SymInt):
        return True
    sizes: Any = value.shape if isinstance(value, torch.Tensor) else ()
    return any(isinstance(one, torch.SymInt) for one in sizes)


def form_text(value: Any) -> str:
    """An expression for a value; of one that nobody knows for one of its form."""
    return imagined(value) if is_noted(value) else recorded(value)


def ending(right: Sequence[str], wrong: str, raised: str) -> str:
    """The end of a script: the lines that run, what raises, and what it raises."""
    lines = "\n    ".join(right)
    same = re.sub(r"\d+", "0", raised)
    return f'''\
RAISES = {same!r}


def all_raised(error):
    """What was raised, and what it was raised of, each in a line without numbers."""
    while error is not None:
        first = str(error).strip().partition("\\n")[0]
        said = f"{{type(error).__name__}}: {{first}}"[:{_LONGEST}]
        yield re.sub(r"\\d+", "0", said)
        inner = getattr(error, "inner_exception", None)
        error = inner or error.__cause__ or error.__context__


with torch.no_grad():
    {lines}
    try:
        {wrong}
    except Exception as error:
        if not any(one.startswith(RAISES) for one in all_raised(error)):
            raise
        print("wrong: it raises", RAISES)
        sys.exit(1)
print("right: it raises nothing")
'''


_LONGEST = 200
"""So much of a line is compared, as nobody kept more."""
