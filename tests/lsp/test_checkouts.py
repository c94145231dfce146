"""A checkout of another branch of git while an editor shows files of it."""

from __future__ import annotations

import subprocess
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.lsp_client import LspClient, started
from tests.support.projects import EDITOR

Json = Any

pytestmark = pytest.mark.slow

NET = """\
import torch
from block import Block


# fxls: Net()(torch.randn(2, 3))
class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.block = Block()

    def forward(self, x):
        return self.block(x)


class Choosing(torch.nn.Module):
    def forward(self, x):
        return x if x else -x
"""

IMPORT, CHOICE = 1, 16
"""Lines of it: what is imported, and what cannot be traced."""

OTHER = """\
import torch


# fxls: Other()(torch.randn(4))
class Other(torch.nn.Module):
    def forward(self, x):
        y = torch.tanh(x)
        return y
"""

BLOCK = """\
import torch


class Block(torch.nn.Module):
    def forward(self, x):
        y = torch.relu(x)
        return y
"""

SAVED = {
    "main": {"net.py": NET, "block.py": BLOCK},
    "renamed": {"net.py": OTHER, "block.py": "import torch\n"},
    "without": {"net.py": NET},
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / ".gitignore").write_text(".fxls\n__pycache__\n")
    for branch, files in SAVED.items():
        if branch != "main":
            git(tmp_path, "checkout", "--quiet", "-b", branch, "main")
            git(tmp_path, "rm", "--quiet", *SAVED["main"])
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        git(tmp_path, "add", ".")
        git(tmp_path, "commit", "--quiet", "--message", branch)
    git(tmp_path, "checkout", "--quiet", "main")
    return tmp_path


@pytest.fixture
def client(project: Path) -> Generator[LspClient]:
    ours = {**EDITOR["experimental"], "fxlsChanges": True}
    with started() as client:
        client.initialize(project, {"trusted": True}, {**EDITOR, "experimental": ours})
        yield client
        client.unread()
        client.end()


def test_a_class_with_another_name_there_leaves_nothing_of_the_one_before(
    client: LspClient, project: Path
) -> None:
    net, block = project / "net.py", project / "block.py"
    for path in (net, block):
        client.open(path)
    wait_for_traces(client, "Net()(torch.randn(2, 3))", "Block()")
    wait_for_problem(client, net, CHOICE)
    before = shown(client, project)

    checkout(client, project, "renamed")
    wait_for_traces(client, "Other()(torch.randn(4))")
    there = shown(client, project)

    checkout(client, project, "main")
    wait_for_traces(client, "Net()(torch.randn(2, 3))", "Block()")
    wait_for_problem(client, net, CHOICE)

    assert before == {
        "net.py": ([": f32[2, 3]"], ["Net", "Choosing"]),
        "block.py": ([": f32[2, 3]"], ["Block"]),
        "rows": ["Block", "Net"],
        "symbols": ["Block.forward", "Net.forward"],
    }
    assert there == {
        "net.py": ([": f32[4]"], ["Other"]),
        "block.py": ([], []),
        "rows": ["Other"],
        "symbols": ["Other.forward"],
    }
    assert shown(client, project) == before


def test_an_open_listing_of_a_class_that_is_gone_says_so_and_has_no_symbols(
    client: LspClient, project: Path
) -> None:
    opened(client, project)
    (listing,) = (project / ".fxls").glob("Net_*.py")
    client.open(listing)
    before = lenses(client, listing), symbols(client, "relu")

    checkout(client, project, "renamed")
    wait_for_traces(client, "Other()(torch.randn(4))")
    there = lenses(client, listing), symbols(client, "relu")
    (said,) = client.diagnostics(listing)

    checkout(client, project, "main")
    wait_for_traces(client, "Net()(torch.randn(2, 3))")

    assert before == ([], ["relu"])
    assert there == ([("stale: its source is gone", "")], [])
    assert said["message"] == (
        "block.py and net.py have changed since this was traced."
        " What Net was traced from is there no more."
    )
    assert (lenses(client, listing), symbols(client, "relu")) == before


def test_a_file_that_is_missing_there_is_said_where_it_is_imported_until_it_is_back(
    client: LspClient, project: Path
) -> None:
    net = opened(client, project)
    before = shown(client, project)

    checkout(client, project, "without")
    missing = wait_for_problem(client, net, IMPORT)

    checkout(client, project, "main")
    wait_for_traces(client, "Net()(torch.randn(2, 3))")
    wait_for_problem(client, net, CHOICE)

    assert missing.startswith("ModuleNotFoundError: No module named 'block'\n")
    assert shown(client, project) == before


def test_a_file_that_an_import_misses_is_traced_as_soon_as_it_is_made(
    client: LspClient, project: Path
) -> None:
    git(project, "checkout", "--quiet", "without")
    net, block = project / "net.py", project / "block.py"
    client.open(net)
    wait_for_problem(client, net, IMPORT)
    block.write_text(BLOCK)
    client.notify("workspace/didChangeWatchedFiles", {"changes": [event(block, 1)]})
    wait_for_traces(client, "Net()(torch.randn(2, 3))")
    wait_for_problem(client, net, CHOICE)


