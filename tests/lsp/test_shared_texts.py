"""Compilations that give one text: an editor shows what each of them knew of the graph."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from fxls.store import Store
from tests.support.lsp_client import LspClient
from tests.support.recorded_projects import opened, recorded

Json = Any

pytestmark = pytest.mark.slow

PROGRAM = """\
import torch


class Raised(torch.nn.Module):
    def forward(self, batch):
        return batch.relu().add(1)


def train(*sizes):
    raised = torch.compile(Raised(), dynamic=False, backend="eager")
    for size in sizes:
        raised(torch.ones(size, 4))
    torch.compiler.reset()


train(2, 8)
train(16)
train(2)
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in whose store is a run that compiled a model four times."""
    return recorded(tmp_path_factory.mktemp("shared texts"), PROGRAM)


@pytest.fixture
def client(project: Path) -> Generator[LspClient]:
    with opened(project) as client:
        yield client


@pytest.fixture
def listings(project: Path) -> dict[str, Path]:
    store = Store(project / ".fxls")
    newest = ((one.stage, store.newest(one)) for one in store.identities())
    return {stage: one.path for stage, one in newest if one is not None}


def line_of(path: Path, name: str) -> int:
    lines = path.read_text("utf-8").split("\n")
    return next(at for at, one in enumerate(lines) if one.startswith(f"    {name} = "))


def hint(client: LspClient, path: Path, name: str) -> str:
    line = line_of(path, name)
    around = {
        "start": {"line": line, "character": 0},
        "end": {"line": line, "character": 0},
    }
    asked = {"textDocument": {"uri": path.as_uri()}, "range": around}
    (found,) = client.request("textDocument/inlayHint", asked)
    return found["label"]


def values(client: LspClient, path: Path, name: str) -> list[str]:
    """What the hover says of the value of a node, and of other ones of it."""
    place = (path, line_of(path, name), 4)
    card: str = client.ask("hover", *place)["contents"]["value"]
    return [one for one in card.splitlines() if "float32 (" in one]


def test_a_text_of_several_compilations_has_the_shapes_of_each_once(
    client: LspClient, listings: dict[str, Path]
) -> None:
    path = listings["graph 0"]

    assert hint(client, path, "relu") == ": f32[2, 4] | f32[16, 4]"
    assert values(client, path, "relu") == [
        "- **value**: `float32 (2, 4), stride (4, 1), cpu, 32 B`",
        "- `float32 (16, 4), stride (4, 1), cpu, 256 B`, in compilation 0/0 (2)",
    ]


def test_a_text_of_its_own_has_the_shapes_of_its_compilation(
    client: LspClient, listings: dict[str, Path]
) -> None:
    path = listings["graph 0, compilation 1"]

    assert hint(client, path, "relu") == ": f32[8, 4]"
    assert values(client, path, "relu") == [
        "- **value**: `float32 (8, 4), stride (4, 1), cpu, 128 B`",
    ]
