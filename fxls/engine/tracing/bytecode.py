"""What the instruction that a frame is executing does with a traced value."""

from __future__ import annotations

import dis
from types import FrameType

from fxls.engine import errors

__all__ = ["branch_advice", "is_in_assert", "iteration_error", "unpacked_names"]


def unpacked_names(frame: FrameType) -> int | None:
    """Into how many names ``a, b = value`` unpacks; None for any other instruction."""
    code = frame.f_code.co_code
    at = frame.f_lasti
    if at < 0 or code[at] != _UNPACK_SEQUENCE:
        return None
    count = code[at + 1]
    shift = 8
    while at >= 2 and code[at - 2] == dis.EXTENDED_ARG:
        at -= 2
        count |= code[at + 1] << shift
        shift += 8
    return count


def iteration_error(frame: FrameType) -> type[errors.IterationError]:
    """The reason why a frame iterates over a value."""
    at = frame.f_lasti
    name = dis.opname[frame.f_code.co_code[at]] if at >= 0 else ""
    return _REASONS.get(name, errors.IterationError)


def branch_advice(frame: FrameType | None) -> str:
    """What helps where a frame asks for the truth of a value; empty when it branches."""
    return errors.OF_AN_ASSERT if frame is not None and is_in_assert(frame) else ""


def is_in_assert(frame: FrameType) -> bool:
    """Whether a frame asks for the truth of a value on behalf of ``assert value``."""
    jumped = False
    # From Python 3.13 on a comparison asks for the truth of its result itself.
    for instruction in dis.get_instructions(frame.f_code):
        if instruction.offset < frame.f_lasti:
            continue
        if jumped and instruction.opname == "NOT_TAKEN":
            continue
        if jumped:
            # Python 3.14 has one instruction for the exceptions that it knows.
            name = instruction.opname, instruction.argrepr
            return "LOAD_ASSERTION_ERROR" in name or "AssertionError" in name
        if "JUMP" in instruction.opname:
            jumped = instruction.opname.endswith("IF_TRUE")
            if not jumped:
                return False
        elif instruction.opname not in ("TO_BOOL", "COMPARE_OP"):
            return False
    return False


_UNPACK_SEQUENCE = dis.opmap["UNPACK_SEQUENCE"]

_REASONS: dict[str, type[errors.IterationError]] = {
    "CALL_FUNCTION_EX": errors.StarredArgumentError,
    "CONTAINS_OP": errors.MembershipError,
    "DICT_MERGE": errors.KeywordExpansionError,
    "DICT_UPDATE": errors.KeywordExpansionError,
    "GET_ITER": errors.LoopError,
    "LIST_EXTEND": errors.StarredArgumentError,
    "UNPACK_EX": errors.StarredTargetError,
}
