"""A step leads into the graphs of what `torch.export.unflatten` gives, at their nodes."""

from __future__ import annotations

import pytest

from tests.debug.debugged import Debugged
from tests.debug.project import Project

pytestmark = pytest.mark.slow

NET = """\
    import torch

    class Inner(torch.nn.Module):
        def forward(self, x):
            return torch.relu(x) * 2

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def forward(self, x):
            return self.inner(x) + 1
    """

RUN = """\
    import torch
    import fxls
    from net import Net

    fxls.install()
    x = torch.ones(2, 4)
    program = torch.export.export(Net(), (x,))
    model = torch.export.unflatten(program)
    y = model(x)
    print("ran", tuple(y.shape))
    """


def test_steps_and_stacks_are_those_of_the_code(project: Project) -> None:
    project.write({"net.py": NET, "run.py": RUN})
    with Debugged(project) as debugged:
        debugged.launch("run.py", stop_at=["run.py: y = model(x)"])
        assert debugged.stopped() == "run.py: y = model(x)"
        first = debugged.step_in()
        assert first.startswith("Net:")
        assert debugged.stack() == [
            f"forward @ {first}",
            "<module> @ run.py: y = model(x)",
        ]
        while debugged.where() != "Net:relu":
            debugged.step_in()
        assert [one.partition(" @ ")[0] for one in debugged.stack()] == [
            "forward",
            "forward",
            "<module>",
        ]
        assert debugged.finish() == "ran (2, 4)\n"
