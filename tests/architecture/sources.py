"""The files of the repository, as the tests of its rules read them."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]


MODULES = sorted((ROOT / "fxls").rglob("*.py"))


PROGRAMS = [*MODULES, *sorted((ROOT / "tools").rglob("*.py"))]


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=name(path))


def imported(tree: ast.AST) -> Iterator[str]:
    """The dotted names that a file imports, wherever the import stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from imported_by(node)


def imported_by(statement: ast.Import | ast.ImportFrom) -> Iterator[str]:
    if isinstance(statement, ast.Import):
        yield from (alias.name for alias in statement.names)
    else:
        assert statement.module is not None
        yield from (f"{statement.module}.{alias.name}" for alias in statement.names)


def dotted(node: ast.AST) -> str:
    """``torch.fx`` of the expression ``torch.fx``; empty for any other expression."""
    match node:
        case ast.Name():
            return node.id
        case ast.Attribute():
            return f"{dotted(node.value)}.{node.attr}"
        case _:
            return ""


def bound(package: Path) -> dict[str, str]:
    """The names that the ``__init__`` of a package binds, and what each is bound to."""
    found: dict[str, str] = {}
    for node in parsed(package).body:
        match node:
            case ast.ImportFrom():
                for alias in node.names:
                    found[alias.asname or alias.name] = f"{node.module}.{alias.name}"
            case ast.FunctionDef() | ast.ClassDef():
                found[node.name] = node.name
            case ast.Assign():
                for target in node.targets:
                    found |= {one: one for one in [dotted(target)] if one}
            case _:
                pass
    return found
