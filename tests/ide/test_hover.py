"""Hover in a listing."""

from __future__ import annotations

from textwrap import dedent

import pytest
from msgspec.structs import replace

from fxls.ide.hover import hover
from fxls.ide.implementation import implementation
from fxls.ide.listing.document import Document
from fxls.ide.listing.documentation import page_of
from fxls.ide.listing.graph_table import summary, table
from fxls.ide.listing.parent import captured_path, parent_paths
from fxls.listing import (
    Facts,
    Frame,
    How,
    Identity,
    Items,
    Listing,
    Parent,
    Plain,
    Source,
    Target,
    Tensor,
)
from fxls.record import OUTSIDE
from fxls.text import Point
from tests.ide.nets import LISTING_PATH, NET, NET_LISTING, TEXT, source_text
from tests.support.cards import card_text, jump_text
from tests.support.drawing import cursor, drawn
from tests.support.listings import listing_of


def check(marked: str, expected: str) -> None:
    """The hover at the ``$0`` of a line of the listing: what it covers and says."""
    line, point = cursor(marked)
    point = Point(TEXT.split("\n").index(line), point.column)
    found = hover(NET, point, source_text)
    assert found is not None
    said = drawn(TEXT, [(found.span, "")]) + "\n" + card_text(found.card)
    assert said == dedent(expected).strip("\n")


CONV = """
from [net.py:8 net.py:7:23] in `Net.forward`
    y = torch.relu(self.conv(x))
- args: [x Net_0123456789ab.py:2:18]
- users: 1: [relu Net_0123456789ab.py:4:4]
- module: `conv` Conv2d
- value: `float32 (1, 4, 8, 8), stride (256, 64, 8, 1), cpu, 1 KiB, requires grad`
- is: `Conv2d(3, 4, kernel_size=(3, 3))`
"""


def test_a_name_that_binds_shows_its_node() -> None:
    check(
        "    co$0nv = self.conv(x);  x = None",
        "    conv = self.conv(x);  x = None\n"
        "    ^^^^\n"
        "`conv`: call_module `conv` → `f32[1, 4, 8, 8]`" + CONV,
    )


def test_a_use_shows_the_node_that_it_reads() -> None:
    check(
        "    relu = torch.relu(conv$0);  conv = None",
        "    relu = torch.relu(conv);  conv = None\n"
        "                      ^^^^\n"
        "`conv`: call_module `conv` → `f32[1, 4, 8, 8]`" + CONV,
    )


def test_a_name_that_is_freed_shows_its_node() -> None:
    check(
        "    relu = torch.relu(conv);  $0conv = None",
        "    relu = torch.relu(conv);  conv = None\n"
        "                              ^^^^\n"
        "`conv`: call_module `conv` → `f32[1, 4, 8, 8]`" + CONV,
    )


def test_anything_else_of_a_statement_shows_its_node() -> None:
    check(
        "    conv = self.co$0nv(x);  x = None",
        "    conv = self.conv(x);  x = None\n"
        f"    {'^' * 30}\n"
        "`conv`: call_module `conv` → `f32[1, 4, 8, 8]`" + CONV,
    )


def test_a_placeholder_is_a_name_like_any_other() -> None:
    check(
        "def forward(self, $0x):",
        """
def forward(self, x):
                  ^
`x`: placeholder → `f32[1, 3, 8, 8]`
- users: 1: [conv Net_0123456789ab.py:3:4]
- value: `float32 (1, 3, 8, 8), cpu`
""",
    )


def test_the_chain_of_frames_is_shown_from_the_inside() -> None:
    check(
        "    m$0ul = block_fc * 2;  block_fc = None",
        """
    mul = block_fc * 2;  block_fc = None
    ^^^
`mul`: call_function `operator.mul`
from [block.py:7 block.py:6:11] in `double`
    return x * 2
- args: [block_fc Net_0123456789ab.py:5:4], `2`
- users: 1: [add Net_0123456789ab.py:8:4]
- module: `block` Block
called from [block.py:3 block.py:2:15] in `Block.forward`
called from [net.py:9 net.py:8:15] in `Net.forward`
    return self.block(y) + y.view(
""",
    )


def test_modules_are_shown_from_the_outside() -> None:
    check(
        "    bl$0ock_fc = self.block.fc(relu)",
        """
    block_fc = self.block.fc(relu)
    ^^^^^^^^
`block_fc`: call_module `block.fc`
from [block.py:3 block.py:2:22] in `Block.forward`
    return double(self.fc(h))
- args: [relu Net_0123456789ab.py:4:4]
- users: 1: [mul Net_0123456789ab.py:6:4]
- module: `block` Block / `block.fc` Linear
called from [net.py:9 net.py:8:15] in `Net.forward`
    return self.block(y) + y.view(
""",
    )


