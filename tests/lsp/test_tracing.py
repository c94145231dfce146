"""Conversations in which code of the user's runs."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from fxls.text import LineTable, Point
from tests.support.lsp_client import LspClient, started
from tests.support.projects import EDITOR

Json = Any

pytestmark = pytest.mark.slow

NET = """\
import torch, torch.nn as nn
from block import Block


# fxls: Net()(torch.randn(2, 3))
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()

    def forward(self, x):
        return self.block(x) + 1
"""

BLOCK = """\
import torch, torch.nn as nn

print("imported")


class Block(nn.Module):
    def forward(self, x):
        return torch.relu(x)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "net.py").write_text(NET)
    (tmp_path / "block.py").write_text(BLOCK)
    return tmp_path


@pytest.fixture
def client(project: Path) -> Generator[LspClient]:
    with started() as client:
        client.initialize(project, {"trusted": True}, EDITOR)
        yield client
        client.end()


def refreshed(client: LspClient) -> None:
    for kind in ("inlayHint", "codeLens"):
        client.reply(f"workspace/{kind}/refresh")


def traced(client: LspClient, entry: str, go_on: Path) -> Json:
    """What a trace that goes well tells: status, progress, prints, log.

    It waits for a file to go on, because one that is done before it can be shown has
    no progress.
    """
    assert client.notification("experimental/serverStatus") == {
        "health": "ok",
        "quiescent": False,
    }
    token = client.reply("window/workDoneProgress/create")["token"]
    begin = client.notification("$/progress")
    go_on.touch()
    end = client.notification("$/progress")
    assert client.notification("experimental/serverStatus") == {
        "health": "ok",
        "quiescent": True,
    }
    assert begin == {
        "token": token,
        "value": {
            "kind": "begin",
            "title": "Tracing",
            "cancellable": True,
            "message": entry,
        },
    }
    assert end == {"token": token, "value": {"kind": "end"}}
    printed = client.notification("window/logMessage")
    assert printed == {"type": 4, "message": f"{entry}: imported"}
    done = client.notification("window/logMessage")
    assert done["type"] == 3
    return done["message"].partition(": ")[2].partition(" (")[0]


def test_a_file_that_is_imported_is_traced_again_through_what_imports_it(
    client: LspClient, project: Path
) -> None:
    net, block = project / "net.py", project / "block.py"
    entry = "Net()(torch.randn(2, 3))"
    go_on = waiting(project, BLOCK)
    client.open(net)
    first = traced(client, entry, go_on)
    refreshed(client)

    go_on.unlink()
    waiting(project, BLOCK.replace("relu", "tanh"))
    changes = [{"uri": block.as_uri(), "type": 2}]
    client.notify("workspace/didChangeWatchedFiles", {"changes": changes})
    second = traced(client, entry, go_on)
    revised = client.notification("fxls/revised")
    refreshed(client)
    lines = Path(second).read_text().split("\n")
    (tanh,) = [number for number, line in enumerate(lines) if "torch.tanh" in line]
    hover = client.ask("hover", Path(second), tanh, 5)

    assert (revised["old"], revised["new"]) == (
        Path(first).as_uri(),
        Path(second).as_uri(),
    )
    assert "torch.tanh" in hover["contents"]["value"]


