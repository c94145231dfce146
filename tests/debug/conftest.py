"""Projects whose listings were made ahead of the run, by the worker."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.debug.project import Project
from tests.support.installed import built, unpacked

STOPS_AT_CALL = sys.version_info >= (3, 13)
"""Whether `set_trace` stops at the line that calls it, and not at the next one."""

BREAKS_IN_BODY = sys.version_info >= (3, 13)
"""Whether `break FUNCTION` is at the first line of its body, and not at its `def`."""

NET = """\
    import torch
    from torch import nn

    import fxls
    from fxls import engine as fx


    def scaled(x, factor):
        y = x * factor
        return y


    fx.wrap("scaled")


    class Block(nn.Module):
        def forward(self, x):
            doubled = x + x
            return torch.relu(doubled)


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 4)
            self.block = Block()

        def forward(self, x):
            hidden = self.block(self.linear(x))
            return scaled(hidden, factor=3).sum()


    # fxls: Net()(torch.ones(2, 4))

    if __name__ == "__main__":
        fxls.install()
        gm = fx.symbolic_trace(Net())
        y = gm(torch.ones(2, 4))
        print("ran", tuple(y.shape))
    """

KEPT = """\
    import torch
    from torch import nn

    from fxls import engine as fx
    from net import Block, Net


    class Keeping(fx.Tracer):
        def is_leaf_module(self, m, module_qualified_name):
            return isinstance(m, Block | fx.GraphModule | nn.Linear)


    class Kept(nn.Module):
        def __init__(self):
            super().__init__()
            self.block = Block()
            self.net = fx.symbolic_trace(Net())
            self.linear = nn.Linear(4, 4)

        def forward(self, x):
            return self.net(self.block(self.linear(x)))


    def kept():
        return fx.GraphModule(Kept(), Keeping().trace(Kept()))


    """

PACKED = NET.replace("Net(", "Packed(")

RUN = """\
    import torch
    import fxls
    from fxls import engine as fx
    from net import Net

    fxls.install()
    gm = fx.symbolic_trace(Net())
    x = torch.ones(2, 4)
    y = gm(x)
    print("ran", tuple(y.shape))
    """

RUN_KEPT = """\
    import torch
    import fxls
    from kept import kept

    fxls.install()
    gm = kept()
    y = gm(torch.ones(2, 4))
    print("ran", tuple(y.shape))
    """


STOP = """\
    import torch, fxls
    from fxls import engine as fx
    from net import Net

    fxls.install()
    gm = fx.symbolic_trace(Net())
    fxls.set_trace()
    y = gm(torch.ones(2, 4))
    breakpoint()
    print("ran", tuple(y.shape))
    """

AGAIN = """\
    import torch
    import fxls
    from fxls import engine as fx
    from net import Net

    fxls.install()
    for _ in range(2):
        gm = fx.symbolic_trace(Net())
        y = gm(torch.ones(2, 4))
    print("ran", tuple(y.shape))
    """
"""A program that calls the model twice."""

LISTENING = """\
    import debugpy, torch
    import fxls
    from fxls import engine as fx
    from net import Net

    fxls.install()
    gm = fx.symbolic_trace(Net())
    print(debugpy.listen(("127.0.0.1", 0))[1], flush=True)
    debugpy.wait_for_client()
    y = gm(torch.ones(2, 4))
    print("ran", tuple(y.shape), flush=True)
    """
"""A program that listens for a debugger, and says on which port."""


@pytest.fixture(scope="session")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A model, programs that run it, and the listings of the worker's trace."""
    project = Project(tmp_path_factory.mktemp("traced"))
    project.write({"net.py": NET, "run.py": RUN})
    project.write({"kept.py": KEPT, "run_kept.py": RUN_KEPT})
    project.write({"package/__init__.py": "", "package/net.py": PACKED})
    project.trace("net.py")
    project.trace("package/net.py")
    project.trace("kept.py:kept()(torch.ones(2, 4))")
    return project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """An empty project."""
    return Project(tmp_path)


@pytest.fixture(scope="session")
def site_packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which fxls is installed as users have it: from its wheel, not editable."""
    wheel = built(tmp_path_factory.mktemp("wheel"))
    return unpacked(wheel, tmp_path_factory.mktemp("installed") / "site-packages")
