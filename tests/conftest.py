"""For all tests: how random cases are drawn, how many run at once, which lack `slow`, and
a part of each file for a machine that has no time for all.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A case that is drawn for the first time must not fail somebody else's change, and a
# machine that is busy is no fault.
settings.register_profile(
    "same",
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
# Others each time: pytest --hypothesis-profile=hunt.
settings.register_profile(
    "hunt", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("same")

LONGEST = 2.0
"""Seconds that a test without the mark may take; fixtures are shared, and not counted."""

_WORKED = "processor seconds"


def _sample(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    if found is None or int(found[1]) >= int(found[2]):
        raise argparse.ArgumentTypeError(f"K/N with K below N, as 0/9, not {text}")
    return int(found[1]), int(found[2])


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a sample be taken of tests that are too many for a machine."""
    parser.addoption(
        "--every",
        metavar="K/N",
        type=_sample,
        help="of all tests, those at K, K + N, K + 2 N ..., counted from 0",
    )


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Take the sample before any mark is asked for, so that the N parts are all tests."""
    sample: tuple[int, int] | None = config.getoption("--every")
    if sample is not None:
        first, step = sample
        left = [one for at, one in enumerate(items) if at % step != first]
        items[:] = items[first::step]
        config.hook.pytest_deselected(items=left)


def pytest_configure(config: pytest.Config) -> None:
    """Give the tests caches of their own, and not the user's."""
    # The workers of xdist have that of the process that started them.
    if "PYTEST_XDIST_WORKER" in os.environ:
        return
    folder = tempfile.mkdtemp(prefix="fxls-tests-")
    os.environ["XDG_CACHE_HOME"] = folder
    # In each empty cache inductor compiles a program that asks whether the compiler can
    # make vector code (torch/_inductor/cpu_vec_isa.py), which takes longer than most of
    # the tests' kernels do. Every test has an empty cache.
    os.environ.setdefault("TORCHINDUCTOR_VEC_ISA_OK", "1")
    # What it has to compile for more than one test, a compiler of our own does once.
    if compiler := shutil.which("g++"):
        ours = Path(__file__).parent / "support/compiler"
        os.environ["PATH"] = f"{ours}{os.pathsep}{os.environ['PATH']}"
        os.environ["FXLS_TEST_COMPILER"] = compiler
        os.environ["FXLS_TEST_COMPILED"] = tempfile.mkdtemp(dir=folder)
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: a test waits half of its time for a process."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Note how long a test and the processes that it ended worked."""
    before = sum(os.times()[:4])
    try:
        yield
    finally:
        item.user_properties.append((_WORKED, sum(os.times()[:4]) - before))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the tests that lack the mark: what waited for a busy machine is none."""
    took: dict[str, float] = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport) and "slow" not in report.keywords:
                worked = dict(report.user_properties).get(_WORKED)
                if report.when == "call" and isinstance(worked, float):
                    took[report.nodeid] = min(report.duration, worked)
    for test, seconds in sorted(took.items(), key=lambda one: -one[1]):
        if seconds > LONGEST:
            terminalreporter.write_line(f"not marked slow: {seconds:.1f} s {test}")
