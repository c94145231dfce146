"""Stepping through generated code with a stock debugpy and default settings."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tests.debug.conftest import RUN, STOP
from tests.debug.debugged import Debugged
from tests.debug.project import Project

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("installed", ["editable", "site-packages"])
def test_generated_code_is_stepped_through_like_code(
    traced: Project, installed: str, request: pytest.FixtureRequest
) -> None:
    env: dict[str, str] = {}
    if installed == "site-packages":
        folder: Path = request.getfixturevalue("site_packages")
        env["PYTHONPATH"] = str(folder)
    with Debugged(traced) as debugged:
        debugged.launch(stop_at=["run.py: y = gm(x)", "Net:relu"], env=env)
        assert debugged.stopped() == "run.py: y = gm(x)"
        assert debugged.step_in() == "Net:linear"
        assert debugged.stack() == [
            "forward @ Net:linear",
            "<module> @ run.py: y = gm(x)",
        ]
        assert debugged.next() == "Net:add"
        assert debugged.next() == "Net:relu"
        shown = debugged.session.locals()
        assert shown["linear"].startswith("freed on line ")
        assert debugged.session.evaluate("tuple(add.shape)") == "(2, 4)"
        assert debugged.next() == "Net:scaled"
        assert debugged.step_in() == "net.py: y = x * factor"
        assert debugged.stack() == [
            "scaled @ net.py: y = x * factor",
            "forward @ Net:scaled",
            "<module> @ run.py: y = gm(x)",
        ]
        assert debugged.step_out() == "Net:scaled"
        assert debugged.next() == "Net:sum_1"
        assert debugged.step_out() == "run.py: y = gm(x)"
        assert debugged.finish() == "ran ()\n"


def test_a_step_goes_into_submodules_and_back(traced: Project) -> None:
    with Debugged(traced) as debugged:
        debugged.launch("run_kept.py", stop_at=["Kept:block"])
        assert debugged.stopped() == "Kept:block"
        assert debugged.step_in() == "net.py: doubled = x + x"
        assert debugged.stack() == [
            "forward @ net.py: doubled = x + x",
            "forward @ Kept:block",
            "<module> @ run_kept.py: y = gm(torch.ones(2, 4))",
        ]
        assert debugged.step_out() == "Kept:block"
        assert debugged.next() == "Kept:net"
        assert debugged.step_in() == "Net:linear"
        assert debugged.stack() == [
            "forward @ Net:linear",
            "forward @ Kept:net",
            "<module> @ run_kept.py: y = gm(torch.ones(2, 4))",
        ]
        assert debugged.step_out() == "Kept:net"
        assert debugged.next() == "Kept:output"
        assert debugged.finish() == "ran ()\n"


@pytest.mark.parametrize(
    ("program", "class_name", "source"),
    [("net.py", "Net", "net.py"), ("-m package.net", "Packed", "package/net.py")],
)
def test_a_listing_made_by_the_worker_is_hit_when_its_model_file_is_the_program(
    traced: Project, program: str, class_name: str, source: str
) -> None:
    with Debugged(traced) as debugged:
        debugged.launch(program, stop_at=[f"{class_name}:scaled"])
        assert debugged.stopped() == f"{class_name}:scaled"
        assert debugged.step_in() == f"{source}: y = x * factor"
        assert debugged.stack() == [
            f"scaled @ {source}: y = x * factor",
            f"forward @ {class_name}:scaled",
            f"<module> @ {source}: y = gm(torch.ones(2, 4))",
        ]
        assert debugged.finish() == "ran ()\n"


@pytest.mark.parametrize("installed", ["editable", "site-packages"])
def test_tensors_are_shown_by_their_shape_and_numbers(
    traced: Project, installed: str, request: pytest.FixtureRequest
) -> None:
    env: dict[str, str] = {}
    stop_at = "Net:relu"
    if installed == "site-packages":
        # There debugpy finds the plugin, and nobody has to install the runtime.
        folder: Path = request.getfixturevalue("site_packages")
        env["PYTHONPATH"] = str(folder)
        stop_at = "run.py: fxls.install()"
    with Debugged(traced) as debugged:
        debugged.launch(stop_at=[stop_at], env=env)
        assert debugged.stopped() == stop_at
        session = debugged.session
        shown = session.hover("torch.tensor([[1.0, 2.0], [float('nan'), 4.0]])")
        line = "float32 (2, 2) cpu, min 1 max 4 mean 2.333, 1 NaN, [1, 2, ...]"
        assert shown.value == line
        parts = {p.name: p.value for p in session.variables(shown.variables_reference)}
        assert parts["shape"] == "torch.Size([2, 2])"
        assert parts["[1]"] == "float32 (2,) cpu, min 4 max 4 mean 4, 1 NaN, [nan, 4]"
        if stop_at == "Net:relu":
            assert session.locals()["add"].startswith("float32 (2, 4) cpu grad, min ")


def test_set_trace_stops_in_the_debugger_that_is_connected(traced: Project) -> None:
    traced.write({"stop.py": STOP})
    with Debugged(traced) as debugged:
        debugged.launch("stop.py", env={"PYTHONBREAKPOINT": "fxls.set_trace"})
        assert debugged.stopped() == "stop.py: y = gm(torch.ones(2, 4))"
        assert debugged.step_in() == "Net:linear"
        assert debugged.resume() == 'stop.py: print("ran", tuple(y.shape))'
        assert debugged.finish() == "ran ()\n"


def test_a_debugpy_that_lacks_something_is_named_once_and_used(
    traced: Project,
) -> None:
    lacking = "import pydevd\ndel pydevd.PyDB.set_use_libraries_filter\n"
    traced.write({"lacking.py": lacking + dedent(RUN)})
    with Debugged(traced) as debugged:
        debugged.launch("lacking.py", stop_at=["Net:relu"])
        assert debugged.stopped() == "Net:relu"
        assert debugged.next() == "Net:scaled"
        assert debugged.finish() == "ran ()\n"
        assert debugged.session.output("stderr") == (
            "fxls does not know this debugpy: a step may go into fxls itself"
            " (AttributeError(\"'PyDB' object has no attribute"
            " 'set_use_libraries_filter'\"))\n"
        )


def test_a_program_runs_on_where_a_debugpy_does_not_say_its_breakpoints(
    traced: Project,
) -> None:
    lacking = "import pydevd\npydevd.get_global_debugger()"
    text = f"{lacking}.api_received_breakpoints = None\n"
    traced.write({"silent.py": text + dedent(RUN)})
    with Debugged(traced) as debugged:
        debugged.launch("silent.py", stop_at=["Net:relu"])
        assert debugged.stopped() == "Net:relu"
        assert debugged.finish() == "ran ()\n"
        said = "fxls does not know this debugpy: breakpoints do not follow their nodes"
        assert said in debugged.session.output("stderr")


OLDER = """\
import pydevd
from _pydevd_bundle import pydevd_suspended_frames
variable = pydevd_suspended_frames._ObjectVariable
own = variable.get_var_data
def get_var_data(self, fmt=None, **attributes):
    attributes.pop("context", None)
    return own(self, fmt, **attributes)