def test_an_open_file_that_a_checkout_changes_is_traced_once_without_a_save(
    client: LspClient, project: Path
) -> None:
    net, block = project / "net.py", project / "block.py"
    entry = "Net()(torch.randn(2, 3))"
    go_on = waiting(project, BLOCK)
    client.open(net)
    traced(client, entry, go_on)
    refreshed(client)

    # The whole of it is there before the server is told, in several messages, and the
    # editor reads the file that it shows in between.
    go_on.unlink()
    waiting(project, BLOCK.replace("relu", "tanh"))
    text = NET.replace("+ 1", "- 1")
    net.write_text(text)
    changed = [{"uri": path.as_uri(), "type": 2} for path in (net, block)]
    for change in changed:
        client.notify("workspace/didChangeWatchedFiles", {"changes": [change]})
    client.notify(
        "textDocument/didChange",
        {
            "textDocument": {"uri": net.as_uri(), "version": 2},
            "contentChanges": [{"text": text}],
        },
    )
    second = traced(client, entry, go_on)
    client.notification("fxls/revised")
    refreshed(client)
    code = Path(second).read_text()

    # What the editor shows was traced as it is: only the other file is news.
    go_on.unlink()
    waiting(project, BLOCK.replace("relu", "exp"))
    client.notify("workspace/didChangeWatchedFiles", {"changes": changed})
    third = traced(client, entry, go_on)
    client.notification("fxls/revised")
    refreshed(client)

    assert ("torch.tanh" in code, " - 1" in code) == (True, True)
    assert "torch.exp" in Path(third).read_text()


def test_a_file_with_edits_is_not_traced_when_the_disk_changes_but_when_it_is_read(
    client: LspClient, project: Path
) -> None:
    net = project / "net.py"
    entry = "Net()(torch.randn(2, 3))"
    go_on = waiting(project, BLOCK)
    client.open(net)
    traced(client, entry, go_on)
    refreshed(client)

    def edit(version: int, text: str) -> None:
        client.notify(
            "textDocument/didChange",
            {
                "textDocument": {"uri": net.as_uri(), "version": version},
                "contentChanges": [{"text": text}],
            },
        )

    edit(2, NET.replace("+ 1", "+ 2"))
    net.write_text(NET.replace("+ 1", "- 1"))
    changes = [{"uri": net.as_uri(), "type": 2}]
    client.notify("workspace/didChangeWatchedFiles", {"changes": changes})
    go_on.unlink()
    edit(3, NET.replace("+ 1", "- 1"))
    second = traced(client, entry, go_on)
    client.notification("fxls/revised")
    refreshed(client)

    assert " - 1" in Path(second).read_text()


SILENT = BLOCK.replace("print", "str")


def waiting(project: Path, block: str = SILENT) -> Path:
    """Let the import of the block wait for a file; returns the file."""
    go_on = project / "go on"
    wait = (
        f"import os, time\nwhile not os.path.exists({str(go_on)!r}): time.sleep(0.01)\n"
    )
    project.joinpath("block.py").write_text(wait + block)
    return go_on


def test_a_trace_ends_when_the_button_of_its_progress_is_pressed(
    client: LspClient, project: Path
) -> None:
    waiting(project)
    net = project / "net.py"
    request = client.send(
        "workspace/executeCommand",
        {"command": "fxls.trace", "arguments": [net.as_uri()]},
    )
    token = client.reply("window/workDoneProgress/create")["token"]
    begin = client.notification("$/progress")
    client.notify("window/workDoneProgress/cancel", {"token": token})
    answer = client.answer(request)
    end = client.notification("$/progress")
    busy = [client.notification("experimental/serverStatus") for _ in range(2)]

    assert begin["value"]["kind"] == "begin"
    assert end["value"]["kind"] == "end"
    assert answer["result"] == [
        {
            "expression": "Net()(torch.randn(2, 3))",
            "reason": "stopped",
            "message": "it was cancelled",
        }
    ]
    assert [status["quiescent"] for status in busy] == [False, True]


