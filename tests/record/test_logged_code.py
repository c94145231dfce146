"""The code that inductor wrote, as a log has it."""

from __future__ import annotations

import pytest

from fxls.listing import Identity
from fxls.record.logged_code import MOST, logged_code

CODE = """\
triton_add_0 = async_compile.triton('triton_add_0', '''
@triton.jit
def triton_add_0(in_out_ptr0, in_ptr0, xnumel, XBLOCK : tl.constexpr):
    pass
''')

cpp_relu_1 = async_compile.cpp_pybinding(['const float*', 'float*'], '''
extern "C"  void  kernel(const float* in_ptr0,
                       float* out_ptr0)
{
}
''')

def call(args):
    arg0_1, arg1_1 = args
    buf0 = empty_strided_cuda((2, 2), (2, 1), torch.float32)
    extern_kernels.mm(arg0_1, arg1_1, out=buf0)
    buf1 = buf0; del buf0
    triton_add_0.run(buf1, arg1_1, 4, stream=stream0)
    buf2 = torch.ops.aten.sort.default(buf1)
    buf3 = buf2[0]
    buf4 = empty_strided_cpu((2, 2), (2, 1), torch.float32)
    cpp_relu_1(buf3, buf4)
    return (buf4, )
"""


def test_calls_have_what_they_read_and_write() -> None:
    listing = logged_code(CODE, Identity("log", "f"), ["# Said."])

    assert listing is not None
    assert listing.text == f"# Said.\n\n\n{CODE}"
    names = [one.name for one in listing.nodes]
    found = {
        one.name: (
            listing.text.split("\n")[one.line].split("(")[0].split("=")[-1].strip(),
            [names[at] for part in one.args for at in part if isinstance(at, int)],
            [names[at] for _, part in one.kwargs for at in part if isinstance(at, int)],
        )
        for one in listing.nodes
        if one.opcode == "call_kernel"
    }
    assert found == {
        "extern_kernels.mm:1": (
            "extern_kernels.mm",
            ["arg0_1", "arg1_1"],
            ["buf0"],
        ),
        "triton_add_0:2": (
            "triton_add_0.run",
            ["triton_add_0", "buf1", "arg1_1"],
            ["buf1"],
        ),
        "torch.ops.aten.sort.default:3": (
            "torch.ops.aten.sort.default",
            ["buf1"],
            ["buf3"],
        ),
        "cpp_relu_1:4": ("cpp_relu_1", ["cpp_relu_1", "buf3"], ["buf4"]),
    }
    # Nobody knows what they compute.
    assert {one.made_from for one in listing.nodes} == {()}


@pytest.mark.parametrize(
    "code",
    [
        "def call(args:\n",
        "x = 1\n",
        "#" * (MOST + 1),
        f"def call(args):\n    x = {'(' * 5_000}\n",
        "def call(args):\n    \0\n",
    ],
)
def test_what_is_no_such_code_is_no_listing(code: str) -> None:
    assert logged_code(code, Identity("log", "f"), []) is None
