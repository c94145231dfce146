"""`fxls list`, `fxls serve`, `fxls --help`: the commands that run no code."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from fxls import __version__
from fxls.cli.report import age, rows
from fxls.listing import Facts, Identity, Listing
from fxls.store import Store
from tests.cli.command import Command, Ended


def materialized(store: Path, identity: Identity, text: str) -> Path:
    nodes = (Facts("x", "placeholder", "x", 0), Facts("output", "output", "output", 1))
    return Store(store).materialize(Listing(identity, text, 0, (), nodes, entry="N()"))


def test_the_version(fxls: Command) -> None:
    assert fxls.run("--version") == Ended(0, f"fxls {__version__}\n", "")


@pytest.mark.parametrize("arguments", [("--help",), ("trace", "--help")])
def test_help_teaches_with_examples(fxls: Command, arguments: tuple[str, ...]) -> None:
    ended = fxls.run(*arguments)
    assert (ended.code, ended.err) == (0, "")
    assert "examples:\n  fxls trace " in ended.out
    assert max(map(len, ended.out.splitlines())) <= 88


def test_no_command_is_help(fxls: Command) -> None:
    assert fxls.run() == fxls.run("--help")


@pytest.mark.parametrize(
    ("command", "advice"),
    [
        ("lits", "did you mean `fxls list`?"),
        ("purne", "did you mean `fxls prune`?"),
        ("x", "`fxls --help` shows the commands."),
    ],
)
def test_a_command_that_there_is_not(fxls: Command, command: str, advice: str) -> None:
    assert fxls.run(command, "--store", "x") == Ended(
        2, "", f"fxls: error: there is no command {command!r}\nhelp: {advice}\n"
    )


def test_what_is_wrong_is_red_where_colours_are_wanted(fxls: Command) -> None:
    said = ": there is no command 'tarce'\nhelp: did you mean `fxls trace`?\n"
    for env, word in (
        ({"FORCE_COLOR": "1"}, "\x1b[1;31merror:\x1b[0m"),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, "error:"),
        ({}, "error:"),
    ):
        ended = fxls.run("tarce", env=env)
        assert ended == Ended(2, "", f"fxls: {word}{said[1:]}")


def test_a_list_has_colours_where_they_are_wanted(fxls: Command) -> None:
    identity = Identity("net", "Net", stage="a")
    materialized(fxls.folder / ".fxls", identity, "def forward(self):\n    pass\n")
    plain = fxls.run("list").out
    assert "\x1b" not in plain
    colored = fxls.run("list", env={"FORCE_COLOR": "1"}).out.splitlines()
    assert [line.startswith("\x1b[1m") for line in colored] == [
        True,
        True,
        False,
        False,
    ]
    both = {"FORCE_COLOR": "1", "NO_COLOR": "1"}
    assert fxls.run("list", env=both).out == plain


def test_a_list_for_programs(fxls: Command) -> None:
    path = materialized(
        fxls.folder / "s", Identity("net", "Net"), "def forward(self):\n    pass\n"
    )
    ended = fxls.run("list", "--json", env={"FXLS_STORE": "s"})
    listed = json.loads(ended.out)
    assert listed["listings"][0].pop("time") > 0
    assert listed == {
        "schema": 1,
        "store": "FOLDER/s",
        "listings": [
            {
                "identity": {
                    "module": "net",
                    "qualname": "Net",
                    "producer": "engine",
                    "stage": "",
                    "rank": None,
                },
                "path": fxls.alike(str(path)),
                "nodes": 2,
                "entry": "N()",
                "sources": [],
            }
        ],
    }


def test_an_empty_store(fxls: Command) -> None:
    assert fxls.run("list") == Ended(
        0,
        "",
        "fxls: no listings in FOLDER/.fxls\n"
        "help: `fxls run FILE` or `fxls trace FILE` makes one; --store or FXLS_STORE "
        "names another folder.\n",
    )


def test_a_listing_that_was_edited_by_hand(fxls: Command) -> None:
    path = materialized(
        fxls.folder / ".fxls", Identity("net", "Net"), "def forward(self):\n    pass\n"
    )
    path.write_text("def forward(self):\n    return 3\n")
    ended = fxls.run("list")
    assert ended.code == 3
    assert ended.out == (
        "graph              nodes  age  newest revision\n"
        "(entries)\n"
        "  net.Net  engine  ?      now  .fxls/Net_<hash>.py\n"
    )
    assert ended.err.startswith("fxls: warning: FOLDER/.fxls/Net_<hash>.py: ")
    assert "\nhelp: " in ended.err


def test_a_store_that_is_a_file(fxls: Command) -> None:
    fxls.file("", ".fxls")
    assert fxls.run("list") == Ended(
        3,
        "",
        "fxls: error: FOLDER/.fxls is not a folder\nhelp: Move the file away.\n",
    )


@pytest.mark.parametrize("command", ["list", "prune"])
@pytest.mark.parametrize("way", ["--store", "FXLS_STORE"])
def test_a_store_that_is_not_there(fxls: Command, command: str, way: str) -> None:
    arguments = ["--store", "gone"] if way == "--store" else []
    env = {} if way == "--store" else {way: "gone"}
    assert fxls.run(command, *arguments, env=env) == Ended(
        3,
        "",
        "fxls: error: there is no store FOLDER/gone\n"
        "help: Check --store, or FXLS_STORE; a program that runs under "
        "`fxls run --store FOLDER` makes one.\n",
    )
    assert not (fxls.folder / "gone").exists()


@pytest.mark.parametrize("address", ["9000", "localhost:", "localhost:x", "h:70000"])
def test_an_address_that_is_none(fxls: Command, address: str) -> None:
    ended = fxls.run("serve", "--tcp", address)
    assert (ended.code, ended.err.splitlines()[-1]) == (
        2,
        f"fxls serve: error: argument --tcp: {address!r} is not HOST:PORT",
    )


def test_the_server_ends_with_its_client(fxls: Command) -> None:
    for arguments in ((), ("--stdio",)):
        assert fxls.run("serve", *arguments) == Ended(0, "", "")


def test_a_port_that_is_taken(fxls: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = fxls.run("serve", "--tcp", f"127.0.0.1:{port}")
    assert (ended.code, ended.out) == (3, "")
    assert ended.err.splitlines()[-1] == (
        f"fxls: error: cannot listen on 127.0.0.1:{port}: Address already in use"
    )


def test_the_command_line_starts_without_torch() -> None:
    code = "import sys, fxls.cli; print('torch' in sys.modules)"
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert ended.stdout == "False\n"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "now"),
        (59, "now"),
        (60, "1 minute"),
        (7199, "1 hour"),
        (7200, "2 hours"),
        (86400 * 3.5, "3 days"),
    ],
)
def test_an_age(seconds: float, text: str) -> None:
    assert age(seconds) == text


def test_a_table_counts_wide_characters_twice() -> None:
    assert rows(("a", "b"), [("模型", "1"), ("net", "2")]) == (
        "a     b\n模型  1\nnet   2"
    )


def test_a_store_is_pruned(fxls: Command) -> None:
    root = fxls.folder / ".fxls"
    path = materialized(root, Identity("net", "Net"), "#" * 60_000)
    assert fxls.run("prune") == Ended(
        0, "0 deleted, 0.0 MB; 0.1 MB stay in FOLDER/.fxls\n", ""
    )
    # This process wrote it, and runs.
    assert fxls.run("prune", "--all") == Ended(
        0, "0 deleted, 0.0 MB; 0.1 MB stay in FOLDER/.fxls\n", ""
    )
    for log in (root / "log").iterdir():
        log.unlink()
    assert fxls.run("prune", "--all", "--dry-run") == Ended(
        0,
        ".fxls/Net_<hash>.py\n"
        "1 would be deleted, 0.1 MB; 0.0 MB stay in FOLDER/.fxls\n",
        "",
    )
    assert path.exists()
    assert fxls.run("prune", "--all") == Ended(
        0, "1 deleted, 0.1 MB; 0.0 MB stay in FOLDER/.fxls\n", ""
    )
    assert not path.exists()
    ended = fxls.run("prune", "--days", "0")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.endswith("--days: '0' is not a number of days above 0\n")
