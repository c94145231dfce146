"""Steps and stacks show no frame of fxls, also where library code is debugged."""

from __future__ import annotations

from pathlib import Path

import pytest

import fxls
from tests.debug.debugged import Debugged
from tests.debug.project import Project

pytestmark = pytest.mark.slow

OURS = Path(fxls.__file__).parent

PROGRAM = """\
    import torch
    import fxls
    from fxls import engine

    class Net(torch.nn.Module):
        def forward(self, x):
            return 1 + torch.relu(x)

    fxls.install()
    x = torch.ones(2)
    gm = MADE
    y = gm(x)
    print("ran", tuple(y.shape))
    """


@pytest.mark.parametrize(
    "made", ["engine.symbolic_trace(Net())", "torch.fx.symbolic_trace(Net())"]
)
def test_library_code_that_is_stepped_through_is_not_of_fxls(
    project: Project, made: str
) -> None:
    project.write({"program.py": PROGRAM.replace("MADE", made)})
    with Debugged(project) as debugged:
        debugged.launch(
            "program.py",
            stop_at=["program.py: y = gm(x)"],
            settings={"justMyCode": False},
        )
        debugged.stopped()
        shown: list[Path] = []
        for _ in range(_MOST):
            debugged.step_in()
            stack = [Path(one.source.path) for one in debugged.session.stack()]
            shown += stack
            if project.store.owns(stack[0]):
                break
        else:
            raise AssertionError(f"no step led into the graph: {shown}")
        assert [path for path in shown if path.is_relative_to(OURS)] == []
        assert debugged.finish() == "ran (2,)\n"


_MOST = 60
"""Steps from the call into the graph, through what torch does."""
