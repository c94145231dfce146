"""What fxls starts in a folder runs no file of it in place of a library's."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

SHADOWED = (
    *("msgspec", "pygls", "lsprotocol", "tabulate", "fsspec", "debugpy", "torch"),
    *("argparse", "asyncio", "json", "logging", "subprocess", "typing", "pathlib"),
    *("sitecustomize", "usercustomize", "pip", "ensurepip"),
)


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A folder whose files have the names of libraries, and leave a note when they run."""
    for name in SHADOWED:
        (tmp_path / f"{name}.py").write_text(
            f"print({name!r}, file=open({str(tmp_path / 'ran')!r}, 'a'))\n"
        )
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "net.py").write_text("class Net: ...\n")
    return tmp_path


def with_fxls(folder: Path) -> None:
    """Put a file there that is called as fxls is."""
    text = (folder / "torch.py").read_text()
    (folder / "fxls.py").write_text(text.replace("'torch'", "'fxls'"))


def ran(folder: Path, *command: str, given: bytes = b"") -> tuple[int, list[str]]:
    """What a command ended with there, and which files of the folder it ran."""
    ended = subprocess.run(
        command,
        cwd=folder,
        input=given,
        capture_output=True,
        timeout=120,
        check=False,
    )
    notes = folder / "ran"
    return ended.returncode, notes.read_text().split() if notes.exists() else []


def framed(*messages: Mapping[str, object]) -> bytes:
    bodies = [json.dumps(one).encode() for one in messages]
    return b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(b), b) for b in bodies)


def session(folder: Path) -> bytes:
    """A client that opens a file and leaves."""
    uri = (folder / "net.py").as_uri()
    document = {
        "uri": uri,
        "languageId": "python",
        "version": 1,
        "text": "class N: ...",
    }
    at = {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 7}}
    client: Mapping[str, object] = {
        "processId": None,
        "rootUri": None,
        "capabilities": {},
    }

    def say(method: str, params: object, **more: int) -> Mapping[str, object]:
        return {"jsonrpc": "2.0", "method": method, "params": params, **more}

    return framed(
        say("initialize", client, id=1),
        say("initialized", {}),
        say("textDocument/didOpen", {"textDocument": document}),
        say("textDocument/hover", at, id=2),
        say("shutdown", None, id=3),
        say("exit", None),
    )


SCRIPT = str(Path(sys.executable).with_name("fxls"))
SAFE = (sys.executable, "-P", "-m")


@pytest.mark.slow
@pytest.mark.parametrize("command", [(*SAFE, "fxls"), (SCRIPT,)])
def test_the_server_and_the_command_line_run_none(
    hostile: Path, command: tuple[str, ...]
) -> None:
    if not Path(command[0]).exists():
        command = (*SAFE, "fxls")  # a tree that is not installed
    with_fxls(hostile)
    assert ran(hostile, *command, "serve", given=session(hostile)) == (0, [])
    assert ran(hostile, *command, "list") == (0, [])
    assert ran(hostile, *command, "prune") == (0, [])


@pytest.mark.slow
def test_without_p_it_runs_nothing_but_what_is_called_fxls(hostile: Path) -> None:
    start = (sys.executable, "-m", "fxls")
    assert ran(hostile, *start, "serve", given=session(hostile)) == (0, [])
    assert ran(hostile, *start, "list") == (0, [])


@pytest.mark.slow
def test_the_debug_adapter_runs_none(hostile: Path) -> None:
    with_fxls(hostile)
    asked = {
        "seq": 1,
        "type": "request",
        "command": "initialize",
        "arguments": {"adapterID": "fxls"},
    }
    assert ran(hostile, *SAFE, "fxls.adapter", given=framed(asked))[1] == []


def test_every_start_that_is_written_down_is_one_of_these() -> None:
    written = [
        *(ROOT / "vscode-extension" / "src").rglob("*.ts"),
        *(ROOT / "docs" / "editors").rglob("*.*"),
        ROOT / "docs" / "editors.md",
        ROOT / "docs" / "debugging.md",
        *(ROOT / "fxls" / "host").glob("*.py"),
        *(ROOT / "fxls" / "adapter").glob("*.py"),
        *(ROOT / "fxls" / "launching").glob("attach.py"),
    ]
    module = (
        r"['\"`\s,-]+(?:fxls(?:\.adapter|\.worker)?|debugpy(?:\.adapter)?|pip)\b(?!\.)"
    )
    starts = [
        (path.name, line.strip())
        for path in written
        for line in path.read_text("utf-8").splitlines()
        if re.search(r"-m" + module, line) and not re.search(r'"""|^``|Install', line)
    ]
    assert len(starts) >= 6
    assert [one for one in starts if "-P" not in one[1]] == []
