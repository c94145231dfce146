"""The pages that say where things are name what is there."""

import re
from pathlib import Path

import pytest

from tests.architecture.sources import MODULES, ROOT, name

PAGES_OF_PLACES = [ROOT / "docs" / "ARCHITECTURE.md", ROOT / "docs" / "developing.md"]
"""The pages that say where things are."""


def paths_named(page: Path) -> set[str]:
    """The files and folders that a page names, as ``tests/support`` or ``fxls/text``."""
    tops = "fxls|tests|tools|docs|examples|benchmarks|vscode-extension|pydevd_plugins"
    return set(re.findall(rf"`((?:{tops})(?:/[\w.-]+)*)/?`", page.read_text("utf-8")))


@pytest.mark.parametrize("page", PAGES_OF_PLACES, ids=name)
def test_a_page_names_files_and_folders_that_are_there(page: Path) -> None:
    named = paths_named(page)
    assert named
    absent = {
        one
        for one in named
        if not (ROOT / one).exists() and not (ROOT / f"{one}.py").exists()
    }
    assert absent == set()


def test_the_architecture_page_names_every_room() -> None:
    rooms = {name(path.parent) for path in MODULES if path.name == "__init__.py"}
    assert rooms - paths_named(ROOT / "docs" / "ARCHITECTURE.md") == set()
