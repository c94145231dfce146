"""A step goes from the call of a compiled model into the listing of its graph."""

from __future__ import annotations

import pytest

from fxls.listing import Identity
from tests.debug.debugged import Debugged
from tests.debug.project import Project

pytestmark = pytest.mark.slow


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
    typed = "step\nstep\nreturn\nstep\nstep\nstep\nnext\ncontinue\n"
    said = project.run("run.py", given=typed).stdout
    places = [line[3:] for line in said.splitlines() if line.startswith("-> ")]
    assert places == [
        "y = compiled(x)",
        "def forward(self, L_x_ : torch.Tensor):",
        "l_x_ = L_x_",
        "return (sum_1,)",
        "z = compiled(x)",
        "def forward(self, L_x_ : torch.Tensor):",
        "l_x_ = L_x_",
        "relu = torch.relu(l_x_);  l_x_ = None",
    ]


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
        assert debugged.session.output("stderr") == (
            said.format("inductor") + said.format("aot_eager")
        )


def test_a_breakpoint_in_a_graph_that_was_compiled_says_what_to_do(
    project: Project,
) -> None:
    project.write({"net.py": NET.replace("torch.relu(x)", "x @ x.T")})
    project.write(
        {"run.py": RUN.replace('"eager", "fxls", "aot_eager"', '"inductor",')}
    )
    with Debugged(project) as debugged:
        debugged.launch(stop_at=CALLS[1:], settings={"subProcess": False})
        assert debugged.stopped() == CALLS[1]
        captured = Identity("net", "Small", "torch.compile", "graph 0")
        newest = project.store.newest(captured)
        assert newest is not None
        nodes = project.store.read(newest.path).nodes
        (line,) = (facts.line for facts in nodes if facts.name == "getattr_1")
        debugged.session.set_breakpoints(newest.path, [line + 1])
        debugged.session.wait_event("breakpoint")
        said = "inductor has compiled the graph, and its nodes do not run; after"
        said += " torch.compiler.reset() the next call stops here"
        assert debugged.told() == [("changed", "Small:getattr_1", False, said)]
        debugged.session.evaluate("torch.compiler.reset()")
        debugged.session.resume()
        assert debugged.stopped() == "Small:getattr_1"
        assert debugged.told()[1:] == [("changed", "Small:getattr_1", True, "")]


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
