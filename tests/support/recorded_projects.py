"""A folder in whose store is a run of a program, and an editor that opens it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.support.lsp_client import LspClient, started
from tests.support.projects import EDITOR

__all__ = ["opened", "recorded"]


def recorded(folder: Path, program: str) -> Path:
    """The folder, with the program as ``prog.py`` and the record of its run."""
    (folder / "pyproject.toml").touch()
    (folder / "prog.py").write_text(program)
    subprocess.run(
        [sys.executable, "-m", "fxls", "run", "prog.py"],
        cwd=folder,
        env={**os.environ, "FXLS_STORE": str(folder / ".fxls")},
        check=True,
        timeout=600,
    )
    return folder


@contextmanager
def opened(folder: Path) -> Generator[LspClient]:
    """An editor that can do all there is; nothing may be unread when it ends."""
    with started() as client:
        client.initialize(folder, capabilities=EDITOR)
        yield client
        client.unread()
        client.end()