def test_a_request_that_is_cancelled_stops_its_traces(
    client: LspClient, project: Path
) -> None:
    go_on = waiting(project)
    net = project / "net.py"
    command = {"command": "fxls.trace", "arguments": [net.as_uri()]}
    request = client.send("workspace/executeCommand", command)
    client.reply("window/workDoneProgress/create")
    client.notification("$/progress")
    client.notify("$/cancelRequest", {"id": request})
    answer = client.answer(request)
    client.notification("$/progress")
    busy = [client.notification("experimental/serverStatus") for _ in range(2)]
    again = client.send("workspace/executeCommand", command)
    client.reply("window/workDoneProgress/create")
    client.notification("$/progress")
    go_on.touch()
    client.notification("$/progress")
    for _ in range(2):
        client.notification("experimental/serverStatus")
    refreshed(client)
    client.notification("window/logMessage")
    (item,) = client.answer(again)["result"]

    assert answer["error"]["code"] == -32800
    assert [status["quiescent"] for status in busy] == [False, True]
    assert "uri" in item


SLOW = """

# fxls: Slow()(torch.randn(2))
class Slow(torch.nn.Module):
    def __init__(self):
        super().__init__()
        import time
        while True: time.sleep(0.01)

    def forward(self, x):
        return x + 1
"""


def test_a_request_that_is_cancelled_stops_the_traces_that_go_on(
    client: LspClient, project: Path
) -> None:
    net = project / "net.py"
    net.write_text(NET + SLOW)
    command = {"command": "fxls.trace", "arguments": [net.as_uri()]}
    request = client.send("workspace/executeCommand", command)
    for _ in range(2):
        client.reply("window/workDoneProgress/create")
    while client.notification("$/progress")["value"]["kind"] != "end":
        pass

    client.notify("$/cancelRequest", {"id": request})

    busy = [client.notification("experimental/serverStatus") for _ in range(2)]
    assert client.answer(request)["error"]["code"] == -32800
    client.unread()
    assert [status["quiescent"] for status in busy] == [False, True]


def test_the_newest_trace_of_an_entry_takes_the_place_of_the_one_before(
    client: LspClient, project: Path
) -> None:
    go_on = waiting(project)
    command = {
        "command": "fxls.trace",
        "arguments": [(project / "net.py").as_uri()],
    }
    requests = [client.send("workspace/executeCommand", command) for _ in range(2)]
    (first,) = client.answer(requests[0])["result"]
    go_on.touch()
    (second,) = client.answer(requests[1])["result"]
    for _ in range(2):
        client.reply("window/workDoneProgress/create")
        client.notification("experimental/serverStatus")
    refreshed(client)
    client.notification("window/logMessage")

    assert first["reason"] == "stopped"
    assert "uri" in second


def test_an_interpreter_that_does_not_start_is_a_status_until_another_is_set(
    project: Path,
) -> None:
    net = project / "net.py"
    missing = str(project / "no python")
    with started() as client:
        options = {"trusted": False, "python": missing}
        client.initialize(project, options, {"experimental": EDITOR["experimental"]})
        (failed,) = client.command("fxls.trace", net.as_uri())
        statuses = [client.notification("experimental/serverStatus") for _ in range(3)]
        log = client.notification("window/logMessage")
        (said,) = client.diagnostics(net)
        client.notify(
            "workspace/didChangeConfiguration", {"settings": {"fxls": {"python": None}}}
        )
        (item,) = client.command("fxls.trace", net.as_uri())
        statuses += [client.notification("experimental/serverStatus") for _ in range(3)]
        after = client.diagnostics(net)
        for _ in range(2):
            client.notification("window/logMessage")
        client.end()

    assert failed["reason"] == "worker"
    assert [status["health"] for status in statuses] == [
        *("ok", "error", "error"),
        *("ok", "ok", "ok"),
    ]
    assert (said["code"], after) == ("worker", [])
    assert statuses[1]["message"].startswith(f"{missing} did not start the worker")
    assert log["type"] == 1
    assert "uri" in item


