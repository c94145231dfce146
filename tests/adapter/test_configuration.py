"""What a configuration says beyond debugpy is told to debugpy in its own words."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

import fxls
from fxls.adapter.configuration import (
    RULES,
    Configuration,
    Unclear,
    attached,
    launched,
)
from fxls.launching.listening import Address

STARTUP = str(Path(fxls.__file__).parent / "startup")
HEAD = {"type": "debugpy", "justMyCode": True, "rules": list(RULES)}


def test_an_entry_is_the_program_that_calls_it() -> None:
    given = {"type": "fxls", "entry": "net.py:Net()", "node": "relu", "cwd": "/x"}
    told: dict[str, Any] = {
        **HEAD,
        "cwd": "/x",
        "module": "fxls.debug_entry",
        "args": ["--stop", "--node", "relu", "net.py:Net()"],
        "env": {},
    }
    assert launched(given, {}) == Configuration(told)


@pytest.mark.parametrize(
    ("given", "environment", "store"),
    [
        ({"store": "/s/.fxls"}, {}, "/s/.fxls"),
        ({"env": {"FXLS_STORE": "/e/.fxls"}}, {}, "/e/.fxls"),
        ({}, {"FXLS_STORE": "/i/.fxls"}, "/i/.fxls"),
        ({"store": "/s/.fxls"}, {"FXLS_STORE": "/i/.fxls"}, "/s/.fxls"),
    ],
)
def test_an_entry_has_the_store_that_is_asked_for(
    given: dict[str, Any], environment: dict[str, str], store: str
) -> None:
    told = launched({"entry": "net.py", **given}, environment).arguments
    assert told["args"] == ["--stop", "--store", store, "net.py"]
    assert told["env"] == {"FXLS_STORE": store}


def test_a_program_has_the_runtime_turned_on() -> None:
    given = {
        "type": "fxls",
        "program": "train.py",
        "breakOn": ["nan", "grad-nan"],
        "keepValues": True,
        "store": "/s/.fxls",
        "justMyCode": False,
        "env": {"A": 1, "GONE": None},
    }
    told = {
        **HEAD,
        "program": "train.py",
        "justMyCode": False,
        "env": {
            "FXLS_STORE": "/s/.fxls",
            "FXLS_BREAK_ON": "nan,grad-nan",
            "FXLS_ON_BREAK": "report",
            "FXLS_KEEP_VALUES": "1",
            "A": "1",
            "PYTHONPATH": os.pathsep.join((STARTUP, "/p")),
        },
    }
    rules = ("nan", "grad-nan")
    assert launched(given, {"PYTHONPATH": "/p"}) == Configuration(
        told, rules, has_own_rules=True
    )


def test_a_program_inherits_rules_that_the_configuration_does_not_name() -> None:
    inherited = {"FXLS_BREAK_ON": "shape, nan", "FXLS_ON_BREAK": "raise"}
    found = launched({"program": "a.py"}, inherited)
    assert (found.rules, found.on_break) == (("shape", "nan"), "raise")
    assert found.arguments["env"] == {"PYTHONPATH": STARTUP}


def test_a_program_that_runs_is_watched_for_what_the_configuration_names() -> None:
    given = {
        "type": "fxls",
        "connect": {"port": 5678},
        "breakOn": "inf",
        "onBreak": "raise",
        "justMyCode": False,
    }
    assert attached(given) == Configuration(
        {**HEAD, "connect": {"port": 5678}, "justMyCode": False},
        ("inf",),
        "raise",
        runs_already=True,
        has_own_rules=True,
        listens=Address("127.0.0.1", 5678),
    )


def test_a_child_process_has_the_rules_of_its_parent_from_its_environment() -> None:
    announced = {
        "connect": {"host": "localhost", "port": 1},
        "subProcessId": 7,
        "env": {"FXLS_BREAK_ON": "nan", "FXLS_ON_BREAK": "report"},
    }
    assert attached(announced) == Configuration(
        {**HEAD, **announced}, ("nan",), listens=Address("localhost", 1)
    )


def test_a_process_is_attached_to_by_its_number_through_debugpy_alone() -> None:
    told = {**HEAD, "processId": 7}
    assert attached({"processId": 7}) == Configuration(told, runs_already=True)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "say one of program, module, code, entry: there is none of them"),
        (
            {"program": "a.py", "entry": "b.py"},
            "say one of program, module, code, entry: there is program and entry",
        ),
        (
            {"program": "a.py", "node": "relu"},
            "`node` needs `entry`; in another program, set a breakpoint",
        ),
        (
            {"program": "a.py", "env": ["A=1"]},
            "`env` is an object of names and values",
        ),
        (
            {"program": "a.py", "breakOn": "nam"},
            "there is no rule 'nam'; the rules are nan, inf, shape, dtype-change, grad-nan",
        ),
        (
            {"program": "a.py", "onBreak": "stop"},
            "a broken rule can report or raise, not 'stop'",
        ),
    ],
)
def test_what_is_unclear_of_a_launch_is_said(given: dict[str, Any], said: str) -> None:
    with pytest.raises(Unclear) as raised:
        launched(given, {})
    assert str(raised.value) == said


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"connect": {"port": 1}, name: value},
            f"`{name}` is for a launch; the program that an attach joins runs already",
        )
        for name, value in {
            "entry": "net.py",
            "node": "relu",
            "keepValues": True,
            "store": "/s",
        }.items()
    ]
    + [
        ({"connect": [1]}, "`connect` is an object of names and values"),
        ({"port": "x"}, "`port` is a number up to 65535, not 'x'"),
        ({"connect": {"port": 65536}}, "`port` is a number up to 65535, not 65536"),
    ],
)
def test_what_is_unclear_of_an_attach_is_said(given: dict[str, Any], said: str) -> None:
    with pytest.raises(Unclear) as raised:
        attached(given)
    assert str(raised.value) == said


def test_the_extension_says_the_same_rules_to_sessions_of_debugpy() -> None:
    """It starts these itself, without the adapter, and in Pythons without fxls too."""
    extension = Path(__file__).parents[2] / "vscode-extension"
    source = extension / "src" / "debugging" / "python_sessions.ts"
    written = re.search(
        r"const STEPPING = \[(.+?)\] as const", source.read_text(), re.S
    )
    assert written is not None
    rules = re.findall(r"\{ path: '(.+?)', include: (true|false) \}", written[1])

    assert [{"path": path, "include": said == "true"} for path, said in rules] == [
        *RULES
    ]