variable.get_var_data = get_var_data
"""


def test_values_are_shown_by_a_debugpy_that_knows_of_no_context(
    traced: Project,
) -> None:
    traced.write({"older.py": OLDER + dedent(RUN)})
    with Debugged(traced) as debugged:
        debugged.launch("older.py", stop_at=["Net:relu"])
        assert debugged.stopped() == "Net:relu"
        shown = debugged.session.hover("torch.tensor([[1.0, 2.0], [3.0, 4.0]])")
        assert shown.value.startswith("float32 (2, 2) cpu, min 1 max 4 mean 2.5, [1, 2")
        assert debugged.finish() == "ran ()\n"


def test_a_model_of_ordinary_size_is_stepped_through(project: Project) -> None:
    model = (EXAMPLES / "resnet.py").read_text("utf-8")
    project.write({"resnet.py": model, "run.py": RUN_RESNET})
    project.trace("resnet.py")
    with Debugged(project) as debugged:
        debugged.launch(stop_at=["ResNet18:flatten"])
        assert debugged.stopped() == "ResNet18:flatten"
        assert debugged.session.evaluate("tuple(adaptive_avg_pool2d.shape)") == (
            "(1, 512, 1, 1)"
        )
        assert debugged.next() == "ResNet18:head"
        assert debugged.stack() == [
            "forward @ ResNet18:head",
            "<module> @ run.py: y = gm(torch.randn(1, 3, 32, 32))",
        ]
        assert debugged.finish() == "ran (1, 1000)\n"


EXAMPLES = Path(__file__).parents[2] / "examples"

RUN_RESNET = """\
    import torch
    import fxls
    from fxls import engine as fx
    from resnet import ResNet18

    fxls.install()
    gm = fx.symbolic_trace(ResNet18().eval())
    y = gm(torch.randn(1, 3, 32, 32))
    print("ran", tuple(y.shape))
    """
