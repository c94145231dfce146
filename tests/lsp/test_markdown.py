"""Cards as a client gets them."""

from __future__ import annotations

import pytest

from fxls.ide.listing.card import (
    Card,
    Code,
    Field,
    Grid,
    Inline,
    Line,
    Link,
    Snippet,
    TableLink,
)
from fxls.lsp.markdown import markdown, plain
from fxls.text import Point

X = Link("x_1", "/work/a net.py", Point(4, 7))

CARD: Card = (
    Line((Code("conv"), ": call_module ", Code("layer.0"))),
    Field("args", (X, ", ", Code("2"))),
    Field("kwargs", ()),
    Line(("from ", X)),
    Snippet("y = f(x)\nz = 1"),
    Grid(("name", "op"), (((X,), ("a|b",)), ((Code("p |q"),), ("c d",)))),
    Line((TableLink("All *rows*", "/work/a net.py"), ".")),
)


def test_a_card_is_markdown_with_links() -> None:
    assert markdown(CARD).split("\n") == [
        "`conv`: call_module `layer.0`",
        "",
        "- **args**: [`x_1`](file:///work/a%20net.py#L5,8), `2`",
        "- **kwargs**: —",
        "",
        "from [`x_1`](file:///work/a%20net.py#L5,8)",
        "",
        "```python",
        "y = f(x)",
        "z = 1",
        "```",
        "",
        "| name | op |",
        "| --- | --- |",
        "| [`x_1`](file:///work/a%20net.py#L5,8) | a\\|b |",
        "| `p\N{NO-BREAK SPACE}\\|q` | c\N{NO-BREAK SPACE}d |",
        "",
        "All \\*rows\\*.",
    ]


def test_a_table_is_a_link_where_the_client_runs_commands() -> None:
    last = markdown(CARD, runs_commands=True).split("\n")[-1]

    argument = "%5B%22file%3A%2F%2F%2Fwork%2Fa%2520net.py%22%5D"
    assert last == f"[All \\*rows\\*](command:fxls.table?{argument})."


def test_a_card_is_text_where_there_is_no_markdown() -> None:
    assert plain(CARD).split("\n") == [
        "conv: call_module layer.0",
        "  args: x_1, 2",
        "  kwargs: -",
        "from x_1",
        "    y = f(x)",
        "    z = 1",
        "name  op",
        "x_1   a|b",
        "p |q  c d",
        "All *rows*.",
    ]


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("*args* [a](b) <i> `x` #1", "\\*args\\* \\[a\\](b) \\<i\\> \\`x\\` \\#1"),
        ("_a_ __init__ a_b", "\\_a\\_ \\_\\_init\\_\\_ a_b"),
        (Code("a`b"), "``a`b``"),
        (Code("`"), "`` ` ``"),
        (Code("a\nb"), "`a b`"),
        (Code(""), "`  `"),
        (Link("]", "/a(b)", Point(0, 0)), "[`]`](file:///a%28b%29#L1,1)"),
    ],
)
def test_text_cannot_become_markup(part: Inline, expected: str) -> None:
    assert markdown((Line((part,)),)) == expected


def test_a_snippet_may_hold_a_fence() -> None:
    assert markdown((Snippet('"""\n```\n"""'),)).split("\n") == [
        "````python",
        '"""',
        "```",
        '"""',
        "````",
    ]


def test_blank_lines_of_a_snippet_stay() -> None:
    assert "a\n\n\n\nb" in markdown((Snippet("a\n\n\n\nb"),))


def test_code_that_touches_code_is_one_piece_of_code() -> None:
    card: Card = (
        Field("kwargs", (Code("inplace="), Code("False"), ", ", Code("p="), X)),
    )
    assert markdown(card) == (
        "- **kwargs**: `inplace=False`, `p=`[`x_1`](file:///work/a%20net.py#L5,8)"
    )
