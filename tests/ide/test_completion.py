"""Entry comments that are completed and checked."""

from __future__ import annotations

import pytest

from fxls.ide.completion import completions, doubts
from fxls.text import LineTable
from tests.ide.model import MODEL, PATH
from tests.support.drawing import cursor, drawn


def offered(marked: str) -> list[tuple[str, str]]:
    """What is offered at the ``$0`` of a line below the model, and what it replaces."""
    text, point = cursor(MODEL + marked)
    found = completions(text, PATH, point)
    return [(one.text, LineTable(text).slice(one.span)) for one in found]


COMMENT = "# fxls: Net(hidden=8, layers=[2, 2])(torch.randn(1, 8), True)"


@pytest.mark.parametrize("written", ["#", "# ", "# f", "# fxls", "#fx"])
def test_an_entry_is_offered_from_its_first_letter(written: str) -> None:
    assert offered(f"    {written}$0") == [(COMMENT, written)]


@pytest.mark.parametrize(
    ("comment", "texts"),
    [
        ("# fxls: N$0", [(COMMENT.removeprefix("# fxls: "), "N")]),
        ("# fxls: Net(hid$0", [("hidden=", "hid")]),
        ("# fxls: Net(hidden=3, $0)", [("layers=", ""), ("bias=", "")]),
        ("# fxls: Net(3)(torch.randn$0)", [("torch.randn", "torch.randn")]),
        ("# fxls: Net(3)(tor$0)", [("torch", "tor")]),
        ("# fxls: other.$0", []),
        ("# a comment N$0", []),
        ("Net(h$0", []),
    ],
)
def test_inside_an_entry_the_names_of_the_file_are_offered(
    comment: str, texts: list[tuple[str, str]]
) -> None:
    found = offered(comment)

    everywhere = {("torch", ""), ("fxls", "")}
    assert [one for one in found if one not in everywhere] == texts


def doubted(comment: str) -> str:
    """What is doubtful about an entry comment, under it."""
    text = MODEL + comment
    marks = [
        (failure.places[0].span, failure.message) for failure, _ in doubts(text, PATH)
    ]
    return drawn(text, marks)


def test_names_that_the_file_does_not_have_are_doubtful() -> None:
    assert doubted("# fxls: Nte(é)(torch.randn(1), len([x for x in 'é']))") == (
        "# fxls: Nte(é)(torch.randn(1), len([x for x in 'é']))\n"
        "        ^^^ this file does not define Nte\n"
        "            ^ this file does not define é"
    )
    assert doubted("# fxls: Net(3, layers=[2])(torch.randn(1), True)") == ""


def test_arguments_that_a_class_does_not_take_are_doubtful() -> None:
    assert doubted("# fxls: Net(lay=[2])(torch.randn(1), True)") == (
        "# fxls: Net(lay=[2])(torch.randn(1), True)\n"
        "        ^^^ Net needs hidden, layers\n"
        "            ^^^^^^^ Net takes no lay"
    )
    assert doubted("# fxls: Net(*sizes)(x)") == (
        "# fxls: Net(*sizes)(x)\n"
        "             ^^^^^ this file does not define sizes\n"
        "                    ^ this file does not define x"
    )


def test_a_file_with_a_star_import_may_define_anything() -> None:
    assert doubts("from net import *\n# fxls: Net()\n", PATH) == ()
