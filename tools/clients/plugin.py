"""A plugin of pytest that changes what the tests import, and records what they become.

``FXLS_CLIENT`` says which packages and folders, separated by ``:``; without it the tests
run as they are. ``FXLS_CLIENT_RECORD`` names the file of the record, see `records`.
"""

from __future__ import annotations

import importlib
import os
import random
from pathlib import Path
from typing import Any

import pytest
import torch

from tools import torchvision_operators
from tools.clients import records, redirect


def return_retired() -> None:
    """Give torch the names back that tests of an older release import."""
    export: Any = torch.export
    if not hasattr(export, "export_for_training"):
        export.export_for_training = export.export
    layers: Any = importlib.import_module("torch.testing._internal.common_nn")
    if not hasattr(layers, "new_module_tests"):
        layers.new_module_tests = []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what is known already; what did not end then comes last."""
    if _record is None:
        return
    lines = _record.read_text(encoding="utf-8").splitlines()
    known = {name: had.word for name, had in records.outcomes(lines).items()}
    items[:] = [
        *(item for item in items if item.nodeid not in known),
        *(item for item in items if known.get(item.nodeid) == "died"),
    ]


def pytest_runtest_logstart(nodeid: str) -> None:
    """Say that a test begins: one that takes the process with it says no more."""
    _note(nodeid, "died")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Say what a part of a test has become."""
    if report.when == "call" or report.outcome != "passed":
        _note(report.nodeid, report.outcome, _last_line(report))


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """A file that cannot be imported is a test that fails."""
    if report.outcome == "failed":
        _note(report.nodeid, "failed", _last_line(report))


def _note(test: str, outcome: str, why: str = "") -> None:
    if _record is not None:
        records.add(_record, test, outcome, why)


def _last_line(report: Any) -> str:
    if report.outcome != "failed":
        return ""
    crash = getattr(report.longrepr, "reprcrash", None)
    said = crash.message if crash is not None else str(report.longrepr)
    lines = [line for line in str(said).splitlines() if line.strip()]
    return (lines[0] if crash is not None else lines[-1]) if lines else ""


torchvision_operators.declare()
return_retired()
random.seed(0)  # tests that are chosen at random have the same names in every run
_path = os.environ.get("FXLS_CLIENT_RECORD")
_record = Path(_path) if _path else None
asked = os.environ.get("FXLS_CLIENT", "")
if asked:
    names = asked.split(":")
    redirect.install(
        [name for name in names if "/" not in name],
        [name for name in names if "/" in name],
    )
