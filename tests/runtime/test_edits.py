"""With the runtime, a graph module computes what it computes without."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.fx
from torch import nn

import fxls
from fxls import engine
from fxls.store import Store
from tests.engine.edit_scripts import normalized, seen


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first", range(0, 60, 4))
def test_edited_modules_compute_the_same_with_the_runtime(
    first: int, store: Store
) -> None:
    for seed in range(first, first + 4):
        installed = normalized(seen(engine, seed))
        fxls.uninstall()
        expected = normalized(seen(engine, seed))
        fxls.install(store.root)
        assert installed == expected, f"the script of seed {seed}"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("fx", [engine, torch.fx], ids=["fxls", "torch.fx"])
def test_so_do_many(fx: Any, store: Store) -> None:
    for seed in range(60, 160):
        installed = normalized(seen(fx, seed))
        fxls.uninstall()
        expected = normalized(seen(fx, seed))
        fxls.install(store.root)
        assert installed == expected, f"the script of seed {seed}"


X = torch.tensor([-1.0, 2.0])


@pytest.mark.parametrize("is_read", [False, True])
def test_code_from_before_the_runtime_is_listed_as_it_runs(
    store: Store,
    is_read: bool,
) -> None:
    fxls.uninstall()
    module = engine.symbolic_trace(nn.Sequential(nn.ReLU()))
    _ = module.code if is_read else None
    given, called = list(module.graph.nodes)[:2]
    called.replace_all_uses_with(given)
    module.graph.erase_node(called)

    fxls.install(store.root)

    assert module(X).tolist() == [0.0, 2.0]
    (path,) = store.root.rglob("Sequential_*.py")
    assert 'getattr(self, "0")' in path.read_text()
    assert [facts.name for facts in store.read(path).nodes] == [
        "input_1",
        "_0",
        "output",
    ]
