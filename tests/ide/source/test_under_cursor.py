"""What the source became, under a cursor."""

from __future__ import annotations

from textwrap import dedent

import pytest
from msgspec.structs import replace

from fxls.ide.hover import source_hover
from fxls.ide.implementation import source_implementation
from fxls.ide.listing.document import Document
from fxls.ide.source.source_file import SourceFile
from fxls.ide.syntax.line_map import LineMap
from fxls.listing import How, Identity, Parent
from fxls.text import LineTable, Point
from tests.ide.nets import (
    BLOCK,
    BLOCK_PATH,
    EXPORTED,
    LISTING_PATH,
    NET,
    SOURCE,
    SOURCE_PATH,
)
from tests.support.cards import card_text, jump_text
from tests.support.drawing import cursor, drawn
from tests.support.listings import listing_of

NET_FILE = SourceFile(SOURCE_PATH, LineTable(SOURCE), (NET,))

RELU = (SOURCE_PATH, "torch.relu(self.conv(x))")

FORWARD = """\
def forward(self, x, saved):
    weight = self.conv_weight
    conv = torch.conv2d(x, weight)
    relu = torch.relu(conv)
    return relu
"""


def compiled(stage: str, *made_from: str, called: bool = False) -> Document:
    """A graph of `torch.compile` whose nodes all came from one expression."""
    how = How.CALLED if called else How.PASSES
    names = ("x", "saved", "weight", "conv", "relu")
    listing = replace(
        listing_of(
            FORWARD,
            identity=Identity("net", "Net", "torch.compile", stage),
            sources={SOURCE_PATH: SOURCE},
            origins={name: [RELU] for name in names},
        ),
        parents=tuple(
            Parent(Identity("net", "Net", "torch.compile", one), f"{one}.py", how)
            for one in made_from
        ),
        computes_gradients="backward" in stage,
    )
    return Document(f"/work/.fxls/{stage.replace(', ', '_')}.py", listing)


def said_of_relu(*documents: Document) -> str:
    """The hover on the expression, and how many nodes implementation leads to."""
    source = SourceFile(SOURCE_PATH, LineTable(SOURCE), documents)
    point = at_in(source, "        y = torch.re$0lu(self.conv(x))")
    found = source_hover(source, point)
    jump = source_implementation(source, point)
    assert found is not None
    assert jump is not None
    return f"{card_text(found.card)}\n{len(jump.destinations)} places"


BLOCK_FILE = SourceFile(BLOCK_PATH, LineTable(BLOCK), (NET,))


def at_in(source: SourceFile, marked: str) -> Point:
    line, point = cursor(marked)
    return Point(source.lines.text.split("\n").index(line), point.column)


def check(source: SourceFile, marked: str, expected: str) -> None:
    """The hover at the ``$0`` of a line of the source, and where it leads."""
    point = at_in(source, marked)
    found = source_hover(source, point)
    jump = source_implementation(source, point)
    assert found is not None
    assert jump is not None
    assert jump.span == found.span
    drawing = drawn(source.lines.text, [(found.span, "")])
    said = "\n".join([drawing, card_text(found.card), *jump_text(jump)])
    assert said == dedent(expected).strip("\n")


def test_an_expression_shows_the_node_that_it_made() -> None:
    check(
        NET_FILE,
        "        y = torch.relu(self.co$0nv(x))",
        """
        y = torch.relu(self.conv(x))
                       ^^^^^^^^^^^^
1 node of Net
- : [conv Net_0123456789ab.py:3:4]: call_module `conv` → `f32[1, 4, 8, 8]`
Net_0123456789ab.py:3:4-3:8
""",
    )


def test_the_innermost_expression_counts() -> None:
    check(
        NET_FILE,
        "        y = torch.re$0lu(self.conv(x))",
        """
        y = torch.relu(self.conv(x))
            ^^^^^^^^^^^^^^^^^^^^^^^^
1 node of Net
- : [relu Net_0123456789ab.py:4:4]: call_function `torch.relu` → `f32[1, 4, 8, 8]`
Net_0123456789ab.py:4:4-4:8
""",
    )


def test_a_call_of_a_submodule_shows_all_that_was_made_below_it() -> None:
    check(
        NET_FILE,
        "        return self.bl$0ock(y) + y.view(",
        """
        return self.block(y) + y.view(
               ^^^^^^^^^^^^^
2 nodes of Net
- : [block_fc Net_0123456789ab.py:5:4]: call_module `block.fc`
- : [mul Net_0123456789ab.py:6:4]: call_function `operator.mul`
Net_0123456789ab.py:5:4-5:12
Net_0123456789ab.py:6:4-6:7
""",
    )


