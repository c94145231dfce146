"""What a program calls the values that a captured graph takes as inputs."""

from __future__ import annotations

import re

__all__ = ["path_in_module", "program_name"]

_LOCAL = re.compile(r"^[LG]\['(\w+)'\]")
_HELD = re.compile(r"\._(?:modules|parameters|buffers)\['([^'\]]+)'\]")
_STATE = re.compile(r"\._(?:parameters|buffers)\['[^'\]]+'\]$")
_LONGEST = 200


def program_name(source: str) -> str | None:
    """``self.layers.0.weight`` of what torch.compile calls an input; None where that is
    something that it says to itself.
    """
    if not _LOCAL.match(source):
        return None
    found = _HELD.sub(r".\1", _LOCAL.sub(r"\1", source))
    is_plain = len(found) <= _LONGEST and "__" not in found and "(" not in found
    return found if is_plain else None


def path_in_module(source: str) -> str | None:
    """`program_name` of a parameter or a buffer; None of everything else."""
    return program_name(source) if _STATE.search(source) else None
