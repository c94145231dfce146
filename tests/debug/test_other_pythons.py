"""Listings that need no torch are debugged by debugpy on every Python that is here.

debugpy has one way to stop for Python 3.11 and another from 3.12 on. The programs run
the files of a store; without torch there is no runtime in them.
"""

from __future__ import annotations

import operator
import sys
from pathlib import Path

import debugpy  # noqa: T100  # it is tested
import pytest

import fxls
from fxls import engine
from fxls.engine import GraphModule
from fxls.listing import Listing
from fxls.runtime import listing_of
from fxls.store import Store
from tests.support.dap import Session

pytestmark = pytest.mark.slow

PYTHONS = [
    sys.executable,
    *sorted(map(str, Path.home().glob(".pyenv/versions/3.1[2-9]*/bin/python"))),
]

PROGRAM = """\
import sys

path, driver = sys.argv[1:]
with open(path) as file:
    code = compile(file.read(), path, "exec")
# As the runtime does, for a forward that only calls its sections.
parts = [c.replace(co_filename=driver) if driver and hasattr(c, "co_name") else c
         for c in code.co_consts]
names = {}
exec(code.replace(co_consts=tuple(parts)), names)
forward = names["forward"]
y = forward(None, 1)
print("ran", y)
"""

BREAKING = """\
import sys
import types

for name, values in {
    "fxls.runtime": {"__path__": [sys.argv[1]]},
    "fxls.runtime.torch_private": {"is_compiled": bool, "is_compiling": bool},
}.items():
    sys.modules[name] = module = types.ModuleType(name)
    vars(module).update(values)

from fxls.rules import BrokenRule
from fxls.runtime.debugging import pydevd

def check(frame):
    pydevd.connected().stop_for(frame, BrokenRule("nan: node add"))

def forward():
    x = 1
    check(sys._getframe())
    x = 2
    return x

forward()
"""
"""The runtime's part that stops, without those that need torch."""

FINDING = """\
import sys
import types

sys.modules["fxls.runtime"] = module = types.ModuleType("fxls.runtime")
module.__path__ = [sys.argv[1]]

from fxls.runtime.debugging.pydevd_codes import find_codes_at_once
from fxls.runtime.patches import Patches

def forward(x):
    y = x + 1
    return y

patches = Patches()
find_codes_at_once(patches)
forward(1)
forward(2)
found = [put.get(forward.__code__) is not None for *_, put in patches._done]
patches.undo()
forward(3)
print(sys.version_info >= (3, 12), found)
"""
"""The part that finds what pydevd knows of a code object, put in and taken out."""

TORCH = """\
class compiler:
    @staticmethod
    def is_compiling():
        return False
"""
"""All of torch that the listings need."""


class Place:
    """A folder with a program, a listing, and what a Python without packages needs."""

    def __init__(self, folder: Path, lines: int) -> None:
        self.folder = folder
        self.program = folder / "program.py"
        self.program.write_text(PROGRAM, "utf-8")
        packages = folder / "site-packages"  # what is there is a library
        packages.mkdir()
        (packages / "torch.py").write_text(TORCH, "utf-8")
        found = Path(debugpy.__file__).parent
        (packages / "debugpy").symlink_to(found)
        self.env = {"PYTHONPATH": str(packages)}
        self.listing = listing(lines)
        self.path = Store(folder / ".fxls").materialize(self.listing)

    def session(self, python: str) -> Session:
        return Session.spawn(cwd=self.folder, env=self.env, python=python)

    def launch(self, session: Session, *wanted: dict[str, object]) -> None:
        """Start the program with breakpoints on nodes, and on the line of the call."""
        parts = self.listing.text.count("def section_")
        driver = f"<fxls forward of {self.path}>" if parts else ""
        rows = PROGRAM.splitlines()
        answers = session.launch(
            self.program,
            breakpoints={
                self.program: [rows.index("y = forward(None, 1)") + 1],
                self.path: wanted,
            },
            arguments=[str(self.path), driver],
            env=self.env,
        )
        assert all(one.verified for found in answers.values() for one in found)

    def on(self, node: str, **more: object) -> dict[str, object]:
        """A breakpoint on a node."""
        (line,) = (f.line for f in self.listing.nodes if f.name == node)
        return {"line": line + 1, **more}

    def node(self, session: Session) -> str:
        """The node that a program stops on."""
        top = session.top()
        assert top.source.path == str(self.path)
        assert top.source.source_reference == 0
        (name,) = (f.name for f in self.listing.nodes if f.line == top.line - 1)
        return name


