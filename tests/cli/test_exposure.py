"""Whoever lets other machines in is told what they can do."""

from __future__ import annotations

import socket

import pytest

from fxls.launching.listening import Address, exposure
from tests.cli.command import Command, Ended
from tests.debug.project import Project
from tests.debug.started import started


def warning(where: str) -> str:
    return (
        f"fxls: warning: whoever reaches {where} can run code as somebody on this"
        " machine, without a password\n"
        "help: Listen on 127.0.0.1, and come from elsewhere through `ssh -L`,"
        " unless you trust all of that network.\n"
    )


@pytest.fixture(autouse=True)
def user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "somebody")


@pytest.mark.parametrize(
    "host",
    ["0.0.0.0", "0", "::", "192.0.2.7", "2001:db8::7", "::ffff:192.0.2.7", "10.1"],
)
def test_an_address_that_others_reach_is_exposed(host: str) -> None:
    where = Address(host, 5678)
    assert f"fxls: warning: {exposure(where)}\n" == warning(str(where))


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "127.1", "127.20.30.40", "::1", "::ffff:127.0.0.1", "localhost"],
)
def test_a_loopback_address_is_not(host: str) -> None:
    assert exposure(Address(host, 5678)) is None


@pytest.mark.parametrize(
    ("addresses", "is_exposed"),
    [
        (["192.0.2.7"], True),
        (["127.0.1.1"], False),
        (["::1", "127.0.0.1"], False),
        (["127.0.0.1", "192.0.2.7"], True),
        ([], False),
    ],
)
def test_a_name_is_what_it_is_resolved_to(
    monkeypatch: pytest.MonkeyPatch, addresses: list[str], *, is_exposed: bool
) -> None:
    def resolved(host: str, port: int | None, **_: object) -> list[tuple[object, ...]]:
        assert (host, port) == ("workstation", None)
        if not addresses:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(2, 1, 6, "", (address, 0)) for address in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", resolved)
    assert (exposure(Address("workstation", 5678)) is not None) is is_exposed


def test_the_server_says_it_before_it_listens(fxls: Command) -> None:
    with socket.create_server(("0.0.0.0", 0)) as taken:
        where = f"0.0.0.0:{taken.getsockname()[1]}"
        ended = fxls.run("serve", "--tcp", where)
    assert (ended.code, ended.out) == (3, "")
    assert ended.err.startswith(warning(where))


def test_attach_says_it_before_the_program_listens(fxls: Command) -> None:
    assert fxls.run("attach", "0", "--listen", "0.0.0.0:0") == Ended(
        1, "", warning("0.0.0.0:0") + "fxls: error: 0 is the number of no process\n"
    )
    assert fxls.run("attach", "0", "--listen", "localhost:0") == Ended(
        1, "", "fxls: error: 0 is the number of no process\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize("command", ["run", "debug"])
def test_a_program_says_it_before_it_starts(command: str, fxls: Command) -> None:
    fxls.file("print('ran')")
    project = Project(fxls.folder)
    arguments = [command, "--listen", "0.0.0.0:0", "net.py"]
    with started(project, "-m", "fxls", *arguments) as program:
        stderr = program.process.stderr
        assert stderr is not None
        assert stderr.readline() + stderr.readline() == warning("0.0.0.0:0")
        waits = stderr.readline()
        assert waits.startswith("fxls: the program waits for a debugger on 0.0.0.0:")
