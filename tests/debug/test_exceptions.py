"""Exceptions in generated code stop the program on the line of the node that raised."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.debug.debugged import Debugged
from tests.debug.project import Project

pytestmark = pytest.mark.slow

RAISING = """\
    import torch
    import fxls
    from fxls import engine as fx
    from net import Net

    fxls.install()
    gm = fx.symbolic_trace(Net())
    y = gm(torch.ones(2, 5))
    """


@pytest.mark.parametrize("filter_", ["uncaught", "raised", "userUnhandled"])
def test_an_exception_stops_at_its_node(
    traced: Project, site_packages: Path, filter_: str
) -> None:
    # Installed as users have it: until `install` is called debugpy takes an editable
    # fxls for the user's own code, and stops at what is raised and caught in there.
    env = {"PYTHONPATH": str(site_packages)}
    traced.write({"raising.py": RAISING})
    with Debugged(traced) as debugged:
        debugged.launch("raising.py", exceptions=[filter_], env=env)
        assert debugged.stopped() == "Net:linear"
        # pydevd marks the frame so when the exception is on its way out of it.
        stack = [frame.replace(" (Current frame)", "") for frame in debugged.stack()]
        assert stack == [
            "forward @ Net:linear",
            "<module> @ raising.py: y = gm(torch.ones(2, 5))",
        ]
        assert debugged.session.hover("x").value.startswith("float32 (2, 5) cpu, ")
        (stop,) = debugged.session.events("stopped")
        assert stop.body["reason"] == "exception"
