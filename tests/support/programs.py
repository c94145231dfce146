"""Programs of others that some tests drive."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

import pytest

__all__ = ["needs_inductor", "package", "program"]

_ORIGIN = find_spec("torch")
_PATHS = (str(_ORIGIN and _ORIGIN.origin), tempfile.gettempdir())

needs_inductor = pytest.mark.skipif(
    " " in "".join(_PATHS) and not os.environ.get("FXLS_TEST_ALL"),
    reason="torch's inductor calls its compiler wrongly where the path of torch, or of"
    " temporary files, has a blank",
)
"""A test that lets inductor build something; continuous integration leaves out none."""


def program(name: str, advice: str) -> Path:
    """Where a program is; without it the test is skipped, and says what to install.

    Where `FXLS_TEST_ALL` is set, as in continuous integration, it fails.
    """
    places = os.pathsep.join([f"{sys.prefix}/bin", os.environ.get("PATH", "")])
    found = shutil.which(name, path=places)
    if found is None:
        _missing(name, advice)
    return Path(found)


def package(path: str, advice: str) -> Path:
    """A folder of a package of the system's; without it, as without a program."""
    if not Path(path).is_dir():
        _missing(path, advice)
    return Path(path)


def _missing(what: str, advice: str) -> NoReturn:
    if os.environ.get("FXLS_TEST_ALL"):
        pytest.fail(f"there is no {what}: {advice}")
    pytest.skip(f"there is no {what}: {advice}")
