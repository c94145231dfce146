"""The instruction that computes what a jump, a loop or a `with` asks."""

from __future__ import annotations

import dis
import re
from typing import Any

import pytest

from fxls.runtime.producers.places.asked_places import asked_by

ASKING = """\
if «é.any()»:
    raise ValueError
if x is None and x > 2 and «more(x)»: pass
while not «more(x)»: pass
assert «ready(x)», "no"
y = [1 if «odd(x)» else 2]
z = «parts(x)» or y
for one in «parts(x)»:
    pass
with «held(x)» as z:
    pass
if (y is not None
    and «ready(
        y)»):
    y = several(x)
"""
WITH = "with held(x) as z:\n    pass"


def test_what_is_asked_for_is_told_from_what_is_done_then() -> None:
    text = ASKING.replace("«", "").replace("»", "")
    instructions = [*dis.get_instructions(compile(text, "m.py", "exec"))]
    found = {quoted(text, asked_by(instructions, one)) for one in instructions}
    itself = {quoted(text, one) for one in instructions if not is_asking(one.opname)}
    asked = {
        quoted(text, asked_by(instructions, one))
        for one in instructions
        if is_asking(one.opname)
    }

    wanted = {*re.findall("«(.+?)»", ASKING, re.DOTALL)}
    # Comparisons, what is compared with None, and the jumps behind a `with` that raised.
    others = {"x is None", "x > 2", "x", "y is not None", "y", WITH}
    assert asked >= wanted
    assert asked - wanted <= others
    assert found == itself | asked


def is_asking(opname: str) -> bool:
    return opname.startswith(("POP_JUMP_", "JUMP_IF_")) or opname in (
        *("GET_ITER", "BEFORE_WITH", "TO_BOOL"),
    )


def quoted(text: str, one: Any) -> str:
    at = one.positions
    if at is None or None in at:
        return ""
    lines = text.encode().split(b"\n")
    first, last = at.lineno - 1, at.end_lineno - 1
    if first < 0:
        return ""
    rows: list[bytes] = [*lines[first:last], lines[last][: at.end_col_offset]]
    rows[0] = rows[0][at.col_offset :]
    return b"\n".join(rows).decode()


@pytest.mark.parametrize("name", ["POP_JUMP_FORWARD_IF_FALSE", "GET_ITER"])
def test_what_asks_first_of_all_asks_itself(name: str) -> None:
    class Instruction:
        opname = name

    one = Instruction()
    assert asked_by([one], one) is one
