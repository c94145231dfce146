"""Long listings are in sections, and are stepped through as if they were not."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.debug.debugged import Debugged
from tests.debug.project import Project

pytestmark = pytest.mark.slow

DEEP = """\
    import torch
    from torch import nn


    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x):
            hidden = torch.relu(self.linear(x))
            return (x + hidden) * 0.5


    class Deep(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList(Block() for _ in range(300))

        def forward(self, x):
            first = x
            for block in self.blocks:
                x = block(x)
            return x + first


    # fxls: Deep()(torch.ones(2, 4))
    """

RUN = """\
    import torch
    import fxls
    from fxls import engine as fx
    from deep import Deep

    fxls.install()
    gm = fx.symbolic_trace(Deep())
    x = torch.ones(2, 4)
    y = gm(x)
    print("ran", tuple(y.shape))
    """


CALL = "loop.py: y = gm(x)"

LOOP = RUN.replace("    y = gm(x)", "    while True:\n        y = gm(x)")


@pytest.fixture(scope="module")
def deep(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A model of 1,203 nodes, traced."""
    project = Project(tmp_path_factory.mktemp("deep"))
    project.write({"deep.py": DEEP, "run.py": RUN, "loop.py": LOOP})
    project.trace("deep.py")
    return project


@pytest.fixture(scope="module")
def looping(deep: Project) -> Iterator[Debugged]:
    """A program that calls its model for ever."""
    with Debugged(deep) as debugged:
        debugged.launch("loop.py", stop_at=[CALL])
        yield debugged


@pytest.fixture
def called(looping: Debugged) -> Iterator[Debugged]:
    """The program in front of another call, with no breakpoint in the listing."""
    assert looping.stopped() == CALL
    yield looping
    looping.session.set_breakpoints(looping.project.listing("Deep"), [])
    looping.session.resume()


def test_a_step_in_lands_on_the_first_node(called: Debugged) -> None:
    assert called.step_in() == "Deep:blocks_0_linear"
    assert called.stack() == [
        "section_0_blocks @ Deep:blocks_0_linear",
        f"<module> @ {CALL}",
    ]
    assert called.step_out() == CALL


@pytest.mark.parametrize("just_my_code", [True, False])
def test_steps_lead_from_one_section_into_the_next(
    deep: Project, just_my_code: bool
) -> None:
    with Debugged(deep) as debugged:
        settings = {"justMyCode": just_my_code}
        debugged.launch(stop_at=["Deep:mul_31", "Deep:mul_63"], settings=settings)
        assert debugged.stopped() == "Deep:mul_31"
        assert debugged.stack()[0] == "section_0_blocks @ Deep:mul_31"
        assert debugged.next() == "Deep:blocks_32_linear"
        assert debugged.stack()[0] == "section_1_blocks @ Deep:blocks_32_linear"
        assert debugged.next() == "Deep:relu_32"
        assert debugged.resume() == "Deep:mul_63"
        assert debugged.step_in() == "Deep:blocks_64_linear"
        assert debugged.finish() == "ran (2, 4)\n"


def test_what_is_alive_of_earlier_sections_is_seen(called: Debugged) -> None:
    called.stop_at("Deep:mul_150")
    assert called.resume() == "Deep:mul_150"
    shown = called.session.locals()
    assert "float32 (2, 4) cpu, min 1 max 1" in shown["x"]
    assert "float32 (2, 4) cpu grad" in shown["add_150"]
    assert called.session.evaluate("len(self.blocks._modules)") == "300"
    assert {"mul_63", "blocks_200_linear"}.isdisjoint(shown)


def test_a_condition_sees_its_section(called: Debugged) -> None:
    called.stop_at(
        "Deep:mul_150 if x.sum() > 100 or add_150.shape[0] > 2",
        "Deep:mul_151 if x.sum() == 8",
    )
    assert called.resume() == "Deep:mul_151"


@pytest.fixture(scope="module")
def undivided(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A model of 603 nodes, traced, whose listing is one function."""
    project = Project(tmp_path_factory.mktemp("undivided"))
    source = DEEP.replace("range(300)", "range(150)")
    project.write({"deep.py": source, "run.py": RUN, "loop.py": LOOP})
    project.trace("deep.py")
    return project


def test_a_listing_of_one_function_is_stepped_through_as_one(
    undivided: Project,
) -> None:
    with Debugged(undivided) as debugged:
        debugged.launch(stop_at=["Deep:relu_31", "Deep:add_100", "run.py: y = gm(x)"])
        assert debugged.stopped() == "run.py: y = gm(x)"
        assert debugged.step_in() == "Deep:blocks_0_linear"
        assert debugged.resume() == "Deep:relu_31"
        for node in ("add_31", "mul_31", "blocks_32_linear", "relu_32"):
            assert debugged.next() == f"Deep:{node}"
            assert debugged.stack() == [
                f"forward @ Deep:{node}",
                "<module> @ run.py: y = gm(x)",
            ]
        assert debugged.resume() == "Deep:add_100"
        shown = debugged.session.locals()
        assert "float32 (2, 4) cpu, min 1 max 1" in shown["x"]
        assert "← torch.relu, deep.py:11 torch.relu" in shown["relu_100"]
        assert shown["relu_99"].startswith("freed on line ")
        assert debugged.step_out() == "run.py: y = gm(x)"
        assert debugged.finish() == "ran (2, 4)\n"


def test_what_the_console_sets_holds_in_later_sections(undivided: Project) -> None:
    with Debugged(undivided) as debugged:
        debugged.launch(stop_at=["Deep:mul_40", "Deep:relu_100"])
        assert debugged.stopped() == "Deep:mul_40"
        for statement in ("add_40 = add_40 * 0 + 7", "x = x * 0 + 5"):
            debugged.session.evaluate(statement)
        assert debugged.next() == "Deep:blocks_41_linear"
        assert debugged.session.evaluate("mul_40.unique().tolist()") == "[3.5]"
        assert debugged.resume() == "Deep:relu_100"
        assert debugged.session.evaluate("x.unique().tolist()") == "[5.0]"
        assert debugged.finish() == "ran (2, 4)\n"


def test_breakpoints_come_into_it_and_go_while_it_runs(undivided: Project) -> None:
    with Debugged(undivided) as debugged:
        debugged.launch("loop.py", stop_at=[CALL])
        assert debugged.stopped() == CALL
        names: list[str] = []
        for place in ("Deep:mul_40 if x.sum() == 8", "Deep:mul_149"):
            debugged.stop_at(place)
            assert debugged.resume() == place.partition(" ")[0]
            names.append(code_of_forward(debugged))
        debugged.session.set_breakpoints(undivided.listing("Deep"), [])
        assert debugged.resume() == CALL
        names.append(code_of_forward(debugged))
        driver = f"<fxls forward of {undivided.listing('Deep')}>"
        assert names == [driver, driver, str(undivided.listing("Deep"))]


def code_of_forward(debugged: Debugged) -> str:
    """The file that the code of the model's forward says it is of."""
    *_, outermost = debugged.session.stack()
    said = debugged.session.evaluate("type(gm).forward.__code__.co_filename", outermost)
    return str(ast.literal_eval(said))


def test_pdb_steps_into_the_next_section(deep: Project) -> None:
    path, line = deep.line("Deep:mul_31")
    typed = f"break {path}:{line}\ncontinue\nstep\nstep\nstep\nnext\nquit\n"
    ran = deep.run("-m", "fxls.pdb", "run.py", given=typed)
    assert [row for row in ran.stdout.splitlines() if row.startswith("-> ")] == [
        "-> import torch",
        "-> mul_31 = add_31 * 0.5;  add_31 = None",
        "-> mul_31 = add_31 * 0.5;  add_31 = None",
        "-> def section_1_blocks():",
        '-> blocks_32_linear = getattr(self.blocks, "32").linear(mul_31)',
        "-> relu_32 = torch.relu(blocks_32_linear);  blocks_32_linear = None",
    ]
