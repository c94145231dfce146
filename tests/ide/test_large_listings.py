"""What is asked of a place looks at as much of a large listing as of a small one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from fxls.ide.call_hierarchy import item_at
from fxls.ide.definition import definition
from fxls.ide.document_highlights import highlights
from fxls.ide.hover import hover
from fxls.ide.inlay_hints import error_hints, hints, time_hints
from fxls.ide.inline_values import lookups
from fxls.ide.listing.document import Document
from fxls.ide.references import references
from fxls.ide.selection_ranges import selections
from fxls.ide.semantic_tokens import tokens
from fxls.listing import Tensor
from fxls.text import Point
from tests.support.listings import listing_of

QUESTIONS: dict[str, Callable[[Document, int], object]] = {
    "hints": lambda d, line: hints(d, line, line + 9),
    "times": lambda d, line: time_hints(d, (), line, line + 9),
    "errors": lambda d, line: error_hints(d, {}, line, line + 9),
    "inline values": lambda d, line: lookups(d, line, line + 9, line + 5),
    "colours": lambda d, line: [*tokens(d, line, line + 9)],
    "selections": lambda d, line: selections(d, Point(line, BOUND)),
    "hover": lambda d, line: hover(d, Point(line, BOUND), lambda _: None),
    "definition": lambda d, line: definition(d, Point(line, READ)),
    "references": lambda d, line: references(d, Point(line, BOUND)),
    "highlights": lambda d, line: highlights(d, Point(line, BOUND)),
    "call hierarchy": lambda d, line: item_at(d, Point(line, BOUND)),
}
BOUND, READ = 6, 30
"""The columns of what a line binds, and of what it reads."""


class _Counted(tuple[Any, ...]):
    """Notes how many of its items somebody looked at."""

    __slots__ = ()
    looks = 0

    def __getitem__(self, at: Any) -> Any:
        found = super().__getitem__(at)
        _Counted.looks += len(found) if isinstance(at, slice) else 1
        return found

    def __iter__(self) -> Iterator[Any]:
        _Counted.looks += len(self)
        return super().__iter__()


def large(count: int) -> Document:
    names = [f"relu_{n}" for n in range(count)]
    calls = [
        f"    {name} = torch.relu({before});  {before} = None\n"
        for before, name in zip(["x", *names], names, strict=False)
    ]
    text = f"def forward(self, x):\n{''.join(calls)}    return {names[-1]}\n"
    layers = {name: [(f"layers.{n // 8}", "Layer")] for n, name in enumerate(names)}
    values = dict.fromkeys(names, Tensor((2, 3), "float32", "cpu"))
    listing = listing_of(text, scopes=layers, values=values)
    counted = replace(
        listing, nodes=_Counted(listing.nodes), marks=_Counted(listing.marks)
    )
    return Document("/Net_0123456789ab.py", counted)


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_about_a_place_costs_the_same_in_a_large_listing(
    question: str,
) -> None:
    ask = QUESTIONS[question]
    found: list[int] = []
    for count in (100, 200):
        document = large(count)
        line = count - 30
        ask(document, line)  # the tables are made
        _Counted.looks = 0
        assert ask(document, line) or question in ("times", "errors")
        found.append(_Counted.looks)

    # Each search by halves has one step more.
    assert found[0] <= found[1] <= found[0] + 8
