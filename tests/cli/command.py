"""The command line as a process: what it prints, and what it ends with."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent


@dataclass(frozen=True)
class Ended:
    """A process that ended; names that differ from run to run are written alike."""

    code: int
    out: str
    err: str


class Command:
    """Runs ``python -m fxls`` in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file("", "pyproject.toml")

    def file(self, text: str, name: str = "net.py") -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), "utf-8")
        return path

    def run(self, *arguments: str, env: dict[str, str] | None = None) -> Ended:
        ended = subprocess.run(
            [sys.executable, "-m", "fxls", *arguments],
            cwd=self.folder,
            env={**os.environ, "COLUMNS": "80", **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        return Ended(
            ended.returncode, self.alike(ended.stdout), self.alike(ended.stderr)
        )

    def alike(self, text: str) -> str:
        """Without the folder, hashes, and what is said when a thing takes long."""
        folder = str(self.folder)
        for spelling in (folder, json.dumps(folder)[1:-1]):
            text = text.replace(spelling, "FOLDER")
        text = re.sub(r"(?<=\w_)[0-9a-f]{12}(?=\.py)", "<hash>", text)
        return re.sub(r"^fxls: .* \.\.\.\n", "", text, flags=re.M)
