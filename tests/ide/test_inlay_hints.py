"""Shapes beside the names of a listing, and beside the code of a source."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from fxls.ide.inlay_hints import hints, source_hints
from fxls.ide.listing.document import Document
from fxls.ide.source.source_file import SourceFile
from fxls.ide.syntax.line_map import LineMap
from fxls.listing import How, Identity, Items, Parent, Tensor
from fxls.text import LineTable
from tests.ide.model import MODEL, PATH
from tests.ide.nets import NET, TEXT
from tests.support.listings import listing_of


def test_a_name_that_binds_a_tensor_says_its_shape() -> None:
    lines = TEXT.split("\n")
    for hint in reversed(hints(NET, 0, len(lines))):
        line, column = hint.point.line, hint.point.column
        lines[line] = f"{lines[line][:column]}⟦{hint.text}⟧{lines[line][column:]}"

    assert lines[2:6] == [
        "def forward(self, x⟦: f32[1, 3, 8, 8]⟧):",
        "    conv⟦: f32[1, 4, 8, 8]⟧ = self.conv(x);  x = None",
        "    relu⟦: f32[1, 4, 8, 8]⟧ = torch.relu(conv);  conv = None",
        "    block_fc = self.block.fc(relu)",
    ]
    assert "⟦" not in "\n".join(lines[6:])


def test_only_the_lines_that_were_asked_for_are_answered() -> None:
    assert [hint.point.line for hint in hints(NET, 3, 3)] == [3]
    assert hints(NET, 5, 99) == ()


CALLS = ["self.part(x)", "self.part(h)"]


def traced() -> Document:
    text = """\
def forward(self, x, flag):
    relu = torch.relu(x)
    add = relu + 1
    relu_1 = torch.relu(add)
    add_1 = relu_1 + 1
    add_2 = add_1 + add
    view = add_2.view(-1)
    return view
"""
    first, second = ((PATH, call) for call in CALLS)
    relu, plus = (PATH, "torch.relu(é)"), (PATH, "b + 1")
    shape = Tensor((2, 3), "float32", "cpu")
    other = Tensor((4, 3), "float32", "cpu")
    view = (PATH, MODEL[MODEL.index("y.view") : MODEL.index("\n\n    def part")])
    return Document(
        "/work/.fxls/Net_0123456789ab.py",
        listing_of(
            text,
            sources={PATH: MODEL},
            origins={
                "relu": [relu, first],
                "add": [plus, first],
                "relu_1": [relu, second],
                "add_1": [plus, second],
                "add_2": [(PATH, "y += h")],
                "view": [view],
            },
            values={
                "relu": shape,
                "add": shape,
                "relu_1": other,
                "add_1": other,
                "add_2": shape,
                "view": Tensor((6,), "float32", "cpu"),
            },
        ),
    )


def hinted(text: str, *documents: Document, moves: LineMap | None = None) -> list[str]:
    """The lines of a text that have hints, with the hints in them."""
    known = {d.path: moves for d in documents} if moves else {}
    source = SourceFile(PATH, LineTable(text), documents, moves=known)
    lines = text.split("\n")
    changed: set[int] = set()
    for hint in sorted(
        source_hints(source, 0, 99), key=lambda h: h.point, reverse=True
    ):
        line, column = hint.point.line, hint.point.column
        lines[line] = f"{lines[line][:column]}⟦{hint.text}⟧{lines[line][column:]}"
        changed.add(line)
    return [lines[line].strip() for line in sorted(changed)]


HINTED = [
    "h⟦: f32[2, 3]⟧ = self.part(x)",
    "y: torch.Tensor⟦: f32[4, 3]⟧ = self.part(h)",
    "y⟦: f32[2, 3]⟧ += h",
    ")⟦: f32[6]⟧",
    "b⟦: f32[2, 3] | f32[4, 3]⟧ = torch.relu(é)",
    "return b + 1⟦: f32[2, 3] | f32[4, 3]⟧",
]


def test_what_is_assigned_and_returned_says_its_shapes() -> None:
    assert hinted(MODEL, traced()) == HINTED


def test_hints_move_with_the_code_and_leave_what_was_edited() -> None:
    edited = "import os\n" + MODEL.replace("torch.relu(é)", "torch.tanh(é)")

    found = hinted(edited, traced(), moves=LineMap(MODEL, edited))

    assert found == [line for line in HINTED if "relu" not in line]


def test_a_source_that_is_half_written_has_no_hints() -> None:
    assert hinted(MODEL + "\nx = (", traced()) == []
    assert hinted(MODEL) == []


def of_another_graph(before: Document, **changes: Any) -> Document:
    """A second listing of the same source, in which every shape is another."""
    nodes = [
        replace(facts, value=replace(facts.value, shape=(9, 9)))
        if isinstance(facts.value, Tensor)
        else facts
        for facts in before.listing.nodes
    ]
    changed = replace(before.listing, nodes=tuple(nodes), **changes)
    return Document("/work/.fxls/Net_ba9876543210.py", changed)


CAPTURED = Parent(Identity("net", "Net"), "Net_0123456789ab.py")


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"computes_gradients": True}, id="the backward"),
        pytest.param({"parents": (CAPTURED,)}, id="what passes made"),
        pytest.param({"identity": Identity("model", "Old")}, id="a class that is gone"),
    ],
)
def test_a_graph_that_is_not_what_the_source_did_gives_no_hints(
    changes: dict[str, Any],
) -> None:
    assert hinted(MODEL, traced(), of_another_graph(traced(), **changes)) == HINTED


def test_a_part_of_a_captured_graph_gives_hints() -> None:
    called = replace(CAPTURED, how=How.CALLED)

    found = hinted(MODEL, of_another_graph(traced(), parents=(called,)))

    assert "h⟦: f32[9, 9]⟧ = self.part(x)" in found


def test_a_listing_of_an_earlier_text_says_nothing_beside_one_of_today() -> None:
    identity = Identity("net", "Net", "torch.compile", "graph 0")
    earlier = of_another_graph(traced(), identity=identity)
    moves = {earlier.path: LineMap(MODEL + "\n", MODEL)}
    both = SourceFile(PATH, LineTable(MODEL), (traced(), earlier), moves=moves)
    alone = SourceFile(PATH, LineTable(MODEL), (earlier,), moves=moves)

    assert "9, 9" not in str(source_hints(both, 0, 99))
    assert "9, 9" in str(source_hints(alone, 0, 99))


def test_a_function_that_has_another_name_today_has_no_hints() -> None:
    functions = replace(
        traced().listing,
        frames=tuple(
            replace(frame, function="Net.old") for frame in traced().listing.frames
        ),
    )
    assert hinted(MODEL, Document(traced().path, functions)) == []


APART: str = """\
class Net(torch.nn.Module):
    def forward(self, x):
        query, key = self.both(x).chunk(2, dim=-1)
        y, (h, *c) = self.lstm(x)
        a, b = torch.relu(y), h
        w = torch.tanh(a) if self.hot else a
        first, *rest = w.unbind(0)
        return torch.sigmoid(w) if self.hot else torch.tanh(w + 1)
