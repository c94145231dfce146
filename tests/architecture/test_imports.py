"""Who may import whom: layers, rooms and circles."""

import ast
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.architecture.sources import MODULES, ROOT, dotted, imported_by, parsed

ROOMS_IN = ("engine", "runtime", "ide", "serving")
"""The packages whose own packages and modules are rooms; others are one room each."""


TIED_BY_TYPES = {
    ("engine.ir", "engine.graph"): "`Node.graph` is the graph, which has the nodes",
    (
        "engine.code",
        "engine.graph",
    ): "`Graph.python_code` asks a CodeGen, given a graph",
    ("engine.graph", "engine.graph_module"): "`Graph.owning_module` is the module",
    ("engine.graph", "engine.tracing"): "`Graph(tracer_cls=...)` keeps what traced it",
    ("engine.module", "engine.graph_module"): "what makes a module run is given one",
}
"""The rooms that name, for their types alone, a room that imports them: FX's API has
values that know each other. The list only becomes shorter."""


class Import(NamedTuple):
    """That one module of fxls imports another, wherever the import stands."""

    of: str
    what: str
    is_for_types: bool


def names_of_modules() -> dict[str, Path]:
    found: dict[str, Path] = {}
    for path in MODULES:
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_for_types(tree: ast.Module) -> set[ast.AST]:
    """What stands under ``if TYPE_CHECKING:``."""
    return {
        inside
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and dotted(node.test) == "TYPE_CHECKING"
        for statement in node.body
        for inside in ast.walk(statement)
    }


@cache
def imports_inside() -> frozenset[Import]:
    """All imports between the modules of fxls.

    The package `fxls` itself is left out: it holds the version, and functions that import
    what they start, and everybody may import it.
    """
    modules = names_of_modules()
    found: set[Import] = set()
    for of, path in modules.items():
        tree = parsed(path)
        for_types = imports_for_types(tree)
        for node in ast.walk(tree):
            if not isinstance(node, ast.Import | ast.ImportFrom):
                continue
            for what in imported_by(node):
                while what and what not in modules:
                    what = what.rpartition(".")[0]
                if what not in ("", "fxls", of) and of != "fxls":
                    found.add(Import(of, what, node in for_types))
    return frozenset(found)


def room(module: str) -> str:
    """The room of a module: ``engine.ir``, ``runtime.install``, ``store``."""
    _, top, *inside = module.split(".")
    return f"{top}.{inside[0]}" if top in ROOMS_IN and inside else top


def between_rooms(imports: Iterable[Import]) -> set[tuple[str, str]]:
    pairs = {(room(one.of), room(one.what)) for one in imports}
    return {(one, other) for one, other in pairs if one != other}


def circles(pairs: Iterable[tuple[str, str]]) -> list[list[str]]:
    """The groups of names that lead to each other, each as a sorted list."""
    leads = reached(pairs)
    groups = {
        tuple(sorted(other for other in leads[one] if one in leads.get(other, ())))
        for one in leads
        if one in leads[one]
    }
    return sorted(map(list, groups))


def reached(pairs: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    """For each name all that it leads to, at once or by way of others."""
    direct: dict[str, set[str]] = {}
    for one, other in pairs:
        direct.setdefault(one, set()).add(other)
    leads: dict[str, set[str]] = {}
    for one in direct:
        seen: set[str] = set()
        left = [one]
        while left:
            further = direct.get(left.pop(), set()) - seen
            seen |= further
            left += further
        leads[one] = seen
    return leads


def test_the_import_contract_holds() -> None:
    run = subprocess.run(
        [
            sys.executable,
            "-c",
            "from importlinter.cli import lint_imports_command as c; c()",
            "--no-cache",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_no_two_modules_need_each_other_when_they_run() -> None:
    run = [one for one in imports_inside() if not one.is_for_types]

    assert circles((one.of, one.what) for one in run) == []


def test_no_two_rooms_need_each_other_when_they_run() -> None:
    run = [one for one in imports_inside() if not one.is_for_types]

    assert circles(between_rooms(run)) == []


def test_few_rooms_are_tied_by_their_types() -> None:
    imports = imports_inside()
    run = between_rooms(one for one in imports if not one.is_for_types)
    for_types = between_rooms(one for one in imports if one.is_for_types)
    leads = reached(run)
    tied = {(one, other) for one, other in for_types if one in leads.get(other, ())}

    assert tied == TIED_BY_TYPES.keys()
    assert circles(run | for_types - tied) == []


def test_a_circle_is_found_however_long_it_is() -> None:
    pairs = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("e", "f"), ("f", "e")]

    assert circles(pairs) == [["a", "b", "c"], ["e", "f"]]


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("fxls", {"torch", "lsprotocol", "pygls", "msgspec"}),
        ("fxls.ide", {"torch", "lsprotocol", "pygls"}),
        ("fxls.server", {"torch"}),
        ("fxls.cli", {"torch", "lsprotocol", "pygls"}),
        ("fxls.adapter.__main__", {"torch", "debugpy", "lsprotocol", "pygls"}),
        pytest.param(
            "fxls.engine",
            {"lsprotocol", "pygls", "fxls.store", "fxls.ide"},
            marks=pytest.mark.slow,  # it imports torch
        ),
        pytest.param(
            "fxls.worker.trace",
            {"lsprotocol", "fxls.runtime.installing", "fxls.runtime.installation"},
            marks=pytest.mark.slow,
        ),
        ("fxls.host.early_worker", {"torch", "asyncio", "msgspec", "pygls"}),
    ],
)
def test_an_import_does_not_load(module: str, absent: set[str]) -> None:
    code = f"import sys, {module}; print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert absent & set(run.stdout.split()) == set()
