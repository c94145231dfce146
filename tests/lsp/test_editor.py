"""Conversations with an editor that can do all there is, before anything is traced."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fxls.listing import HeadLink, ToClass
from fxls.store import Store, identity_uri
from tests.support.lsp_client import LspClient, started
from tests.support.projects import EDITOR, SOURCE, TEXT, net_listing, spot

Json = Any


@pytest.fixture
def client(project: Path, listing: Path) -> Generator[LspClient]:
    """A client of an editor; at its end no message may be left."""
    with started() as client:
        client.initialize(project, capabilities=EDITOR)
        yield client
        client.end()


def of(path: Path) -> Json:
    return {"textDocument": {"uri": path.as_uri()}}


def test_the_colours_of_a_listing_are_sent_once(
    client: LspClient, listing: Path
) -> None:
    whole = of(listing)
    tokens = client.request("textDocument/semanticTokens/full", whole)

    def since(result: str) -> Json:
        asked = {**whole, "previousResultId": result}
        return client.request("textDocument/semanticTokens/full/delta", asked)

    same: Json = {"resultId": tokens["resultId"], "edits": []}
    assert since(tokens["resultId"]) == same
    # Those of an earlier server, or of another text.
    assert since("other") == tokens


def test_a_listing_has_structure(client: LspClient, listing: Path) -> None:
    whole = of(listing)
    folds = client.request("textDocument/foldingRange", whole)
    tokens = client.request("textDocument/semanticTokens/full", whole)
    part = client.request(
        "textDocument/semanticTokens/range", {**whole, "range": spot(4, 0, 9)}
    )
    (selection,) = client.request(
        "textDocument/selectionRange",
        {**whole, "positions": [{"line": 5, "character": 12}]},
    )

    assert folds == []
    # The clef is two units, so what is behind it is one further.
    assert part["data"] == [4, 4, 5, 4, 1, 0, 19, 1, 0, 0, 0, 5, 1, 0, 2]
    assert tokens["data"][:10] == [2, 18, 1, 0, 1, 1, 4, 4, 4, 1]
    grown: list[Json] = []
    while selection:
        grown.append(selection["range"])
        selection = selection.get("parent")
    assert grown == [
        spot(5, 10, 14),
        spot(5, 10, 22),
        spot(5, 4, 22),
        spot(5, 4, 51),
        spot(2, 0, 0, 7),
        spot(0, 0, 0, 7),
    ]


def test_nodes_are_in_a_hierarchy(client: LspClient, listing: Path) -> None:
    (relu,) = client.ask("prepareCallHierarchy", listing, 3, 5)
    incoming = client.request("callHierarchy/incomingCalls", {"item": relu})
    outgoing = client.request("callHierarchy/outgoingCalls", {"item": relu})
    (forward,) = client.ask("prepareCallHierarchy", listing, 2, 1)
    inside = client.request("callHierarchy/outgoingCalls", {"item": forward})
    foreign = client.request(
        "callHierarchy/incomingCalls", {"item": {**relu, "data": "somebody else's"}}
    )

    assert relu == {
        "name": "relu",
        "kind": 12,
        "detail": "torch.relu → f32[2]",
        "uri": listing.as_uri(),
        "range": spot(3, 4, 24),
        "selectionRange": spot(3, 4, 8),
        "data": {"first": 1, "scope": None},
    }
    assert [(c["from"]["name"], c["fromRanges"]) for c in incoming] == [
        ("add", [spot(5, 10, 14)])
    ]
    assert [(c["to"]["name"], c["fromRanges"]) for c in outgoing] == [
        ("x", [spot(3, 22, 23)])
    ]
    names = [call["to"]["name"] for call in inside]
    assert names == ["x", "relu", "count", "add", "output"]
    assert foreign is None


def test_a_listing_can_be_clicked(client: LspClient, project: Path) -> None:
    text = "# The code of Net's graph.\n" + TEXT
    head = (HeadLink(0, 14, 3, ToClass()),)
    listing = Store(project / ".fxls").materialize(
        replace(net_listing(project, text), links=head)
    )
    lenses = client.request("textDocument/codeLens", of(listing))
    links = client.request("textDocument/documentLink", of(listing))

    net = (project / "net.py").as_uri()
    assert lenses == [
        {
            "range": spot(3, 0, 21),
            "command": {
                "title": "5 nodes",
                "command": "fxls.table",
                "arguments": [listing.as_uri()],
            },
        },
        {
            "range": spot(3, 0, 21),
            "command": {
                "title": "from Net",
                "command": "fxls.open",
                "arguments": [net, 4, 6],
            },
        },
    ]
    assert links == [
        {
            "range": spot(0, 14, 17),
            "target": f"{net}#L5,7",
            "tooltip": "the source of Net",
        }
    ]


def test_a_hint_says_more_when_it_is_pointed_at(
    client: LspClient, listing: Path
) -> None:
    asked = {**of(listing), "range": spot(0, 0, 0, 9)}
    (hint,) = client.request("textDocument/inlayHint", asked)
    resolved = client.request("inlayHint/resolve", hint)

    assert hint == {
        "position": {"line": 3, "character": 8},
        "label": ": f32[2]",
        "kind": 1,
        "data": {"path": str(listing), "node": 1},
    }
    assert resolved["tooltip"] == "relu = torch.relu: float32 (2,), cpu"


def test_a_question_about_a_listing_that_is_gone_says_so(
    client: LspClient, listing: Path
) -> None:
    asked = {**of(listing), "range": spot(0, 0, 0, 9)}
    (hint,) = client.request("textDocument/inlayHint", asked)
    (relu,) = client.ask("prepareCallHierarchy", listing, 3, 5)
    listing.chmod(0o644)
    listing.write_text("something else")
    answers = [
        client.answer(client.send("inlayHint/resolve", hint)),
        client.answer(client.send("callHierarchy/incomingCalls", {"item": relu})),
        client.answer(client.send("callHierarchy/outgoingCalls", {"item": relu})),
    ]

    gone = {"code": -32801, "message": "the listing is gone, or was edited"}
    assert [answer["error"] for answer in answers] == [gone] * 3


def test_a_paused_debugger_is_told_what_to_evaluate(
    client: LspClient, listing: Path
) -> None:
    context = {"frameId": 1, "stoppedLocation": spot(5, 4, 9)}
    values = client.request(
        "textDocument/inlineValue",
        {**of(listing), "range": spot(0, 0, 0, 9), "context": context},
    )

    assert values == [
        {
            "range": spot(3, 4, 8),
            "variableName": "relu",
            "caseSensitiveLookup": True,
        },
        {
            "range": spot(4, 4, 9),
            "variableName": "count",
            "caseSensitiveLookup": True,
        },
    ]


def test_listings_and_nodes_are_found_in_the_workspace(
    client: LspClient, listing: Path
) -> None:
    before = client.request("workspace/symbol", {"query": "nf"})
    client.ask("hover", listing, 3, 5)
    nodes = client.request("workspace/symbol", {"query": "relu"})
    resolved = client.request("workspaceSymbol/resolve", before[0])

    assert before == [
        {
            "location": {"uri": listing.as_uri()},
            "name": "Net.forward",
            "kind": 12,
            "containerName": "net engine",
        }
    ]
    assert nodes == [
        {
            "location": {"uri": listing.as_uri(), "range": spot(3, 4, 8)},
            "name": "relu",
            "kind": 12,
            "containerName": "Net.forward",
        }
    ]
    assert resolved["location"]["range"] == spot(2, 0, 21)


def test_a_source_shows_what_can_be_done_and_which_shapes_it_has(
    client: LspClient, project: Path, listing: Path
) -> None:
    net = project / "net.py"
    lenses = client.request("textDocument/codeLens", of(net))
    hints = client.request(
        "textDocument/inlayHint", {**of(net), "range": spot(0, 0, 0, 9)}
    )
    actions = client.request(
        "textDocument/codeAction",
        {**of(net), "range": spot(4, 7, 7), "context": {"diagnostics": []}},
    )
    completions = client.ask("completion", net, 3, 11)

    entry = "Net()(torch.randn(2))"
    assert [lens["command"] for lens in lenses] == [
        {
            "title": "Trace",
            "command": "fxls.trace",
            "arguments": [net.as_uri(), entry],
        },
        {
            "title": "Show generated code",
            "command": "fxls.open",
            "arguments": [listing.as_uri(), 2, 0],
        },
        {
            "title": "Debug generated code",
            "command": "fxls.debug",
            "arguments": [net.as_uri(), entry, listing.as_uri()],
        },
        {
            "title": "Table (5 nodes)",
            "command": "fxls.table",
            "arguments": [listing.as_uri()],
        },
        {
            "title": "generated code of Net",
            "command": "fxls.open",
            "arguments": [listing.as_uri(), 2, 0],
        },
    ]
    assert hints == []
    assert [(a["title"], a["kind"]) for a in actions] == [
        ("Write an entry comment for Net", "refactor")
    ]
    assert [item["label"] for item in completions] == ["Net"]


NEEDY = """\
import torch