def test_each_folder_of_a_workspace_has_a_worker_of_its_own(tmp_path: Path) -> None:
    model = "import torch\nimport os\nclass Net(torch.nn.Module):\n"
    model += "    def forward(self, x):\n        return x + len(os.getcwd())\n"
    folders = [tmp_path / name for name in ("one", "another")]
    for folder in folders:
        folder.mkdir()
        folder.joinpath("pyproject.toml").touch()
        folder.joinpath("net.py").write_text(model)
    named = [{"uri": folder.as_uri(), "name": folder.name} for folder in folders]
    with started() as client:
        params: Json = {"processId": None, "rootUri": None, "capabilities": {}}
        client.request("initialize", {**params, "workspaceFolders": named[:1]})
        client.notify("initialized", {})
        event = {"added": named[1:], "removed": []}
        client.notify("workspace/didChangeWorkspaceFolders", {"event": event})
        found: list[str] = []
        for folder in folders:
            (item,) = client.command("fxls.trace", (folder / "net.py").as_uri())
            client.notification("window/logMessage")
            found.append(Path(item["path"]).read_text())
            assert Path(item["path"]).is_relative_to(folder)
        client.end()

    for folder, text in zip(folders, found, strict=True):
        assert f"x + {len(str(folder))}" in text


def test_repairs_lead_to_a_listing(project: Path) -> None:
    net = project / "net.py"
    text = """\
import torch


def gate(x):
    return x if x.sum() > 0 else -x


# fxls[engine]: Net()(torch.randn(2), True)
class Net(torch.nn.Module):
    def forward(self, x, flag):
        if flag:
            x = x + 1
        return gate(x)
"""
    net.write_text(text)
    asked = {"textDocument": {"uri": net.as_uri()}}
    with started() as client:
        client.initialize(project)

        def traced() -> Json:
            client.open(net)
            (item,) = client.command("fxls.trace", net.as_uri())
            return item

        def repaired(title: str) -> None:
            """Choose a repair of what is said of the file, and save the file."""
            (said, *_) = client.diagnostics(net)
            context = {"diagnostics": [said]}
            actions = client.request(
                "textDocument/codeAction",
                {**asked, "range": said["range"], "context": context},
            )
            (action,) = [a for a in actions if a["title"] == title]
            (edits,) = action["edit"]["changes"].values()
            net.write_text(edited(net.read_text(), edits))
            client.notify("textDocument/didClose", asked)
            assert client.diagnostics(net) == []

        # The flag is what the call gives; the branch on values is not.
        first = traced()
        repaired('Record gate as one node: fx.wrap("gate")')
        second = traced()
        # What it printed on the way is told in the log.
        log = [m["params"]["message"] for m in client.unread()]
        client.end()

    assert first["reason"] == "trace"
    assert set(second) == {"expression", "uri", "path"}
    assert "net_gate(add)" in Path(second["path"]).read_text()
    assert log[-1].startswith(second["expression"])


def test_a_submodule_in_another_file_is_marked_as_a_leaf_where_the_entry_is(
    project: Path,
) -> None:
    net, block = project / "net.py", project / "block.py"
    block.write_text(BLOCK.replace("torch.relu(x)", "x if x.sum() > 0 else -x"))
    with started() as client:
        client.initialize(project)
        client.open(block)
        client.open(net)
        client.command("fxls.trace", net.as_uri())
        (said,) = client.diagnostics(block)
        assert client.diagnostics(net) != []
        actions = client.request(
            "textDocument/codeAction",
            {
                "textDocument": {"uri": block.as_uri()},
                "range": said["range"],
                "context": {"diagnostics": [said]},
            },
        )
        (action,) = [a for a in actions if "leaf" in a["title"]]
        ((uri, edits),) = action["edit"]["changes"].items()
        net.write_text(edited(net.read_text(), edits))
        change = {"textDocument": {"uri": net.as_uri(), "version": 2}}
        whole = [{"text": net.read_text()}]
        client.notify("textDocument/didChange", {**change, "contentChanges": whole})
        (traced,) = client.command("fxls.trace", net.as_uri())
        # The entry that failed is not written any more.
        assert [client.diagnostics(path) for path in (block, net)] == [[], []]
        client.unread()
        client.end()

    assert uri == net.as_uri()
    assert action["title"] == "Call Block as a whole: mark it as a leaf"
    assert '# fxls: fxls.engine.trace_around(Net(), "Block")(' in net.read_text()
    assert set(traced) == {"expression", "uri", "path"}
    assert "block = self.block(x)" in Path(traced["path"]).read_text()