"""

PAIR = Items(
    "tuple", (Tensor((2, 3), "float32", "cpu"), Tensor((2, 3), "int64", "cpu"))
)


def taken_apart(origins: dict[str, str], producer: str = "engine") -> Document:
    text = """\
def forward(self, x):
    chunk = x.chunk(2)
    getitem = chunk[0]
    getitem_1 = chunk[1]
    relu = torch.relu(getitem)
    tanh = torch.tanh(relu)
    sigmoid = torch.sigmoid(tanh)
    return sigmoid
"""
    tensors = ("relu", "tanh", "sigmoid")
    return Document(
        "/work/.fxls/Net_0123456789ab.py",
        listing_of(
            text,
            identity=Identity("net", "Net", producer),
            sources={PATH: APART},
            origins={node: [(PATH, spot)] for node, spot in origins.items()},
            values={
                "chunk": PAIR,
                "getitem": PAIR.items[0],
                "getitem_1": PAIR.items[1],
                **{
                    name: Tensor((n,), "float32", "cpu")
                    for n, name in enumerate(tensors)
                },
            },
        ),
    )


def hinted_apart(document: Document) -> list[str]:
    source = SourceFile(PATH, LineTable(APART), (document,))
    found = source_hints(source, 0, 99)
    lines: list[str] = APART.split("\n")
    for hint in sorted(found, key=lambda h: h.point, reverse=True):
        line, column = hint.point.line, hint.point.column
        lines[line] = f"{lines[line][:column]}⟦{hint.text}⟧{lines[line][column:]}"
    return [line.strip() for line in lines if "⟦" in line]


def test_names_that_take_a_value_apart_and_both_sides_of_a_choice_have_hints() -> None:
    document = taken_apart(
        {
            "chunk": "self.both(x).chunk(2, dim=-1)",
            "getitem": "query",
            "getitem_1": "key",
            "relu": "torch.relu(y)",
            "tanh": "torch.tanh(a)",
            "sigmoid": "torch.sigmoid(w)",
        }
    )
    assert hinted_apart(document) == [
        "query⟦: f32[2, 3]⟧, key⟦: i64[2, 3]⟧ = self.both(x).chunk(2, dim=-1)",
        "a⟦: f32[0]⟧, b = torch.relu(y), h",
        "w⟦: f32[1]⟧ = torch.tanh(a) if self.hot else a",
        "return torch.sigmoid(w) if self.hot else torch.tanh(w + 1)⟦: f32[2]⟧",
    ]


def test_what_a_producer_takes_out_on_a_line_is_that_of_the_called_operation() -> None:
    line = "query, key = self.both(x).chunk(2, dim=-1)"
    on_line = dict.fromkeys(["chunk", "getitem", "getitem_1"], line)

    assert hinted_apart(taken_apart(on_line, "torch.export")) == [
        "query⟦: f32[2, 3]⟧, key⟦: i64[2, 3]⟧ = self.both(x).chunk(2, dim=-1)"
    ]
    # What a module computes by itself is none of what it gives.
    inside = dict.fromkeys(on_line, "y, (h, *c) = self.lstm(x)")
    assert hinted_apart(taken_apart(inside, "torch.export")) == []
