"""Imports of torch.fx become imports of fxls.engine while a client's sources are loaded.

Nothing is written: the syntax tree of each module is changed between reading the file
and compiling it, so lines and `inspect` stay those of the file. An import of a module
that the engine leaves out stays as it is; docs/conformance.md lists them.
"""

from __future__ import annotations

import ast
import importlib.machinery
import importlib.util
import sys
from collections.abc import Iterable, Sequence
from importlib.abc import MetaPathFinder
from types import CodeType, ModuleType
from typing import Any

__all__ = ["Redirection", "install", "redirected"]

THEIRS = "torch.fx"
OURS = "fxls.engine"
_ENGINE = "__fxls_engine__"
"""The global of a changed module by which ``torch.fx`` is reached."""


def redirected(source: str | bytes, path: str) -> ast.Module:
    """The tree of a module that names torch.fx, as one that names the engine."""
    tree = ast.parse(source, path)
    changed = _Redirector()
    tree = changed.visit(tree)
    if changed.count:
        _put_first(tree, ast.parse(f"import {OURS} as {_ENGINE}").body[0])
    return ast.fix_missing_locations(tree)


class Redirection(MetaPathFinder):
    """Finds the modules below some names or folders, and lets them be changed."""

    def __init__(self, packages: Iterable[str], folders: Iterable[str] = ()) -> None:
        self._packages = tuple(packages)
        self._folders = tuple(folders)

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec that Python would find, with a loader that changes the source."""
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or type(spec.loader) is not _FromSource:
            return None
        if self._is_of_client(fullname, spec.origin or ""):
            spec.loader = _Changing(spec.loader.name, spec.loader.path)
            return spec
        return None

    def _is_of_client(self, name: str, origin: str) -> bool:
        return origin.startswith(self._folders) or any(
            name == one or name.startswith(f"{one}.") for one in self._packages
        )


def install(packages: Iterable[str], folders: Iterable[str] = ()) -> None:
    """Change what is imported from now on, in front of every other finder."""
    sys.meta_path.insert(0, Redirection(packages, folders))


_FromSource = importlib.machinery.SourceFileLoader


class _Changing(_FromSource):
    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> CodeType:
        tree: Any = data
        if b"fx" in data:
            tree = redirected(data, str(path))
        return compile(tree, path, "exec", dont_inherit=True, optimize=_optimize)

    def path_stats(self, path: Any) -> Any:
        """Nothing: Python then neither reads nor writes a cache of the code."""
        raise OSError(path)


class _Redirector(ast.NodeTransformer):
    def __init__(self) -> None:
        self.count = 0

    def visit_Import(self, node: ast.Import) -> Any:
        new: list[ast.stmt] = []
        for alias in node.names:
            name = _engine_name(alias.name)
            if name is None:
                new.append(ast.Import([alias]))
                continue
            self.count += 1
            new.append(ast.Import([ast.alias(name, alias.asname or _UNSEEN)]))
            if alias.asname is None:
                new.append(ast.Import([ast.alias("torch")]))
        return [ast.copy_location(one, node) for one in new]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        if node.level or node.module is None:
            return node
        if node.module == "torch":
            parts = [(a, _engine_name(f"torch.{a.name}")) for a in node.names]
            new: list[ast.stmt] = []
            for alias, name in parts:
                if name is None:
                    new.append(ast.ImportFrom("torch", [alias], 0))
                else:
                    self.count += 1
                    new.append(
                        ast.Import([ast.alias(name, alias.asname or alias.name)])
                    )
            return [ast.copy_location(one, node) for one in new]
        name = _engine_name(node.module)
        if name is not None:
            self.count += 1
            node.module = name
        return node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        if (
            node.attr == "fx"
            and isinstance(node.value, ast.Name)
            and node.value.id == "torch"
            and isinstance(node.ctx, ast.Load)
        ):
            self.count += 1
            return ast.copy_location(ast.Name(_ENGINE, ast.Load()), node)
        return self.generic_visit(node)


_UNSEEN = "__fxls_engine_module__"


def _engine_name(name: str) -> str | None:
    """The engine's name of a module of torch.fx; None when it is none, or left out."""
    if name != THEIRS and not name.startswith(f"{THEIRS}."):
        return None
    ours = OURS + name.removeprefix(THEIRS)
    try:
        return ours if importlib.util.find_spec(ours) else None
    except ModuleNotFoundError:  # of a package that is left out
        return None


def _put_first(tree: ast.Module, statement: ast.stmt) -> None:
    """Put a statement behind the docstring and the imports from ``__future__``."""
    place = 0
    for place, one in enumerate(tree.body):
        is_docstring = (
            place == 0
            and isinstance(one, ast.Expr)
            and isinstance(one.value, ast.Constant)
        )
        is_future = isinstance(one, ast.ImportFrom) and one.module == "__future__"
        if not (is_docstring or is_future):
            break
    statement.lineno = statement.end_lineno = tree.body[place].lineno
    tree.body.insert(place, statement)
