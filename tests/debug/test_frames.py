"""What a person sees of a listing's frame: nodes, origins, and values that are gone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.debug.conftest import NET
from tests.debug.debugged import Debugged
from tests.debug.project import Project
from tests.support.dap import RequestFailed

pytestmark = pytest.mark.slow

KEPT = """\
    import torch
    import fxls
    from fxls import engine as fx
    from net import Net

    fxls.install(keep_values=True)
    gm = fx.symbolic_trace(Net())
    y = gm(torch.ones(2, 4))
    print("ran", tuple(y.shape))
    """


LOOP = """\
    import torch
    import fxls
    from fxls import engine as fx
    from net import Net

    fxls.install()
    gm = fx.symbolic_trace(Net())
    while True:
        y = gm(torch.ones(2, 4))
    """


COMPILED = """\
    import torch
    import fxls


    class Small(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.dense = torch.nn.Linear(4, 4)

        def forward(self, x):
            return torch.relu(self.dense(x))


    fxls.install()
    compiled = torch.compile(Small(), backend="eager")
    x = torch.ones(2, 4)
    y = compiled(x)
    print("ran", tuple(y.shape))
    """


@pytest.fixture(scope="module")
def looping(traced: Project) -> Iterator[Debugged]:
    """A program that calls its model for ever."""
    traced.write({"frames_loop.py": LOOP})
    with Debugged(traced) as debugged:
        debugged.launch("frames_loop.py", stop_at=["Net:scaled"])
        yield debugged


@pytest.fixture
def stopped(looping: Debugged) -> Iterator[Debugged]:
    """The program in another call, in front of `scaled`."""
    assert looping.stopped() == "Net:scaled"
    yield looping
    looping.session.resume()


def about(text: str) -> tuple[str, str]:
    """What a variable shows: its kind, and its node."""
    value, _, node = text.partition("  \N{LEFTWARDS ARROW} ")
    return value if value.startswith("freed") else value.partition(", m")[0], node


def test_each_local_says_its_node_and_origin(stopped: Debugged) -> None:
    shown = stopped.session.locals()
    assert {name: about(text) for name, text in shown.items() if name != "self"} == {
        "x": (freed(stopped.project, "linear"), "input, net.py:28 x"),
        "linear": (
            freed(stopped.project, "add"),
            "module linear, net.py:29 self.linear(x)",
        ),
        "add": (freed(stopped.project, "relu"), "operator.add, net.py:18 x + x"),
        "relu": (
            "float32 (2, 4) cpu grad",
            "torch.relu, net.py:19 torch.relu(doubled)",
        ),
    }
    assert about(stopped.session.hover("relu").value) == about(shown["relu"])
    assert stopped.session.evaluate("relu").startswith("tensor(")
    assert stopped.session.inline("relu") == "f32[2, 4]"


def test_what_is_there_stands_before_what_is_gone(stopped: Debugged) -> None:
    assert list(stopped.session.locals()) == ["relu", "self", "add", "linear", "x"]


def test_a_value_that_was_let_go_says_so(stopped: Debugged) -> None:
    gone = freed(stopped.project, "relu") + ", behind its last use; to keep values:"
    gone += " fxls run --keep-values, or FXLS_KEEP_VALUES=1"
    assert about(stopped.session.hover("add").value)[0] == gone
    assert stopped.session.evaluate("add") == gone
    with pytest.raises(RequestFailed, match="FreedValue: add was freed on line"):
        stopped.session.hover("add.shape")
    assert stopped.session.evaluate("relu.shape") == "torch.Size([2, 4])"
    stopped.session.request(
        "evaluate",
        {
            "expression": "add = relu",
            "frameId": stopped.session.top().id,
            "context": "repl",
        },
    )
    assert stopped.session.evaluate("add.shape") == "torch.Size([2, 4])"


def test_values_that_are_kept_are_there(project: Project) -> None:
    project.write({"net.py": NET, "kept.py": KEPT})
    project.trace("net.py")
    path, line = project.line("Net:sum_1")
    with Debugged(project) as debugged:
        debugged.session.launch(project.folder / "kept.py", breakpoints={path: [line]})
        assert debugged.stopped() == "Net:sum_1"
        kept = debugged.session.top().source.path
        assert kept == str(project.listing("Net")) != str(path)
        # What the trace with example inputs knew of the values is known of these, too.
        facts = [project.store.read(one).nodes for one in (path, Path(kept))]
        assert facts[0] == facts[1]
        assert {f.value is None for f in facts[1]} == {False}
        values = {n: about(v)[0] for n, v in debugged.session.locals().items()}
        assert {name: kind for name, kind in values.items() if name != "self"} == {
            "x": "float32 (2, 4) cpu",
            "linear": "float32 (2, 4) cpu grad",
            "add": "float32 (2, 4) cpu grad",
            "relu": "float32 (2, 4) cpu grad",
            "scaled": "float32 (2, 4) cpu grad",
        }
        assert debugged.finish() == "ran ()\n"


def test_a_node_that_python_hides_has_its_value(traced: Project) -> None:
    with Debugged(traced) as debugged:
        debugged.launch("run_kept.py", stop_at=["Net:relu"])
        assert debugged.stopped() == "Net:relu"
        evaluate = debugged.session.evaluate
        assert debugged.stack()[:2] == ["forward @ Net:relu", "forward @ Kept:net"]
        assert evaluate("block.shape, add.shape") == (
            "(torch.Size([2, 4]), torch.Size([2, 4]))"
        )
        assert evaluate("tuple(net.linear.weight.shape)") == "(4, 4)"
        with pytest.raises(RequestFailed, match="NameError: name 'nowhere'"):
            debugged.session.hover("nowhere")


def test_the_nodes_of_the_caller_are_seen_from_the_users_code(traced: Project) -> None:
    with Debugged(traced) as debugged:
        debugged.launch("run_kept.py", stop_at=["Kept:block"])
        assert debugged.stopped() == "Kept:block"
        assert debugged.step_in() == "net.py: doubled = x + x"
        assert debugged.next() == "net.py: return torch.relu(doubled)"
        assert debugged.session.evaluate("tuple(linear.shape)") == "(2, 4)"
        doubled = debugged.session.locals()["doubled"]
        assert doubled.endswith("...]"), "a name of the user's is no node"


def test_a_graph_of_torch_compile_has_the_names_of_its_module(
    project: Project,
) -> None:
    project.write({"compiled.py": COMPILED})
    with Debugged(project) as debugged:
        debugged.launch("compiled.py", stop_at=["compiled.py: y = compiled(x)"])
        assert debugged.stopped() == "compiled.py: y = compiled(x)"
        debugged.break_on("node:relu")
        assert debugged.resume() == "Small:relu"
        evaluate = debugged.session.evaluate
        assert evaluate("tuple(dense.weight.shape)") == "(4, 4)"
        # The graph let go of an input that its function still has.
        assert debugged.session.locals()["l_x_"].startswith("freed on line ")
        assert evaluate("tuple(l_x_.shape)") == "(2, 4)"
        assert evaluate("l_x_").startswith("tensor(")
        assert debugged.finish() == "ran (2, 4)\n"


def test_a_variable_can_be_set(stopped: Debugged) -> None:
    session = stopped.session
    assert about(session.set_variable("relu", "torch.full((2, 4), 7.0)")) == (
        "float32 (2, 4) cpu",
        "torch.relu, net.py:19 torch.relu(doubled)",
    )
    assert stopped.next() == "Net:sum_1"
    assert session.evaluate("scaled.tolist()") == str([[21.0] * 4] * 2)


def test_the_program_goes_on_at_another_line(stopped: Debugged) -> None:
    session = stopped.session
    assert session.evaluate("(add := torch.zeros(2, 4)).sum().item()") == "0.0"
    session.go_to(*stopped.project.line("Net:relu"))
    assert stopped.stopped() == "Net:relu"
    assert stopped.next() == "Net:scaled"
    assert session.evaluate("relu.sum().item()") == "0.0"


def freed(project: Project, at: str) -> str:
    """What is shown of a value whose last use is at a node of `Net`."""
    return f"freed on line {project.line(f'Net:{at}')[1]}"
