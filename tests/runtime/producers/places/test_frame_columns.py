"""A node of torch.compile is at its expression, also where torch notes lines alone."""

from __future__ import annotations

from pathlib import Path
from traceback import FrameSummary
from typing import Any, cast

import pytest
import torch
from torch._dynamo import symbolic_convert
from torch._guards import TracingContext

import fxls
from fxls.store import Store
from tests.runtime.producers.looking import listings_in, sources

pytestmark = pytest.mark.slow

torch_compile: Any = cast("Any", torch).compile


def inner(x: Any, y: Any) -> Any:
    return torch.relu(x + y) * torch.tanh(x)


def outer(x: Any, y: Any) -> Any:
    return inner(x, y) - y.exp().sin()


EXPRESSIONS = {
    "add": "x + y",
    "relu": "torch.relu(x + y)",
    "tanh": "torch.tanh(x)",
    "mul": "torch.relu(x + y) * torch.tanh(x)",
    "exp": "y.exp()",
    "sin": "y.exp().sin()",
    "sub": "inner(x, y) - y.exp().sin()",
}


def of_a_line(translator: Any) -> FrameSummary:
    """What torch 2.11 and 2.12 note."""
    code = translator.f_code
    return FrameSummary(code.co_filename, translator.lineno, code.co_name)


@pytest.mark.parametrize("noted", ["by torch", "as a line"])
def test_a_node_has_the_columns_of_its_expression(
    noted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if noted == "as a line":
        translator = symbolic_convert.InstructionTranslatorBase
        monkeypatch.setattr(translator, "frame_summary", of_a_line)
    cast("Any", torch).compiler.reset()
    fxls.install(tmp_path / ".fxls")
    try:
        torch_compile(outer, backend="eager")(torch.ones(3), torch.ones(3))
        (listing,) = listings_in(Store(tmp_path / ".fxls")).values()
    finally:
        fxls.uninstall()
    found = sources(listing)
    assert {name: found[name] for name in EXPRESSIONS} == EXPRESSIONS


class Asking(torch.nn.Module):
    def forward(self, n: torch.Tensor) -> torch.Tensor:
        k = n.item()
        return n if k > 2 else -n


def of_an_error(context: Any) -> FrameSummary:
    """What torch 2.11 and 2.12 note where a function is followed."""
    return FrameSummary(*context.loc_in_frame)


def test_an_error_has_the_columns_of_its_expression(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "_populate_loc_in_frame_summary"
    monkeypatch.setattr(TracingContext, name, of_an_error)
    fxls.install(tmp_path / ".fxls")
    try:
        with pytest.raises(Exception, match="Could not guard") as caught:
            torch.export.export(Asking(), (torch.tensor(3),), strict=True)
    finally:
        fxls.uninstall()
    error: Any = caught.value
    while not getattr(error, "real_stack", None):
        error = error.__cause__ or error.__context__
    innermost = error.real_stack[-1]
    line = (innermost.line or "").rstrip()
    at = len("        ")  # which Python does not keep
    assert line[innermost.colno - at : innermost.end_colno - at] == "k > 2"
