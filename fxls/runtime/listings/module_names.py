"""By which name a module is importable, also when it runs as the program."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

__all__ = ["importable_name", "name_of_file"]


def name_of_file(path: str) -> str:
    """The dotted name of a source file: each folder with an ``__init__.py`` counts."""
    file = Path(path)
    names = [] if file.stem == "__init__" else [file.stem]
    folder = file.parent
    while (folder / "__init__.py").is_file() and folder != folder.parent:
        names.insert(0, folder.name)
        folder = folder.parent
    return ".".join(names)


def importable_name(module: str) -> str:
    """`module`, unless it is the program: then what importing its file would call it.

    A run of ``net.py``, a trace that imports it, and a process that either spawns then
    give the same listing.
    """
    if module not in _MAIN:
        # In a package of torch.package, with a number that is another in each process.
        return _IN_PACKAGE.sub("", module)
    main: ModuleType | None = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    if spec is not None and spec.name not in _MAIN:
        return spec.name.removesuffix(".__main__")  # python -m package.module
    path = getattr(main, "__file__", None)
    return name_of_file(str(Path(path).absolute())) if path else module


_IN_PACKAGE = re.compile(r"^<torch_package_\d+>\.")

_MAIN = ("__main__", "__mp_main__")
"""What the program is called, and what a process calls it that `multiprocessing` spawned."""
