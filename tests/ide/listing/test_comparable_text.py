"""Two listings side by side show what really changed, and nothing besides."""

from __future__ import annotations

import random

from fxls.graph_diff.node_matching import aligned
from fxls.ide.listing.comparable_text import normalized
from fxls.ide.listing.document import Document
from tests.support.listings import listing_of

HEAD = "import torch\n\ndef forward(self, x):\n"


def document(*body: str, head: str = HEAD) -> Document:
    text = head + "".join(f"    {line}\n" for line in body)
    return Document("/work/.fxls/Net_0123456789ab.py", listing_of(text))


def changes(old: Document, new: Document) -> list[str]:
    """The lines that a comparison of the two shows, the old ones first."""
    left, right = normalized(old).split("\n"), normalized(new, old).split("\n")
    return [
        *(f"- {line.strip()}" for line in left if line not in right),
        *(f"+ {line.strip()}" for line in right if line not in left),
    ]


OLD = document(
    "relu = torch.relu(x);  x = None",
    "relu_1 = torch.relu(relu);  relu = None",
    "tanh = torch.tanh(relu_1)",
    "add = tanh + relu_1;  tanh = None;  relu_1 = None",
    "return add",
)


def test_a_text_alone_loses_the_end_of_names_and_keeps_its_lines() -> None:
    assert normalized(OLD) == (
        "import torch\n"
        "\n"
        "def forward(self, x):\n"
        "    relu = torch.relu(x)\n"
        "    relu_1 = torch.relu(relu)\n"
        "    tanh = torch.tanh(relu_1)\n"
        "    add = tanh + relu_1\n"
        "    return add\n"
    )


def test_an_end_that_has_a_line_of_its_own_leaves_the_line() -> None:
    made = document("x = None", "return 3")

    assert normalized(made) == HEAD + "\n    return 3\n"


def test_a_node_more_shows_itself_and_who_reads_it() -> None:
    new = document(
        "relu = torch.relu(x)",
        "tanh = torch.tanh(x);  x = None",
        "sub = relu - tanh;  relu = None;  tanh = None",
        "relu_1 = torch.relu(sub);  sub = None",
        "tanh_1 = torch.tanh(relu_1)",
        "add = tanh_1 + relu_1;  tanh_1 = None;  relu_1 = None",
        "return add",
    )

    assert changes(OLD, new) == [
        "- relu_1 = torch.relu(relu)",
        "+ tanh_new = torch.tanh(x)",
        "+ sub = relu - tanh_new",
        "+ relu_1 = torch.relu(sub)",
    ]


def test_a_node_less_shows_what_became_of_its_readers() -> None:
    new = document(
        "relu = torch.relu(x);  x = None",
        "tanh = torch.tanh(relu)",
        "add = tanh + relu;  tanh = None;  relu = None",
        "return add",
    )

    assert changes(OLD, new) == [
        "- relu_1 = torch.relu(relu)",
        "- tanh = torch.tanh(relu_1)",
        "- add = tanh + relu_1",
        "+ tanh = torch.tanh(relu)",
        "+ add = tanh + relu",
    ]


def test_another_constant_is_a_change_of_one_line() -> None:
    old = document("view = x.view(1, -1);  x = None", "return view")
    new = document("view = x.view(2, -1);  x = None", "return view")

    assert changes(old, new) == ["- view = x.view(1, -1)", "+ view = x.view(2, -1)"]


def test_a_name_that_wandered_is_no_sign() -> None:
    old = document("a = x.view(1)", "b = torch.relu(a)", "return b")
    new = document("c = torch.relu(x)", "a = c.view(2)", "return a")

    assert changes(old, new) == [
        "- a = x.view(1)",
        "- b = torch.relu(a)",
        "- return b",
        "+ b = torch.relu(x)",
        "+ a_new = b.view(2)",
        "+ return a_new",
    ]


def test_names_alone_are_no_change() -> None:
    new = document(
        "a = torch.relu(x)",
        "tanh = torch.relu(a)",
        "relu_1 = torch.tanh(tanh)",
        "add = relu_1 + tanh",
        "return add",
    )

    assert changes(OLD, new) == []
    assert normalized(new, OLD) == normalized(OLD)


def test_a_listing_is_all_the_same_as_itself() -> None:
    nodes = range(len(OLD.listing.nodes))

    assert aligned(OLD.listing, OLD.listing) == {node: node for node in nodes}


def test_what_is_paired_does_the_same_in_the_same_order() -> None:
    chance = random.Random(0)
    functions = ["relu", "tanh", "abs"]
    for _ in range(50):
        old, new = (_random(chance, functions) for _ in range(2))
        pairs = aligned(old.listing, new.listing)
        assert sorted(pairs, key=lambda node: pairs[node]) == sorted(pairs)
        for right, left in pairs.items():
            there, here = old.listing.nodes[left], new.listing.nodes[right]
            assert there.opcode == here.opcode
            assert there.target == here.target or there.name == here.name


def test_what_was_put_in_is_all_that_is_not_paired() -> None:
    chance = random.Random(1)
    functions = [f"f{n}" for n in range(40)]
    body = [chance.choice(functions) for _ in range(3000)]
    more = [*body[:1000], "added", *body[1000:2000], "added", *body[2000:]]
    old, new = _chain(body), _chain(more)

    pairs = aligned(old.listing, new.listing)

    assert {n for n in range(len(new.listing.nodes)) if n not in pairs} == {1001, 2002}
    shift = {node: node - (node > 1001) - (node > 2002) for node in pairs}
    assert pairs == shift


def _random(chance: random.Random, functions: list[str]) -> Document:
    return _chain([chance.choice(functions) for _ in range(chance.randrange(30))])


def _chain(functions: list[str]) -> Document:
    lines: list[str] = []
    name = "x"
    for number, function in enumerate(functions):
        lines.append(f"n{number} = torch.{function}({name})")
        name = f"n{number}"
    return document(*lines, f"return {name}")
