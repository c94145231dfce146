"""A breakpoint in the code that inductor wrote stops, where a kernel is called."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from fxls.listing import Facts
from tests.debug.debugged import Debugged
from tests.debug.project import Project
from tests.support.programs import needs_inductor

pytestmark = [pytest.mark.slow, needs_inductor]

RUN = """\
    import fxls
    import torch


    class Net(torch.nn.Module):
        def forward(self, x):
            sums = torch.relu(x + 1)
            return sums @ x


    fxls.install()
    compiled = torch.compile(Net())
    with torch.no_grad():
        for _ in range(2):
            compiled(torch.ones(4, 4))
    print("ran")
    """
HELD = "empty_strided_cpu, run.py:7 torch.relu(x + 1)"
CALL, PRODUCT = "cpp_fused_add_relu_0:1", "extern_kernels.mm:2"


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A project whose program ran once, so that torch's cache has its code."""
    # Not below the project, which may have a blank: inductor could not build there.
    with tempfile.TemporaryDirectory() as cache:
        environment = {
            "TORCHINDUCTOR_CACHE_DIR": cache,
            "TORCHINDUCTOR_COMPILE_THREADS": "1",
        }
        folder = tmp_path_factory.mktemp("project").resolve()
        project = Project(folder, environment)
        project.write({"run.py": RUN})
        assert project.run("run.py").stdout == "ran\n"
        yield project


def code_of(project: Project) -> tuple[Path, dict[str, Facts]]:
    """The code of inductor, and its nodes by their names."""
    (code,) = (i for i in project.store.identities() if i.stage.endswith("kernels"))
    newest = project.store.newest(code)
    assert newest is not None
    nodes = project.store.read_revision(newest).nodes
    return newest.path, {facts.name: facts for facts in nodes}


@pytest.mark.parametrize("caches", ["found", "compiled anew"])
def test_a_breakpoint_at_the_call_of_a_kernel_stops_in_each_run(
    compiled: Project, caches: str
) -> None:
    path, nodes = code_of(compiled)
    line = nodes[CALL].line
    place = f".fxls/{path.name}: {compiled.text(path, line + 1)}"
    anew = {"TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1"} if caches != "found" else {}

    with Debugged(compiled) as debugged:
        # Inductor starts a program to ask for the instructions of the processor.
        debugged.launch(stop_at=[place], env=anew, settings={"subProcess": False})
        for _ in range(2):
            assert debugged.stopped() == f"Net:{CALL}"
            assert debugged.stack()[0] == f"call @ Net:{CALL}"
            shown = debugged.session.locals()
            assert shown["buf0"].partition("  ← ")[2] == HELD
            assert shown["arg0_1"].partition("  ← ")[2] == "input"
            debugged.session.resume()
        assert debugged.session.wait_ended() == 0
        assert debugged.session.output("stdout") == "ran\n"


def test_pdb_stops_at_a_breakpoint_in_the_code(compiled: Project) -> None:
    path, nodes = code_of(compiled)
    first, line = nodes[CALL].line + 1, nodes[PRODUCT].line + 1
    typed = f"break {path}:{first}\ncontinue\nuntil {line}\np tuple(buf0.shape)\nq\n"
    said = compiled.attempt("-m", "pdb", "run.py", given=typed).stdout
    assert [one[3:] for one in said.splitlines() if one.startswith("-> ")] == [
        "import fxls",
        compiled.text(path, first),
        compiled.text(path, line),
    ]
    assert "(Pdb) (4, 4)\n" in said
