"""An entry is debugged like a program of the user's that calls the generated code."""

from __future__ import annotations

import pytest

from tests.debug.conftest import NET
from tests.debug.debugged import Debugged
from tests.debug.project import Project

pytestmark = pytest.mark.slow

ENTRY = "Net()(torch.ones(2, 4))"


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A model with an entry, traced."""
    project = Project(tmp_path_factory.mktemp("net"))
    project.write({"net.py": NET})
    project.trace("net.py")
    return project


def test_it_stops_in_the_generated_code(net: Project) -> None:
    with Debugged(net) as debugged:
        launch(debugged, f"net.py:{ENTRY}", "--stop")
        assert debugged.stopped() == "Net:linear"
        assert debugged.told() == []
        assert debugged.stack() == [
            "forward @ Net:linear",
            f"<module> @ net.py: # fxls: {ENTRY}",
        ]
        assert debugged.next() == "Net:add"
        assert debugged.finish() == ""


def test_a_step_out_leads_to_the_entry(net: Project) -> None:
    with Debugged(net) as debugged:
        launch(debugged, f"net.py:{ENTRY}", "--stop")
        debugged.stopped()
        assert debugged.step_out() == f"net.py: # fxls: {ENTRY}"
        assert debugged.finish() == ""


def test_the_only_entry_needs_no_expression(net: Project) -> None:
    ran = net.attempt("-m", "fxls.debug_entry", "net.py")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_an_entry_without_inputs_is_refused(net: Project) -> None:
    assert refused(net, "net.py:Net()") == (
        "fxls: error: `Net()` has no example inputs, so there is nothing to run\n"
        "help: Call the model in the entry: `Net()(torch.randn(1, 3))`.\n"
    )


def test_what_is_no_model_is_refused(net: Project) -> None:
    assert refused(net, "net.py:3") == (
        "fxls: error: `3` is a int, not a torch.nn.Module\n"
        "help: Write an expression that builds a module, then call it with example "
        "inputs: `Net()(torch.randn(1, 3))`.\n"
    )


def test_a_file_that_is_not_there_is_refused(net: Project) -> None:
    assert refused(net, "absent.py") == (
        f"fxls: error: {net.folder}/absent.py: No such file or directory\n"
        "help: Check the path.\n"
    )


def test_half_a_target_is_refused(net: Project) -> None:
    assert refused(net, "net.py:") == (
        "fxls: error: 'net.py:' has no expression behind the colon; leave the colon "
        "out to trace the entries of the file\n"
    )


def refused(net: Project, target: str) -> str:
    """What is said of a target with which nothing runs."""
    ran = net.attempt("-m", "fxls.debug_entry", target)
    assert (ran.returncode, ran.stdout) == (1, "")
    return ran.stderr


def launch(debugged: Debugged, *arguments: str) -> None:
    settings = {"module": "fxls.debug_entry"}
    debugged.session.launch("", settings=settings, arguments=arguments)
