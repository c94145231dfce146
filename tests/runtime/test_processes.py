"""Every thread and process of every program arrives at the same files."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from textwrap import dedent

import pytest
import torch

from fxls.engine import symbolic_trace
from fxls.runtime import listing_of
from fxls.store import Store
from tests.runtime import nets
from tests.runtime.test_install import path_of

ROOT = Path(__file__).parents[2]

NET = """\
    import torch
    import fxls
    from fxls import engine as fx

    def scaled(x, factor):
        return x * factor

    fx.wrap("scaled")

    class Net(torch.nn.Module):
        def forward(self, x):
            return scaled(torch.relu(x), factor=3)

    if __name__ == "__main__":
        fxls.install()
        print(fx.symbolic_trace(Net()).forward.__code__.co_filename)
    """

IMPORTING = """\
    import fxls
    from fxls import engine as fx
    from package.net import Net

    fxls.install()
    print(fx.symbolic_trace(Net()).forward.__code__.co_filename)
    """

FORKING = """\
    import os, sys, torch, fxls
    from fxls import engine as fx
    from package.net import Net

    fxls.install()
    print(fx.symbolic_trace(Net()).forward.__code__.co_filename, flush=True)
    child = os.fork()
    if not child:
        print(fx.symbolic_trace(Net()).forward.__code__.co_filename, flush=True)
        print(fx.symbolic_trace(lambda x: torch.relu(x)).forward.__code__.co_filename, flush=True)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {
        "pyproject.toml": "",
        "package/__init__.py": "",
        "package/net.py": NET,
        "importing.py": IMPORTING,
        "forking.py": FORKING,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(dedent(text), "utf-8")
    return tmp_path


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *arguments], cwd=folder, stdout=subprocess.PIPE, text=True
    )


def said(*programs: subprocess.Popen[str]) -> list[str]:
    """What programs print that run at the same time, line by line."""
    lines: list[str] = []
    for program in programs:
        out, _ = program.communicate(timeout=600)
        assert program.returncode == 0
        lines += out.splitlines()
    return lines


@pytest.mark.slow
def test_a_program_compiles_under_the_path_that_the_worker_wrote(folder: Path) -> None:
    said(start(folder, "-m", "fxls", "trace", "package/net.py"))
    (path,) = (folder / ".fxls").glob("*.py")
    assert path.name.startswith("Net_")
    assert (
        said(
            start(folder, "package/net.py"),
            start(folder, "-m", "package.net"),
            start(folder, "importing.py"),
        )
        == [str(path)] * 3
    )
    store = Store(path.parent)
    assert [
        str(revision.path) for revision in store.revisions(store.read(path).identity)
    ]
    assert [i.module for i in store.identities()] == ["package.net"]


@pytest.mark.slow
def test_a_forked_process_goes_on_materializing(folder: Path) -> None:
    parent, child, other, exit_code = said(start(folder, "forking.py"))
    assert (parent, exit_code) == (child, "0")
    assert {p.name for p in (folder / ".fxls").glob("*.py")} == {
        Path(child).name,
        Path(other).name,
    }


def test_threads_materialize_at_the_same_time(store: Store) -> None:
    paths: list[Path] = []
    start_together = threading.Barrier(4)

    def run() -> None:
        start_together.wait()
        paths.extend(path_of(symbolic_trace(kind())) for kind in (nets.Net, nets.Block))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(paths) == 8
    assert {store.read(path).identity.qualname for path in paths} == {"Net", "Block"}
    assert len(set(paths)) == 2


def test_a_listing_is_the_same_while_another_thread_traces(store: Store) -> None:
    traced = symbolic_trace(nets.Net())
    is_tracing, may_end = threading.Event(), threading.Event()

    class Waits(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            is_tracing.set()
            may_end.wait()
            return x

    tracing = threading.Thread(target=lambda: symbolic_trace(Waits()))
    tracing.start()
    is_tracing.wait()
    while_another_traces = listing_of(traced)
    may_end.set()
    tracing.join()

    assert while_another_traces == listing_of(traced)


@pytest.mark.slow
def test_the_end_of_a_program_keeps_the_store_small(folder: Path) -> None:
    (path,) = map(Path, said(start(folder, "package/net.py")))
    store = Store(path.parent)
    old = store.materialize(listing_of(symbolic_trace(nets.Block())))
    facts = store.root / "facts" / old.stem
    for one in (old, *facts.iterdir(), facts):
        os.utime(one, (0, 0))
    assert said(start(folder, "package/net.py")) == [str(path)]
    assert old.exists()  # it was done today
    (store.root / "tmp" / "pruned").unlink()
    assert said(start(folder, "package/net.py")) == [str(path)]
    assert [file.name for file in store.root.glob("*.py")] == [path.name]
