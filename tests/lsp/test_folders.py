"""Several folders in one window, each with its own Python, store and entries."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.lsp_client import LspClient, started

Json = Any

NET = """\
import sys
import torch


# fxls: Net()(torch.randn(2))
class Net(torch.nn.Module):
    def forward(self, x):
        return x + len(sys.prefix)
"""

BROKEN = """\
import torch


# fxls: Net()(torch.randn(2), 3)
class Net(torch.nn.Module):
    def forward(self, row):
        return row.relu()
"""

EDITOR: Json = {"experimental": {"fxlsChanges": True}}


def folder(path: Path, source: str) -> Path:
    """A project with one model."""
    path.mkdir()
    (path / "pyproject.toml").touch()
    (path / "net.py").write_text(source)
    return path


def environment(path: Path) -> Path:
    """The Python of an environment of its own, with the packages of this one."""
    venv = [sys.executable, "-m", "venv", "--without-pip", str(path)]
    subprocess.run(venv, check=True, timeout=300)
    (packages,) = path.glob("lib/python*/site-packages")
    others = "\n".join(one for one in sys.path if one)
    (packages / "others.pth").write_text(others)
    return path / "bin" / "python"


def named(*folders: Path) -> list[Json]:
    return [{"uri": one.as_uri(), "name": one.name} for one in folders]


def begun(client: LspClient, options: Mapping[str, Json], *folders: Path) -> None:
    client.request(
        "initialize",
        {
            "processId": None,
            "rootUri": None,
            "capabilities": EDITOR,
            "workspaceFolders": named(*folders),
            "initializationOptions": options,
        },
    )
    client.notify("initialized", {})


def change(client: LspClient, added: list[Json], removed: list[Json]) -> None:
    client.notify(
        "workspace/didChangeWorkspaceFolders",
        {"event": {"added": added, "removed": removed}},
    )


def forwards(client: LspClient) -> Mapping[str, str]:
    """By the virtual document of each identity, the path of its newest listing."""
    return {
        one["document"]: one["path"] for one in client.request("fxls/identities", {})
    }


@pytest.mark.slow
def test_each_folder_has_its_own_python_and_its_own_store(tmp_path: Path) -> None:
    folders = [folder(tmp_path / name, NET) for name in ("one", "another", "third")]
    pythons = [environment(tmp_path / f"env {length * '+'}") for length in (1, 2)]
    elsewhere = tmp_path / "listings"
    settings = {
        folders[0].as_uri(): {"python": str(pythons[0])},
        folders[1].as_uri(): {"python": str(pythons[1]), "store": str(elsewhere)},
    }
    with started() as client:
        begun(client, {"folders": settings}, *folders)
        items: list[Json] = []
        for one in folders:
            items += client.command("fxls.trace", (one / "net.py").as_uri())
        texts = [Path(item["path"]).read_text() for item in items]
        client.unread()
        client.end()

    prefixes = [*(str(python.parents[1]) for python in pythons), sys.prefix]
    for text, prefix in zip(texts, prefixes, strict=True):
        assert f"x + {len(prefix)}" in text
    assert [Path(item["path"]).parent for item in items] == [
        folders[0] / ".fxls",
        elsewhere,
        folders[2] / ".fxls",
    ]


@pytest.mark.slow
def test_models_of_one_name_in_two_folders_are_two_documents(tmp_path: Path) -> None:
    folders = [
        folder(tmp_path / "one", NET.replace("len(sys.prefix)", "1")),
        folder(tmp_path / "another", NET.replace("len(sys.prefix)", "2")),
    ]
    with started() as client:
        begun(client, {}, *folders)
        items: list[Json] = []
        for one in folders:
            items += client.command("fxls.trace", (one / "net.py").as_uri())
        listed = forwards(client)
        texts = {
            uri: client.request("fxls/content", {"uri": uri})["text"] for uri in listed
        }
        revisions = {
            uri: client.request("fxls/revisions", {"uri": uri}) for uri in listed
        }
        about = [
            client.request(
                "fxls/listings",
                {"textDocument": {"uri": (one / "net.py").as_uri()}},
            )
            for one in folders
        ]
        told = {
            uri
            for message in client.unread()
            if message["method"] == "fxls/changed"
            for uri in message["params"]["documents"]
        }
        client.end()

    paths = [item["path"] for item in items]
    assert sorted(listed.values()) == sorted(paths)
    assert told <= {*listed}
    for uri, path in listed.items():
        assert texts[uri] == Path(path).read_text()
        assert [one["path"] for one in revisions[uri]] == [path]
        # A revision is found by its own virtual document as well.
        assert revisions[uri][0]["document"].startswith(uri.removesuffix("forward.py"))
    assert [[one["document"] for one in found] for found in about] == [
        [uri for uri, path in listed.items() if path == item] for item in paths
    ]


@pytest.mark.slow
def test_a_folder_that_is_closed_takes_its_listings_and_problems_with_it(
    tmp_path: Path,
) -> None:
    kept, left = folder(tmp_path / "kept", NET), folder(tmp_path / "left", BROKEN)
    with started() as client:
        begun(client, {}, kept, left)
        for one in (kept, left):
            client.command("fxls.trace", (one / "net.py").as_uri())
        (problem,) = client.diagnostics(left / "net.py")
        both = forwards(client)
        client.unread()
        change(client, [], named(left))
        told = client.notification("fxls/changed")
        after = client.diagnostics(left / "net.py")
        one = forwards(client)
        change(client, named(left), [])
        back = client.notification("fxls/changed")
        again = forwards(client)
        client.unread()
        client.end()

    assert problem["message"].startswith("TypeError: too many positional arguments")
    (gone,) = {*both} - {*one}
    assert Path(both[gone]).parent == left / ".fxls"
    assert after == []
    assert told["documents"] == back["documents"] == [gone]
    assert again == both


@pytest.mark.slow
def test_a_folder_that_is_opened_later_is_trusted_like_the_first(
    tmp_path: Path,
) -> None:
    first, later = folder(tmp_path / "first", NET), folder(tmp_path / "later", NET)
    with started() as client:
        begun(client, {"trusted": True}, first)
        client.open(later / "net.py")
        assert forwards(client) == {}
        change(client, named(later), [])
        said = client.notification("window/logMessage")["message"]
        client.unread()
        client.end()

    assert said.startswith("Net()(torch.randn(2))")
    assert [*(later / ".fxls").glob("Net_*.py")] != []


@pytest.mark.slow
def test_two_windows_on_one_folder_lose_nothing_of_each_other(tmp_path: Path) -> None:
    project = folder(tmp_path / "project", NET)
    net = project / "net.py"
    with started() as first, started() as second:
        windows = (first, second)
        for client in windows:
            begun(client, {"trusted": True}, project)
            client.open(net)
        for number in range(6):
            net.write_text(NET.replace("len(sys.prefix)", str(number)))
            asked = {"command": "fxls.trace", "arguments": [net.as_uri()]}
            # Both at once, as when both windows see the same file change on the disk.
            ids = [c.send("workspace/executeCommand", asked) for c in windows]
            answers = [c.answer(i) for c, i in zip(windows, ids, strict=True)]
            items = [answer["result"][0] for answer in answers]
            assert items[0] == items[1]
            assert f"x + {number}" in Path(items[0]["path"]).read_text()
        seen = [forwards(client) for client in windows]
        ((forward, _),) = seen[0].items()
        revisions = [c.request("fxls/revisions", {"uri": forward}) for c in windows]
        first.unread()
        first.end()
        # The other window goes on, with all that both have made.
        (last,) = second.command("fxls.trace", net.as_uri())
        left = second.request("fxls/revisions", {"uri": forward})
        second.unread()
        second.end()

    assert seen[0] == seen[1]
    paths = [[one["path"] for one in found] for found in (*revisions, left)]
    assert paths[0] == paths[1] == paths[2]
    numbers = [text.split("x + ")[1][0] for text in map(read, reversed(paths[0]))]
    assert sorted({*numbers}) == [*"012345"]
    assert last["path"] == paths[0][0]
    assert not [*(project / ".fxls").glob("*.tmp*")]


def read(path: str) -> str:
    return Path(path).read_text()
