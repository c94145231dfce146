"""The life of a server: what it answers when, and when it ends."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.lsp_client import PATIENCE, SERVE, started

pytestmark = pytest.mark.slow

Json = Any

INVALID_REQUEST, METHOD_NOT_FOUND, NOT_INITIALIZED = -32600, -32601, -32002

CLIENT: Json = {"processId": None, "rootUri": None, "capabilities": {}}


def spoken(*messages: Json) -> tuple[int, dict[int, Json]]:
    """How a server ends that is told all this in one piece, and its answers."""
    bodies = [json.dumps({"jsonrpc": "2.0", **one}).encode() for one in messages]
    said = b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(b), b) for b in bodies)
    run = subprocess.run(
        [sys.executable, "-c", f"import sys\n{SERVE}"],
        input=said,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    answers: dict[int, Json] = {}
    rest = run.stdout
    while found := re.search(rb"Content-Length: (\d+)\r\n(?:.+\r\n)*\r\n", rest):
        end = found.end() + int(found[1])
        message = json.loads(rest[found.end() : end])
        if "id" in message and "method" not in message:
            answers[message["id"]] = message
        rest = rest[end:]
    return run.returncode, answers


def code(answer: Json) -> int | None:
    return answer["error"]["code"] if "error" in answer else None


BEGIN: Json = {"id": 1, "method": "initialize", "params": CLIENT}
INITIALIZED: Json = {"method": "initialized", "params": {}}
SHUTDOWN: Json = {"id": 2, "method": "shutdown"}
EXIT: Json = {"method": "exit"}


def test_after_shutdown_every_request_is_refused() -> None:
    asked: list[tuple[str, Json]] = [
        ("workspace/symbol", {"query": ""}),
        ("fxls/identities", None),
        ("nobody/knows", None),
        ("shutdown", None),
        ("initialize", CLIENT),
        ("textDocument/hover", {"wrong": 1}),
    ]
    with started() as client:
        client.initialize(Path.cwd())
        client.request("shutdown", None)
        answers = [client.answer(client.send(*one)) for one in asked]
        client.notify("exit", None)

        assert client.process.wait(PATIENCE) == 0
    refused = {"code": INVALID_REQUEST, "message": "the server was shut down"}
    assert [answer["error"] for answer in answers] == [refused] * 6


def test_exit_without_shutdown_is_a_failure() -> None:
    assert spoken(BEGIN, INITIALIZED, EXIT)[0] == 1
    assert spoken(EXIT)[0] == 1


def test_exit_after_shutdown_is_none() -> None:
    with started() as client:
        client.initialize(Path.cwd())
        client.end()


@pytest.mark.parametrize("method", ["nobody/knows", "$/nobody", "textDocument/moniker"])
def test_a_method_that_nobody_knows_is_said_also_without_parameters(
    method: str,
) -> None:
    given: Json = {"textDocument": {"uri": "file:///a"}, "position": {}}
    given["position"] = {"line": 0, "character": 0}
    _, answers = spoken(
        BEGIN,
        {"id": 3, "method": method},
        {"id": 4, "method": method, "params": given},
        {"id": 5, "method": "workspace/symbol", "params": {"query": "x"}},
    )

    kind = METHOD_NOT_FOUND
    expected = {1: None, 3: kind, 4: kind, 5: None}
    if method == "textDocument/moniker":
        # The protocol says what parameters it has, and they lack.
        expected[3] = answers[3]["error"]["code"]
        assert expected[3] in (METHOD_NOT_FOUND, -32602)
    assert {number: code(answer) for number, answer in answers.items()} == expected


def test_nothing_is_answered_before_the_beginning_and_nobody_begins_twice() -> None:
    _, answers = spoken(
        {"id": 3, "method": "workspace/symbol", "params": {"query": ""}},
        {"id": 4, "method": "fxls/identities"},
        {"id": 5, "method": "shutdown"},
        BEGIN,
        {"id": 6, "method": "initialize", "params": CLIENT},
        {"id": 7, "method": "workspace/symbol", "params": {"query": ""}},
    )

    found = {number: code(answer) for number, answer in answers.items()}
    early = dict.fromkeys((3, 4, 5), NOT_INITIALIZED)
    assert found == {**early, 1: None, 6: INVALID_REQUEST, 7: None}


def test_a_server_ends_when_the_editor_is_killed() -> None:
    # It holds the pipe open, as a terminal or a wrapper of the editor's may do.
    editor = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    with started() as client:
        client.request("initialize", {**CLIENT, "processId": editor.pid})
        client.notify("initialized", {})
        editor.send_signal(signal.SIGKILL)
        editor.wait()
        assert editor.stdin is not None
        editor.stdin.close()

        assert client.process.wait(PATIENCE) == 0


def test_a_server_whose_editor_never_was_ends() -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    with started() as client:
        client.send("initialize", {**CLIENT, "processId": gone.pid})

        assert client.process.wait(PATIENCE) == 0
