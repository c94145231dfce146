"""Conversations with a real server over standard input and output."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fxls.store import identity_uri
from tests.support.lsp_client import SERVE, LspClient, connected, started
from tests.support.projects import SOURCE, TEXT, net_listing, spot

Json = Any


def link(path: Path, whole: Json, focus: Json, asked: Json) -> Json:
    return {
        "targetUri": path.as_uri(),
        "targetRange": whole,
        "targetSelectionRange": focus,
        "originSelectionRange": asked,
    }


def test_a_client_is_told_what_the_server_can_do_and_torch_stays_out(
    project: Path,
) -> None:
    at_exit = "import atexit, sys; atexit.register(lambda: sys.stderr.write("
    asked = f"{at_exit}repr('torch' in sys.modules)))\n"
    with started(asked + SERVE) as client:
        capabilities = client.initialize(project)
        errors = client.end()

    assert errors == "False"
    assert capabilities == {
        "positionEncoding": "utf-16",
        "textDocumentSync": {"openClose": True, "change": 2, "save": True},
        "completionProvider": {"triggerCharacters": ["#", " ", "(", ",", "."]},
        "hoverProvider": True,
        "declarationProvider": True,
        "definitionProvider": True,
        "typeDefinitionProvider": True,
        "implementationProvider": True,
        "referencesProvider": True,
        "documentHighlightProvider": True,
        "documentSymbolProvider": True,
        "codeActionProvider": {"codeActionKinds": ["quickfix", "refactor"]},
        "codeLensProvider": {"resolveProvider": False},
        "documentLinkProvider": {"resolveProvider": False},
        "workspaceSymbolProvider": {"resolveProvider": True},
        "foldingRangeProvider": True,
        "selectionRangeProvider": True,
        "executeCommandProvider": {
            "commands": [
                *("fxls.trace", "fxls.open", "fxls.table"),
                *("fxls.fitEntry", "fxls.writeEntry"),
                *("fxls.firstPass", "fxls.guards", "fxls.tryRepairs"),
            ]
        },
        "callHierarchyProvider": True,
        "semanticTokensProvider": {
            "legend": {
                "tokenTypes": ["parameter", "property", "class", "method", "function"],
                "tokenModifiers": ["declaration", "freed"],
            },
            "full": {"delta": True},
            "range": True,
        },
        "inlineValueProvider": True,
        "inlayHintProvider": {"resolveProvider": True},
        "workspace": {
            "workspaceFolders": {"supported": True, "changeNotifications": True},
            "fileOperations": {},
            "textDocumentContent": {"schemes": ["fxls"]},
        },
    }


def test_a_listing_is_a_document_like_any_other(project: Path, listing: Path) -> None:
    net = project / "net.py"
    with started() as client:
        client.initialize(project)
        client.open(listing)

        hover = client.ask("hover", listing, 5, 10)
        definition_of_use = client.ask("definition", listing, 5, 10)
        definition_of_node = client.ask("definition", listing, 4, 4)
        references = client.ask(
            "references", listing, 3, 4, context={"includeDeclaration": False}
        )
        highlights = client.ask("documentHighlight", listing, 5, 17)
        whole = {"textDocument": {"uri": listing.as_uri()}}
        hints = client.request(
            "textDocument/inlayHint", {**whole, "range": spot(0, 0, 0, 9)}
        )
        (forward,) = client.request("textDocument/documentSymbol", whole)
        client.end()

    uri = listing.as_uri()
    assert hover == {
        "range": spot(5, 10, 14),
        "contents": {
            "kind": "markdown",
            "value": (
                "`relu`: call_function `torch.relu` → `f32[2]`\n\n"
                f"from [`net.py:7`]({net.as_uri()}#L7,16) in `Net.forward`\n\n"
                "```python\nreturn torch.relu(x) + '𝄞'.count(x)\n```\n\n"
                f"- **args**: [`x`]({uri}#L3,19)\n"
                f"- **users**: 1: [`add`]({uri}#L6,5)\n"
                "- **value**: `float32 (2,), cpu`"
            ),
        },
    }
    assert definition_of_use == [
        link(listing, spot(3, 4, 24), spot(3, 4, 8), spot(5, 10, 14))
    ]
    # The clef is two UTF-16 units: the expression ends one column later than in code
    # points.
    assert definition_of_node == [
        link(net, spot(6, 31, 44), spot(6, 31, 44), spot(4, 4, 9))
    ]
    assert references == [{"uri": uri, "range": spot(5, 10, 14)}]
    assert highlights == [
        {"range": spot(4, 4, 9), "kind": 3},
        {"range": spot(5, 17, 22), "kind": 2},
        {"range": spot(5, 39, 44), "kind": 1},
    ]
    assert hints == [
        {
            "position": {"line": 3, "character": 8},
            "label": ": f32[2]",
            "kind": 1,
            "tooltip": "relu = torch.relu: float32 (2,), cpu",
        }
    ]
    assert [child["name"] for child in forward["children"]] == [
        "x",
        "relu",
        "count",
        "add",
        "output",
    ]
    assert (forward["name"], forward["range"]) == ("Net.forward", spot(2, 0, 0, 7))


def test_an_expression_of_the_source_leads_to_its_nodes(
    project: Path, listing: Path
) -> None:
    net = project / "net.py"
    with started() as client:
        client.initialize(project)
        client.open(net)
        assert client.ask("hover", net, 0, 3) is None

        hover = client.ask("hover", net, 6, 39)
        implementation = client.ask("implementation", net, 6, 39)
        definition_of_name = client.ask("definition", net, 6, 39)
        definition_of_operator = client.ask("definition", net, 6, 29)
        definition_of_entry = client.ask("definition", net, 3, 12)
        document = {"textDocument": {"uri": net.as_uri()}}
        listings = client.request("fxls/listings", document)
        client.end()

    count = link(listing, spot(4, 4, 36), spot(4, 4, 9), spot(6, 31, 44))
    add = link(listing, spot(5, 4, 51), spot(5, 4, 7), spot(6, 15, 44))
    forward = link(listing, spot(2, 0, 21), spot(2, 0, 21), spot(3, 8, 29))
    assert hover == {
        "range": spot(6, 31, 44),
        "contents": {
            "kind": "markdown",
            "value": (
                "1 node of Net\n\n"
                f"- [`count`]({listing.as_uri()}#L5,5): call_function `'𝄞'.count`"
            ),
        },
    }
    assert implementation == [count]
    assert definition_of_name is None
    assert definition_of_operator == [add]
    assert definition_of_entry == [forward]
    assert listings == [
        {
            "uri": listing.as_uri(),
            "path": str(listing),
            "module": "net",
            "qualname": "Net",
            "producer": "engine",
            "nodes": 5,
            "document": identity_uri(net_listing(project).identity),
            "entry": "Net()(torch.randn(2))",
        }
    ]


def test_a_source_that_is_being_edited_keeps_its_nodes_and_places(
    project: Path, listing: Path
) -> None:
    net = project / "net.py"
    with started() as client:
        client.initialize(project)
        client.open(net)
        client.notify(
            "textDocument/didChange",
            {
                "textDocument": {"uri": net.as_uri(), "version": 2},
                "contentChanges": [{"text": "import os\n" + SOURCE}],
            },
        )
        (there,) = client.ask("implementation", net, 7, 39)
        (back,) = client.ask("definition", listing, 4, 4)
        hover = client.ask("hover", listing, 4, 4)
        client.end()

    assert there == link(listing, spot(4, 4, 36), spot(4, 4, 9), spot(7, 31, 44))
    assert back == link(net, spot(7, 31, 44), spot(7, 31, 44), spot(4, 4, 9))
    assert "return torch.relu(x) + '𝄞'.count(x)" in hover["contents"]["value"]


def test_a_client_may_count_bytes_and_know_neither_links_nor_markdown(
    project: Path, listing: Path
) -> None:
    utf8 = {"general": {"positionEncodings": ["utf-8", "utf-16"]}}
    with started() as client:
        client.initialize(project, capabilities=utf8)
        client.open(listing, TEXT.replace("\n", "\r\n"))

        hover = client.ask("hover", listing, 4, 25)
        definition = client.ask("definition", listing, 4, 4)
        client.end()

    assert hover == {
        "range": spot(4, 25, 26),
        "contents": {
            "kind": "plaintext",
            "value": ("x: placeholder\n  users: 2: relu, count"),
        },
    }
    assert definition == [
        {"uri": (project / "net.py").as_uri(), "range": spot(6, 31, 46)}
    ]


def test_a_listing_that_was_edited_by_hand_says_so(
    project: Path, listing: Path
) -> None:
    listing.chmod(0o644)
    listing.write_text(TEXT.replace("relu", "gelu"))
    with started() as client:
        client.initialize(project)
        client.open(listing)

        (said,) = client.diagnostics(listing)
        hover = client.ask("hover", listing, 3, 4)
        client.end()

    assert said["range"] == spot(0, 0, 0)
    assert (said["severity"], said["code"], said["source"]) == (2, "store", "fxls")
    assert "edited" in said["message"]
    assert "fxls trace" in said["message"]
    assert hover is None


def test_a_listing_that_is_being_edited_says_so_until_it_is_as_it_was(
    project: Path, listing: Path
) -> None:
    def change(client: LspClient, text: str, version: int) -> list[Json]:
        document = {"uri": listing.as_uri(), "version": version}
        client.notify(
            "textDocument/didChange",
            {"textDocument": document, "contentChanges": [{"text": text}]},
        )
        return client.diagnostics(listing)

    with started() as client:
        client.initialize(project)
        client.open(listing)
        (said,) = change(client, "# mine\n" + TEXT, 2)
        hover = client.ask("hover", listing, 4, 4)
        nothing = change(client, TEXT, 3)
        client.end()

    assert said == {
        "range": spot(0, 0, 0),
        "severity": 2,
        "code": "store",
        "source": "fxls",
        "message": (
            "This is not the text that was generated.\n"
            "The file is never read back: close it without saving."
        ),
    }
    assert hover is None
    assert nothing == []


def test_an_entry_that_is_no_expression_is_said_without_running_anything(
    project: Path,
) -> None:
    net = project / "net.py"
    project.joinpath("pyproject.toml").write_text("[tool.fxls]\nentries = [3]\n")
    toml = project / "pyproject.toml"
    with started() as client:
        client.initialize(project)
        client.open(net, "import nowhere\n# fxls: Net(\n")
        (comment,) = client.diagnostics(net)
        (item,) = client.diagnostics(toml)
        client.notify("textDocument/didClose", {"textDocument": {"uri": net.as_uri()}})
        after = [client.diagnostics(net), client.diagnostics(toml)]
        client.end()

    assert comment == {
        "range": spot(1, 11, 12),
        "severity": 1,
        "code": "entry",
        "source": "fxls",
        "message": (
            "this entry is not an expression: '(' was never closed\n"
            "Write it as a call, for example `# fxls: Net(3)(torch.randn(1, 3))`."
        ),
    }
    assert item["range"] == spot(1, 0, 13)
    assert item["message"].startswith("an entry must be a string, not 3\n")
    assert after == [[], []]


def test_a_fault_of_ours_is_logged_and_the_server_answers_on(
    project: Path, listing: Path
) -> None:
    fault = "import fxls.ide.hover as h; h.hover = lambda *a: 1 / 0; print('noise')\n"
    with started("import sys; sys.stdout = sys.stderr\n" + fault + SERVE) as client:
        client.initialize(project, {"nonsense": 1})
        log = client.notification("window/logMessage")
        hover = client.ask("hover", listing, 3, 4)
        definition = client.ask("definition", listing, 3, 22)
        unknown = client.answer(client.send("fxls/unknown", {}))
        errors = client.end()

    message = "initializationOptions: Object contains unknown field `nonsense`"
    assert log == {"type": 1, "message": f"{message}; they stay as they were"}
    assert hover is None
    assert definition[0]["targetSelectionRange"] == spot(2, 18, 19)
    assert unknown["error"]["code"] == -32601
    assert "ERROR:fxls.serving.faults:on_hover failed" in errors
    assert "ZeroDivisionError" in errors


def test_a_request_that_is_given_up_before_anybody_came_to_it_is_not_begun(
    project: Path, listing: Path
) -> None:
    place = {
        "textDocument": {"uri": listing.as_uri()},
        "position": {"line": 3, "character": 4},
    }
    with started() as client:
        client.initialize(project)
        given_up = client.answer(client.send_and_cancel("textDocument/hover", place))
        asked = client.send("textDocument/hover", place)
        hover = client.answer(asked)["result"]
        client.notify("$/cancelRequest", {"id": asked})
        client.notify("$/cancelRequest", {"id": "nobody"})
        again = client.request("textDocument/hover", place)
        errors = client.end()

    assert given_up["error"] == {
        "code": -32800,
        "message": "the request was cancelled",
    }
    assert hover == again
    assert hover["range"] == spot(3, 4, 8)
    assert errors == "", "a cancellation that comes late is no trouble"


def test_a_client_may_come_through_a_socket(project: Path, listing: Path) -> None:
    with connected() as client:
        client.initialize(project)
        hover = client.ask("hover", listing, 3, 4)
        client.end()

    assert hover["range"] == spot(3, 4, 8)


@pytest.mark.slow
def test_nothing_of_the_users_runs_until_it_is_asked_for(project: Path) -> None:
    net, ran = project / "net.py", project / "ran"
    net.write_text(f"open({str(ran)!r}, 'w').close()\n{SOURCE.partition(' + ')[0]}\n")
    with started() as client:
        client.initialize(project)
        client.open(net)
        assert client.ask("implementation", net, 7, 16) is None
        assert not ran.exists()

        command = {"command": "fxls.trace", "arguments": [net.as_uri()]}
        (traced,) = client.request("workspace/executeCommand", command)
        log = client.notification("window/logMessage")
        (there,) = client.ask("implementation", net, 7, 16)
        (relu,) = client.ask("definition", Path(traced["path"]), 0, 0) or [None]
        client.end()

    assert ran.exists()
    assert set(traced) == {"expression", "path", "uri"}
    assert traced["expression"] == "Net()(torch.randn(2))"
    assert log["message"].startswith(f"Net()(torch.randn(2)): {traced['path']} (")
    assert there["targetUri"] == traced["uri"]
    assert relu is None


@pytest.mark.slow
def test_a_model_that_cannot_be_traced_is_said_on_its_line(project: Path) -> None:
    net = project / "net.py"
    net.write_text(
        "import torch\n"
        "# fxls: Net()\n"
        "class Net(torch.nn.Module):\n"
        "    def forward(self, x):\n"
        "        return self.gate(x)\n"
        "    def gate(self, x):\n"
        "        return x if x.sum() > 0 else -x\n"
    )
    with started() as client:
        client.initialize(project, {"trusted": True})
        client.open(net)
        (said,) = client.diagnostics(net)
        net.write_text(net.read_text().replace("x if x.sum() > 0 else -x", "-x"))
        document = {"uri": net.as_uri()}
        change = {"textDocument": {**document, "version": 2}}
        client.notify(
            "textDocument/didChange",
            {**change, "contentChanges": [{"text": net.read_text()}]},
        )
        client.notify("textDocument/didSave", {"textDocument": document})
        after = client.diagnostics(net)
        client.notification("window/logMessage")
        client.end()

    assert said["range"]["start"]["line"] == 6
    assert said["severity"] == 1
    assert said["code"] == "trace"
    assert [
        (r["location"]["range"]["start"]["line"], r["message"])
        for r in said["relatedInformation"]
    ] == [(4, "called from Net.forward"), (1, "while tracing Net()")]
    assert after == []


@pytest.mark.slow
def test_questions_are_answered_while_a_trace_runs(
    project: Path, listing: Path
) -> None:
    net = project / "net.py"
    # The trace cannot end before the questions are answered, because it waits for a
    # file that the test makes behind them.
    go_on = project / "go on"
    waiting = f"import os\nwhile not os.path.exists({str(go_on)!r}): pass\n"
    with started() as client:
        client.initialize(project, {"trusted": True})
        net.write_text(waiting + SOURCE)
        client.open(net)
        hover = client.ask("hover", listing, 3, 4)
        definition = client.ask("definition", listing, 3, 4)
        go_on.touch()
        (said,) = client.diagnostics(net)
        client.end()

    assert hover["range"] == spot(3, 4, 8)
    assert definition[0]["targetUri"] == net.as_uri()
    assert said["code"] == "trace", "a proxy is nothing that str.count takes"
