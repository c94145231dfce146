"""A program asks for the listing of a module, and where it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import fxls
from fxls import engine
from fxls.store import Store
from tests.runtime.producers.looking import listing_in, path_of
from tests.runtime.producers.torch_nets import Net

fx: Any = torch.fx


def test_the_listing_is_the_one_that_runs(store: Store) -> None:
    module = fx.symbolic_trace(Net())
    assert fxls.listing_of(module) == listing_in(store, module)


def test_a_listing_can_be_shown_without_the_runtime(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FXLS_STORE", str(tmp_path))
    for trace, producer in (
        (fx.symbolic_trace, "torch.fx"),
        (engine.symbolic_trace, "engine"),
    ):
        module = trace(Net())
        path = fxls.show(module)
        assert capsys.readouterr().out == f"{path}:5\n"
        assert path.parent == tmp_path
        assert Store(tmp_path).read(path) == fxls.listing_of(module)
        assert fxls.listing_of(module).identity.producer == producer


def test_shown_and_run_are_one_file(store: Store) -> None:
    module = fx.symbolic_trace(Net())
    assert fxls.show(module) == path_of(module)


def test_what_has_no_graph_is_refused() -> None:
    with pytest.raises(
        TypeError, match=r"^Net has no graph: give a GraphModule of torch"
    ):
        fxls.listing_of(Net())
