"""A program stops at the first node whose value breaks a rule, in debugpy and in pdb."""

from __future__ import annotations

import re

import pytest

from tests.debug.debugged import Debugged
from tests.debug.project import Project
from tests.debug.test_pdb import pdb

pytestmark = pytest.mark.slow

NET = """\
    import torch
    from torch import nn


    class Rooted(nn.Module):
        def forward(self, x):
            shifted = x - 1
            root = torch.sqrt(shifted)
            return (root * 2).sum()


    class Flat(nn.Module):
        def forward(self, x):
            flat = torch.relu(x) * 0
            return torch.sqrt(flat).sum()
    """

FORWARD = """\
    import torch
    import fxls
    from fxls import engine as fx
    from net import Rooted

    fxls.install()
    gm = fx.symbolic_trace(Rooted())
    for x in (torch.ones(2), torch.zeros(2), torch.zeros(2)):
        y = gm(x)
    print("ran", y.item())
    """

BACKWARD = """\
    import torch
    import fxls
    from net import Flat

    fxls.install()
    gm = torch.fx.symbolic_trace(Flat())
    x = torch.ones(2, requires_grad=True)
    y = gm(x)
    y.backward()
    print("ran", x.grad.tolist())
    """

COMPILED = """\
    import torch
    import fxls
    from net import Flat

    fxls.install()
    x = torch.ones(2, requires_grad=True)
    y = torch.compile(Flat(), backend="aot_eager")(x)
    y.backward()
    print("ran", x.grad.tolist())
    """


LONG = """\
    import torch
    import fxls


    class Long(torch.nn.Module):
        def __init__(self, planted):
            super().__init__()
            self.planted = planted

        def forward(self, x):
            for i in range(10_000):
                if i == 6_789:
                    x = self.planted(x - 1)
                x = x + 0
            return x


    def flat(x):
        return torch.sqrt(x * 0)


    fxls.install()
    torch.fx.symbolic_trace(Long(torch.log))(torch.zeros(1))
    gm = torch.fx.symbolic_trace(Long(flat))
    gm(torch.zeros(1, requires_grad=True)).backward()
    print("ran")
    """


@pytest.fixture
def nets(project: Project) -> Project:
    project.write({"net.py": NET, "forward.py": FORWARD, "backward.py": BACKWARD})
    return project


def test_it_stops_at_the_node_with_its_inputs(nets: Project) -> None:
    with Debugged(nets) as debugged:
        debugged.launch("forward.py", env={"FXLS_BREAK_ON": "nan"})
        assert debugged.stopped() == "Rooted:sqrt"
        assert debugged.stack() == [
            "forward @ Rooted:sqrt",
            "<module> @ forward.py: y = gm(x)",
        ]
        path, line = nets.line("Rooted:sqrt")
        (stop,) = debugged.session.events("stopped")
        assert (stop.body["reason"], stop.body["text"], stop.body["description"]) == (
            "exception",
            "BrokenRule",
            (f"nan: node sqrt of Rooted, line {line} of {path.name}: 2 of 2 are NaN"),
        )
        asked = debugged.session.request("exceptionInfo", {"threadId": 1})
        assert (asked["exceptionId"], asked["description"]) == (
            "BrokenRule",
            stop.body["description"],
        )
        assert debugged.session.evaluate("sub.tolist(), sqrt.isnan().tolist()") == (
            "([-1.0, -1.0], [True, True])"
        )
        assert debugged.next() == "Rooted:mul"
        assert debugged.step_out() == "forward.py: y = gm(x)"
        assert debugged.finish() == "ran nan\n"
        said = debugged.session.output("important")
        assert said == (
            f"fxls: nan: node sqrt of Rooted, line {line} of {path.name}:"
            " 2 of 2 are NaN\n"
            f'  File "{path}", line {line}, in forward\n'
            "    sqrt = torch.sqrt(sub)\n"
            f'  File "{nets.folder}/net.py", line 8, in Rooted.forward\n'
            "    root = torch.sqrt(shifted)\n"
            "           ^^^^^^^^^^^^^^^^^^^\n"
            "  in call 2 of this forward\n"
            "  with sub: float32 (2,) cpu, min -1 max -1 mean -1, [-1, -1]\n"
            "  gives sqrt: float32 (2,) cpu, 2 NaN, [nan, nan]\n"
        )


def test_it_stops_in_the_backward_of_a_node(nets: Project) -> None:
    with Debugged(nets) as debugged:
        debugged.launch("backward.py", env={"FXLS_BREAK_ON": "grad-nan"})
        assert debugged.stopped() == "Flat:mul"
        assert debugged.stack() == [
            "backward of mul @ Flat:mul",
            "<module> @ backward.py: y.backward()",
        ]
        assert debugged.session.locals() == {
            "grad_mul": "float32 (2,) cpu, 2 Inf, [inf, inf]",
            "grad_relu": "float32 (2,) cpu, 2 NaN, [nan, nan]",
            "mul": (
                "float32 (2,) cpu, min 0 max 0 mean 0, [0, 0]  \N{LEFTWARDS ARROW}"
                " operator.mul, net.py:14 torch.relu(x) * 0"
            ),
            "relu": (
                "float32 (2,) cpu, min 1 max 1 mean 1, [1, 1]  \N{LEFTWARDS ARROW}"
                " torch.relu, net.py:14 torch.relu(x)"
            ),
        }
        assert debugged.step_out() == "backward.py: y.backward()"
        assert debugged.finish() == "ran [nan, nan]\n"


