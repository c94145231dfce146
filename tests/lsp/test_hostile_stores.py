"""Whatever lies in a folder, the server answers, and changes nothing outside of a store."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.hostile_stores import HOSTILE, Folder, hostile_folder
from tests.support.lsp_client import SERVE, LspClient, started
from tests.support.projects import EDITOR

pytestmark = pytest.mark.slow

LIMITED = f"""
import resource
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
{SERVE}
"""
"""A server that may have a gigabyte of memory."""

SECONDS = 5
"""So long any answer may take, in time of the processor: the machine has more to do."""

MODIFIED = -32801
"""The answer about a listing that is none any more."""

ABILITIES = {key: EDITOR[key] for key in ("general", "textDocument")}
"""An editor that reads files alone, so that tables are written."""

PLACED = ["hover", "definition", "implementation", "references", "documentHighlight"]
WHOLE = [
    *("documentSymbol", "foldingRange", "codeLens", "documentLink", "diagnostic"),
    *("semanticTokens/full",),
]


def seen(folder: Path, store: Path) -> dict[str, tuple[object, ...]]:
    """All that is below a folder and not in a store: what it is, and what it holds."""
    found: dict[str, tuple[object, ...]] = {}
    for where, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(where, name)
            if path != store and store in path.parents and not store.is_symlink():
                continue
            state = path.lstat()
            held: object = path.readlink() if path.is_symlink() else None
            if held is None and path.is_file() and state.st_size < 1 << 20:
                held = path.read_bytes()
            found[str(path)] = (state.st_mode, state.st_size, held, state.st_ino)
            if not path.is_dir():
                found[str(path)] += (state.st_mtime_ns,)
    return found


def processor(client: LspClient) -> float:
    """Seconds that the server has computed."""
    fields = Path(f"/proc/{client.process.pid}/stat").read_text().rpartition(")")[2]
    user, system = fields.split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def questions(folder: Folder) -> Iterator[tuple[str, dict[str, Any]]]:
    """What an editor asks of a model and of its listings."""
    listings = sorted(folder.root.glob("Net_*.py")) if folder.root.is_dir() else []
    for path in (folder.project / "net.py", *listings):
        uri = {"uri": path.as_uri()}
        for line in (0, 3, 5):
            place = {"line": line, "character": 5}
            for method in PLACED:
                params: dict[str, Any] = {"textDocument": uri, "position": place}
                if method == "references":
                    params["context"] = {"includeDeclaration": True}
                yield f"textDocument/{method}", params
        for method in WHOLE:
            yield f"textDocument/{method}", {"textDocument": uri}
        end = {"line": 99, "character": 0}
        shown = {"start": {"line": 0, "character": 0}, "end": end}
        yield "textDocument/inlayHint", {"textDocument": uri, "range": shown}
        said: dict[str, Any] = {"diagnostics": []}
        asked: dict[str, Any] = {"textDocument": uri, "range": shown, "context": said}
        yield "textDocument/codeAction", asked
        yield "fxls/listings", {"textDocument": uri}
        for method in ("revisions", "graph", "normalized"):
            yield f"fxls/{method}", uri
        other = (*listings, path)[0]
        yield "fxls/diff", {"old": other.as_uri(), "new": path.as_uri()}
        for command, *words in COMMANDS:
            asked = {"command": command, "arguments": [path.as_uri(), *words]}
            yield "workspace/executeCommand", asked
    yield "workspace/symbol", {"query": "relu"}
    yield "fxls/identities", {}


COMMANDS = (
    ("fxls.table",),
    ("fxls.firstPass", "gone", "relu"),
    ("fxls.firstPass", "broken"),
    ("fxls.guards",),
    ("fxls.guards", "0/0"),
)
AT_ONCE = 12
NAMES = list(HOSTILE)
SOME = [NAMES[start : start + AT_ONCE] for start in range(0, len(NAMES), AT_ONCE)]


@pytest.mark.parametrize("names", SOME, ids=lambda names: names[0])
def test_a_hostile_folder_is_answered_about_and_changes_nothing(
    tmp_path: Path, names: list[str]
) -> None:
    folders: dict[str, Folder] = {}
    for number, name in enumerate(names):
        (tmp_path / str(number)).mkdir()
        folders[name] = hostile_folder(tmp_path / str(number), name)
    before = {name: seen(it.project.parent, it.root) for name, it in folders.items()}
    with started(LIMITED) as client:
        client.initialize(tmp_path, capabilities=ABILITIES)
        for name, folder in folders.items():
            ask_everything(client, folder, name)
        client.unread()
        errors = client.end()

    for name, it in folders.items():
        assert seen(it.project.parent, it.root) == before[name], name
    assert "Traceback" not in errors, errors


def ask_everything(client: LspClient, folder: Folder, name: str) -> None:
    client.open(folder.project / "net.py")
    if folder.text.is_file() and folder.text.stat().st_size < 1 << 20:
        client.open(folder.text, folder.text.read_text("utf-8", errors="replace"))
    for method, params in questions(folder):
        start = processor(client)
        answer = client.answer(client.send(method, params))
        assert processor(client) - start < SECONDS, (name, method)
        assert answer.get("error", {}).get("code") in (None, MODIFIED), (name, answer)


def test_there_are_many_ways_to_be_hostile() -> None:
    assert len(HOSTILE) > 100
