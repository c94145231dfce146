"""Generated code in Python's own debugger, driven through its standard input."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.debug.conftest import BREAKS_IN_BODY, NET, STOP, STOPS_AT_CALL
from tests.debug.project import Project

pytestmark = pytest.mark.slow


def test_a_breakpoint_by_file_and_line_stops_at_its_node(traced: Project) -> None:
    path, line = traced.line("Net:add")
    said = pdb(traced, "run.py", f"break {path}:{line}", "continue", "next", "list .")
    assert said[:4] == [
        "<module> @ run.py: import torch",
        "Breakpoint at Net:add",
        "forward @ Net:add",
        "forward @ Net:relu",
    ]
    assert re.search(r"^ +\d+  ->\t    relu = torch.relu\(add\);", said[4], re.M)


def test_a_breakpoint_by_function_stops_at_its_first_node(traced: Project) -> None:
    _, line = traced.line("run.py: y = gm(x)")
    said = pdb(
        traced,
        "run.py",
        f"until {line}",
        "break gm.forward",
        "continue",
        "until",
        "step",
        "where",
    )
    assert said == [
        "<module> @ run.py: import torch",
        "<module> @ run.py: y = gm(x)",
        f"Breakpoint at Net:{'linear' if BREAKS_IN_BODY else 'x'}",
        "forward @ Net:linear",
        "forward @ Net:add",
        "forward @ Net:relu",
        (
            "run @ bdb.py\n"
            "  <string>(1)<module>()\n"
            "<module> @ run.py: y = gm(x)\n"
            "__call__ @ graph_module.py\n"
            "_call_impl @ module.py\n"
            "forward @ Net:relu"
        ),
    ]


def test_without_a_store_the_text_in_memory_is_shown(project: Project) -> None:
    project.write({"net.py": NET, "alone.py": ALONE})
    _, line = project.line("alone.py: y = gm(torch.ones(2, 4))")
    said = pdb(
        project,
        "alone.py",
        f"until {line}",
        "break gm.forward",
        "continue",
        "next",
        "longlist",
        "break 8",
        "continue",
        "step",
    )
    assert [
        re.sub(
            r"<fxls Net.forward [0-9a-f]{12} of [^>]*>|net.py:28>",
            "<fxls Net.forward>",
            answer,
        )
        for answer in said
    ] == [
        "<module> @ alone.py: import torch",
        "<module> @ alone.py: y = gm(torch.ones(2, 4))",
        "Breakpoint at <fxls Net.forward>",
        "> <fxls Net.forward>(5)forward()\n-> linear = self.linear(x);  x = None",
        "> <fxls Net.forward>(6)forward()\n-> add = linear + linear;  linear = None",
        (
            f"4 {' ' if BREAKS_IN_BODY else 'B'}\tdef forward(self, x):\n"
            f"  5 {'B' if BREAKS_IN_BODY else ' '}\t    linear = self.linear(x);  x = None\n"
            "  6  ->\t    add = linear + linear;  linear = None\n"
            "  7  \t    relu = torch.relu(add);  add = None\n"
            "  8  \t    scaled = net_scaled(relu, factor = 3);  relu = None\n"
            "  9  \t    sum_1 = scaled.sum();  scaled = None\n"
            " 10  \t    return sum_1"
        ),
        "Breakpoint at <fxls Net.forward>",
        (
            "> <fxls Net.forward>(8)forward()\n"
            "-> scaled = net_scaled(relu, factor = 3);  relu = None"
        ),
        "--Call--\nscaled @ net.py: def scaled(x, factor):",
    ]
    assert not project.store.root.exists()


def test_a_step_of_fxls_pdb_goes_straight_into_a_forward(traced: Project) -> None:
    _, line = traced.line("run_kept.py: y = gm(torch.ones(2, 4))")
    said = pdb(
        traced,
        "run_kept.py",
        *(f"until {line}", "step", "step", "next", "step", "return", "next", "step"),
        module="fxls.pdb",
    )
    assert said == [
        "<module> @ run_kept.py: import torch",
        "<module> @ run_kept.py: y = gm(torch.ones(2, 4))",
        "--Call--\nforward @ Kept:x",
        "forward @ Kept:linear",
        "forward @ Kept:block",
        "--Call--\nforward @ net.py: def forward(self, x):",
        "--Return--\nforward @ net.py: return torch.relu(doubled)",
        "forward @ Kept:net",
        "--Call--\nforward @ Net:x",
    ]


def test_fxls_pdb_says_where_a_node_came_from(traced: Project) -> None:
    path, line = traced.line("Net:add")
    said = pdb(
        *(traced, "run.py", f"break {path}:{line}", "continue", "origin"),
        module="fxls.pdb",
    )
    assert said[2:] == [
        "forward @ Net:add",
        """\
Net.forward @ net.py: hidden = self.block(self.linear(x))
Block.forward @ net.py: doubled = x + x""",
    ]


def test_set_trace_stops_where_it_is_said(project: Project) -> None:
    project.write({"net.py": NET, "stop.py": STOP})
    last = "breakpoint()" if STOPS_AT_CALL else 'print("ran", tuple(y.shape))'
    first = ["<module> @ stop.py: fxls.set_trace()"] * STOPS_AT_CALL
    typed = ["step"] * (2 + STOPS_AT_CALL)
    assert pdb(project, "stop.py", *typed, "continue", module="") == [
        *first,
        "<module> @ stop.py: y = gm(torch.ones(2, 4))",
        "--Call--\nforward @ Net:x",
        "forward @ Net:linear",
        f"<module> @ stop.py: {last}",
    ]


ALONE = """\
    import torch
    from fxls import engine as fx
    from net import Net

    gm = fx.symbolic_trace(Net())
    y = gm(torch.ones(2, 4))
    """


FRAME = re.compile(r"^[> ] (.+)\((\d+)\)([\w.]+|<module>)\(.*\n->(.*)\n", re.M)
BREAKPOINT = re.compile(r"^Breakpoint \d+ at (.+):(\d+)\n", re.M)


def pdb(
    project: Project, program: str, *commands: str, module: str = "pdb"
) -> list[str]:
    """What pdb says to each command, and at first; lines of files as places.

    Without a module the program is run by itself.
    """
    given = "\n".join([*commands, "quit"])
    how = ["-m", module] if module else []
    env = {"PYTHONBREAKPOINT": "fxls.set_trace"}
    said = project.attempt(*how, program, given=given, env=env).stdout

    def frame(found: re.Match[str]) -> str:
        path, line, function, text = found.groups()
        if path.startswith("<"):
            return found[0]
        place = project.place(Path(path), int(line))
        assert text.strip() in project.text(Path(path), int(line)), found[0]
        return f"{function} @ {place}\n"

    def bound(found: re.Match[str]) -> str:
        return f"Breakpoint at {project.place(Path(found[1]), int(found[2]))}\n"

    answers = said.split("(Pdb) ")[:-1]
    return [BREAKPOINT.sub(bound, FRAME.sub(frame, a)).strip() for a in answers]
