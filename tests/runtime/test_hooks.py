"""Attributes of modules are replaced when these are imported, and put back."""

from __future__ import annotations

import importlib
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fxls.runtime.hooks import Hook, Hooks

SOURCE = """
class Greeter:
    def greet(self):
        return "hello"

def leave():
    return "bye"
"""
NAME = "greeting_that_is_hooked"


@pytest.fixture(autouse=True)
def _module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / f"{NAME}.py").write_text(SOURCE)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    yield
    sys.modules.pop(NAME, None)


def loud(original: Any) -> Any:
    def in_capitals(*args: object) -> str:
        return original(*args).upper()

    return in_capitals


HOOK = Hook(NAME, "nobody is loud", {"Greeter.greet": loud, "leave": loud})


def said(module: Any) -> tuple[str, str]:
    return module.Greeter().greet(), module.leave()


def test_a_module_that_is_there_is_hooked_at_once_and_put_back() -> None:
    module = importlib.import_module(NAME)
    own = (module.Greeter.greet, module.leave)
    hooks = Hooks([HOOK])
    assert said(module) == ("hello", "bye")
    hooks.put_in()
    assert said(module) == ("HELLO", "BYE")
    hooks.take_out()
    assert (module.Greeter.greet, module.leave) == own


def test_a_module_that_comes_later_is_hooked_when_it_comes() -> None:
    hooks = Hooks([HOOK])
    hooks.put_in()
    assert NAME not in sys.modules
    module = importlib.import_module(NAME)
    assert said(module) == ("HELLO", "BYE")
    hooks.take_out()
    assert said(module) == ("hello", "bye")


def test_a_module_that_comes_too_late_is_left_alone() -> None:
    finders = list(sys.meta_path)
    hooks = Hooks([HOOK])
    hooks.put_in()
    hooks.take_out()
    assert sys.meta_path == finders
    assert said(importlib.import_module(NAME)) == ("hello", "bye")


def test_what_cannot_be_replaced_is_said_and_the_other_modules_are_hooked(
    caplog: pytest.LogCaptureFixture,
) -> None:
    module = importlib.import_module(NAME)
    hooks = Hooks([Hook("sys", "nobody is quiet", {"gone.away": loud}), HOOK])
    with caplog.at_level(logging.WARNING, "fxls"):
        hooks.put_in()
    assert said(module) == ("HELLO", "BYE")
    hooks.take_out()
    assert said(module) == ("hello", "bye")
    assert [record.getMessage() for record in caplog.records] == [
        "nobody is quiet: AttributeError(\"module 'sys' has no attribute 'gone'\")"
    ]
