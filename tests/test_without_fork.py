"""What fxls does where the system has neither `fork` nor timers, as Windows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from fxls.host.settings import WorkerSettings
from fxls.wire import Traced
from tests.worker.asking import Asking

pytestmark = pytest.mark.slow

WITHOUT = """\
import os
import signal
import torch  # first, because it asks for the name of the system

for module, names in {
    os: "fork forkpty getuid geteuid register_at_fork sysconf waitid O_CLOEXEC "
    "O_NOCTTY O_NOFOLLOW O_NONBLOCK",
    signal: "setitimer getitimer ITIMER_REAL SIGALRM",
}.items():
    for name in names.split():
        vars(module).pop(name, None)
"""
"""What takes away the names that fxls uses and that Python does not have on Windows."""

NET = """\
import torch

class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "sitecustomize.py").write_text(WITHOUT, "utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path


def test_code_runs_from_the_store(folder: Path) -> None:
    program = folder / "net.py"
    program.write_text(
        NET
        + dedent("""\

            import os
            import fxls
            from fxls import engine

            assert not hasattr(os, "fork")
            fxls.install()
            for trace in (engine.symbolic_trace, torch.fx.symbolic_trace):
                print(trace(Net()).forward.__code__.co_filename)
            fxls.uninstall()
        """),
        "utf-8",
    )
    ran = subprocess.run(
        [sys.executable, str(program)],
        env={**os.environ, "FXLS_STORE": str(folder / "store")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    paths = [Path(line) for line in ran.stdout.splitlines()]
    assert [path.parent for path in paths] == [folder / "store"] * 2
    assert all("relu = x.relu()" in path.read_text("utf-8") for path in paths)


def test_the_worker_traces(folder: Path) -> None:
    asking = Asking(folder, WorkerSettings())
    try:
        assert isinstance(asking.outcome(NET, "Net()"), Traced)
        assert isinstance(asking.outcome(NET, "Net()(torch.ones(2))"), Traced)
    finally:
        asking.close()
