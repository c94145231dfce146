"""A client that asks for diagnostics gets them when it asks, and is told when to."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.support.lsp_client import PATIENCE, LspClient, started
from tests.support.projects import SOURCE, spot

Json = Any

PULLS: Json = {
    "textDocument": {"diagnostic": {}},
    "workspace": {"diagnostics": {"refreshSupport": True}},
}

WRONG = "# fxls: Net(\n"

FAILURE: Json = {
    "range": spot(0, 11, 12),
    "severity": 1,
    "code": "entry",
    "source": "fxls",
    "message": (
        "this entry is not an expression: '(' was never closed\n"
        "Write it as a call, for example `# fxls: Net(3)(torch.randn(1, 3))`."
    ),
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "net.py").write_text(WRONG)
    return tmp_path


@pytest.fixture
def client(project: Path) -> Generator[LspClient]:
    """A client that pulls; at its end nothing was pushed that is not read."""
    with started() as client:
        client.initialize(project, capabilities=PULLS)
        yield client
        client.end()


def pulled(client: LspClient, path: Path, known: str | None = None) -> Json:
    params: Json = {"textDocument": {"uri": path.as_uri()}}
    if known is not None:
        params["previousResultId"] = known
    return client.request("textDocument/diagnostic", params)


def told(*known: tuple[Path, str]) -> Json:
    ids = [{"uri": path.as_uri(), "value": value} for path, value in known]
    return {"previousResultIds": ids}


def changed(client: LspClient, path: Path, text: str, version: int) -> None:
    """Edit and save a file."""
    document = {"uri": path.as_uri()}
    path.write_text(text)
    client.notify(
        "textDocument/didChange",
        {
            "textDocument": {**document, "version": version},
            "contentChanges": [{"text": text}],
        },
    )
    client.notify("textDocument/didSave", {"textDocument": document})


@pytest.mark.parametrize(
    ("capabilities", "expected"),
    [
        (
            PULLS,
            {
                "identifier": "fxls",
                "interFileDependencies": True,
                "workspaceDiagnostics": True,
            },
        ),
        # Who cannot be told to ask again would miss what a trace finds out later.
        ({"textDocument": {"diagnostic": {}}}, None),
        ({}, None),
    ],
)
def test_diagnostics_are_given_to_who_asks_again(
    project: Path, capabilities: Json, expected: Json
) -> None:
    with started() as client:
        answered = client.initialize(project, capabilities=capabilities)
        client.end()

    assert answered.get("diagnosticProvider") == expected


def test_an_open_file_is_asked_for_and_not_pushed(
    client: LspClient, project: Path
) -> None:
    net = project / "net.py"
    client.open(net)
    client.reply("workspace/diagnostic/refresh")
    first = pulled(client, net)
    again = pulled(client, net, first["resultId"])
    changed(client, net, SOURCE, 2)
    client.reply("workspace/diagnostic/refresh")
    nothing = pulled(client, net, first["resultId"])
    still = pulled(client, net, nothing["resultId"])

    assert first == {"kind": "full", "resultId": first["resultId"], "items": [FAILURE]}
    assert again == {"kind": "unchanged", "resultId": first["resultId"]}
    assert nothing == {"kind": "full", "resultId": nothing["resultId"], "items": []}
    assert still == {"kind": "unchanged", "resultId": nothing["resultId"]}


def test_what_is_no_file_has_no_diagnostics(client: LspClient, project: Path) -> None:
    virtual = {"textDocument": {"uri": "fxls:/nobody/forward.py"}}

    assert client.request("textDocument/diagnostic", virtual) == {
        "kind": "full",
        "items": [],
    }


def test_a_file_that_is_not_open_is_pushed_until_all_files_are_asked_for(
    client: LspClient, project: Path
) -> None:
    net, toml = project / "net.py", project / "pyproject.toml"
    toml.write_text("[tool.fxls]\nentries = 3\n")
    client.open(net)
    client.reply("workspace/diagnostic/refresh")
    (pushed,) = client.diagnostics(toml)
    whole = client.request("workspace/diagnostic", told())
    taken_back = client.diagnostics(toml)

    ids = [item["resultId"] for item in whole["items"]]
    full = {"kind": "full", "version": None}
    assert pushed["message"].startswith("[tool.fxls] entries is not a list")
    assert taken_back == []
    assert [{"version": None, **item} for item in whole["items"]] == [
        {**full, "uri": net.as_uri(), "resultId": ids[0], "items": [FAILURE]},
        {**full, "uri": toml.as_uri(), "resultId": ids[1], "items": [pushed]},
    ]


def test_a_question_about_all_files_waits_for_something_to_say(
    client: LspClient, project: Path
) -> None:
    net = project / "net.py"
    waiting = client.send("workspace/diagnostic", told())
    client.open(net)
    client.reply("workspace/diagnostic/refresh")
    (item,) = client.answer(waiting)["result"]["items"]
    waiting = client.send("workspace/diagnostic", told((net, item["resultId"])))
    changed(client, net, SOURCE, 2)
    client.reply("workspace/diagnostic/refresh")
    (gone,) = client.answer(waiting)["result"]["items"]

    assert item["items"] == [FAILURE]
    assert (gone["uri"], gone["items"]) == (net.as_uri(), [])


def test_a_question_that_waits_is_given_up_for_the_next_and_at_the_end(
    project: Path,
) -> None:
    with started() as client:
        client.initialize(project, capabilities=PULLS)
        first = client.send("workspace/diagnostic", told())
        second = client.send("workspace/diagnostic", told())
        given_up = client.answer(first)["error"]
        third = client.send("workspace/diagnostic", told())
        client.answer(second)
        client.notify("$/cancelRequest", {"id": third})
        cancelled = client.answer(third)["error"]
        last = client.send("workspace/diagnostic", told())
        client.request("shutdown", None)
        ended = client.answer(last)["error"]
        client.notify("exit", None)
        client.process.wait(PATIENCE)

    assert (
        given_up
        == ended
        == {
            "code": -32802,
            "message": "its client does not wait for it any more",
            "data": {"retriggerRequest": False},
        }
    )
    assert cancelled["code"] == -32800


def test_a_file_that_was_closed_shows_what_it_has_as_any_other(
    client: LspClient, project: Path
) -> None:
    net, toml = project / "net.py", project / "pyproject.toml"
    toml.write_text("[tool.fxls]\nentries = 3\n")
    client.open(net, SOURCE)
    (pushed,) = client.diagnostics(toml)
    client.open(toml)
    taken_back = client.diagnostics(toml)
    opened = pulled(client, toml)
    client.notify("textDocument/didClose", {"textDocument": {"uri": toml.as_uri()}})
    again = client.diagnostics(toml)

    assert taken_back == []
    assert opened["items"] == again == [pushed]
