"""fxls as users have it: from its wheel, where the checkout is not found."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

__all__ = ["Environment", "built", "unpacked"]

ROOT = Path(__file__).parents[2]
PACKAGES = ("fxls", "pydevd_plugins")
_PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "-qq")


def built(folder: Path) -> Path:
    """The wheel, made in a folder, which leaves nothing in the checkout."""
    source = folder / "source"
    for name in PACKAGES:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, source / name, ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    offline = ("--no-deps", "--no-build-isolation", "--no-index")
    _run(*_PIP, "wheel", *offline, "--wheel-dir", str(folder), str(source))
    (wheel,) = folder.glob("*.whl")
    return wheel


def unpacked(wheel: Path, folder: Path) -> Path:
    """The folder, to which the wheel was unpacked: all that an installer does to it."""
    with zipfile.ZipFile(wheel) as file:
        file.extractall(folder)
    return folder


@dataclass(frozen=True)
class Environment:
    """A virtual environment with the wheel, and what is needed from this one."""

    folder: Path

    @classmethod
    def made(cls, folder: Path, wheel: Path) -> Environment:
        """Install the wheel into a new environment in a folder."""
        made = cls(folder)
        _run(sys.executable, "-m", "venv", "--without-pip", str(folder))
        target = ("--python", str(made.python))
        _run(*_PIP, *target, "install", "--no-deps", "--no-index", str(wheel))
        # After that, so that pip does not see the fxls that is installed there.
        needed = (find_spec(name) for name in ("torch", "debugpy", "msgspec"))
        origins = (Path(spec.origin) for spec in needed if spec and spec.origin)
        others = dict.fromkeys(f"{origin.parents[1]}\n" for origin in origins)
        (made.site_packages / "others.pth").write_text("".join(others), "utf-8")
        return made

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def site_packages(self) -> Path:
        (found,) = self.folder.glob("lib/python*/site-packages")
        return found

    def run(
        self, folder: Path, program: str, *arguments: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment, and have what it printed."""
        return subprocess.run(
            [self.folder / "bin" / program, *arguments],
            cwd=folder,
            env={name: at for name, at in os.environ.items() if name not in _LEADING},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )


_LEADING = {"PYTHONPATH", "VIRTUAL_ENV", "FXLS_STORE"}
"""Variables that would lead out of the environment."""


def _run(*command: str) -> None:
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"{command}\n{ran.stdout}\n{ran.stderr}"