def test_an_operator_shows_its_own_node() -> None:
    check(
        NET_FILE,
        "        return self.block(y) $0+ y.view(",
        """
        return self.block(y) + y.view(
               ^^^^^^^^^^^^^^^^^^^^^^^ to 10:
1 node of Net
- : [add Net_0123456789ab.py:8:4]: call_function `operator.add`
Net_0123456789ab.py:8:4-8:7
""",
    )


def test_a_line_inside_a_long_expression_belongs_to_it() -> None:
    check(
        NET_FILE,
        "            -$01,",
        """
        return self.block(y) + y.view(
                               ^^^^^^^ to 10:
1 node of Net
- : [view Net_0123456789ab.py:7:4]: call_method `view`
Net_0123456789ab.py:7:4-7:8
""",
    )


def test_a_function_that_was_called_has_the_nodes_of_its_calls() -> None:
    check(
        BLOCK_FILE,
        "    return $0x * 2",
        """
    return x * 2
           ^^^^^
1 node of Net
- : [mul Net_0123456789ab.py:6:4]: call_function `operator.mul`
Net_0123456789ab.py:6:4-6:7
""",
    )


def test_every_listing_about_the_source_answers() -> None:
    check(
        SourceFile(SOURCE_PATH, LineTable(SOURCE), (NET, EXPORTED)),
        "        y = torch.relu(self.conv$0(x))",
        """
        y = torch.relu(self.conv(x))
                       ^^^^^^^^^^^^
1 node of Net
- : [conv Net_0123456789ab.py:3:4]: call_module `conv` → `f32[1, 4, 8, 8]`
1 node of Net, export, decomposed
- : [conv2d Net_ba9876543210.py:1:4]: call_function `torch.conv2d`
Net_0123456789ab.py:3:4-3:8
Net_ba9876543210.py:1:4-1:10
""",
    )


def test_what_was_captured_is_shown_and_its_other_stages_are_counted() -> None:
    assert said_of_relu(
        compiled("graph 0, backward", "graph 0, joint", "graph 0"),
        compiled(
            "graph 0, forward, post-grad",
            *("graph 0, forward", "graph 0, joint", "graph 0"),
        ),
        compiled("graph 0, forward", "graph 0, joint", "graph 0"),
        compiled("graph 0"),
        compiled("graph 0, joint", "graph 0"),
        compiled("graph 1"),
    ) == (
        """\
2 nodes of Net, torch.compile, graph 0
- : [conv graph 0.py:2:4]: call_function `torch.conv2d`
- : [relu graph 0.py:3:4]: call_function `torch.relu`
In other stages:
- : [joint graph 0_joint.py:2:4]: 2 nodes
- : [forward graph 0_forward.py:2:4]: 2 nodes
- : [backward graph 0_backward.py:2:4]: 2 nodes
- : [forward, post-grad graph 0_forward_post-grad.py:2:4]: 2 nodes
2 nodes of Net, torch.compile, graph 1
- : [conv graph 1.py:2:4]: call_function `torch.conv2d`
- : [relu graph 1.py:3:4]: call_function `torch.relu`
12 places"""
    )


def test_the_earliest_stage_is_shown_where_the_captured_graph_has_nothing() -> None:
    assert said_of_relu(
        compiled("graph 0, backward", "graph 0"),
        compiled("graph 0, forward", "graph 0"),
    ) == (
        """\
2 nodes of Net, torch.compile, graph 0, forward
- : [conv graph 0_forward.py:2:4]: call_function `torch.conv2d`
- : [relu graph 0_forward.py:3:4]: call_function `torch.relu`
In other stages:
- : [backward graph 0_backward.py:2:4]: 2 nodes
4 places"""
    )


def test_a_graph_that_another_one_calls_is_no_stage_of_it() -> None:
    assert said_of_relu(
        compiled("graph 0"), compiled("graph 0, body", "graph 0", called=True)
    ) == (
        """\
2 nodes of Net, torch.compile, graph 0
- : [conv graph 0.py:2:4]: call_function `torch.conv2d`
- : [relu graph 0.py:3:4]: call_function `torch.relu`
2 nodes of Net, torch.compile, graph 0, body
- : [conv graph 0_body.py:2:4]: call_function `torch.conv2d`
- : [relu graph 0_body.py:3:4]: call_function `torch.relu`
4 places"""
    )


def test_very_many_graphs_are_cut_short() -> None:
    graphs = [compiled(f"graph {number}") for number in range(20)]

    assert said_of_relu(*graphs).split("\n")[-3:] == [
        "- : [relu graph 7.py:3:4]: call_function `torch.relu`",
        "… and in 12 more graphs",
        "40 places",
    ]


