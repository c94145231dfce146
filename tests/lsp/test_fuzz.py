"""Whatever a client sends, the server is there afterwards."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fxls.lsp.params import PARAMS
from fxls.store import identity_uri
from tests.support.lsp_client import PATIENCE, SERVE, LspClient, started
from tests.support.projects import EDITOR, net_listing, spot

Json = Any

POSITIONED = [
    "hover",
    "definition",
    "declaration",
    "typeDefinition",
    "implementation",
    "documentHighlight",
    "completion",
    "prepareCallHierarchy",
]
WHOLE = [
    "documentSymbol",
    "foldingRange",
    "semanticTokens/full",
    "codeLens",
    "documentLink",
]
ODD: list[Json] = [
    None,
    0,
    -1,
    2**31 - 1,
    "",
    "\ud800",
    "file:///nowhere.py",
    "file://[",
    "fxls:/nobody/table.txt",
    "untitled:Untitled-1",
    [],
    {},
    [[]],
    {"uri": 3},
    True,
]


def drained(client: LspClient, requests: list[int]) -> list[Json]:
    """The answers to requests; each must come."""
    return [client.answer(request) for request in requests]


@pytest.mark.slow
def test_every_place_of_every_document_is_answered(
    project: Path, listing: Path
) -> None:
    forward = identity_uri(net_listing(project).identity)
    documents = [listing.as_uri(), (project / "net.py").as_uri(), forward]
    places = [(line, character) for line in range(10) for character in (0, 4, 13, 99)]
    places += [(2**31 - 1, 0), (0, 2**31 - 1)]
    requests: list[int] = []
    with started() as client:
        client.initialize(project, capabilities=EDITOR)
        for uri in documents:
            document = {"uri": uri}
            for method in POSITIONED:
                for line, character in places:
                    position = {"line": line, "character": character}
                    params = {"textDocument": document, "position": position}
                    requests.append(client.send(f"textDocument/{method}", params))
            for method in WHOLE:
                params = {"textDocument": document}
                requests.append(client.send(f"textDocument/{method}", params))
            for line, character in places:
                at = {"line": line, "character": character}
                params = {"textDocument": document, "positions": [at]}
                requests.append(client.send("textDocument/selectionRange", params))
                inside = {"start": at, "end": at}
                for method in ("inlayHint", "semanticTokens/range"):
                    params = {"textDocument": document, "range": inside}
                    requests.append(client.send(f"textDocument/{method}", params))
        answers = drained(client, requests)
        errors = client.end()

    assert [answer for answer in answers if "error" in answer] == []
    assert errors == ""


@pytest.mark.parametrize("seed", range(3))
def test_requests_that_make_no_sense_are_answered(
    project: Path, listing: Path, seed: int
) -> None:
    dice = random.Random(seed)
    methods = [f"textDocument/{name}" for name in (*POSITIONED, *WHOLE)]
    methods += [
        "inlayHint/resolve",
        "workspaceSymbol/resolve",
        "workspace/symbol",
        "workspace/textDocumentContent",
        "workspace/executeCommand",
        "callHierarchy/incomingCalls",
        *PARAMS,
        "nobody/knows",
    ]

    def nonsense(depth: int = 0) -> Json:
        if depth > 2 or dice.random() < 0.4:
            return dice.choice([*ODD, listing.as_uri(), 3])
        names = ["textDocument", "uri", "position", "line", "character", "data"]
        names += ["item", "command", "arguments", "query", "range", "location"]
        names += ["like", "sort", "search", "first", "count"]
        chosen = dice.sample(names, dice.randrange(4))
        return {name: nonsense(depth + 1) for name in chosen}

    with started() as client:
        client.initialize(project)
        requests = [client.send(dice.choice(methods), nonsense()) for _ in range(300)]
        answers = drained(client, requests)
        hover = client.ask("hover", listing, 3, 5)
        for message in client.unread():
            assert message["method"] == "window/logMessage"
        client.end()

    assert len(answers) == 300
    assert hover["range"] == spot(3, 4, 8)


def test_requests_before_the_beginning_are_errors_and_end_nothing(
    project: Path, listing: Path
) -> None:
    with started() as client:
        half = {"textDocument": {"uri": "x"}}
        refused = client.answer(client.send("textDocument/hover", half))
        whole = {**half, "position": {"line": 0, "character": 0}}
        early = client.answer(client.send("textDocument/hover", whole))
        client.initialize(project)
        hover = client.ask("hover", listing, 3, 5)
        for message in client.unread():
            assert message["method"] == "window/logMessage"
        client.end()

    assert refused["error"]["code"] == -32602, "its parameters are no parameters"
    assert early["error"]["code"] == -32002
    assert hover is not None


def test_half_a_message_and_a_closed_pipe_end_the_server(project: Path) -> None:
    message = {"jsonrpc": "2.0", "method": "exit", "params": None}
    half = b"Content-Length: 999\r\n\r\n" + json.dumps(message).encode()[:-9]
    process = subprocess.Popen(
        [sys.executable, "-c", SERVE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    out, _ = process.communicate(half, timeout=PATIENCE)

    assert b'"id"' not in out, "nothing was asked, so nothing is answered"
    assert process.returncode == 0
