"""The Python that inductor writes, read: definitions, calls and buffers, and no more."""

from __future__ import annotations

from fxls.listing import Identity, Listing, Role, Tensor
from fxls.record.kernel_listing import (
    Buffer,
    Computed,
    Generated,
    KernelListing,
)
from fxls.record.wrapper_text import read
from tests.support import listings

TRITON = """\
triton_poi_fused_add_0 = async_compile.triton('triton_poi_fused_add_0', \'\'\'
def triton_poi_fused_add_0(in_ptr0, out_ptr0, xnumel):
    pass
\'\'\', device_str='cuda')


async_compile.wait(globals())


def call(args):
    arg0_1, = args
    args.clear()
    with torch.cuda._DeviceGuard(0):
        buf0 = empty_strided_cuda((4, ), (1, ), torch.float32)
        stream0 = get_raw_stream(0)
        triton_poi_fused_add_0.run(arg0_1, buf0, 4, stream=stream0)
        buf1 = buf0; del buf0  # reuse
        "größer"; triton_poi_fused_add_0.run(buf1, buf1, 4, stream=stream0)
        buf2 = torch.ops.aten.sort.stable(buf1, stable=False)
        buf3 = buf2[0]
        extern_kernels.mm(buf1, buf3, out=buf4)
    return (buf3, )
"""
VALUE = Tensor((4,), "float32", "cuda", (1,), 16)


def computed(kernel: str, number: int, reads: str, writes: str) -> Computed:
    given = frozenset(reads.split()), frozenset(writes.split())
    return Computed(kernel, number, (f"node_{number}",), *given)


def listing_of(*calls: Computed) -> Listing:
    wrapper = read(TRITON)
    assert wrapper is not None
    buffers = {f"buf{number}": Buffer(None, VALUE) for number in range(4)}
    generated = Generated(calls, buffers, ("arg0_1",), (), ())
    made = KernelListing(Identity("net", "Net"), ["# Said."], (), TRITON)
    return made.listing(wrapper, generated, None, ())


ADD, SORT = "triton_poi_fused_add_0", "torch.ops.aten.sort.stable"
LISTING = listing_of(
    computed(ADD, 1, "arg0_1", "buf0"),
    computed(ADD, 2, "buf0", "buf1"),
    computed(SORT, 3, "buf1", "buf2"),
)


def written(listing: Listing) -> dict[str, tuple[list[str], list[str]]]:
    """For each call what it reads and what it writes, as text."""

    def text(pieces: tuple[str | int, ...]) -> str:
        names = [
            one if isinstance(one, str) else listing.nodes[one].name for one in pieces
        ]
        return "".join(names)

    return {
        facts.name: (
            [text(one) for one in facts.args],
            [text(one) for _, one in facts.kwargs],
        )
        for facts in listing.nodes
        if facts.opcode == "call_kernel"
    }


def test_calls_of_one_kernel_of_triton_are_told_apart_in_their_order() -> None:
    assert written(LISTING) == {
        f"{ADD}:1": ([ADD, "arg0_1", "4", "stream=stream0"], ["buf0"]),
        f"{ADD}:2": ([ADD, "buf1", "buf1", "4", "stream=stream0"], ["buf1"]),
        f"{SORT}:3": (["buf1", "stable=False"], ["buf3"]),
    }
    kernel = next(one for one in LISTING.nodes if one.opcode == "kernel")
    assert (kernel.name, kernel.target) == (ADD, "async_compile.triton")
    assert [LISTING.nodes[one].name for one in kernel.users] == [f"{ADD}:1", f"{ADD}:2"]
    assert kernel.made_from == ("node_1", "node_2")


def test_a_kernel_may_write_to_an_input_as_the_statistics_of_a_norm() -> None:
    """What an input holds is known of the graph before, where that is known."""
    call = computed(ADD, 1, "arg0_1", "arg0_1")
    wrapper = read(TRITON)
    assert wrapper is not None
    buffers = {f"buf{number}": Buffer(None, VALUE) for number in range(4)}
    generated = Generated(
        (call, computed(ADD, 2, "buf0", "buf1")), buffers, ("arg0_1",), (), ()
    )
    made = KernelListing(Identity("net", "Net"), ["# Said."], (), TRITON)
    graph = listings.listing_of(
        "import torch\n\ndef forward(self, arg0_1):\n    return arg0_1\n",
        values={"arg0_1": VALUE},
    )
    found = {
        whole: next(one.value for one in listing.nodes if one.name == f"{ADD}:1")
        for whole, listing in (
            (True, made.listing(wrapper, generated, graph, ())),
            (False, made.listing(wrapper, generated, None, ())),
        )
    }

    assert written(made.listing(wrapper, generated, graph, ()))[f"{ADD}:1"] == (
        [ADD, "arg0_1", "buf0", "4", "stream=stream0"],
        ["arg0_1"],
    )
    assert found == {True: VALUE, False: None}


def test_a_kernel_whose_calls_differ_in_number_computes_nothing_that_is_known() -> None:
    listing = listing_of(
        computed(ADD, 1, "arg0_1", "buf0"), computed(SORT, 2, "buf1", "buf2")
    )

    assert [*written(listing)] == [f"{SORT}:2"]
    assert [one.name for one in listing.nodes if one.opcode == "kernel"] == []


def test_each_mark_is_a_name_in_its_line() -> None:
    lines = LISTING.text.split("\n")
    found = [
        (LISTING.nodes[one.node].name, one.role, lines[one.line][one.column :])
        for one in LISTING.marks
    ]

    assert all(rest.startswith(name.partition(":")[0]) for name, _, rest in found)
    assert [(name, role) for name, role, _ in found if name.startswith("buf0")] == [
        ("buf0", Role.BINDS),
        ("buf0", Role.READS),
        ("buf0", Role.READS),
        ("buf0", Role.FREES),
    ]


def test_code_whose_kernels_no_python_calls_is_not_read() -> None:
    assert read("call = inductor_entry.call\n") is None
