"""A client that leaves a program, and attaches to it again, has all of it again."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.debug.conftest import NET
from tests.debug.debugged import Debugged
from tests.debug.project import Project
from tests.debug.started import Started, started
from tests.debug.test_attached_late import ends

pytestmark = pytest.mark.slow

FXLS = "fxls.adapter"

SERVES = """\
    import fxls, debugpy, sys, torch
    from fxls import engine
    from net import Net

    fxls.install()
    torch.manual_seed(0)
    model = engine.symbolic_trace(Net())
    port = debugpy.listen(("127.0.0.1", 0))[1]
    print("port", port, file=sys.stderr, flush=True)
    while (wanted := input()) != "end":
        model(torch.full((2, 4), float(wanted)))
    """
"""It calls its model with what it is given, again and again."""


@pytest.fixture
def program(project: Project) -> Generator[Started]:
    """A program that has made its graphs, and waits."""
    project.write({"net.py": NET, "serves.py": SERVES})
    with started(project, "serves.py") as process:
        yield process


@pytest.mark.parametrize("adapter", [None, FXLS])
def test_breakpoints_are_those_of_the_client_that_is_there(
    project: Project, program: Started, adapter: str | None
) -> None:
    port = int(program.says("port "))
    for node in ("relu", "add", "relu"):
        debugged = attached(project, adapter, port)
        debugged.stop_at(f"Net:{node}")
        program.type("1")
        assert debugged.stopped() == f"Net:{node}"
        leave(debugged)
    program.type("1")  # nobody is there
    with attached(project, adapter, port) as debugged:
        debugged.break_on("node:relu")
        program.type("1")
        assert debugged.stopped() == "Net:relu"
        debugged.session.resume()
        ends(debugged, program)


def test_rules_are_those_of_the_client_that_is_there(
    project: Project, program: Started
) -> None:
    port = int(program.says("port "))
    for _ in range(2):
        debugged = attached(project, FXLS, port, breakOn=["nan"])
        program.type("inf")
        assert debugged.stopped() == "Net:linear"
        leave(debugged)
        program.type("inf")
    with attached(project, FXLS, port) as debugged:
        program.type("inf")
        ends(debugged, program)


def attached(
    project: Project, adapter: str | None, port: int, **settings: object
) -> Debugged:
    """A new client of a program that listens; without an adapter it asks debugpy's."""
    if adapter is None:
        debugged = Debugged(project, port)
    else:
        debugged = Debugged(project, adapter=adapter)
        settings["connect"] = {"port": port}
    debugged.session.attach(settings=settings)
    return debugged


def leave(debugged: Debugged) -> None:
    """Detach, as an editor does; the program runs on."""
    debugged.session.request("disconnect", {"terminateDebuggee": False})
    # Once, debugpy did not answer a client that connected while it ended another session.
    debugged.session.wait_hung_up()
    debugged.session.hang_up()
