"""A step goes from the call of a compiled model into the listing of its graph."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fxls.cli.followed_program import GRAPHS_ANEW
from fxls.listing import Identity
from tests.debug.conftest import STOPS_AT_CALL
from tests.debug.debugged import Debugged
from tests.debug.project import Project
from tests.support.programs import needs_inductor

pytestmark = pytest.mark.slow


_UNLOADED = re.compile(
    r"Exception ignored in: <function _DeleteDummyThreadOnDel(?:.*\n){3}.*context manager"
    r" protocol\n"
)
"""What Python 3.13.0 prints when it ends, of a thread that it did not start."""

CALLS = ["run.py: y = compiled(x)", "run.py: z = compiled(x)"]


def test_one_step_leads_from_the_call_into_the_graph(project: Project) -> None:
    """The first call, which compiles, and a later one; each backend that runs nodes."""
    project.write({"net.py": NET, "run.py": RUN})
    with Debugged(project) as debugged:
        debugged.launch(stop_at=CALLS)
        # What AOTAutograd makes takes its inputs out of a list, before the first node.
        for first in ("Small:l_x_", "Small:l_x_", "Small:"):
            for call in CALLS:
                assert debugged.stopped() == call
                assert debugged.step_in() == first
                assert debugged.stack() == [
                    f"forward @ {first}",
                    "forward @ net.py: def forward(self, x):",
                    f"<module> @ {call}",
                ]
                assert debugged.step_out() == call
                debugged.session.resume()
        assert debugged.session.wait_ended() == 0
        assert debugged.session.output("stdout") == "ran\n"


def test_a_step_goes_on_to_what_lies_between_two_graphs(project: Project) -> None:
    project.write({"net.py": BROKEN, "run.py": RUN.replace(MORE, "")})
    with Debugged(project) as debugged:
        debugged.launch(stop_at=CALLS)
        for call in CALLS:
            assert debugged.stopped() == call
            assert debugged.step_in() == "Small:l_x_"
            assert debugged.step_out() == 'net.py: print("between")'
            assert debugged.step_in() == "Small:l_relu_"
            assert debugged.stack() == [
                "forward @ Small:l_relu_",
                'torch_dynamo_resume_in_forward_at_8 @ net.py: print("between")',
                'forward @ net.py: print("between")',
                f"<module> @ {call}",
            ]
            assert debugged.step_out() == call
            debugged.session.resume()
        assert debugged.session.wait_ended() == 0
        assert debugged.session.output("stdout") == "between\nbetween\nran\n"


def test_pdb_steps_from_the_call_into_the_graph(project: Project) -> None:
    begin = f"fxls.set_trace()\n{8 * ' '}y = compiled(x)"
    program = RUN.replace("y = compiled(x)", begin).replace(MORE, "")
    project.write({"net.py": NET, "run.py": program})
    first = ["fxls.set_trace()"] * STOPS_AT_CALL
    typed = (
        STOPS_AT_CALL * "step\n"
        + "step\nstep\nreturn\nstep\nstep\nstep\nnext\ncontinue\n"
    )
    said = project.run("run.py", given=typed).stdout
    places = [line[3:] for line in said.splitlines() if line.startswith("-> ")]
    assert places == [
        *first,
        "y = compiled(x)",
        "def forward(self, L_x_ : torch.Tensor):",
        "l_x_ = L_x_",
        "return (sum_1,)",
        "z = compiled(x)",
        "def forward(self, L_x_ : torch.Tensor):",
        "l_x_ = L_x_",
        "relu = torch.relu(l_x_);  l_x_ = None",
    ]


def test_a_breakpoint_in_the_model_stops_at_the_node_that_its_line_became(
    project: Project,
) -> None:
    project.write({"net.py": NET, "run.py": RUN.replace(MORE, ' "aot_eager", "eager"')})
    with Debugged(project) as debugged:
        debugged.launch(stop_at=["net.py: relu = torch.relu(x) if l_x_.sum() == 8"])
        for backend in ("eager", "aot_eager"):
            for call in CALLS:
                assert debugged.stopped() == "Small:relu", backend
                assert debugged.stack()[-1] == f"<module> @ {call}"
                debugged.session.resume()
        assert debugged.stopped() == "Small:relu"
        path, line = node_of(project, "graph 0", "relu")
        assert debugged.session.output("important") == (
            "fxls: line 7 of net.py: torch.compile runs it as nodes: stops at line"
            f" {line} of {path.name}; its condition and message read the names of nodes\n"
        )
        debugged.session.set_breakpoints(project.folder / "net.py", [])
        assert debugged.finish() == "ran\n"


def test_a_breakpoint_in_the_model_that_comes_too_late_says_what_to_do(
    project: Project,
) -> None:
    backend = RUN.replace('"eager", "fxls", "aot_eager"', '"aot_eager",')
    project.write({"net.py": NET, "run.py": backend})
    with Debugged(project) as debugged:
        debugged.launch(stop_at=CALLS[1:])
        assert debugged.stopped() == CALLS[1]
        debugged.stop_at("net.py: relu = torch.relu(x)")
        debugged.session.evaluate("torch.compiler.reset()")
        assert debugged.session.output("important") == (
            "fxls: line 7 of net.py: stops nothing: aot_eager runs the graphs that it"
            " made of this one; after torch.compiler.reset() the next call stops here\n"
        )
        assert debugged.resume() == "Small:relu"
        assert debugged.finish() == "ran\n"


def test_torch_does_not_compile_what_pdb_does_between_two_lines(
    project: Project,
) -> None:
    project.write({"net.py": NET, "run.py": RUN.replace(MORE, "")})
    typed = f"break {project.folder}/net.py:8\ncontinue\nquit\n"
    ran = project.run("-m", "fxls.pdb", "run.py", given=typed)
    assert "(Pdb) ran\n" in ran.stdout
    assert ran.stderr == ""


def test_a_breakpoint_stops_in_a_graph_that_a_backend_would_compile_away(
    project: Project,
) -> None:
    project.write({"net.py": NET, "run.py": RUN.replace(MORE, "")})
    project.run("run.py")
    once = RUN.replace('"eager", "fxls", "aot_eager"', '"inductor", "aot_eager"')
    project.write({"run.py": once})
    with Debugged(project) as debugged:
        debugged.launch(stop_at=["Small:sum_1"])
        for call in CALLS * 2:
            assert debugged.stopped() == "Small:sum_1"
            assert debugged.stack()[-1] == f"<module> @ {call}"
            debugged.session.resume()
        assert debugged.session.wait_ended() == 0
        said = (
            "fxls: what {} would compile runs node by node, as torch.compile captured"
        )
        said += " it, because there is a breakpoint in it\n"
        ended = _UNLOADED.sub("", debugged.session.output("stderr"))
        assert ended == said.format("inductor") + said.format("aot_eager")


@needs_inductor
def test_a_breakpoint_in_a_graph_that_was_compiled_says_what_to_do(
    project: Project,
) -> None:
    project.write({"net.py": NET.replace("torch.relu(x)", "x @ x.t()")})
    backends = RUN.replace('"eager", "fxls", "aot_eager"', '"inductor", "aot_eager"')
    project.write({"run.py": backends})
    with Debugged(project) as debugged:
        # Of a graph that it finds in its cache inductor shows no stages.
        settings = {"subProcess": False}
        debugged.launch(stop_at=CALLS[1:], settings=settings, env=GRAPHS_ANEW)
        assert debugged.stopped() == CALLS[1]
        stops_nothing(
            *(debugged, "graph 0, forward", "mm"),
            "torch.compile made this graph on its way, and its nodes do not run; set the"
            f" breakpoint in {node_of(project, 'graph 0', 't')[0].name}, the"
            " graph that it captured, and call torch.compiler.reset()",
        )
        for compiled in (
            "inductor has compiled the graph, and its nodes do not run;",
            "aot_eager runs the graphs that it made of this one;",
        ):
            said = f"{compiled} after torch.compiler.reset() the next call stops here"
            stops_nothing(debugged, "graph 0", "t", said)
            known = debugged.told()
            assert debugged.resume() == "Small:t"
            assert debugged.told() == [
                *known,
                ("changed", "Small:t", True, ""),
            ]
            path, _ = node_of(project, "graph 0", "t")
            debugged.session.set_breakpoints(path, [])
            if compiled.startswith("inductor"):
                assert debugged.resume() == CALLS[1]
        assert debugged.finish() == "ran\n"


def stops_nothing(debugged: Debugged, stage: str, node: str, said: str) -> None:
    """A new breakpoint on a node says so; afterwards nothing is compiled any more."""
    path, line = node_of(debugged.project, stage, node)
    known, printed = debugged.told(), debugged.session.output("important")
    debugged.session.set_breakpoints(path, [line])
    debugged.session.evaluate("torch.compiler.reset()")
    assert debugged.told() == [*known, ("changed", f"Small:{node}", False, said)]
    assert debugged.session.output("important") == (
        f"{printed}fxls: line {line} of {path.name} stops nothing: {said}\n"
    )


def node_of(project: Project, stage: str, node: str) -> tuple[Path, int]:
    """The file and the line of a node of one of the graphs of the model."""
    newest = project.store.newest(Identity("net", "Small", "torch.compile", stage))
    assert newest is not None
    nodes = project.store.read(newest.path).nodes
    (line,) = (facts.line for facts in nodes if facts.name == node)
    return newest.path, line + 1


NET = """\
    import torch
    from torch import nn


    class Small(nn.Module):
        def forward(self, x):
            relu = torch.relu(x)
            return relu.sum()
    """

BROKEN = NET.replace("return relu", 'print("between")\n            return relu')

MORE = ' "fxls", "aot_eager"'

RUN = """\
    import torch
    import fxls
    from net import Small

    fxls.install()
    x = torch.ones(2, 4)
    for backend in ("eager", "fxls", "aot_eager"):
        compiled = torch.compile(Small(), backend=backend)
        y = compiled(x)
        z = compiled(x)
        torch.compiler.reset()
    print("ran")
    """
