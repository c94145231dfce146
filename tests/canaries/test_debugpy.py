"""What the debugger's features use of pydevd's insides is there."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from fxls.runtime.debugging.pydevd_names import FEATURES

LACKING = """\
import json
from fxls.runtime.debugging import pydevd_names
pydevd_names.FEATURES["of tomorrow"] = ("pydevd:PyDB.later", "pydevd:PyDB.never")
pydevd_names.SINCE["pydevd:PyDB.later"] = "9.9.0"
print(json.dumps(pydevd_names.missing()["of tomorrow"]))
"""
PROBE = """\
import json
from fxls.runtime.debugging.pydevd_names import missing
print(json.dumps(missing()))
"""


@pytest.fixture(scope="module")
def missing() -> dict[str, list[str]]:
    """In a process of its own, because pydevd is there from then on."""
    ran = subprocess.run(
        [sys.executable, "-c", PROBE], capture_output=True, text=True, check=True
    )
    return json.loads(ran.stdout)


@pytest.mark.parametrize("feature", FEATURES)
def test_a_feature_has_what_it_needs(
    feature: str, missing: dict[str, list[str]]
) -> None:
    assert missing[feature] == []


def test_what_an_older_debugpy_lacks_is_said_with_the_version_that_has_it() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", LACKING], capture_output=True, text=True, check=True
    )
    assert json.loads(ran.stdout) == [
        "debugpy has no pydevd.PyDB.later, which debugpy 9.9.0 and newer have",
        "debugpy has no pydevd.PyDB.never",
    ]