def test_an_expression_of_several_lines_is_quoted_whole() -> None:
    check(
        "    view = relu.v$0iew(-1);  relu = None",
        f"""
    view = relu.view(-1);  relu = None
    {"^" * 34}
`view`: call_method `view`
from [net.py:9 net.py:8:31] in `Net.forward`
    return self.block(y) + y.view(
        -1,
    )
- args: [relu Net_0123456789ab.py:4:4], `-1`
- users: 1: [add Net_0123456789ab.py:8:4]
""",
    )


def test_the_output_has_no_name_but_a_statement() -> None:
    check(
        "    ret$0urn add",
        """
    return add
    ^^^^^^^^^^
`output`: output
- args: [add Net_0123456789ab.py:8:4]
- users: 0
""",
    )


def test_the_definition_shows_the_table_of_the_graph() -> None:
    at = "Net_0123456789ab.py"
    check(
        "de$0f forward(self, x):",
        f"""
def forward(self, x):
^^^^^^^^^^^^^^^^^^^^^
`Net`: 8 nodes (1 placeholder, 2 call_module, 3 call_function, 1 call_method, 1 output), 1 KiB of activations
[All nodes and columns table of {at}]: the lens above, or `fxls trace --show table`.
name | target | value | users | source
[x {at}:2:18] | `x` | `f32[1, 3, 8, 8]` | 1 |
[conv {at}:3:4] | `conv` | `f32[1, 4, 8, 8]` | 1 | [net.py:8 net.py:7:23]
[relu {at}:4:4] | `torch.relu` | `f32[1, 4, 8, 8]` | 2 | [net.py:8 net.py:7:12]
[block_fc {at}:5:4] | `block.fc` |  | 1 | [block.py:3 block.py:2:22]
[mul {at}:6:4] | `operator.mul` |  | 1 | [block.py:7 block.py:6:11]
[view {at}:7:4] | `view` |  | 1 | [net.py:9 net.py:8:31]
[add {at}:8:4] | `operator.add` |  | 1 | [net.py:9 net.py:8:15]
[output {at}:9:4] | `output` |  | 0 |
""",
    )


@pytest.mark.parametrize(
    "point",
    [Point(0, 3), Point(1, 0), Point(3, 2), Point(3, 99), Point(99, 0), Point(-1, 0)],
)
def test_there_is_nothing_to_say_off_the_code(point: Point) -> None:
    assert hover(NET, point, source_text) is None


def test_a_source_that_cannot_be_read_is_still_linked() -> None:
    found = hover(NET, Point(3, 5), lambda path: None)

    assert found is not None
    assert card_text(found.card).split("\n")[1:3] == [
        "from [net.py:8 net.py:7:23] in `Net.forward`",
        "- args: [x Net_0123456789ab.py:2:18]",
    ]


def test_a_source_that_became_shorter_has_no_snippet() -> None:
    found = hover(NET, Point(3, 5), lambda path: "import torch\n")

    assert found is not None
    assert card_text(found.card).split("\n")[1:3] == [
        "from [net.py:8 net.py:7:23] in `Net.forward`",
        "- args: [x Net_0123456789ab.py:2:18]",
    ]


CAPTURED = Identity("net", "Net", "c", "graph 0")
PARENTS = (
    Parent(Identity("net", "Net", "c", "graph 0, joint"), "Net_cccccccccccc.py"),
    Parent(CAPTURED, "Net_0123456789ab.py"),
)


def derived() -> Document:
    text = "# The code of Net's graph.\n# It was made from Net_0123456789ab.py.\n"
    text += (
        "def forward(self, x):\n    relu = torch.relu(x)\n    mm = torch.mm(relu, x)\n"
    )
    text += "    return mm\n"
    listing = replace(listing_of(text), parents=PARENTS)
    return Document("/work/.fxls/Net_bbbbbbbbbbbb.py", listing)


def made_by(document: Document, point: Point, parent: Document | None) -> list[str]:
    found = hover(document, point, source_text, parent)
    assert found is not None
    lines = card_text(found.card).split("\n")
    return [line for line in lines if line.startswith("- made by")]


def test_a_node_that_the_graph_before_has_not_was_made_since() -> None:
    document = derived()
    path = captured_path(document)
    assert path == "/work/.fxls/Net_0123456789ab.py"
    parent = Document(path, replace(NET_LISTING, identity=CAPTURED))

    said = "- made by: what ran after [Net_0123456789ab.py Net_0123456789ab.py:2:0] "
    assert made_by(document, Point(4, 5), parent) == [f"{said}(graph 0)"]
    for unsure in (Point(2, 18), Point(3, 5), Point(5, 5)):
        assert made_by(document, unsure, parent) == []
    assert made_by(document, Point(4, 5), None) == []
    whole = Document(path, NET_LISTING)
    assert made_by(document, Point(4, 5), whole) == [said.rstrip()]


