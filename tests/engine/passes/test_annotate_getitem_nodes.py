"""The types of elements, from the annotation of the sequence."""

import operator
from typing import Any, List, NamedTuple, Tuple  # noqa: UP035 - annotations people have

import pytest
import torch
import torch.fx
from torch.fx.passes.annotate_getitem_nodes import (
    annotate_getitem_nodes as torch_annotate,
)

from fxls import engine as fx
from fxls.engine.passes.annotate_getitem_nodes import annotate_getitem_nodes


class Pair(NamedTuple):
    left: int
    right: torch.Tensor


def element(system: Any, annotate: Any, kind: Any, index: Any) -> Any:
    graph = system.Graph()
    sequence = graph.placeholder("x", kind)
    node = graph.call_function(operator.getitem, (sequence, index))
    graph.output(node)
    annotate(graph)
    return node.type


@pytest.mark.parametrize(
    ("kind", "index", "expected"),
    [
        (Tuple[int, torch.Tensor], 1, torch.Tensor),  # noqa: UP006 - see above
        (tuple[int, torch.Tensor], 0, int),
        (tuple[float, ...], 7, float),
        (List[str], 3, str),  # noqa: UP006 - see above
        (list[torch.Tensor], 0, torch.Tensor),
        (Pair, 1, torch.Tensor),
        (torch.Tensor, 0, None),
        (None, 0, None),
    ],
)
def test_an_element_has_the_type_that_torch_fx_gives_it(
    kind: Any, index: int, expected: Any
) -> None:
    assert element(fx, annotate_getitem_nodes, kind, index) is expected
    assert element(torch.fx, torch_annotate, kind, index) is expected


def test_an_index_that_is_not_known_says_nothing() -> None:
    assert element(fx, annotate_getitem_nodes, tuple[int, str], slice(0, 1)) is None
    assert element(fx, annotate_getitem_nodes, Tuple, 0) is None  # noqa: UP006 - bare


def test_an_element_that_is_not_there_is_refused() -> None:
    with pytest.raises(AssertionError, match="has no element 2"):
        element(fx, annotate_getitem_nodes, tuple[int, str], 2)
