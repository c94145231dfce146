"""The code that inductor wrote, as a log has it: which kernels it calls, and with what.

A log does not say which nodes a kernel computes, so nothing is said of that.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from fxls.listing import Identity, Listing, Role
from fxls.record.kernel_listing import Buffer, Computed, Generated, KernelListing
from fxls.record.wrapper_text import Called, Variable, WrapperText, read

__all__ = ["MOST", "logged_code"]

MOST = 2 << 20
"""A longer text is not parsed."""

_OF_OTHERS = ("extern_kernels.", "torch.ops.")
"""How kernels are called whose text stands elsewhere."""


def logged_code(code: str, identity: Identity, head: list[str]) -> Listing | None:
    """The listing of a text; None for one whose kernels no Python calls, or which nobody
    can read.
    """
    if len(code) > MOST:
        return None
    try:
        wrapper = read(code)
    except (SyntaxError, MemoryError):
        return None
    if wrapper is None:
        return None
    made = KernelListing(identity, head, (), code)
    return made.listing(wrapper, _generated(wrapper, code), None, ())


def _generated(wrapper: WrapperText, code: str) -> Generated:
    """What the text says of its kernels by itself."""
    kernels = {one.name for one in wrapper.defined}
    called = [
        one
        for one in wrapper.called
        if one.name in kernels or one.name.startswith(_OF_OTHERS)
    ]
    bound = [one for one in wrapper.named if one.role is Role.BINDS]
    values = {one.name for one in bound if one.value is not None}
    given = tuple(dict.fromkeys(one.name for one in bound if one.name not in values))
    spoken = {name for one in called for name in (*one.names, one.result) if name}
    buffers = {name: Buffer(None, None) for name in sorted(values & spoken)}
    parameters = _parameters(wrapper, code)
    empty = {*buffers}
    calls: list[Computed] = []
    for number, one in enumerate(called, 1):
        reads, writes = _given(one, parameters.get(one.name), empty)
        empty -= writes | {wrapper.renamed.get(name, name) for name in writes}
        calls.append(Computed(one.name, number, (), reads, writes))
    inputs = tuple(name for name in given if name in spoken)
    return Generated(tuple(calls), buffers, inputs, (), ())


def _parameters(wrapper: WrapperText, code: str) -> Mapping[str, tuple[str, ...]]:
    """What the text of each kernel calls its arguments: ``in_ptr0``, ``out_ptr0``."""
    lines = code.split("\n")
    starts = [one.spot.line for one in wrapper.defined]
    found: dict[str, tuple[str, ...]] = {}
    for one, end in zip(wrapper.defined, (*starts[1:], len(lines)), strict=True):
        text = "\n".join(lines[one.spot.line + 1 : end])
        signature = _SIGNATURE.search(text)
        if signature is not None:
            words = [_WORD.findall(part) for part in signature[1].split(",")]
            found[one.name] = tuple(of[-1] if of else "" for of in words)
    return found


_SIGNATURE = re.compile(r"(?:\bvoid\s+kernel|\bdef\s+\w+)\s*\(([^)]*)\)")
_WORD = re.compile(r"\w+")


def _given(
    called: Called, parameters: tuple[str, ...] | None, empty: set[str]
) -> tuple[frozenset[str], frozenset[str]]:
    """What a call reads, and what it writes: its result, what its kernel calls an
    output, and of another kernel the buffers that nobody has written before.
    """
    reads: set[str] = set()
    writes = {called.result} if called.result else set[str]()
    for at, argument in enumerate(called.arguments):
        name = parameters[at] if parameters and at < len(parameters) else ""
        there = {one.name for one in argument if isinstance(one, Variable)}
        is_written = name.startswith(("out_ptr", "in_out_ptr"))
        if not name.startswith(("out_ptr", "in_out_ptr", "in_ptr")):
            # A buffer whose memory was another one's is not empty, and is given by name.
            is_written = bool(there & empty) or argument[:1] == ("out=",)
        if is_written:
            writes |= there
        if not is_written or name.startswith("in_out_ptr"):
            reads |= there
    return frozenset(reads), frozenset(writes)