def test_only_passes_make_a_graph_of_a_captured_one() -> None:
    document = derived()
    nearest, captured = PARENTS
    called = replace(nearest, how=How.CALLED)
    part = replace(document.listing, parents=(called, captured))
    before = replace(document.listing, parents=())
    virtual = "fxls:/net.Net-c-0/forward.py"

    assert captured_path(NET) is None
    assert captured_path(Document(virtual, document.listing)) is None
    assert captured_path(Document(document.path, part)) is None
    # As the listings were that say in English alone what they were made from.
    assert captured_path(Document(document.path, before)) is None
    assert [*parent_paths(Document(document.path, part))] == [
        "/work/.fxls/Net_cccccccccccc.py",
        "/work/.fxls/Net_0123456789ab.py",
    ]
    assert [*parent_paths(Document(virtual, part))] == []


def test_a_table_says_how_much_it_leaves_out() -> None:
    lines = card_text(table(NET, 1)).split("\n")

    row = "[x Net_0123456789ab.py:2:18] | placeholder | `x` |  |  | 1 | (1, 3, 8, 8)"
    assert lines[-2:] == [
        f"{row} | float32 |",
        "… and 7 more. `fxls trace --show table` prints all.",
    ]


def test_a_summary_is_narrow_and_leads_to_the_whole_table() -> None:
    name = "activation_post_process_" + "_".join("abcdefgh")
    uses = "".join(f"    y{i} = torch.{name}(x)\n" for i in range(70))
    text = f"def forward(self, x):\n{uses}    return x\n"

    document = Document(LISTING_PATH, listing_of(text))
    _, link, _, _, row, *rows = card_text(summary(document)).split("\n")

    at = "Net_0123456789ab.py"
    assert link == (
        f"[All nodes and columns table of {at}]: the lens above, or "
        "`fxls trace --show table`."
    )
    cut = "`…vation_post_process_a_b_c_d_e_f_g_h`"
    assert row == f"[y0 {at}:1:4] | {cut} |  | 0 |"
    assert (len(rows), rows[-1]) == (59, "… and 12 more")


def test_a_node_with_hundreds_of_users_and_constants_stays_readable() -> None:
    uses = "".join(f"    y{i} = torch.f(x)\n" for i in range(100))
    text = f"def forward(self, x):\n{uses}    return [{'1, ' * 300}x]\n"
    document = Document(LISTING_PATH, listing_of(text))

    found = hover(document, Point(0, 18), source_text)
    last = hover(document, Point(101, 4), source_text)

    assert found is not None
    assert last is not None
    assert card_text(found.card).endswith(
        "[y23 Net_0123456789ab.py:24:4], … and 77 more"
    ), "101 users: the hundred and the output, of which 24 are named"
    assert max(map(len, card_text(last.card).split("\n"))) < 450


def test_long_chains_of_frames_are_cut_in_the_middle() -> None:
    frames = tuple(Frame(0, "f", i, 0, i, 1, i + 1) for i in range(19))
    text = "def forward(self):\n    return 1\n"
    facts = Facts("output", "output", "output", 1, args=(("1",),), origin=0)
    listing = Listing(
        Identity("m", "f"),
        text,
        0,
        (),
        (facts,),
        (Source("/work/f.py", ""),),
        (*frames, Frame(0, "main", 19, 0, 19, 1)),
    )

    found = hover(Document(LISTING_PATH, listing), Point(1, 4), lambda path: None)

    assert found is not None
    lines = card_text(found.card).split("\n")
    assert lines[-2:] == [
        "called from [f.py:8 f.py:7:0] in `f`",
        "… and 12 frames more, up to [f.py:20 f.py:19:0]",
    ]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Tensor((), "torch.bfloat16", "cuda:0"), "bf16[]"),
        (Tensor(("s0", 3), "int64", "cpu"), "i64[s0, 3]"),
        (Tensor((2,), "torch.bool", "cpu"), "bool[2]"),
        (Tensor((2,), "torch.float8_e4m3fn", "cpu"), "f8_e4m3fn[2]"),
        (
            Items("tuple", (Tensor((2,), "int32", "cpu"), Plain("3", "int"))),
            "(i32[2], 3)",
        ),
        (Items("dict", (Plain("1", "int"),), ("a",)), "{a: 1}"),
        (
            Items("list", (Plain("1", "int"),) * 10),
            "[1, 1, 1, 1, 1, 1, 1, 1, … 2 more]",
        ),
    ],
)
def test_values_are_short_in_the_title(
    value: Tensor | Items | Plain, expected: str
) -> None:
    text = "def forward(self, x):\n    return x\n"
    document = Document(LISTING_PATH, listing_of(text, values={"x": value}))

    found = hover(document, Point(0, 18), source_text)

    assert found is not None
    assert card_text(found.card).split("\n")[0] == f"`x`: placeholder → `{expected}`"