def test_it_stops_in_the_backward_graph_of_aot_autograd(nets: Project) -> None:
    nets.write({"compiled.py": COMPILED})
    with Debugged(nets) as debugged:
        debugged.launch("compiled.py", env={"FXLS_BREAK_ON": "grad-nan"})
        where = debugged.stopped()
        (identity,) = (
            one for one in nets.store.identities() if one.stage.endswith("backward")
        )
        newest = nets.store.newest(identity)
        assert newest is not None
        listing = nets.store.read(newest.path)
        (node,) = (i for i, f in enumerate(listing.nodes) if where == f"Flat:{f.name}")
        assert listing.nodes[node].target == "torch.ops.aten.mul.Tensor"
        origin = listing.origin(node)
        assert origin is not None
        assert nets.text(
            nets.folder / "net.py", origin.places[0].span.start.line + 1
        ) == ("flat = torch.relu(x) * 0")
        assert debugged.finish() == "ran [nan, nan]\n"


def test_the_console_asks_for_rules_while_the_program_is_stopped(nets: Project) -> None:
    with Debugged(nets) as debugged:
        debugged.launch("forward.py", stop_at=["forward.py: y = gm(x)"])
        assert debugged.stopped() == "forward.py: y = gm(x)"
        debugged.session.evaluate("fxls.break_on('nan')")
        assert debugged.resume() == "forward.py: y = gm(x)"
        assert debugged.resume() == "Rooted:sqrt"
        debugged.session.evaluate("__import__('fxls').break_on()")
        assert debugged.resume() == "forward.py: y = gm(x)"
        assert debugged.finish() == "ran nan\n"


@pytest.mark.parametrize("module", ["pdb", "fxls.pdb"])
def test_pdb_stops_at_the_node(nets: Project, module: str) -> None:
    nets.env["FXLS_BREAK_ON"] = "nan"
    commands = ["continue", "p sub.tolist()", "next", "continue"]
    said = pdb(nets, "forward.py", *commands, module=module)
    path, line = nets.line("Rooted:sqrt")
    report, _, place = said[1].rpartition("\n")
    assert place == "forward @ Rooted:sqrt"
    assert report.splitlines()[0] == (
        f"nan: node sqrt of Rooted, line {line} of {path.name}: 2 of 2 are NaN"
    )
    assert said[2:4] == ["[-1.0, -1.0]", "forward @ Rooted:mul"]
    assert said[4].startswith("ran nan\nThe program finished and will be restarted")


def test_fxls_run_reports_where_there_is_no_debugger(nets: Project) -> None:
    command = ("-m", "fxls", "run", "--break-on", "nan,inf", "--break-on", "grad-nan")
    ran = nets.run(*command, "forward.py")
    assert ran.stdout == "ran nan\n"
    assert re.findall(r"^fxls: (\S+ node \w+)", ran.stderr, re.M) == ["nan: node sqrt"]
    raised = nets.attempt(*command, "--on-break", "raise", "forward.py")
    assert raised.returncode == 1
    assert "fxls.rules.BrokenRule: nan: node sqrt of Rooted, line" in raised.stderr
    path, line = nets.line("Rooted:sqrt")
    assert (
        f'  File "{path}", line {line}, in forward\n'
        "    sqrt = torch.sqrt(sub);  sub = None\n"
        "fxls.rules.BrokenRule: nan: "
    ) in raised.stderr


def test_fxls_run_knows_its_rules(nets: Project) -> None:
    refused = nets.attempt("-m", "fxls", "run", "--break-on", "nam", "forward.py")
    assert refused.returncode == 2
    assert refused.stderr.splitlines()[-1] == (
        "fxls run: error: argument --break-on: there is no rule 'nam'; the rules are"
        " nan, inf, shape, dtype-change, grad-nan"
    )
    ran = nets.run("forward.py", env={"FXLS_BREAK_ON": "nam"})
    assert ran.stdout == "ran nan\n"
    assert ran.stderr.splitlines() == [
        (
            "fxls watches for nothing: there is no rule 'nam'; the rules are"
            " nan, inf, shape, dtype-change, grad-nan"
        ),
    ]


def test_it_stops_at_the_planted_nodes_of_ten_thousand(nets: Project) -> None:
    nets.write({"long.py": LONG})
    with Debugged(nets) as debugged:
        debugged.launch("long.py", env={"FXLS_BREAK_ON": "nan,grad-nan"})
        assert debugged.stopped() == "Long:log"
        assert debugged.session.top().name.startswith("section_")
        assert "sub" in debugged.session.locals()
        assert debugged.resume() == "Long:mul"
        assert debugged.session.top().name == "backward of mul"
        assert "grad_sub" in debugged.session.locals()
        assert debugged.finish() == "ran\n"
