"""The plugin of pytest: the marker `compiles` and the fixture `compiled`.

pytest loads it in every project where fxls is installed, so it imports what it needs
when a test asks for it.
"""

from __future__ import annotations

import logging
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fxls.testing import Compiled

_MARKER = (
    "compiles(graphs=1, recompilations=0): fail when torch.compile makes more graphs, or"
    " no graph, or compiles a function again more often; None allows any number"
)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line("markers", _MARKER)


@pytest.fixture
def compiled() -> Generator[Compiled]:
    """What torch.compile did in the test so far."""
    from fxls.testing import compiling  # noqa: PLC0415 - imports torch

    with compiling() as found:
        yield found


# The new style of wrappers is unknown to pytest 7. Inside of all others: `_leave_out`
# comes after pytest began to capture logs.
@pytest.hookimpl(hookwrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, None]:
    """Judge a test that has the marker, unless it fails by itself."""
    marker = item.get_closest_marker("compiles")
    if marker is None:
        if "compiled" in getattr(item, "fixturenames", ()):
            _leave_out()
        yield
        return
    from fxls.testing import compiling  # noqa: PLC0415 - imports torch

    problem = _unclear(marker)
    _leave_out()
    with compiling() as found:
        outcome = yield
    if outcome.excinfo is not None:
        return
    wanted = {"graphs": 1, "recompilations": 0, **marker.kwargs}
    try:
        if problem is not None:
            pytest.fail(problem, pytrace=False)
        if wanted["graphs"] is not None:
            found.assert_graphs(wanted["graphs"])
        if wanted["recompilations"] is not None:
            found.assert_recompilations(wanted["recompilations"])
    except AssertionError as error:
        outcome.force_exception(pytest.fail.Exception(str(error), pytrace=False))
    except pytest.fail.Exception as error:
        outcome.force_exception(error)


def _leave_out() -> None:
    """Keep what torch says to listeners from what pytest shows of a test that failed."""
    log = logging.getLogger("torch.__trace")
    for handler in [*log.handlers]:
        if type(handler).__module__ == "_pytest.logging":
            log.removeHandler(handler)


def _unclear(marker: pytest.Mark) -> str | None:
    """What is wrong with the arguments of a marker."""
    known = {"graphs", "recompilations"}
    are_counts = all(
        one is None or (type(one) is int and one >= 0) for one in marker.kwargs.values()
    )
    if marker.args or marker.kwargs.keys() - known or not are_counts:
        return (
            "the marker `compiles` takes graphs=N and recompilations=N, each a number or"
            " None"
        )
    return None
