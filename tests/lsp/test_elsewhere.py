"""Listings that programs elsewhere make: in another process, on another machine."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from urllib.parse import quote, unquote

import pytest

from fxls.listing import Place, source_digest
from fxls.record import (
    Compilation,
    Guard,
    Guards,
    Outcome,
    QuotedPlace,
    Remark,
    Subject,
)
from fxls.store import Store
from fxls.store.show_requests import ask_to_show
from fxls.text import Span
from tests.support.lsp_client import started
from tests.support.projects import EDITOR, SOURCE, TEXT, net_listing, spot
from tests.support.records import FIRST, written
from tests.support.ssh_server import ssh_server


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pyproject.toml").touch()
    (folder / "net.py").write_text(SOURCE, "utf-8")
    return folder


@pytest.mark.slow
def test_what_a_program_shows_is_opened(project: Path) -> None:
    with started() as client:
        client.initialize(project, capabilities=EDITOR)
        client.open(project / "net.py")
        client.unread()
        path = Store(project / ".fxls").materialize(net_listing(project))
        ask_to_show(path, 2)
        asked = client.reply("window/showDocument", {"success": True})
        client.unread()
        client.end()
    assert asked == {
        "uri": path.as_uri(),
        "takeFocus": False,
        "selection": spot(2, 0, 0),
    }


@pytest.mark.slow
def test_the_end_of_a_session_keeps_the_store_small(project: Path) -> None:
    store = Store(project / ".fxls")
    old = store.materialize(net_listing(project))
    facts = store.root / "facts" / old.stem
    for file in (old, *facts.iterdir(), facts):
        os.utime(file, (0, 0))
    young = store.materialize(net_listing(project, TEXT.replace("count", "number")))
    with started() as client:
        client.initialize(project)
        assert client.request("workspace/symbol", {"query": "Net"}) != []
        client.end()
    assert [*store.root.glob("*.py")] == [young]


@pytest.mark.slow
def test_a_store_on_another_machine_that_cannot_be_read_is_said(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(project))
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    url = f"ssh://127.0.0.1:{port}/home/.fxls"
    with started() as client:
        client.initialize(project, {"store": url}, EDITOR)
        client.open(project / "net.py")
        said = client.notification("window/showMessage")
        client.unread()
        client.end()
    assert said["type"] == 2
    assert said["message"].startswith(f"fxls: {url}: [Errno ")
    assert said["message"].endswith(
        ". Check the address and the connection. What was read of it before is still "
        "shown."
    )


@pytest.mark.slow
def test_records_of_a_store_on_another_machine_speak_of_the_files_here(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, net = tmp_path / "über there" / ".fxls", project / "net.py"
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    # The project has another path there, and the same files.
    line = SOURCE.split("\n")[6]
    at = Place(str(there.parent / "net.py"), "forward", Span.of(6, 8, 6, 14))
    place = QuotedPlace(at, line, source_digest(SOURCE.encode()))
    library = QuotedPlace(Place("/v/site-packages/lib.py", "f", Span.of(6, 0, 6, 4)))
    remark = Remark(Subject.BREAK, "why", "0/0", "GB0001", (library, place))
    guards = Guards("0/0", 1, (Guard("SIZE", "x > 2", place),))
    compiled = Compilation("0/0", "forward", Outcome.BREAK, place=place)
    written(there, FIRST, compiled, remark, guards)
    with started() as client:
        url = f"file://{quote(str(there))}"
        client.initialize(project, {"store": url}, EDITOR)
        client.open(net)
        while not (said := client.diagnostics(net)):
            pass
        asked = {"command": "fxls.guards", "arguments": [net.as_uri()]}
        sent = client.send("workspace/executeCommand", asked)
        uri = client.reply("window/showDocument", {"success": True})["uri"]
        client.answer(sent)
        document = {"textDocument": {"uri": uri}}
        links = client.request("textDocument/documentLink", document)
        client.unread()
        client.end()
    assert [(one["code"], one["range"]) for one in said] == [("GB0001", spot(6, 8, 14))]
    assert {one["target"].partition("#")[0] for one in links} == {net.as_uri()}


@pytest.mark.slow
def test_a_store_on_another_machine_is_one_of_the_servers(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = tmp_path / "there" / ".fxls"
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    # The project has another path there, and the same files.
    listing = Store(there).materialize(net_listing(there.parent))
    with ssh_server(home) as url, started() as client:
        client.initialize(project, {"store": f"{url}{there}"}, EDITOR)
        net = project / "net.py"
        client.open(net)
        # It is told of when the copy was made.
        client.reply("workspace/codeLens/refresh")
        client.reply("workspace/inlayHint/refresh")
        (found,) = client.ask("implementation", net, 6, 20)
        copy = Path(unquote(found["targetUri"].removeprefix("file://")))
        client.open(copy)
        hover = client.ask("hover", copy, 3, 6)
        client.unread()

        (origin,) = client.ask("definition", copy, 3, 6)
        second = net_listing(project).text.replace("count", "number")
        newer_there = net_listing(there.parent, second)
        ask_to_show(Store(there).materialize(newer_there), 2)
        shown = client.reply("window/showDocument", {"success": True})
        client.unread()
        errors = client.end()
    assert errors == ""
    assert copy.name == listing.name
    assert copy.is_relative_to(home / ".cache" / "fxls")
    assert copy.read_text("utf-8") == listing.read_text("utf-8")
    assert "(2,)" in hover["contents"]["value"]
    assert origin["targetUri"] == net.as_uri()
    newer = Path(unquote(shown["uri"].removeprefix("file://")))
    assert (newer.parent, newer.read_text("utf-8")) == (copy.parent, second)
    assert not (project / ".fxls").exists()
