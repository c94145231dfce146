"""An unpickled graph module is a listing of its model."""

from __future__ import annotations

import copy
import importlib
import io
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch

from fxls import engine
from fxls.listing import Identity
from fxls.store import Store
from tests.runtime.producers.looking import MODULE, listing_in
from tests.runtime.producers.torch_nets import Net

fx: Any = torch.fx
any_torch: Any = torch


class Outer:
    class Inner(Net):
        """A class in a class."""


def copied_by_pickle(module: Any) -> Any:
    return pickle.loads(pickle.dumps(module))


def saved_and_loaded(module: Any) -> Any:
    file = io.BytesIO()
    any_torch.save(module, file)
    file.seek(0)
    return any_torch.load(file, weights_only=False)


@pytest.mark.parametrize("copied", [copied_by_pickle, saved_and_loaded, copy.deepcopy])
@pytest.mark.parametrize("producer", ["torch.fx", "engine"])
def test_a_copy_of_a_copy_has_the_name_of_the_model(
    store: Store, copied: Callable[[Any], Any], producer: str
) -> None:
    trace = fx.symbolic_trace if producer == "torch.fx" else engine.symbolic_trace
    again = copied(copied(trace(Outer.Inner())))
    again(torch.ones(2, 4))
    assert listing_in(store, again).identity == Identity(
        __name__, "Outer.Inner", producer
    )


def first_part(_node: object) -> int:
    return 0


def test_a_part_that_is_unpickled_is_still_that_part(store: Store) -> None:
    any_fx: Any = importlib.import_module("torch.fx.passes.split_module")
    whole = any_fx.split_module(fx.symbolic_trace(Net()), None, first_part)
    part = copied_by_pickle(whole).submod_0
    said = Identity(MODULE, "Net", "torch.fx", "submod_0")
    assert listing_in(store, part).identity == said


def test_a_pickle_may_say_anything_of_what_it_was_made_of(store: Store) -> None:
    module = fx.symbolic_trace(Net())
    function, (state, imports) = module.__reduce__()
    for noted in ("Net", (1, 2, 3), ("a", "b"), None):
        again = function({**state, "_fxls_made_of": noted}, imports)
        assert listing_in(store, again).identity.qualname == "GraphModule"
        assert "_fxls_made_of" not in vars(again)
