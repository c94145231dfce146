"""A project as a person has one: model files, programs that run them, and a store."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

from fxls.store import Store, class_name_of

__all__ = ["Project"]


class Project:
    """A folder with its store.

    - Places are words: ``Net:relu`` is the line of a node in the listing of a class,
      ``run.py: y = gm(x)`` a line of a file by its text.
    """

    def __init__(self, folder: Path, env: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self.env = dict(env or {})
        (folder / "pyproject.toml").touch()
        self.store = Store(folder / ".fxls")

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dedent(text), "utf-8")

    def trace(self, *what: str) -> None:
        """Materialize ahead of any run, as an editor's server does, by the worker."""
        self.run("-m", "fxls", "trace", "--time-limit", "600", *what)

    def run(
        self, *arguments: str, given: str = "", env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run the interpreter; a failure shows what was printed."""
        ran = self.attempt(*arguments, given=given, env=env)
        assert ran.returncode == 0, f"{ran.stdout}\n{ran.stderr}"
        return ran

    def attempt(
        self, *arguments: str, given: str = "", env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run the interpreter, with `given` on its standard input."""
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env={**os.environ, **self.env, **(env or {})},
            input=given,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    def listing(self, class_name: str) -> Path:
        """The newest listing of a class."""
        (identity,) = (i for i in self.store.identities() if i.class_name == class_name)
        newest = self.store.newest(identity)
        assert newest is not None
        return newest.path

    def line(self, place: str) -> tuple[Path, int]:
        """The file and the line, counted from one, of ``Net:relu`` or ``file: text``."""
        file, text = place.split(": ", 1) if ": " in place else (place, "")
        if text:
            path = self.folder / file
            rows = path.read_text("utf-8").splitlines()
            (line,) = (n for n, row in enumerate(rows, 1) if row.strip() == text)
            return path, line
        class_name, node = file.split(":")
        path = self.listing(class_name)
        (line,) = (f.line for f in self.store.read(path).nodes if f.name == node)
        return path, line + 1

    def place(self, path: Path, line: int) -> str:
        """The words for a line, as `line` takes them; a file of others by its name."""
        if self.store.owns(path):
            nodes = self.store.read(path).nodes
            names = [f.name for f in nodes if f.line == line - 1]
            return f"{class_name_of(path)}:{'/'.join(names)}"
        if not path.is_relative_to(self.folder):
            return path.name
        return f"{path.relative_to(self.folder)}: {self.text(path, line)}"

    def text(self, path: Path, line: int) -> str:
        """A line of a file, without its indentation."""
        return path.read_text("utf-8").splitlines()[line - 1].strip()
