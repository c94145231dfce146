"""Values live until the forward returns, where that is asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import fxls
from fxls import engine
from fxls.listing import Role
from fxls.rules import BrokenRule
from fxls.runtime import finish
from fxls.store import Store
from tests.runtime.broken_nets import Long, Rooted

fx: Any = torch.fx

TRACERS = [
    pytest.param(engine.symbolic_trace, id="engine"),
    pytest.param(fx.symbolic_trace, id="torch.fx"),
]
Trace = Callable[[nn.Module], Any]


@pytest.mark.parametrize("trace", TRACERS)
def test_the_listing_is_without_the_frees(store: Store, trace: Trace) -> None:
    freeing = trace(Rooted())
    fxls.install(store.root, keep_values=True)
    gm = trace(Rooted())
    assert gm.code == freeing.code
    finish()
    path = Path(gm.forward.__code__.co_filename)
    listing = store.read(path)
    assert listing.text.partition("def ")[2] == (
        "forward(self, x : torch.Tensor) -> torch.Tensor:\n"
        "    sqrt = torch.sqrt(x)\n"
        "    add = sqrt + 1\n"
        "    return add\n"
    )
    assert {mark.role for mark in listing.marks} == {Role.BINDS, Role.READS}
    before = store.read(Path(freeing.forward.__code__.co_filename))
    assert listing.nodes == before.nodes
    assert listing.identity == before.identity
    assert [m for m in before.marks if m.role is not Role.FREES] == list(listing.marks)
    assert gm(torch.tensor([4.0])).tolist() == [3.0]


@pytest.mark.parametrize("trace", TRACERS)
def test_the_values_are_there_at_the_end(store: Store, trace: Trace) -> None:
    fxls.install(store.root, keep_values=True)
    fxls.break_on("nan", on_break="raise")
    gm = trace(Long(2_000, planted=1_999))
    with pytest.raises(BrokenRule) as raised:
        gm(torch.tensor([-1.0]))
    tb = raised.value.__traceback__
    while tb is not None and tb.tb_next is not None:
        tb = tb.tb_next
    assert tb is not None
    shown = tb.tb_frame.f_locals
    names = [f"add_{i}" for i in range(1_950, 1_999)]
    assert [shown[name].tolist() for name in names] == [[-1.0]] * len(names)


def test_it_can_be_turned_off_again(store: Store) -> None:
    fxls.install(store.root, keep_values=True)
    kept: Any = fx.symbolic_trace(Rooted())
    fxls.install(store.root, keep_values=False)
    freed: Any = fx.symbolic_trace(Rooted())
    kept_path, freed_path = (
        Path(one.forward.__code__.co_filename) for one in (kept, freed)
    )
    assert kept_path != freed_path
    assert "sqrt = None" not in kept_path.read_text("utf-8")
    assert "sqrt = None" in freed_path.read_text("utf-8")