def test_what_is_not_known_of_a_tensor_is_left_out() -> None:
    text = "def forward(self, x):\n    return x\n"
    value = Tensor(("s0",), "torch.int64", "")
    document = Document(LISTING_PATH, listing_of(text, values={"x": value}))

    found = hover(document, Point(0, 18), source_text)

    assert found is not None
    assert card_text(found.card).split("\n")[-1] == "- value: `int64 (s0,)`"


def test_a_name_beside_an_astral_character_is_found_by_code_points() -> None:
    text = "def forward(self, x):\n    y = torch.f('𝄞', x)\n    return y\n"
    document = Document(LISTING_PATH, listing_of(text))

    found = hover(document, Point(1, 21), source_text)

    assert found is not None
    assert drawn(text, [(found.span, "")]) == (
        "    y = torch.f('𝄞', x)\n                     ^"
    )


def test_the_fixture_is_a_listing_like_any_other() -> None:
    assert [facts.name for facts in NET_LISTING.nodes] == [
        "x",
        "conv",
        "relu",
        "block_fc",
        "mul",
        "view",
        "add",
        "output",
    ]


def test_a_card_says_what_is_called_and_which_passes_made_the_node() -> None:
    conv, relu, mul = 1, 2, 4
    nodes = list(NET_LISTING.nodes)
    nodes[conv] = replace(nodes[conv], call=0)
    nodes[relu] = replace(nodes[relu], call=1, passes=("fuse", OUTSIDE))
    nodes[mul] = replace(nodes[mul], call=2)
    listing = replace(
        NET_LISTING,
        nodes=tuple(nodes),
        scopes=tuple(replace(scope, parameters=1234) for scope in NET_LISTING.scopes),
        targets=(
            Target("torch.nn.Conv2d", "(input)", "/torch/conv.py", 562),
            Target("torch.relu", "(input) -> Tensor"),
            Target("mine.mul"),
        ),
    )
    document = Document(LISTING_PATH, listing)

    def fields(node: int) -> list[str]:
        there = document.destination(node).focus.start
        found = hover(document, there, source_text)
        assert found is not None
        wanted = ("- calls", "- module", "- made by")
        lines = card_text(found.card).split("\n")
        return [line for line in lines if line.startswith(wanted)]

    pages = "https://docs.pytorch.org/docs/stable/generated"
    conv_page = f"[documentation {pages}/torch.nn.Conv2d.html]"
    relu_page = f"[documentation {pages}/torch.relu.html]"
    assert fields(conv) == [
        f"- calls: `torch.nn.Conv2d(input)` {conv_page} [conv.py:563 conv.py:562:0]",
        "- module: `conv` Conv2d, 1,234 parameters",
    ]
    assert fields(relu) == [
        f"- calls: `torch.relu(input) -> Tensor` {relu_page}",
        "- made by: fuse, after what changed the graph outside of any pass",
    ]
    assert fields(mul) == [
        "- calls: `mine.mul`",
        "- module: `block` Block, 1,234 parameters",
    ]


def test_a_node_that_was_made_from_several_shows_where_each_came_from() -> None:
    conv, add, block = 1, 6, NET_LISTING.nodes[3].origin
    nodes = list(NET_LISTING.nodes)
    others = (nodes[conv].origin, block, nodes[conv].origin)
    nodes[add] = replace(
        nodes[add], more_origins=tuple(o for o in others if o is not None)
    )
    document = Document(LISTING_PATH, replace(NET_LISTING, nodes=tuple(nodes)))
    point = document.destination(add).focus.start
    found = hover(document, point, source_text)
    jump = implementation(document, point)

    assert found is not None
    assert card_text(found.card).partition("- users: ")[2] == (
        """\
1: [output Net_0123456789ab.py:9:4]
also from [net.py:8 net.py:7:23] in `Net.forward`
    y = torch.relu(self.conv(x))
also from [block.py:3 block.py:2:22] in `Block.forward`
    return double(self.fc(h))"""
    )
    assert jump_text(jump) == [
        "net.py:8:15-10:9",
        "net.py:7:23-7:35",
        "block.py:2:22-2:32",
        "net.py:8:15-8:28",
    ]
    assert document.nodes_through(nodes[conv].origin or 0) == (conv, add)


@pytest.mark.parametrize(
    ("name", "page"),
    [
        (
            "operator.add",
            "https://docs.python.org/3/library/operator.html#operator.add",
        ),
        ("math.floor", "https://docs.python.org/3/library/math.html#math.floor"),
        ("torch._C.relu", None),
        ("torch.ops.aten.relu.default", None),
        ("mine.relu", None),
    ],
)
def test_only_what_is_documented_has_a_page(name: str, page: str | None) -> None:
    assert page_of(name) == page
