"""Who waits at a breakpoint of a graph that an Interpreter runs is told that it is in vain."""

from __future__ import annotations

import pytest

from tests.debug.debugged import Debugged
from tests.debug.project import Project

pytestmark = pytest.mark.slow

NET = """\
    import torch

    class Net(torch.nn.Module):
        def forward(self, x):
            return 2 * torch.relu(x)

    class Other(torch.nn.Module):
        def forward(self, x):
            return 2 + torch.relu(x)
    """

RUN = """\
    import torch
    import fxls
    import {fx} as fx
    from net import Net, Other

    fxls.install()
    gm, other = fx.symbolic_trace(Net()), fx.symbolic_trace(Other())
    x = torch.ones(2, 4)
    class Doubling(fx.{kind}):
        pass
    for _ in range(3):
        y = Doubling(gm).{call}
        fx.Interpreter(other).run(x)
    z = gm(x)
    print("ran", tuple(z.shape))
    """

CALLS = [("Interpreter", "run(x)"), ("Transformer", "transform()")]


@pytest.mark.parametrize(("kind", "call"), CALLS)
@pytest.mark.parametrize("fx", ["torch.fx", "fxls.engine"])
def test_it_is_said_once_for_a_listing_that_has_a_breakpoint(
    project: Project, fx: str, kind: str, call: str
) -> None:
    run = RUN.format(fx=fx, kind=kind, call=call)
    project.write({"net.py": NET, "run.py": run})
    with Debugged(project) as debugged:
        debugged.launch("run.py", stop_at=["run.py: x = torch.ones(2, 4)"])
        assert debugged.stopped() == "run.py: x = torch.ones(2, 4)"
        debugged.stop_at("Net:relu")
        assert debugged.resume() == "Net:relu"
        assert debugged.stack()[1].endswith("run.py: z = gm(x)")
        path, line = project.line("Net:relu")
        assert debugged.session.output("important") == (
            f"fxls: line {line} of {path.name} stops nothing in this call: Doubling runs"
            " the graph node by node, without this code; to stop here, call the module"
            " itself\n"
        )
        assert debugged.finish() == "ran (2, 4)\n"


COMPILED = """\
    import torch
    import fxls
    from net import Net

    fxls.install()
    compiled = torch.compile(Net(), backend="aot_eager")
    x = torch.ones(2, 4, requires_grad=True)
    y = compiled(x)
    y.sum().backward()
    print("ran", tuple(y.shape))
    """


def test_what_torch_runs_while_it_compiles_is_not_meant(project: Project) -> None:
    project.write({"net.py": NET, "run.py": COMPILED})
    with Debugged(project) as debugged:
        debugged.launch("run.py", stop_at=["run.py: y = compiled(x)"])
        assert debugged.stopped() == "run.py: y = compiled(x)"
        debugged.break_on("node:relu")
        assert debugged.resume() == "Net:relu"
        assert "Interpreter" not in debugged.session.output("important")
        debugged.break_on()
        assert debugged.finish() == "ran (2, 4)\n"


WITHOUT = """\
    import torch
    import fxls
    from fxls import engine

    own = [fx.Interpreter.__dict__["run"] for fx in (torch.fx, engine)]
    fxls.install()
    now = [fx.Interpreter.__dict__["run"] for fx in (torch.fx, engine)]
    assert now == own
    import debugpy
    debugpy.listen(("127.0.0.1", 0))
    now = [fx.Interpreter.__dict__["run"] for fx in (torch.fx, engine)]
    assert now[0] is not own[0] and now[1] is not own[1]
    fxls.uninstall()
    now = [fx.Interpreter.__dict__["run"] for fx in (torch.fx, engine)]
    assert now == own
    """


def test_without_a_debugger_an_interpreter_is_as_it_was(project: Project) -> None:
    project.write({"run.py": WITHOUT})
    silent = {"PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    assert project.run("run.py", env=silent).stderr == ""