class Needy(torch.nn.Module):
    def __init__(self, width, clef="𝄞"):
        super().__init__()

    def forward(self, x, mode: Mode):
        return torch.relu(x)
"""


def type_(client: LspClient, path: Path, text: str) -> None:
    """Change a document that is open."""
    item = {"uri": path.as_uri(), "version": 2}
    changes = [{"text": text}]
    params = {"textDocument": item, "contentChanges": changes}
    client.notify("textDocument/didChange", params)


def test_a_source_that_is_changed_in_parts_is_the_one_that_is_shown(
    client: LspClient, project: Path
) -> None:
    needy = project / "needy.py"
    client.open(needy, NEEDY)
    line = NEEDY.split("\n")[4]
    # A clef has two units, and only the character `\n` ends a line.
    behind, end = line.index("𝄞") + 2, len(line) + 1
    parts = [
        (3, 6, 11, "Other"),
        (4, behind, behind, "\f\u2028"),
        (4, end + 2, end + 2, "  # fxls: Other(1)"),
    ]
    changes = [
        {
            "range": {
                "start": {"line": line, "character": start},
                "end": {"line": line, "character": end},
            },
            "text": text,
        }
        for line, start, end, text in parts
    ]
    item = {"uri": needy.as_uri(), "version": 2}
    client.notify(
        "textDocument/didChange", {"textDocument": item, "contentChanges": changes}
    )
    lens, *_ = client.request("textDocument/codeLens", of(needy))
    assert lens["range"]["start"] == {"line": 4, "character": end + 2 + 10}
    assert lens["command"]["arguments"] == [needy.as_uri(), "Other(1)"]


def test_a_class_that_needs_arguments_is_given_an_example_call(
    client: LspClient, project: Path
) -> None:
    needy = project / "needy.py"
    client.open(needy, NEEDY)
    ((range_, lens),) = (
        (one["range"], one["command"])
        for one in client.request("textDocument/codeLens", of(needy))
    )
    asked = client.send("workspace/executeCommand", lens)
    edit = client.reply("workspace/applyEdit", {"applied": True})
    shown = client.reply("window/showDocument", {"success": True})
    written = client.answer(asked)["result"]
    (change,) = edit["edit"]["changes"][needy.as_uri()]
    type_(client, needy, NEEDY.replace("class ", change["newText"] + "class "))
    (said,) = client.diagnostics(needy)
    lenses = client.request("textDocument/codeLens", of(needy))
    type_(client, needy, NEEDY)
    gone = client.diagnostics(needy)

    assert (range_, lens["title"]) == (spot(3, 6, 11), "Write an example call to trace")
    assert lens["command"] == "fxls.writeEntry"
    assert change == {
        "range": spot(3, 0, 0),
        "newText": "# fxls: Needy(width=8)(torch.randn(1, 8), ...)\n",
    }
    assert edit["label"] == "Write an entry comment for Needy"
    assert written is True
    blank = spot(3, 42, 45)
    assert shown == {
        "uri": needy.as_uri(),
        "takeFocus": True,
        "selection": blank,
    }
    assert (said["range"], said["severity"], said["message"]) == (
        blank,
        1,
        (
            "the forward of Needy needs mode (Mode): write it in place of `...`\n"
            "It is traced when nothing is left to fill in."
        ),
    )
    assert (lenses, gone) == ([], [])


def test_a_client_may_not_write_the_example_call(
    client: LspClient, project: Path
) -> None:
    needy = project / "needy.py"
    client.open(needy, NEEDY)
    asked = client.send(
        "workspace/executeCommand",
        {"command": "fxls.writeEntry", "arguments": [needy.as_uri(), "Needy"]},
    )
    client.reply("workspace/applyEdit", {"applied": False})

    assert client.answer(asked)["result"] is False
    assert client.command("fxls.writeEntry", needy.as_uri(), "Gone") is False
    assert client.command("fxls.writeEntry", "untitled:1", "Needy") is False


def test_an_entry_that_is_doubtful_is_repaired(
    client: LspClient, project: Path
) -> None:
    net = project / "net.py"
    client.open(net, SOURCE.replace("Net()(", "Nte()("))
    (said,) = client.diagnostics(net)
    (action, *_) = client.request(
        "textDocument/codeAction",
        {**of(net), "range": said["range"], "context": {"diagnostics": [said]}},
    )

    assert (said["severity"], said["range"]) == (2, spot(3, 8, 11))
    assert said["message"] == "this file does not define Nte\nDid you mean `Net`?"
    assert action == {
        "title": "Change it to Net",
        "kind": "quickfix",
        "diagnostics": [said],
        "isPreferred": True,
        "edit": {
            "changes": {net.as_uri(): [{"range": spot(3, 8, 11), "newText": "Net"}]}
        },
    }


def test_virtual_documents_show_listings_tables_and_revisions(
    client: LspClient, project: Path, listing: Path
) -> None:
    forward = identity_uri(net_listing(project).identity)
    beside = forward.removesuffix("forward.py")

    def text_of(uri: str) -> str:
        answer = client.request("workspace/textDocumentContent", {"uri": uri})
        assert client.request("fxls/content", {"uri": uri}) == answer
        return answer["text"]

    at = {"textDocument": {"uri": forward}, "position": {"line": 5, "character": 11}}
    (use,) = client.request("textDocument/definition", at)
    links = client.request(
        "textDocument/documentLink", {"textDocument": {"uri": f"{beside}table.txt"}}
    )

    assert text_of(forward) == TEXT
    assert text_of(beside + listing.name) == TEXT
    table = text_of(f"{beside}table.txt").split("\n")
    assert table[0].startswith("Net: 5 nodes (")
    assert table[4].split()[:3] == ["relu", "call_function", "torch.relu"]
    assert text_of(f"{beside}revisions.txt").split("\n")[3].startswith(listing.name)
    assert text_of("fxls:/nobody/forward.py") == (
        "# There is no listing at fxls:/nobody/forward.py any more.\n"
    )
    assert (use["targetUri"], use["targetSelectionRange"]) == (forward, spot(3, 4, 8))
    assert links[0] == {
        "range": spot(3, 0, 1),
        "target": f"{listing.as_uri()}#L3,19",
        "tooltip": "x",
    }


def test_a_table_is_shown_in_the_editor(
    client: LspClient, project: Path, listing: Path
) -> None:
    request = client.send(
        "workspace/executeCommand",
        {"command": "fxls.table", "arguments": [listing.as_uri()]},
    )
    shown = client.reply("window/showDocument", {"success": True})
    answer = client.answer(request)["result"]

    uri = identity_uri(net_listing(project).identity).replace("forward.py", "table.txt")
    assert (answer, shown["uri"]) == (uri, uri)


def test_an_editor_that_only_reads_files_gets_the_table_as_one(
    project: Path, listing: Path
) -> None:
    with started() as client:
        client.initialize(project)
        uri = client.command("fxls.table", listing.as_uri())
        nothing = client.command("fxls.table", (project / "net.py").as_uri())
        client.end()

    path = project / ".fxls" / "tables" / f"{listing.stem}.txt"
    assert uri == path.as_uri()
    assert path.read_text().startswith("Net: 5 nodes (")
    assert nothing is None


def test_a_listing_says_what_breaks_its_rules_and_that_it_is_stale(
    client: LspClient, project: Path
) -> None:
    text = TEXT.replace("return add", "return count")
    listing = Store(project / ".fxls").materialize(net_listing(project, text))
    net = project / "net.py"
    client.open(listing)
    dead = client.diagnostics(listing)
    net.write_text("import os\n" + SOURCE)
    client.notify("textDocument/didSave", of(net))
    stale = client.diagnostics(listing)
    # The lens says it too, whatever the trace will give.
    client.reply("workspace/codeLens/refresh")
    lenses = client.request("textDocument/codeLens", of(listing))
    # That there is another listing may be told before the end, or not.
    client.unread()

    assert [(d["code"], d["severity"], d.get("tags")) for d in dead] == [
        ("dead-code", 4, [1]),
        ("read-after-free", 1, None),
    ]
    assert (stale[0]["code"], stale[0]["range"]) == ("stale", spot(2, 0, 21))
    assert stale[0]["message"] == "net.py has changed since this was traced."
    assert lenses[-1]["command"] == {
        "title": "stale: trace again",
        "command": "fxls.trace",
        "arguments": [net.as_uri(), "Net()(torch.randn(2))"],
    }


def test_of_a_newer_revision_the_lenses_are_asked_for_once(
    client: LspClient, project: Path, listing: Path
) -> None:
    client.open(listing)
    client.request("textDocument/codeLens", of(listing))
    text = TEXT.replace("return add", "return count")
    Store(project / ".fxls").materialize(net_listing(project, text))
    # Its age is another, and so is much else.
    (old,) = client.diagnostics(listing)
    client.reply("workspace/codeLens/refresh")
    others = {message["method"] for message in client.unread()}

    assert old["code"] == "stale"
    assert "workspace/inlayHint/refresh" in others
    assert "workspace/codeLens/refresh" not in others


def test_a_class_that_has_another_name_today_shows_nothing_of_the_one_before(
    client: LspClient, project: Path, listing: Path
) -> None:
    net = project / "net.py"

    def shown() -> tuple[bool, bool, bool, bool]:
        where = {**of(net), "range": spot(0, 0, 0, 9)}
        lenses = client.request("textDocument/codeLens", of(net))
        return (
            client.ask("hover", net, 6, 18) is not None,
            bool(client.request("textDocument/inlayHint", where)),
            "Show generated code" in [one["command"]["title"] for one in lenses],
            bool(client.request("fxls/listings", of(net))),
        )

    client.open(net)
    before = shown()
    client.notify("textDocument/didClose", of(net))
    client.open(net, SOURCE.replace("class Net", "class Other"))

    assert listing.exists()
    assert before == (True, False, True, True)
    assert shown() == (False, False, False, False)
    (missing,) = client.diagnostics(net)
    assert missing["message"] == "this file does not define Net"


def test_settings_are_asked_for_when_they_change(
    client: LspClient, listing: Path
) -> None:
    client.notify("workspace/didChangeConfiguration", {"settings": None})
    asked = client.reply("workspace/configuration", [{"lenses": "off"}])
    for kind in ("inlayHint", "codeLens"):
        client.reply(f"workspace/{kind}/refresh")
    off = client.request("textDocument/codeLens", of(listing))
    client.notify("workspace/didChangeConfiguration", {"settings": None})
    client.reply("workspace/configuration", [{"lenses": "many"}])
    log = client.notification("window/logMessage")
    still = client.request("textDocument/codeLens", of(listing))

    assert asked == {"items": [{"section": "fxls"}]}
    assert (off, still) == (None, None)
    assert log["message"].endswith("they stay as they were")
    assert "lenses" in log["message"]


def test_settings_that_stay_as_they_were_start_nothing(
    client: LspClient, project: Path, listing: Path
) -> None:
    client.open(project / "net.py")
    client.notify("workspace/didChangeConfiguration", {"settings": None})
    client.reply("workspace/configuration", [{}])
    # Neither a refresh nor a trace: nothing is left unread behind this.
    lenses = client.request("textDocument/codeLens", of(listing))

    assert len(lenses) == 2


def test_lenses_stand_on_every_node_where_that_is_set(
    project: Path, listing: Path
) -> None:
    with started() as client:
        client.initialize(project, {"lenses": "nodes"}, EDITOR)
        lenses = client.request("textDocument/codeLens", of(listing))
        client.end()

    (users,) = [lens for lens in lenses if lens["range"] == spot(3, 4, 8)][:1]
    assert users["command"] == {
        "title": "1 user",
        "command": "fxls.showReferences",
        "arguments": [
            listing.as_uri(),
            {"line": 3, "character": 4},
            [{"uri": listing.as_uri(), "range": spot(5, 10, 14)}],
        ],
    }


def test_what_a_program_writes_to_the_store_is_told(
    client: LspClient, project: Path, listing: Path
) -> None:
    client.open(listing)
    # Behind this answer the listing is open, and still the newest.
    client.request("textDocument/codeLens", of(listing))
    longer = TEXT.replace("import torch\n", "import torch\n\n")
    newer = Store(project / ".fxls").materialize(net_listing(project, longer))

    (said,) = client.diagnostics(listing)
    revised = client.notification("fxls/revised")
    for kind in ("inlayHint", "codeLens"):
        client.reply(f"workspace/{kind}/refresh")

    assert said["message"] == "This is an earlier revision."
    assert [r["location"]["uri"] for r in said["relatedInformation"]] == [
        newer.as_uri()
    ]
    assert revised == {
        "old": listing.as_uri(),
        "new": newer.as_uri(),
        "lines": [[2, 3], [3, 4], [4, 5], [5, 6], [6, 7]],
    }


def test_files_that_are_renamed_or_deleted_say_nothing_more(
    client: LspClient, project: Path
) -> None:
    net = project / "net.py"
    client.open(net, "# fxls: Net(\n")
    (said,) = client.diagnostics(net)
    files = [{"oldUri": net.as_uri(), "newUri": (project / "new.py").as_uri()}]
    client.notify("workspace/didRenameFiles", {"files": files})
    after = client.diagnostics(net)
    for kind in ("inlayHint", "codeLens"):
        client.reply(f"workspace/{kind}/refresh")

    assert said["code"] == "entry"
    assert after == []
