"""Installs each file of a release into an environment of its own, and traces a model there.

``python -m tools.installed dist/*.whl dist/*.tar.gz``, with a Python that has pip and
what fxls depends on: the environments see these packages, and fxls from nowhere else.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

MODEL = """\
import torch


# fxls: Net()(torch.randn(2, 3))
class Net(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
"""


def main(files: list[str]) -> None:
    for file in files:
        with tempfile.TemporaryDirectory() as folder:
            _try(Path(file).resolve(), Path(folder))
        print(f"{file}: installed, and a model is traced")


def _try(file: Path, folder: Path) -> None:
    """Raises `CalledProcessError` for what does not work, and `AssertionError`."""
    environment = folder / "environment"
    _run(sys.executable, "-m", "venv", "--without-pip", str(environment))
    python = environment / "bin" / "python"
    (packages,) = environment.glob("lib/python3*/site-packages")
    others = sysconfig.get_path("purelib")
    packages.joinpath("others.pth").write_text(others)
    pip = (sys.executable, "-m", "pip", "--python", str(python))
    options = ("--no-deps", "--no-index", "--no-build-isolation", "--ignore-installed")
    _run(*pip, "install", "--quiet", *options, str(file))
    where = _run(str(python), "-P", "-c", "import fxls; print(fxls.__file__)")
    assert Path(where.strip()).is_relative_to(packages), where
    model = folder / "project" / "net.py"
    model.parent.mkdir()
    model.write_text(MODEL)
    (folder / "project" / "pyproject.toml").touch()
    shown = _run(
        str(environment / "bin" / "fxls"), "trace", "--show", "listing", str(model)
    )
    assert "torch.relu(x)" in shown, shown


def _run(*command: str) -> str:
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        print(done.stdout, file=sys.stderr)
        raise subprocess.CalledProcessError(done.returncode, command)
    return done.stdout


if __name__ == "__main__":
    main(sys.argv[1:])
