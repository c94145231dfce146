"""A client that attaches when every graph was made has what others have, at once."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import pytest

from tests.debug.conftest import NET
from tests.debug.debugged import Debugged
from tests.debug.project import Project
from tests.debug.started import Started, started

pytestmark = pytest.mark.slow

SERVES = """\
    import fxls, sys, torch
    from fxls import engine
    from net import Net

    fxls.install()
    torch.manual_seed(0)
    models = [
        engine.symbolic_trace(Net()),
        torch.fx.symbolic_trace(Net()),
        torch.compile(Net(), backend="eager"),
        *(torch.compile(Net(), backend=name) for name in sys.argv[1:]),
    ]
    for model in models:
        model(torch.ones(2, 4))
    print("waiting", file=sys.stderr, flush=True)
    while (wanted := input()) != "end":
        if wanted == "listen":
            import debugpy
            port = debugpy.listen(("127.0.0.1", 0))[1]
            print("port", port, file=sys.stderr, flush=True)
        else:
            number, fill = wanted.split()
            x = torch.full((2, 4), float(fill))
            models[int(number)](x)
    """
"""It makes graphs, each by another producer, and then calls what it is asked for."""

RELU = ["relu", "relu", "hidden"]
"""What calls torch.relu in the graphs of the engine, torch.fx and torch.compile."""


@pytest.fixture
def program(project: Project, request: pytest.FixtureRequest) -> Generator[Started]:
    """A program that has made its graphs, and waits."""
    project.write({"net.py": NET, "serves.py": SERVES})
    with started(project, "serves.py", *getattr(request, "param", ())) as process:
        process.says("waiting")
        yield process


def test_a_node_is_broken_on_by_its_name(project: Project, program: Started) -> None:
    with attached(project, program) as debugged:
        debugged.break_on(*(f"node:{name}" for name in sorted(set(RELU))))
        for model, node in enumerate(RELU):
            program.type(f"{model} 1")
            assert debugged.stopped() == f"Net:{node}"
            debugged.session.resume()
        ends(debugged, program)


def test_a_condition_that_says_neither_yes_nor_no_stops(
    project: Project, program: Started
) -> None:
    with attached(project, program) as debugged:
        debugged.break_on("node:relu", condition="add")
        program.type("0 1")
        assert debugged.stopped() == "Net:relu"
        debugged.session.resume()
        assert "its condition cannot be judged: add\n" in debugged.session.output()
        ends(debugged, program)


def test_a_value_that_breaks_a_rule_stops_it(
    project: Project, program: Started
) -> None:
    with watched(project, program) as debugged:
        for model in range(3):
            program.type(f"{model} inf")
            assert debugged.stopped() == "Net:linear"
            debugged.session.resume()
        assert debugged.session.output("console") == ""
        ends(debugged, program)


@pytest.mark.parametrize("program", [["inductor"]], indirect=True)
def test_what_is_compiled_is_watched_from_the_next_stop_on(
    project: Project, program: Started
) -> None:
    with watched(project, program) as debugged:
        program.type("3 inf")
        program.type("0 inf")
        assert debugged.stopped() == "Net:linear"
        debugged.session.resume()
        program.type("3 inf")
        assert debugged.stopped() == "Net:linear"
        debugged.session.resume()
        assert debugged.session.output("console").startswith(
            "fxls: code that torch.compile made already may run no nodes; it is made"
            " again, and watched, when the program stops next: pause it for that\n"
        )
        ends(debugged, program)


@contextmanager
def watched(project: Project, program: Started) -> Generator[Debugged]:
    """A session through the adapter of fxls, which asks for a rule."""
    program.type("listen")
    where = {"connect": {"port": int(program.says("port "))}}
    with Debugged(project, adapter="fxls.adapter") as debugged:
        debugged.session.attach(settings={**where, "breakOn": ["nan"]})
        yield debugged


@contextmanager
def attached(project: Project, program: Started) -> Generator[Debugged]:
    """A session with the program, which begins to listen now."""
    program.type("listen")
    with Debugged(project, int(program.says("port "))) as debugged:
        debugged.session.attach()
        yield debugged


def ends(debugged: Debugged, program: Started) -> None:
    """Let the program end by itself."""
    program.type("end")
    debugged.session.wait_event("terminated")
    assert program.ended() == (0, "")
