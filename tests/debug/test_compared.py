"""At a stop, a value that `fxls compare` judged has what eager has, and what was compiled."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator

import pytest

from fxls.runtime.debugging.compared import Compared
from tests.debug.debugged import Debugged
from tests.debug.project import Project
from tests.debug.test_kernels import CALL, PRODUCT, code_of
from tests.support.programs import needs_inductor

pytestmark = [pytest.mark.slow, needs_inductor]

RUN = """\
    import fxls
    import torch
    from torch._inductor import config

    config.cpp.inject_relu_bug_TESTING_ONLY = "accuracy"


    class Net(torch.nn.Module):
        def forward(self, x):
            sums = torch.relu(x + 1)
            return sums @ x


    fxls.install()
    compiled = torch.compile(Net())
    with torch.no_grad():
        compiled(torch.linspace(-2, 1, 16).reshape(4, 4))
    print("ran")
    """
OF = "kernels, graph 0, forward, post-grad"
WRONG = (
    f"compared: wrong: off by 1, explained 1.9e-05 ({OF}); eager 1.4, compiled 2.4 at"
    " [3, 0]"
)
HELD = "empty_strided_cpu, run.py:10 torch.relu(x + 1)"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A project whose program ran, with code that torch breaks for tests."""
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


def shown_at_product(project: Project, *, until: str = HELD) -> tuple[str, str, str]:
    """What the variables, a hover and an expression say of the buffer of `relu`, once the
    first of them has these words.
    """
    path, nodes = code_of(project)
    line = nodes[PRODUCT].line
    place = f".fxls/{path.name}: {project.text(path, line + 1)}"
    with Debugged(project) as debugged:
        debugged.launch(stop_at=[place], settings={"subProcess": False})
        assert debugged.stopped() == f"Net:{PRODUCT}"
        session = debugged.session
        held = session.locals()["buf0"]
        for _ in range(100):  # a stop does not wait until all is read
            held = held if until in held else session.locals()["buf0"]
        hovered = session.hover("buf0").value
        value = session.evaluate("buf0")
        session.resume()
        assert session.wait_ended() == 0
    arrow = "  \N{LEFTWARDS ARROW} "
    return held.partition(arrow)[2], hovered.partition(arrow)[2], value


def test_a_stop_shows_both_sides_once_the_program_was_compared(
    project: Project,
) -> None:
    _, nodes = code_of(project)
    assert nodes[CALL].made_from == ("add", "relu")
    before = shown_at_product(project)
    found = project.attempt("-m", "fxls", "compare", "run.py")
    assert "relu is wrong" in found.stdout, found.stderr
    after = shown_at_product(project, until=WRONG)

    assert before[:2] == (HELD, HELD)
    both = f"{HELD}  \N{LEFTWARDS ARROW} {WRONG}"
    assert after[:2] == (both, both)
    assert after[2].startswith("tensor([["), "an expression is the value itself"


def test_so_have_the_names_of_each_listing_of_the_compilation(project: Project) -> None:
    project.attempt("-m", "fxls", "compare", "run.py")
    are_wrong = {
        identity.stage: {
            name: text.startswith("wrong: ")
            for name, text in Compared(project.store).of(newest.path, listing).items()
        }
        for identity in project.store.identities()
        if (newest := project.store.newest(identity)) is not None
        and (listing := project.store.read_revision(newest))
    }

    # The product is off because of what it is given.
    captured, lowered = {"sums": True, "matmul": False}, {"relu": True, "mm": False}
    assert {stage: names for stage, names in are_wrong.items() if names} == {
        "graph 0": captured,
        "graph 0, pre-grad": captured,
        "graph 0, joint": lowered,
        "graph 0, forward": lowered,
        "graph 0, forward, post-grad": lowered,
        "graph 0, forward, kernels": {
            "buf0": True,
            CALL: True,
            "buf1": False,
            PRODUCT: False,
        },
    }
