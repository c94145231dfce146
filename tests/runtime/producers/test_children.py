"""Processes that a program starts, of every kind, write listings as it does itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from fxls.listing import Identity
from fxls.store import Store

PROGRAM = """\
    import sys
    import threading
    import warnings

    import torch
    from torch.utils.data import DataLoader, Dataset


    class Parent(torch.nn.Module):
        def forward(self, x):
            return 1 + torch.relu(x)


    class Child(torch.nn.Module):
        def forward(self, x):
            return torch.tanh(x) * 2


    class Samples(Dataset):
        def __init__(self):
            self.parent = torch.fx.symbolic_trace(Parent())
            self.child = None

        def __len__(self):
            return 4

        def __getitem__(self, index):
            if self.child is None:
                self.child = torch.fx.symbolic_trace(Child())
            return self.child(self.parent(torch.zeros(1)))


    if __name__ == "__main__":
        # torch kills a worker that takes longer than this to end, which also loses
        # what it has not written yet.
        torch.utils.data._utils.MP_STATUS_CHECK_INTERVAL = 300.0
        # On a machine with one core torch advises against two workers.
        warnings.filterwarnings("ignore", "This DataLoader will create")
        loader = DataLoader(
            Samples(), batch_size=2, num_workers=2, multiprocessing_context=sys.argv[1]
        )
        assert torch.cat(list(loader)).shape == (4, 1)
        # A daemon thread that feeds a queue may hold the last reference to a
        # semaphore; an exit amid its cleanup makes CPython warn of a leak.
        for thread in threading.enumerate():
            if thread is not threading.main_thread():
                thread.join()
    """


@pytest.mark.slow
@pytest.mark.parametrize("start", ["fork", "spawn", "forkserver"])
def test_workers_of_a_data_loader(tmp_path: Path, start: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(dedent(PROGRAM), "utf-8")
    command = [sys.executable, "-W", "error", "-m", "fxls", "run", "--store"]
    ended = subprocess.run(
        [*command, str(tmp_path / "store"), str(program), start],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    store = Store(tmp_path / "store")
    traced = [Identity("program", name, "torch.fx") for name in ("Child", "Parent")]
    assert list(store.identities()) == traced  # also where they were unpickled
    for identity in traced:
        (revision,) = store.revisions(identity)
        listing = store.read_revision(revision)
        assert all(listing.origin(index) for index in range(len(listing.nodes)))
