"""An error that leaves a listing of torch's carries the node and what went into it."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from torch import nn

import fxls
from fxls.store import Store
from tests.runtime.producers import raising_nets
from tests.runtime.producers.raising_nets import Raising, Unequal

fx: Any = torch.fx


def eager(net: nn.Module) -> Any:
    return cast("Any", torch).compile(net, backend="eager")


def aot(net: nn.Module) -> Any:
    return cast("Any", torch).compile(net, backend="aot_eager")


def exported(net: nn.Module) -> Any:
    return cast("Any", torch.export.export(net, (torch.ones(2, 4),))).module()


def test_an_error_of_shapes_says_the_shapes_and_the_source(store: Store) -> None:
    gm = fx.symbolic_trace(Unequal())
    with pytest.raises(RuntimeError, match="must match the size") as raised:
        gm(torch.ones(2, 4), torch.ones(3))
    assert raised.value.__notes__ == [
        (
            "Node add of Unequal: add = linear + other\n"
            f'  File "{raising_nets.__file__}", line {line("return hidden + other")},'
            " in Unequal.forward\n"
            "    return hidden + other\n"
            "           ^^^^^^^^^^^^^^\n"
            "  with linear: float32 (2, 4)\n"
            "  with other: float32 (3,)"
        )
    ]


def test_an_error_inside_of_a_module_says_which(store: Store) -> None:
    gm = fx.symbolic_trace(Unequal())
    with pytest.raises(RuntimeError, match="cannot be multiplied") as raised:
        gm(torch.ones(2, 5), torch.ones(4))
    assert raised.value.__notes__ == [
        (
            "Node linear of Unequal: linear = self.linear(x)\n"
            f'  File "{raising_nets.__file__}", line {line("hidden = self.linear(x)")},'
            " in Unequal.forward\n"
            "    hidden = self.linear(x)\n"
            "             ^^^^^^^^^^^^^^\n"
            "  with linear: Linear(in_features=4, out_features=4, bias=True)\n"
            "  with x: float32 (2, 5)"
        )
    ]


@pytest.mark.slow
@pytest.mark.parametrize("made", [eager, aot, exported])
def test_an_error_in_what_torch_captured_says_the_source(
    store: Store, made: Callable[[nn.Module], Any]
) -> None:
    with torch.no_grad():
        gm = made(Raising())
        with pytest.raises(ValueError, match=r"^refused") as raised:
            gm(torch.ones(2, 4))
    (note,) = raised.value.__notes__
    # torch keeps where an expression starts and ends for some producers.
    said = [one for one in note.splitlines() if one.strip(" ^")]
    assert said[0].startswith("Node refuse")
    where = f"line {line('return refuse(doubled)')}, in Raising.forward"
    assert said[1:] == [
        f'  File "{raising_nets.__file__}", {where}',
        "    return refuse(doubled)",
        f"  with {'doubled' if made is eager else 'mul'}: float32 (2, 4)",
    ]


@pytest.mark.slow
def test_what_is_compiled_fails_in_the_frames_that_it_has_without_fxls(
    store: Store, capfd: pytest.CaptureFixture[str]
) -> None:
    def frames() -> list[str]:
        cast("Any", torch)._dynamo.reset()
        with torch.no_grad(), pytest.raises(ValueError, match=r"^refused") as raised:
            eager(Raising())(torch.ones(2, 4))
        found = traceback.extract_tb(raised.value.__traceback__)
        names = [frame.name for frame in found]
        return names[names.index("forward") :]

    under = frames()
    fxls.uninstall()
    assert under == frames()
    assert capfd.readouterr().err == ""


def line(text: str) -> int:
    lines = Path(raising_nets.__file__).read_text("utf-8").splitlines()
    (found,) = (n for n, one in enumerate(lines, 1) if one.strip() == text)
    return found
