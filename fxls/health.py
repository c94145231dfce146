"""What of fxls works in an interpreter: the values that `fxls doctor` says."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fxls._version import __version__
from fxls.attempt import Raised, attempt
from fxls.code_cache import CodeCache, folder_for
from fxls.store import Store, StoreError

__all__ = ["Examination", "Part", "examination", "without_torch"]


@dataclass(frozen=True, slots=True)
class Part:
    """Something that fxls does."""

    area: str
    """Who it is done for: a producer, the engine, or the debugger."""
    name: str
    problems: tuple[str, ...] = ()
    """Why it does not work here; each a sentence without its end."""


@dataclass(frozen=True, slots=True)
class Examination:
    """What `fxls doctor` says."""

    versions: dict[str, str]
    parts: tuple[Part, ...]
    store: dict[str, str | int]
    code: dict[str, str | None]
    """Where compiled code is kept."""
    environment: dict[str, str]

    @property
    def off(self) -> tuple[Part, ...]:
        """The parts that do not work."""
        return tuple(part for part in self.parts if part.problems)

    def as_json(self) -> dict[str, Any]:
        """The same for programs."""
        return {"format": 1, **asdict(self)}


def examination(
    root: Path, environment: Mapping[str, str], parts: tuple[Part, ...]
) -> Examination:
    """These parts, with the versions, the store at `root` and what counts of the
    environment.
    """
    counts = {
        name: value
        for name, value in sorted(environment.items())
        if name.startswith(("FXLS_", "TORCHDYNAMO_", "TORCHINDUCTOR_", "PYDEVD_"))
        or name in ("PYTHONPATH", "PYTHONBREAKPOINT", "TORCH_COMPILE_DISABLE")
    }
    code = _code(folder_for(environment, str(root.parent)))
    return Examination(_versions(), parts, _store(root), code, counts)


def without_torch(
    root: Path, environment: Mapping[str, str], problem: str
) -> Examination:
    """The same where torch is not there, or too old."""
    part = Part("torch", "everything but the server and the store", (problem,))
    return examination(root, environment, (part,))


def _versions() -> dict[str, str]:
    found = {
        "fxls": __version__,
        "python": platform.python_version(),
        "interpreter": sys.executable,
        "system": platform.platform(),
    }
    for name in ("torch", "debugpy", "pygls", "lsprotocol", "msgspec"):
        version = attempt(lambda name=name: importlib.metadata.version(name))
        found[name] = "not installed" if isinstance(version, Raised) else version
    return found


def _code(folder: str | None) -> dict[str, str | None]:
    problem = CodeCache(folder).problem()
    return {"folder": folder} | ({} if problem is None else {"problem": problem})


def _store(root: Path) -> dict[str, str | int]:
    said: dict[str, str | int] = {"folder": str(root)}

    def complain(error: StoreError) -> None:
        said["problem"] = f"{error.path}: {error.problem}. {error.advice}"

    if root.exists() and not root.is_dir():
        said["problem"] = f"{root} is not a folder"
    elif not root.exists():
        said["identities"] = 0
    else:
        said["identities"] = len(Store(root, report=complain).identities())
        if not os.access(root, os.W_OK):
            said["problem"] = f"{root} cannot be written"
    return said
