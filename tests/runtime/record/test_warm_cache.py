"""What inductor compiled stays in its cache, whoever of the two runs has fxls."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any, cast

import pytest
import torch

import fxls
from fxls.runtime import finish
from fxls.store import StoreError
from fxls.store.runs import Runs
from tests.support.programs import needs_inductor

_any: Any = cast("Any", torch)


class Net(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x.sin() + x.cos()).relu() * 2


@needs_inductor
@pytest.mark.slow
@pytest.mark.parametrize("is_first_with_fxls", [False, True])
def test_a_warm_cache_stays_warm_and_its_keys_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_first_with_fxls: bool
) -> None:
    codecache: Any = importlib.import_module("torch._inductor.codecache")
    counters: Any = importlib.import_module("torch._dynamo.utils").counters
    functorch: Any = importlib.import_module("torch._functorch.config")
    utils: Any = importlib.import_module("torch._inductor.utils")
    keys: list[str] = []
    hashed = codecache.compiled_fx_graph_hash

    def hearing(*given: Any, **more: Any) -> Any:
        found = hashed(*given, **more)
        keys.append(found[0])
        return found

    monkeypatch.setattr(codecache, "compiled_fx_graph_hash", hearing)

    def compiled(*, is_within: bool) -> tuple[list[str], int, int]:
        """The keys of the forward and the backward, and how many were found."""
        if is_within:
            fxls.install(tmp_path)
        _any.compiler.reset()
        keys.clear()
        names = ("fxgraph_cache_hit", "fxgraph_cache_miss")
        before = [counters["inductor"][name] for name in names]
        x = torch.ones(2, 4, requires_grad=True)
        _any.compile(Net())(x).sum().backward()
        finish()
        fxls.uninstall()
        hits, misses = (
            counters["inductor"][name] - had
            for name, had in zip(names, before, strict=True)
        )
        return [*keys], hits, misses

    # Else the cache of AOTAutograd answers first, with all of both graphs.
    with utils.fresh_cache(), functorch.patch(enable_autograd_cache=False):
        cold = compiled(is_within=is_first_with_fxls)
        warm = compiled(is_within=not is_first_with_fxls)

    assert len(cold[0]) == 2
    assert cold == (cold[0], 0, 2)
    assert warm == (cold[0], 2, 0)
    # All of fxls was there: the one run with it has a record, with passes.
    troubles: list[StoreError] = []
    (run,) = Runs(tmp_path, troubles.append).newest()
    assert troubles == []
    assert run.summary.compilations == 1
    assert run.summary.passes > 0
