"""Files, names and modules: how long, how called, and that they name no machine."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

from tests.architecture.sources import MODULES, PROGRAMS, ROOT, bound, name, parsed

MOST_TYPE_IGNORES = 60
"""A ceiling that only goes down: torch's untyped API forces each of them."""


MOST_LINES = 500


LONGER = {"fxls/engine/graph.py": 620}
"""Files that may be longer: FX's API puts all of a graph into one class."""


BANNED = re.compile(
    r"(?<![a-z])(Manager|Helper|Util|Utils|Base|Data|Info|Handler|Common)$"
)


NAMED_BY_FX = {"PHBase"}
"""Public names of torch.fx, which the engine has to keep."""


BANNED_FILES = {"utils", "util", "common", "helpers", "helper", "base", "misc"}


FILES_NAMED_BY_FX = {"fxls/engine/passes/utils/common.py"}


def test_type_ignores_only_become_fewer() -> None:
    lines = [
        (name(path), line)
        for path in [*PROGRAMS, *(ROOT / "tests").rglob("*.py")]
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(r"#\s*(pyright|type):\s*ignore", line) and "re.search" not in line
    ]
    bare = [
        where
        for where, line in lines
        if not re.search(r"# pyright: ignore\[\w+(, ?\w+)*\]  # \S", line)
    ]
    assert bare == []
    assert len([w for w, _ in lines if w.startswith("fxls/")]) <= MOST_TYPE_IGNORES


@pytest.mark.parametrize("path", PROGRAMS, ids=name)
def test_a_module_says_what_it_holds_in_reasonable_length(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert ast.get_docstring(parsed(path)), "a module opens with a sentence"
    assert text.count("\n") <= LONGER.get(name(path), MOST_LINES)
    assert path.stem not in BANNED_FILES or name(path) in FILES_NAMED_BY_FX


def test_names_say_what_a_thing_is() -> None:
    classes = [
        node.name
        for path in PROGRAMS
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.ClassDef) and BANNED.search(node.name)
    ]
    assert set(classes) <= NAMED_BY_FX


def test_nothing_needs_the_machine_it_was_written_on() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    elsewhere = re.compile(
        rf"/work/shared|{re.escape(str(ROOT))}/|(--index-url|--find-links|--registry)\b"
    )
    mine = Path(__file__).resolve()
    for path in (ROOT / file for file in listed.stdout.split("\0") if file):
        if path != mine and path.is_file():
            found = elsewhere.search(path.read_text(encoding="utf-8", errors="replace"))
            assert found is None, f"{name(path)} says {found and found[0]}"


def test_the_name_of_a_module_is_bound_to_nothing_else() -> None:
    for package in (path for path in MODULES if path.name == "__init__.py"):
        prefix = name(package.parent).replace("/", ".")
        names = bound(package)
        modules = {
            path.stem if path.is_file() else path.name
            for path in package.parent.iterdir()
            if path.suffix == ".py" or (path / "__init__.py").exists()
        }
        others = {
            one: names[one]
            for one in modules & set(names)
            if names[one] != f"{prefix}.{one}"
        }
        assert others == {}, prefix


def test_a_module_is_not_made_an_object_of_another_class() -> None:
    exchanged = re.compile(r"sys\.modules\[.*\]\.__class__\s*=")
    assert [name(path) for path in MODULES if exchanged.search(path.read_text())] == []
