"""Attributes of modules are replaced when these are imported, and put back."""

from __future__ import annotations

import importlib
import inspect
import logging
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from fxls.installed_torch import lacking
from fxls.runtime.hooks import Hook, Hooks, around

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


HOOKS_OF_ONE_MODULE = (
    Hook(NAME, "nobody greets loudly", {"Greeter.greet": loud}),
    Hook(NAME, "nobody waves", {"wave": loud, "leave": loud}),
    Hook(NAME, "nobody leaves loudly", {"leave": loud}),
)


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
        "fxls: sys has no sys.gone.away: nobody is quiet"
    ]


@pytest.mark.parametrize("is_early", [False, True])
def test_hooks_of_one_module_have_a_fate_each_and_each_is_whole_or_not_there(
    caplog: pytest.LogCaptureFixture, *, is_early: bool
) -> None:
    if is_early:
        importlib.import_module(NAME)
    hooks = Hooks(HOOKS_OF_ONE_MODULE)
    with caplog.at_level(logging.WARNING, "fxls"):
        hooks.put_in()
        module = importlib.import_module(NAME)
    assert said(module) == ("HELLO", "BYE")
    hooks.take_out()
    assert said(module) == ("hello", "bye")
    assert {record.getMessage() for record in caplog.records} <= {
        f"fxls: {NAME} has no {NAME}.wave: nobody waves"
    }


def test_a_module_that_its_package_does_not_have_is_said_at_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "packed").mkdir()
    (tmp_path / "packed" / "__init__.py").write_text("")
    (tmp_path / "packed" / "there.py").write_text("def go(): return 'went'")
    importlib.import_module("packed")
    with caplog.at_level(logging.WARNING, "fxls"):
        hooks = Hooks(
            [
                Hook("packed.gone", "nobody runs", {"run": loud}),
                Hook("packed.there", "nobody goes", {"go": loud}),
            ]
        )
        hooks.put_in()
    assert importlib.import_module("packed.there").go() == "WENT"
    hooks.take_out()
    for name in ("packed.there", "packed"):
        sys.modules.pop(name)
    assert [record.getMessage() for record in caplog.records] == [
        "fxls: packed has no packed.gone: nobody runs"
    ]


def watching(
    first: Any, /, second: int, *_: object, **__: object
) -> Generator[None, str, str]:
    if second == 1:
        raise LookupError("before")
    if second == 2:
        return f"{first} for nothing"
    said = yield
    if second == 3:
        raise LookupError("behind")
    return said.upper()


@pytest.mark.parametrize(
    ("second", "result", "made", "faults"),
    [
        (0, "A0", 1, []),
        (1, "a1", 1, ["quiet: LookupError('before')"]),
        (2, "a for nothing", 0, []),
        (3, "a3", 1, ["quiet: LookupError('behind')"]),
    ],
)
def test_a_fault_of_what_watches_a_function_reaches_nobody(
    second: int,
    result: str,
    made: int,
    faults: list[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    calls: list[str] = []

    def theirs(self: str, second: int, more: int = 0) -> str:
        calls.append(self)
        return f"{self}{second}"

    ours = around(watching, "quiet")(theirs)
    with caplog.at_level(logging.WARNING, "fxls"):
        assert ours("a", second) == result
    assert len(calls) == made
    assert [record.getMessage() for record in caplog.records] == faults


def test_what_a_watched_function_raises_is_raised_and_ends_what_watches() -> None:
    ended: list[str] = []

    def watch(*_: object) -> Generator[None]:
        try:
            yield
        finally:
            ended.append("ended")

    def theirs() -> None:
        raise KeyError("theirs")

    with pytest.raises(KeyError, match="theirs"):
        around(watch, "quiet")(theirs)()
    assert ended == ["ended"]


@pytest.mark.parametrize(
    ("source", "is_known"),
    [
        ("def theirs(self, second): ...", True),
        ("def theirs(gm, second, third=1): ...", True),
        ("def theirs(gm, second, *more, **other): ...", True),
        ("def theirs(gm, *, second): ...", False),
        ("def theirs(gm, other): ...", False),
        ("def theirs(gm): ...", False),
        ("def theirs(second, gm): ...", False),
    ],
)
def test_a_function_that_takes_other_arguments_is_left_as_it_is(
    source: str, *, is_known: bool, caplog: pytest.LogCaptureFixture
) -> None:
    module = importlib.import_module(NAME)
    exec(source, vars(module))
    theirs = module.theirs
    hooks = Hooks([Hook(NAME, "nobody watches", {"theirs": around(watching, "quiet")})])
    lacking.pop(f"{NAME}.theirs{inspect.signature(theirs)}", None)
    with caplog.at_level(logging.WARNING, "fxls"):
        hooks.put_in()
    assert (module.theirs is theirs) is not is_known
    hooks.take_out()
    assert [record.getMessage() for record in caplog.records] == (
        []
        if is_known
        else [
            (
                f"fxls: {NAME} has another {NAME}.theirs{inspect.signature(theirs)}:"
                " nobody watches"
            )
        ]
    )


def test_hooks_wait_for_another_module_as_well(tmp_path: Path) -> None:
    other = f"{NAME}_once"
    (tmp_path / f"{other}.py").touch()
    late = (
        Hook(NAME, "nobody greets loudly", {"Greeter.greet": loud}, once=other),
        Hook("fnmatch", "nobody filters loudly", {"filter": loud}, once=other),
    )
    module, matching = map(importlib.import_module, (NAME, "fnmatch"))
    own = matching.filter
    hooks = Hooks((*late, Hook(NAME, "nobody leaves loudly", {"leave": loud})))
    hooks.put_in()
    try:
        assert said(module) == ("hello", "BYE")
        importlib.import_module(other)
        assert said(module) == ("HELLO", "BYE")
        assert matching.filter is not own
    finally:
        sys.modules.pop(other, None)
        hooks.take_out()
    assert said(module) == ("hello", "bye")
    assert matching.filter is own
