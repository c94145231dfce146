"""A job of several ranks writes one store: equal texts share a file, others do not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from fxls.store import Store
from tests.support.lsp_client import started

PROGRAM = """\
import torch
import torch.distributed as distributed

class Same(torch.nn.Module):
    def forward(self, x):
        return 1 + torch.relu(x)

class Deep(torch.nn.Module):
    def forward(self, x):
        for _ in range(distributed.get_rank()):
            x = x + 1
        return x * 2

distributed.init_process_group("gloo")
rank = distributed.get_rank()
for model in (Same(), Deep()):
    module = torch.fx.symbolic_trace(model)
    x = torch.zeros(2)
    assert torch.equal(module(x), model(x))
total = torch.tensor(1)
distributed.all_reduce(total)
assert total == 4
distributed.destroy_process_group()
"""


@pytest.mark.slow
def test_a_job_of_four_ranks_writes_one_store(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(dedent(PROGRAM), "utf-8")
    command = [
        *(sys.executable, "-m", "fxls", "run", "--store", str(tmp_path / "store")),
        *("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "4"),
        str(program),
    ]
    ended = subprocess.run(
        command, capture_output=True, text=True, timeout=600, check=False
    )
    assert ended.returncode == 0, ended.stderr
    store = Store(tmp_path / "store")
    found = {(i.qualname, i.rank): store.newest(i) for i in store.identities()}
    assert set(found) == {(name, r) for name in ("Same", "Deep") for r in range(4)}
    paths = {key: one.path for key, one in found.items() if one is not None}
    assert len({paths["Same", rank] for rank in range(4)}) == 1
    assert len({paths["Deep", rank] for rank in range(4)}) == 4
    for rank in range(4):
        listing = store.read(paths["Deep", rank])
        assert listing.identity.rank == rank
        assert listing.text.count(" + 1;") == rank
    assert sorted(path.name for path in store.root.glob("*.py")) == sorted(
        {path.name for path in paths.values()}
    )

    with started() as server:
        server.initialize(tmp_path, {"store": str(store.root)})
        shown = server.request("fxls/identities", {})
        symbols = server.request("workspace/symbol", {"query": "Deep"})
        server.end()
    assert {(one["qualname"], one["rank"]) for one in shown} == set(found)
    assert {(one["name"], one["containerName"].split()[-1]) for one in symbols} == {
        ("Deep.forward", str(rank)) for rank in range(4)
    }
