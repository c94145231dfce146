"""What the debugger's features use of pydevd's insides is there."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from fxls.runtime.debugging.pydevd_names import FEATURES

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
