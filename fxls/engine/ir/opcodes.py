"""What a node can do, and which target goes with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

__all__ = ["OPCODES", "Target", "check_op_and_target", "takes_target"]

Target: TypeAlias = Callable[..., Any] | str

OPCODES = frozenset(
    {
        "placeholder",
        "get_attr",
        "call_function",
        "call_method",
        "call_module",
        "output",
        "root",
    }
)
"""What a node can do; ``root`` is the graph's own sentinel and never listed."""


def check_op_and_target(op: str, target: Target) -> None:
    """Refuse an opcode that is none, and a target that does not go with it."""
    if op not in OPCODES:
        raise AssertionError(f"{op!r} is no opcode; those are {sorted(OPCODES)}")
    if op == "call_function":
        if not callable(target):
            raise ValueError(
                f"the target of a call_function is a function, not {target!r}"
                f" of {type(target).__name__}: use call_method or call_module for names"
            )
    elif not isinstance(target, str):
        raise ValueError(
            f"the target of a {op} is a str, not {target!r} of {type(target).__name__}"
        )


def takes_target(op: str, target: Target) -> bool:
    """Whether a target is of the kind that an opcode takes."""
    return callable(target) if op == "call_function" else isinstance(target, str)