def listing(lines: int) -> Listing:
    graph = engine.Graph()
    x = graph.placeholder("x")
    for _ in range(lines):
        x = graph.call_function(operator.add, (x, 1))
    graph.output(x)
    return listing_of(GraphModule({}, graph))


@pytest.fixture(params=[5, 1500], ids=["short", "in sections"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return Place(tmp_path, request.param)


@pytest.mark.parametrize("python", PYTHONS)
def test_a_step_leads_into_the_listing_and_on(place: Place, python: str) -> None:
    with place.session(python) as session:
        place.launch(session)
        session.wait_stopped()
        session.step_in()
        assert place.node(session) == "add"
        names = [frame.name for frame in session.stack()]
        assert names[-1] == "<module>"
        assert len(names) == 2
        session.next()
        assert place.node(session) == "add_1"
        assert session.locals()["add"] == "2"
        session.step_out()
        assert session.top().source.path == str(place.program)
        session.resume()
        assert session.wait_ended() == 0


@pytest.mark.parametrize("python", PYTHONS)
def test_breakpoints_stop_where_they_hold(place: Place, python: str) -> None:
    with place.session(python) as session:
        place.launch(
            session,
            place.on("add_2", condition="x is None and add_1 == 100"),
            place.on("add_3", condition="add_2 == 4"),
        )
        session.wait_stopped()
        session.resume()
        session.wait_stopped()
        assert place.node(session) == "add_3"
        session.resume()
        assert session.wait_ended() == 0


@pytest.mark.parametrize("python", PYTHONS)
def test_steps_cross_the_border_of_two_sections(tmp_path: Path, python: str) -> None:
    place = Place(tmp_path, 1500)
    with place.session(python) as session:
        place.launch(session, place.on("add_127"))
        session.wait_stopped()
        session.resume()
        session.wait_stopped()
        assert session.top().name == "section_0"
        session.next()
        assert place.node(session) == "add_128"
        assert session.top().name == "section_1"
        session.step_in()
        assert place.node(session) == "add_129"
        session.resume()
        assert session.wait_ended() == 0


@pytest.mark.parametrize("python", PYTHONS)
def test_a_broken_rule_stops_as_an_exception_does(tmp_path: Path, python: str) -> None:
    place = Place(tmp_path, 1)
    place.program.write_text(BREAKING, "utf-8")
    place.env["PYTHONPATH"] += f":{Path(fxls.__file__).parent.parent}"
    with place.session(python) as session:
        session.launch(
            place.program,
            breakpoints={},
            arguments=[str(Path(fxls.__file__).parent / "runtime")],
            env=place.env,
        )
        session.wait_stopped()
        (stop,) = session.events("stopped")
        assert stop.body["reason"] == "exception"
        asked = session.request("exceptionInfo", {"threadId": 1})
        for kind, said in (
            (stop.body["text"], stop.body["description"]),
            (asked["exceptionId"], asked["description"]),
        ):
            assert (kind, said) == ("BrokenRule", "nan: node add")
        assert session.top().name == "forward"
        session.next()
        assert session.top().line == BREAKING.splitlines().index("    x = 2") + 1
        session.resume()
        assert session.wait_ended() == 0
        assert session.output("stderr") == ""


@pytest.mark.parametrize("python", PYTHONS)
def test_breakpoints_hold_while_codes_are_found_at_once(
    tmp_path: Path, python: str
) -> None:
    place = Place(tmp_path, 1)
    place.program.write_text(FINDING, "utf-8")
    place.env["PYTHONPATH"] += f":{Path(fxls.__file__).parent.parent}"
    line = FINDING.splitlines().index("    return y") + 1
    with place.session(python) as session:
        session.launch(
            place.program,
            breakpoints={place.program: [{"line": line, "condition": "y != 3"}]},
            arguments=[str(Path(fxls.__file__).parent / "runtime")],
            env=place.env,
        )
        for y in ("2", "4"):
            session.wait_stopped()
            assert (session.top().line, session.locals()["y"]) == (line, y)
            session.resume()
        assert session.wait_ended() == 0
        # pydevd has asked the one that was put in, where it asks at all.
        assert session.output("stdout") in ("False []\n", "True [True]\n")
