"""What a cursor in a listing is on."""

from __future__ import annotations

import pytest

from fxls.ide.listing.document import Document
from fxls.listing import Facts, Identity, Listing, Mark, Role
from fxls.text import Point, Span

CODE = """\
cpp_fused_0 = async_compile.cpp_pybinding(['float*'], r'''
extern "C"  void  kernel(float* in_out_ptr0)
{
    "\"\"";
}
''')


triton_1 = async_compile.triton('triton_1', {QUOTES}
def triton_1(in_ptr0):
    pass
{QUOTES}, device_str='cuda')
short_2 = async_compile.cpp_pybinding([], '''int x;''')


def call(args):
    return ()
"""


@pytest.mark.parametrize("quotes", ["'''", '"""'])
def test_all_of_the_text_of_a_kernel_is_the_kernel(quotes: str) -> None:
    text = CODE.replace("{QUOTES}", quotes)
    lines = text.split("\n")
    names = ("triton_1", "cpp_fused_0", "short_2")
    firsts = [
        next(at for at, line in enumerate(lines) if line.startswith(name))
        for name in names
    ]
    nodes = tuple(
        Facts(name, "kernel", "async_compile", line)
        for name, line in zip(names, firsts, strict=True)
    )
    marks = tuple(
        Mark(firsts[node], 0, len(names[node]), node, Role.BINDS) for node in (1, 0, 2)
    )
    definition = lines.index("def call(args):")
    listing = Listing(Identity("net", "Net"), text, definition, marks, nodes)
    document = Document("/work/.fxls/Net.py", listing)

    found: dict[str, list[int]] = {}
    for at, line in enumerate(lines):
        touched = document.touched(Point(at, len(line)))
        if touched is not None:
            assert touched.span == Span.of(
                at, len(line) - len(line.lstrip()), at, len(line)
            )
            found.setdefault(names[touched.node], []).append(at)

    assert found == {
        "cpp_fused_0": [0, 1, 2, 3, 4, 5],
        "triton_1": [8, 9, 10, 11],
        "short_2": [12],
    }
    assert [document.last_line(node) for node in range(3)] == [11, 5, 12]
