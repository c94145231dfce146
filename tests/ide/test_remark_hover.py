"""What a hover says of what a compiler could not do at a place: what first, how much."""

from __future__ import annotations

from fxls.ide.hover import remark_hover
from fxls.listing import Place
from fxls.record import QuotedPlace, Subject
from fxls.record.remarks import RemarkKind, SourceRemark
from fxls.text import Point, Span
from tests.support.cards import card_text

SPAN = Span.of(3, 4, 3, 9)
PLACE = QuotedPlace(Place("/p/net.py", "forward", SPAN), "    a @ b")


def fusion(number: int) -> tuple[SourceRemark, Span]:
    kind = RemarkKind.ANALYSIS
    about = f"mm and add_{number}"
    return SourceRemark(kind, Subject.FUSION, "no", PLACE, about=about), SPAN


COST = SourceRemark(RemarkKind.COST, Subject.COST, "a copy", PLACE)
BREAK = SourceRemark(
    *(RemarkKind.PROBLEM, Subject.BREAK, "print", PLACE, "GB0059"),
    hints=("leave it out",),
    compilations=("0/0",),
)


def test_a_hover_says_problems_first_then_costs_and_the_first_of_many_fusions() -> None:
    found = [*map(fusion, range(4)), (COST, SPAN), *map(fusion, range(4, 7))]
    shown = remark_hover([*found, (BREAK, SPAN)], Point(3, 9))

    assert shown is not None
    assert shown.span == SPAN
    assert card_text(shown.card).splitlines() == [
        f"torch.compile: Graph break: print [GB0059 {BREAK.page}]",
        "- : in 1 compilation: 0/0",
        "- help: leave it out",
        "torch.compile: a copy",
        *(f"torch.compile: Not fused: mm and add_{number}: no" for number in range(4)),
        "… and 3 more remarks: `fxls remarks --all`",
    ]


def test_four_fusions_are_all_that_there_is_to_say() -> None:
    shown = remark_hover(map(fusion, range(4)), Point(3, 4))
    assert shown is not None
    assert card_text(shown.card).splitlines() == [
        f"torch.compile: Not fused: mm and add_{number}: no" for number in range(4)
    ]


def test_beside_the_place_nothing_is_said() -> None:
    assert remark_hover([(BREAK, SPAN)], Point(3, 10)) is None
    assert remark_hover([], Point(3, 4)) is None
