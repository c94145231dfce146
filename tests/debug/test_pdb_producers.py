"""One step of `fxls.pdb` leads from a call into the graph that it runs, whoever made it."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest

from tests.debug.project import Project

pytestmark = pytest.mark.slow

MODEL = """\
    import os
    import torch
    from torch import fx, nn
    from fxls import engine


    class Net(nn.Module):
        def forward(self, x):
            return torch.relu(x) + 1


    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = fx.symbolic_trace(Net())

        def forward(self, x):
            return self.net(x) * 2


    class Whole(fx.Tracer):
        def is_leaf_module(self, m, path):
            return isinstance(m, fx.GraphModule)


    x = torch.ones(2)
    """

MADE = {
    "engine": "engine.symbolic_trace(Net())",
    "torch.fx": "fx.symbolic_trace(Net())",
    "a copy": "__import__('copy').deepcopy(fx.symbolic_trace(Net()))",
    "with a hook": "hooked(fx.symbolic_trace(Net()))",
    "in a module of the user's": "Outer()",
    "in a Sequential": "nn.Sequential(nn.Sequential(fx.symbolic_trace(Net())))",
    "in a graph": "fx.GraphModule(outer := Outer(), Whole().trace(outer))",
    "without gradients": "torch.no_grad()(fx.symbolic_trace(Net()))",
    "torch.export": "torch.export.export(Net(), (x,)).module()",
    "make_fx": "fx.experimental.proxy_tensor.make_fx(Net())(x)",
    "eager": "torch.compile(Net(), backend='eager')",
    "aot_eager": "torch.compile(Net(), backend='aot_eager')",
}
HOOKED = """
import torch.fx.experimental.proxy_tensor
def hooked(gm):
    gm.register_forward_hook(lambda *_: None)
    gm.register_forward_pre_hook(lambda *_: None)
    return gm

"""
ARRIVES = {
    "with a hook": "<lambda> in program.py",
    "in a module of the user's": "forward in program.py",
    "in a graph": "forward in Outer",
}
"""Where that is no graph of the net."""


def test_one_step_leads_from_a_call_into_the_graph_of_every_producer(
    project: Project,
) -> None:
    lines = [f"gm = {made}\ny = gm(x)  # {name}" for name, made in MADE.items()]
    project.write({"program.py": MODEL})
    program = project.folder / "program.py"
    program.write_text(program.read_text("utf-8") + HOOKED + "\n".join(lines), "utf-8")
    arrived = steps(project, [f"y = gm(x)  # {name}" for name in MADE])
    expected = [ARRIVES.get(name, "forward in Net") for name in MADE]
    assert dict(zip(MADE, arrived, strict=True)) == dict(
        zip(MADE, expected, strict=True)
    )


def test_one_step_leads_into_the_graph_in_a_forked_child(project: Project) -> None:
    child = """
    gm = fx.symbolic_trace(Net())
    if not os.fork():
        y = gm(x)
        os._exit(0)
    os.wait()
    """
    project.write({"program.py": MODEL + child})
    assert steps(project, ["y = gm(x)"]) == ["forward in Net"]


def test_one_step_leads_into_what_inductor_wrote_also_at_the_first_call(
    project: Project,
) -> None:
    calls = """
    gm = torch.compile(Net())
    y = gm(x)  # first
    y = gm(x)  # second
    """
    project.write({"program.py": MODEL + calls})
    arrived = steps(project, ["y = gm(x)  # first", "y = gm(x)  # second"])
    assert arrived == ["call in Net"] * 2


def steps(project: Project, calls: list[str]) -> list[str]:
    """In which function, and in whose code, a step from each of these lines ends."""
    commands: list[str] = []
    for call in calls:
        path, line = project.line(f"program.py: {call}")
        commands += [f"tbreak {path}:{line}", "continue", "step"]
    env = {
        "TORCHINDUCTOR_CACHE_DIR": str(cache_of(project)),
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
    }
    given = "\n".join([*commands, "quit", "quit"])
    ran = project.attempt("-m", "fxls.pdb", "program.py", given=given, env=env)
    # A forked child prints first; its parent, which waits for it, prints the same again.
    answers = ran.stdout.split("(Pdb) ")[3::3][: len(calls)]
    return [place(project, answer) for answer in answers]


def place(project: Project, answer: str) -> str:
    found = re.match(r"(?:--Call--\n)?> (.+)\(\d+\)([\w<>]+)\(", answer)
    assert found is not None, answer
    path = Path(found[1])
    if project.store.owns(path):
        return f"{found[2]} in {path.name.partition('_')[0]}"
    return f"{found[2]} in {path.name}"


def cache_of(project: Project) -> Path:
    """Not in its folder: inductor builds nothing in a folder with a blank."""
    return Path(tempfile.gettempdir()).resolve() / f"fxls-{id(project)}"
