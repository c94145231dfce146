"""Which instruction of Python's is at the expression that another one asks.

Of a jump Python has the place of the statement that branches, or, in a condition of
several parts, that of a part before; of what begins a loop or a `with`, that of the whole
statement. What each of them asks was computed by the instruction before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["asked_by"]

_ASKING = ("POP_JUMP_", "JUMP_IF_", "GET_ITER", "BEFORE_WITH", "TO_BOOL")
_WITHOUT_A_VALUE = frozenset(
    {"CACHE", "COPY", "EXTENDED_ARG", "LOAD_SPECIAL", "NOP", "NOT_TAKEN", "SWAP"}
    | {"TO_BOOL"}
)
"""They stand between, and leave what is asked as it is."""


def asked_by(instructions: Sequence[Any], current: Any) -> Any:
    """The instruction whose value one of them asks; itself where it asks none.

    They are instructions of `dis`, or those that Dynamo has of each.
    """
    name: str = current.opname
    if name.startswith(_ASKING):
        at = next(n for n, one in enumerate(instructions) if one is current)
        for one in reversed(instructions[:at]):
            if one.opname not in _WITHOUT_A_VALUE:
                return one
    return current
