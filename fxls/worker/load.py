"""Importing the user's file as the module that it is for the user's own program."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from fxls.worker.places import Territory

__all__ = ["Changed", "Home", "home_of", "imported_files", "load"]


@dataclass(frozen=True, slots=True)
class Home:
    """Where a file belongs."""

    path: Path
    name: str
    """The dotted name by which it is imported."""
    root: Path
    """The folder that has to be on `sys.path` for that."""


def home_of(path: Path) -> Home:
    """The module that a file is: each folder with an ``__init__.py`` is a package."""
    names = [] if path.name == "__init__.py" else [path.stem]
    folder = path.parent
    while (folder / "__init__.py").is_file() and folder != folder.parent:
        names.insert(0, folder.name)
        folder = folder.parent
    return Home(path, ".".join(names), folder)


class ChangedFile(importlib.machinery.SourceFileLoader):
    """Imports one file as another text."""

    def __init__(self, name: str, path: str, text: str) -> None:
        super().__init__(name, path)
        self._text = text

    def get_data(self, path: str) -> bytes:
        return self._text.encode("utf-8", "surrogatepass")

    def path_stats(self, path: str) -> Mapping[str, Any]:
        # What was compiled of the text on the disk is not this one.
        raise OSError


class Changed(importlib.abc.MetaPathFinder):
    """Finds one file with another text; stands ahead of the other finders."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.origin is None or not self.is_of(spec.origin):
            return None
        spec.loader = self.loader(fullname)
        return spec

    def is_of(self, path: str) -> bool:
        return os.path.realpath(path) == os.path.realpath(self.path)

    def loader(self, name: str) -> ChangedFile:
        return ChangedFile(name, self.path, self.text)


def load(home: Home, project: Path, changed: Changed | None = None) -> ModuleType:
    """Import the file; raises whatever it raises.

    It may be `changed`.

    `sys.path` begins as it does for ``python FILE``; the root of its package and the
    root of the project follow.
    """
    folders = dict.fromkeys(map(str, (home.path.parent, home.root, project)))
    sys.path[:0] = [folder for folder in folders if folder not in sys.path]
    package, _, _ = home.name.rpartition(".")
    parent = importlib.import_module(package) if package else None
    name = home.name
    loaded = sys.modules.get(name)
    if loaded is not None:
        if getattr(loaded, "__file__", None) == str(home.path):
            return loaded  # its package imported it
        # A file called like a module that this process needs (``types.py``) is
        # another module than that one.
        while name in sys.modules:
            name += "_"
    # By its location, because its name may lead to another file of `sys.path`.
    is_changed = changed is not None and changed.is_of(str(home.path))
    loader = changed.loader(name) if changed is not None and is_changed else None
    spec = importlib.util.spec_from_file_location(name, home.path, loader=loader)
    if spec is None or spec.loader is None:
        raise ImportError(f"{home.path.name} is not a Python file", path=str(home.path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    if parent is not None:
        setattr(parent, home.name.rpartition(".")[2], module)
    return sys.modules[name]


def imported_files(territory: Territory, before: Set[str]) -> Iterator[str]:
    """The files of the user's modules whose names are not those imported `before`."""
    for name, module in tuple(sys.modules.items()):
        if name in before:
            continue
        path = getattr(module, "__file__", None)
        if isinstance(path, str) and path.endswith(".py") and territory.holds(path):
            yield path
