"""What the parameters of a target are by default."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, cast

import pytest
import torch
import torch.nn.functional as F  # noqa: N812  as people write it
from msgspec.structs import replace

from fxls.ide.hover import hover
from fxls.ide.listing.defaults import defaults
from fxls.ide.listing.document import Document
from fxls.listing import Target
from fxls.text import Point
from tests.ide.nets import LISTING_PATH, source_text
from tests.support.cards import card_text
from tests.support.listings import listing_of


def test_a_signature_of_python_and_a_schema_say_their_defaults() -> None:
    assert defaults(
        "(input, weight=None, *, eps=1e-05, mode='a', size=(1, 2), o=...)"
    ) == {
        "weight": "None",
        "eps": "1e-05",
        "mode": "'a'",
        "size": "(1, 2)",
        "o": "...",
    }
    assert defaults(
        '(Tensor self, int[2] stride=[1, 1], *, str approximate="none") -> (Tensor, Tensor)'
    ) == {"stride": "[1, 1]", "approximate": "'none'"}
    assert defaults("") == defaults("(") == defaults("()") == {}


@pytest.mark.parametrize(
    "function", [F.layer_norm, F.interpolate, F.max_pool2d, F.relu]
)
def test_the_defaults_of_a_function_are_those_that_inspect_finds(
    function: Callable[..., object],
) -> None:
    signature = inspect.signature(function)
    bare = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    assert defaults(str(signature.replace(parameters=bare, return_annotation=str))) == {
        p.name: repr(p.default) for p in bare if p.default is not p.empty
    }


def test_a_schema_of_torch_says_what_it_is_called_with() -> None:
    schema = str(cast("Any", torch.ops.aten.gelu.default)._schema)
    assert defaults(schema[schema.index("(") :]) == {"approximate": "'none'"}


def test_a_hover_names_what_is_as_by_default_and_shows_the_rest() -> None:
    text = """\
def forward(self, x):
    y = torch.f(x, p=0.5, out=x, inplace=False, n=2)
    return y
"""
    made = listing_of(text)
    (x, y, end) = made.nodes
    signature = "(input, p=0.5, out=None, inplace=False, n=1)"
    document = Document(
        LISTING_PATH,
        replace(
            made,
            nodes=(x, replace(y, call=0), end),
            targets=(Target("torch.f", signature),),
        ),
    )

    found = hover(document, Point(1, 4), source_text)

    assert found is not None
    assert card_text(found.card).split("\n")[3] == (
        "- kwargs: `out=`[x Net_0123456789ab.py:0:18], `n=``2`; as by default: `p, inplace`"
    )