def test_the_rows_of_a_file_that_is_deleted_go_and_come_back_with_it(
    client: LspClient, project: Path
) -> None:
    block = project / "block.py"
    client.command("fxls.trace", block.as_uri())
    client.unread()
    before = rows(client)
    block.unlink()
    client.notify("workspace/didChangeWatchedFiles", {"changes": [event(block, 3)]})
    told = client.notification("fxls/changed")["documents"]
    deleted = rows(client)
    block.write_text(BLOCK)
    client.notify("workspace/didChangeWatchedFiles", {"changes": [event(block, 1)]})

    assert client.notification("fxls/changed")["documents"] == told
    assert [document.rpartition("/")[2] for document in told] == ["forward.py"]
    assert (before, deleted, rows(client)) == (["Block"], [], ["Block"])


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=somebody", "-c", "user.email=somebody@nowhere")
    plain = ("-c", "core.hooksPath=", "-c", "commit.gpgSign=false")
    command = ["git", *who, *plain, *arguments]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def event(path: Path, kind: int) -> Json:
    """What an editor says of a file that was made (1), changed (2) or deleted (3)."""
    return {"uri": path.as_uri(), "type": kind}


def checkout(client: LspClient, project: Path, branch: str) -> None:
    """Check a branch out, and tell the server what an editor tells of it."""
    before = files_of(project)
    git(project, "checkout", "--quiet", branch)
    after = files_of(project)
    changes: list[Json] = []
    for path in before.keys() | after.keys():
        if before.get(path) != after.get(path):
            kind = 1 if path not in before else 3 if path not in after else 2
            changes.append(event(path, kind))
    client.notify("workspace/didChangeWatchedFiles", {"changes": changes})
    # The editor reads files that it shows; this server is told of those of one version.
    for path in (project / "net.py", project / "block.py"):
        if path in before and path in after and before[path] != after[path]:
            item = {"uri": path.as_uri(), "version": 2}
            change = {"textDocument": item, "contentChanges": [{"text": after[path]}]}
            client.notify("textDocument/didChange", change)


def files_of(project: Path) -> Mapping[Path, str]:
    return {path: path.read_text() for path in project.glob("*.py")}


def wait_for_traces(client: LspClient, *entries: str) -> None:
    """Wait until each of the entries has a listing."""
    left = {*entries}
    while left:
        message = client.notification("window/logMessage")["message"]
        left.discard(message.partition(": ")[0])


def wait_for_problem(client: LspClient, path: Path, line: int) -> str:
    """Wait until a file has one problem, in this line; returns what it says."""
    while True:
        said = client.diagnostics(path)
        if [one["range"]["start"]["line"] for one in said] == [line]:
            return said[0]["message"]


def shown(client: LspClient, project: Path) -> Json:
    """What is shown: of open files hints, and what lenses show code of; rows; symbols."""
    found: Json = {
        path.name: (hints(client, path), classes(client, path))
        for path in sorted(project.glob("*.py"), reverse=True)
    }
    symbols: list[Json] = client.request("workspace/symbol", {"query": "forward"}) or []
    found["rows"] = rows(client)
    found["symbols"] = [one["name"] for one in symbols]
    return found


def opened(client: LspClient, project: Path) -> Path:
    """The file of the model, which is open, traced and has its problem."""
    net = project / "net.py"
    client.open(net)
    wait_for_traces(client, "Net()(torch.randn(2, 3))")
    wait_for_problem(client, net, CHOICE)
    return net


def lenses(client: LspClient, path: Path) -> list[tuple[str, str]]:
    """The lenses of a listing that say its age, with what a click on them does."""
    params = {"textDocument": {"uri": path.as_uri()}}
    found: list[Json] = client.request("textDocument/codeLens", params) or []
    commands = [one["command"] for one in found]
    return [
        (one["title"], one["command"]) for one in commands if "stale" in one["title"]
    ]


def symbols(client: LspClient, query: str) -> list[str]:
    found: list[Json] = client.request("workspace/symbol", {"query": query}) or []
    return [one["name"] for one in found]


def hints(client: LspClient, path: Path) -> list[str]:
    everywhere = {
        "start": {"line": 0, "character": 0},
        "end": {"line": 99, "character": 0},
    }
    asked = {"textDocument": {"uri": path.as_uri()}, "range": everywhere}
    found: list[Json] = client.request("textDocument/inlayHint", asked) or []
    return [one["label"] for one in found]


def classes(client: LspClient, path: Path) -> list[str]:
    """The classes that lenses stand at."""
    asked = {"textDocument": {"uri": path.as_uri()}}
    lenses: list[Json] = client.request("textDocument/codeLens", asked) or []
    lines = path.read_text().split("\n")
    found: dict[str, None] = {}
    for lens in lenses:
        at = lens["range"]["start"]["line"]
        line = next(line for line in lines[at:] if line.startswith("class "))
        found[line.removeprefix("class ").partition("(")[0]] = None
    return [*found]


def rows(client: LspClient) -> list[str]:
    return [one["qualname"] for one in client.request("fxls/identities", {})]
