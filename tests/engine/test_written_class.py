"""A class that torch makes while a program runs stands for one that somebody wrote."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any, cast

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrize

from fxls.engine import GraphModule, symbolic_trace
from fxls.engine.written_class import written_class

PROGRAM = """\
    import json, pathlib, sys, torch
    import fxls
    from fxls import engine
    from fxls.runtime import finish
    from fxls.store import Store
    from torch.distributed.fsdp import fully_shard
    from torch.nn.utils import parametrize
    from torch.testing._internal.distributed.fake_pg import FakeStore

    class Block(torch.nn.Module):
        def forward(self, x):
            return x.relu()

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(4))
            self.block = Block()

        def forward(self, x):
            return self.block(x) + 1

    def sharded():
        net = Net()
        fully_shard(net.block)
        return fully_shard(net)

    def parametrized():
        net = Net()
        parametrize.register_parametrization(net, "weight", torch.nn.Identity())
        return net

    torch.distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=2)
    store = Store(pathlib.Path("store"))
    fxls.install(store.root)
    x = torch.ones(4)
    for model in (parametrized(), sharded()):
        assert type(model) is not Net
        torch.fx.symbolic_trace(model)
        engine.symbolic_trace(model)
    torch.compile(parametrized(), backend="eager")(x)
    torch.compile(torch.nn.parallel.DistributedDataParallel(Net()), backend="eager")(x)
    torch.export.export(parametrized(), (x,))
    finish()
    listings = [
        store.read_revision(one) for i in store.identities() for one in store.revisions(i)
    ]
    names = {(one.identity.module, one.identity.qualname) for one in listings}
    makers = {one.identity.producer for one in listings}
    scopes = {scope.type for one in listings for scope in one.scopes}
    print(json.dumps([sorted(names), sorted(makers), sorted(scopes)]))
"""


@pytest.mark.slow
def test_listings_name_the_class_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(dedent(PROGRAM), "utf-8")
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "program.py"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=True,
    )
    assert json.loads(ended.stdout) == [
        [["program", "Net"]],
        ["engine", "torch.compile", "torch.export", "torch.fx"],
        ["__main__.Block"],
    ]


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.weight


def parametrized(model: nn.Module) -> type:
    cast("Any", parametrize).register_parametrization(model, "weight", nn.Identity())
    return type(model)


def test_what_a_parametrization_made_is_the_class_that_it_was_made_from() -> None:
    made = parametrized(Net())
    assert made is not Net
    assert written_class(made) is Net
    assert written_class(parametrized(nn.Linear(2, 2))) is nn.Linear


def test_a_class_that_somebody_wrote_is_itself() -> None:
    class Local(Net):
        pass

    made_by_the_user = type("Wide", (Net,), {})
    graph_module = type(symbolic_trace(Net()))
    traced: Any = cast("Any", torch).fx.symbolic_trace(Net())
    of_torch = cast("type[Any]", type(traced))
    kinds: tuple[type, ...] = (
        Net,
        Local,
        made_by_the_user,
        graph_module,
        of_torch,
        GraphModule,
    )
    for kind in (*kinds, nn.Linear, nn.Module, int):
        assert written_class(kind) is kind
