"""Complex numbers in generated code are the numbers that the graph has."""

from __future__ import annotations

import itertools
import math
import struct

import pytest

from fxls.engine import Graph, GraphModule

PARTS = (0.0, -0.0, 1.0, -2.5, 1e-300, math.inf, -math.inf, math.nan)
NUMBERS = [complex(*parts) for parts in itertools.product(PARTS, PARTS)]


def bits(number: complex) -> bytes:
    """What tells zeros from each other, and takes one NaN for another."""
    parts = (math.nan if math.isnan(p) else p for p in (number.real, number.imag))
    return struct.pack("dd", *parts)


@pytest.mark.parametrize("number", NUMBERS, ids=repr)
def test_a_number_runs_as_it_is_also_inside_of_other_arguments(number: complex) -> None:
    graph = Graph()
    taken = graph.call_function(dict, (), {"a": [number], "b": {"c": (number,)}})
    graph.output((taken, number))
    taken, alone = GraphModule({}, graph)()
    found = [taken["a"][0], taken["b"]["c"][0], alone]
    assert list(map(bits, found)) == [bits(number)] * 3


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (2 - 3.5j, "(2-3.5j)"),
        (1j, "complex(0.0, 1.0)"),
        (complex(-0.0, -1.0), "complex(-0.0, -1.0)"),
        (complex(2, 0), "complex(2.0, 0.0)"),
        (complex(math.nan, -math.inf), "complex(nan, -inf)"),
    ],
)
def test_a_number_is_written_as_the_newest_torch_writes_it(
    number: complex, text: str
) -> None:
    graph = Graph()
    graph.output(number)
    assert graph.python_code("self").src.strip().splitlines()[-1].strip() == (
        f"return {text}"
    )