def test_two_clients_of_one_store_see_what_the_other_makes(project: Path) -> None:
    net, block = project / "net.py", project / "block.py"
    with started() as first, started() as second:
        for client in (first, second):
            client.initialize(project, capabilities=EDITOR)
            client.open(net)
        (one,) = first.command("fxls.trace", net.as_uri())
        for client in (first, second):
            refreshed(client)
        seen = second.ask("implementation", net, 11, 16)
        second.open(Path(one["path"]))
        block.write_text(BLOCK.replace("relu", "tanh"))
        (two,) = first.command("fxls.trace", net.as_uri())
        told = [client.notification("fxls/revised") for client in (first, second)]
        # It may say first that its source changed.
        while said_of(second, Path(one["path"])) != "This is an earlier revision.":
            pass
        lines = Path(two["path"]).read_text().split("\n")
        (tanh,) = [n for n, line in enumerate(lines) if "torch.tanh" in line]
        hover = second.ask("hover", Path(two["path"]), tanh, 5)
        for client in (first, second):
            client.unread()
            client.end()

    assert [link["targetUri"] for link in seen] == [one["uri"]]
    expected = {"old": one["uri"], "new": two["uri"]}
    assert [{k: each[k] for k in expected} for each in told] == [expected] * 2
    assert "torch.tanh" in hover["contents"]["value"]


def said_of(client: LspClient, path: Path) -> str:
    """The message of the next diagnostics of a file, which are one."""
    (said,) = client.diagnostics(path)
    return said["message"]


def edited(text: str, edits: list[Json]) -> str:
    """A text after the edits of an action."""
    lines = LineTable(text)

    def offset(at: Json) -> int:
        return lines.offset(Point(at["line"], at["character"]))

    ordered = sorted(edits, key=lambda e: offset(e["range"]["start"]), reverse=True)
    for edit in ordered:
        start, end = (offset(edit["range"][side]) for side in ("start", "end"))
        text = text[:start] + edit["newText"] + text[end:]
    return text


def test_trust_in_a_folder_is_none_in_packages_and_other_folders(
    tmp_path: Path,
) -> None:
    model = "import torch\nclass Net(torch.nn.Module):\n"
    model += "    def forward(self, x):\n        return torch.relu(x)\n"
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    package = project / ".venv" / "lib" / "python3.11" / "site-packages" / "lib"
    for folder in (project, elsewhere, package):
        folder.mkdir(parents=True)
        folder.joinpath("pyproject.toml").touch()
        folder.joinpath("net.py").write_text(f"# fxls: Net(\n{model}")
    with started() as client:
        client.initialize(project, {"trusted": True})
        client.open(package / "net.py")
        client.open(elsewhere / "net.py")
        (doubt,) = client.diagnostics(elsewhere / "net.py")
        client.open(project / "net.py")
        (said,) = client.diagnostics(project / "net.py")
        alone = client.notification("window/logMessage")["message"]
        lenses = client.request(
            "textDocument/codeLens",
            {"textDocument": {"uri": (package / "net.py").as_uri()}},
        )
        (asked,) = client.command("fxls.trace", (elsewhere / "net.py").as_uri())
        client.notification("window/logMessage")
        client.end()

    assert doubt["message"] == said["message"], "what only reads works everywhere"
    assert alone.startswith(f"Net(): {project}/.fxls/Net_")
    assert [lens["command"]["title"] for lens in lenses] == [
        "Write an example call to trace"
    ], "nothing there is traced by itself"
    assert Path(asked["path"]).is_relative_to(elsewhere), "a person asked for it"