def test_an_expression_that_is_only_given_shows_what_gives_it() -> None:
    scale = Document(
        LISTING_PATH,
        listing_of(
            "def forward(self, x):\n    scale = self.scale\n"
            "    y = torch.mul(x, scale)\n    return y\n",
            sources={"/work/f.py": "def f(self, x):\n    return x * self.scale\n"},
            origins={
                "scale": [("/work/f.py", "self.scale")],
                "y": [("/work/f.py", "x * self.scale")],
            },
        ),
    )
    text = "def f(self, x):\n    return x * self.scale\n"

    check(
        SourceFile("/work/f.py", LineTable(text), (scale,)),
        "    return x * self.sc$0ale",
        """
    return x * self.scale
               ^^^^^^^^^^
1 node of Net
- : [scale Net_0123456789ab.py:1:4]: get_attr `scale`
Net_0123456789ab.py:1:4-1:9
""",
    )


def test_an_entry_comment_shows_its_listing() -> None:
    check(
        NET_FILE,
        "# fxls: Net()(to$0rch.randn(1, 3, 8, 8))",
        f"""
# fxls: Net()(torch.randn(1, 3, 8, 8))
        {"^" * 30}
generated [forward Net_0123456789ab.py:2:0] of Net: 8 nodes
Net_0123456789ab.py:2:0-2:21
""",
    )


def test_the_name_of_a_class_shows_its_listings() -> None:
    check(
        SourceFile(SOURCE_PATH, LineTable(SOURCE), (NET, EXPORTED)),
        "class Ne$0t(torch.nn.Module):",
        """
class Net(torch.nn.Module):
      ^^^
generated [forward Net_0123456789ab.py:2:0] of Net: 8 nodes
generated [forward Net_ba9876543210.py:0:0] of Net, export, decomposed: 3 nodes
Net_0123456789ab.py:2:0-2:21
Net_ba9876543210.py:0:0-0:21
""",
    )


@pytest.mark.parametrize(
    "marked",
    ["im$0port torch", "class Net(torch.nn.Mod$0ule):", "    def forw$0ard(self, x):"],
)
def test_code_that_made_nothing_shows_nothing(marked: str) -> None:
    assert source_hover(NET_FILE, at_in(NET_FILE, marked)) is None
    assert source_implementation(NET_FILE, at_in(NET_FILE, marked)) is None


def test_a_file_that_no_listing_is_about_shows_nothing() -> None:
    other = SourceFile("/work/other.py", LineTable(SOURCE), (NET,))

    assert (
        source_hover(other, at_in(NET_FILE, "        y = torch.re$0lu(self.conv(x))"))
        is None
    )


def test_a_call_that_made_very_many_nodes_is_cut_short() -> None:
    source = "def f(x):\n    return g(x)\n"
    lines = "".join(f"    y{i} = torch.f(x)\n" for i in range(2000))
    many = Document(
        "/work/.fxls/f.py",
        listing_of(
            f"def forward(self, x):\n{lines}    return x\n",
            sources={"/work/f.py": source},
            origins={f"y{i}": [("/work/f.py", "g(x)")] for i in range(2000)},
        ),
    )
    file = SourceFile("/work/f.py", LineTable(source), (many,))

    found = source_hover(file, Point(1, 11))

    assert found is not None
    said = card_text(found.card).split("\n")
    assert (said[0], len(said), said[-1]) == (
        "2,000 nodes of Net",
        26,
        "… and 1,976 more",
    )


def test_a_class_shows_its_calls_in_what_was_traced() -> None:
    scopes = tuple(
        replace(scope, file=BLOCK_PATH) if scope.type == "block.Block" else scope
        for scope in NET.listing.scopes
    )
    document = Document(NET.path, replace(NET.listing, scopes=scopes))

    check(
        SourceFile(
            "/link/block.py", LineTable(BLOCK), (document,), frozenset({BLOCK_PATH})
        ),
        "class Bl$0ock(torch.nn.Module):",
        """
class Block(torch.nn.Module):
      ^^^^^
1 call in Net
- : [block Net_0123456789ab.py:5:4]
Net_0123456789ab.py:5:4-5:12
""",
    )
    assert (
        source_hover(BLOCK_FILE, at_in(BLOCK_FILE, "class Bl$0ock(torch.nn.Module):"))
        is None
    )


def test_a_class_shows_a_few_of_many_listings_and_those_of_its_text_first() -> None:
    made = [compiled(f"stage{number:02}") for number in range(20)]
    named = [
        Document(one.path.replace("stage", "Net_stage"), one.listing) for one in made
    ]
    current = named[17]
    moves = {
        one.path: LineMap(SOURCE, f"\n{SOURCE}") for one in named if one is not current
    }
    file = SourceFile(
        SOURCE_PATH, LineTable(f"\n{SOURCE}"), tuple(named), frozenset(), moves
    )

    point = at_in(file, "class N$0et(torch.nn.Module):")
    found = source_hover(file, point)

    assert found is not None
    said = card_text(found.card).split("\n")
    assert len(said) == 9
    assert "stage17" in said[0]
    assert "stage00" in said[1]
    assert said[-1] == "… and 12 more listings"
