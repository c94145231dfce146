"""`fxls doctor`: what works here, and in one line each what does not, and why."""

from __future__ import annotations

import importlib.metadata
import json
import platform
import sys
from typing import Any

import pytest

from fxls import __version__
from fxls.runtime.debugging.pydevd_names import FEATURES
from tests.cli.command import Command

OLD = "import torch\ntorch.__version__ = '2.9.1'\n"

OTHER = """\
import torch.fx.interpreter

class Transformer:
    pass

torch.fx.interpreter.Transformer = Transformer
"""
"""A torch in which nothing transforms."""


@pytest.mark.slow
def test_it_says_versions_parts_store_and_environment(fxls: Command) -> None:
    caches = str(fxls.folder.parent / "caches")
    env = {"FXLS_KEEP_VALUES": "1", "XDG_CACHE_HOME": caches, "FXLS_CODE_CACHE": "1"}
    ended = fxls.run("doctor", "--json", env=env)
    assert (ended.code, ended.err) == (0, "")
    said: dict[str, Any] = json.loads(ended.out)
    off = [part for part in said["parts"] if part["problems"]]
    assert off == []
    versions = said["versions"]
    assert versions["fxls"] == __version__
    assert versions["python"] == platform.python_version()
    assert versions["interpreter"] == sys.executable
    assert versions["torch"] == importlib.metadata.version("torch")
    assert said["store"] == {"folder": "FOLDER/.fxls", "identities": 0}
    assert said["code"] == {"folder": f"{caches}/fxls-code"}
    assert said["environment"]["FXLS_KEEP_VALUES"] == "1"
    areas = [part["area"] for part in said["parts"]]
    assert list(dict.fromkeys(areas)) == [
        *("fxls.engine", "torch.fx", "torch.compile", "torch.export", "debugger")
    ]
    names = [part["name"] for part in said["parts"]]
    assert names[-len(FEATURES) :] == list(FEATURES)
    assert "GraphModule.recompile, _exec_with_source" in names


@pytest.mark.slow
def test_what_is_off_is_one_line_that_says_why(fxls: Command) -> None:
    fxls.file(OTHER, "other/sitecustomize.py")
    ended = fxls.run("doctor", env={"PYTHONPATH": str(fxls.folder / "other")})
    assert ended.code == 0
    off = [line.strip() for line in ended.out.splitlines() if "Transformer" in line]
    assert off == [
        (
            "off: Transformer.transform: torch has no"
            " torch.fx.interpreter.Transformer.transform: what a Transformer makes has"
            " no origins"
        )
    ]
    assert "torch.fx: 17 of 18 parts work\n" in ended.out
    assert ended.out.endswith("report it with what `fxls doctor --json` prints.\n")


@pytest.mark.slow
def test_an_old_torch_is_said_with_what_is_needed(fxls: Command) -> None:
    fxls.file(OLD, "old/sitecustomize.py")
    ended = fxls.run("doctor", env={"PYTHONPATH": str(fxls.folder / "old")})
    assert (ended.code, ended.err) == (1, "")
    assert "torch: 0 of 1 parts work\n" in ended.out
    assert (
        "  off: everything but the server and the store: fxls needs torch 2.11 or newer,"
        f" and {sys.executable} has torch 2.9.1\n"
    ) in ended.out


@pytest.mark.slow
def test_a_store_that_is_no_folder_is_said(fxls: Command) -> None:
    fxls.file("in the way", ".fxls")
    ended = fxls.run("doctor")
    assert ended.code == 3
    assert "  off: FOLDER/.fxls is not a folder\n" in ended.out
