"""Which listings say what a source did, judged by listings of the engine."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from fxls.engine import symbolic_trace
from fxls.ide.listing.document import Document
from fxls.ide.source.runs import definitions_of, runs_of
from fxls.ide.source.source_file import SourceFile
from fxls.runtime import listing_of
from fxls.text import LineTable

NET = """\
import torch


class Net(torch.nn.Module):
    def __init__(self, width=2):
        super().__init__()
        self.layer = torch.nn.Linear(width, width)

    def forward(self, x):
        return self.layer(x)


def double(x):
    return x * 2
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "net_of_runs.py"
    path.write_text(NET)
    return path


@pytest.fixture(scope="module")
def documents(path: Path) -> dict[str, Document]:
    """The listings of a class with a submodule, of a function, and of two heirs of the
    class: one that the file has not any more, and one of another file.
    """
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    made = {"Net": module.Net(), "double": module.double}
    for name, where in (("Heir", path.stem), ("Far", "elsewhere")):
        made[name] = type(name, (module.Net,), {"__module__": where})()
    del sys.modules[path.stem]
    return {
        name: Document(f"/{name}.py", listing_of(symbolic_trace(one)))
        for name, one in made.items()
    }


def said_by(path: Path, documents: dict[str, Document], text: str) -> set[str]:
    source = SourceFile(str(path), LineTable(text), tuple(documents.values()))
    definitions = definitions_of(text)
    assert definitions is not None
    runs = runs_of(source, definitions)
    return {name for name, document in documents.items() if document in runs}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (NET, {"Net", "Far", "double"}),
        (NET.replace("class Net", "class Other"), {"double"}),
        (NET.replace("def double", "def twice"), {"Net", "Far"}),
        ("import torch\n", set[str]()),
    ],
    ids=["as it was", "a class renamed", "a function renamed", "all deleted"],
)
def test_only_what_a_source_still_has_speaks_for_it(
    path: Path, documents: dict[str, Document], text: str, expected: set[str]
) -> None:
    assert any(scope.file for scope in documents["Net"].listing.scopes)
    assert said_by(path, documents, text) == expected
