"""Something is done as soon as a module is there, however far its import is."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fxls.on_import import OnImport

NAME = "imported_late"


@pytest.fixture(autouse=True)
def _module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A module that starts whoever waits for it in the middle of its import."""
    text = (
        "waiting = __import__('sys').modules['tests_waiting']\nwaiting()\nvalue = 1\n"
    )
    (tmp_path / f"{NAME}.py").write_text(text)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setitem(sys.modules, "tests_waiting", lambda: None)  # pyright: ignore[reportArgumentType]  # what the module calls
    yield
    sys.modules.pop(NAME, None)


def value() -> object:
    """What the module has by now; None as long as it has nothing."""
    return getattr(sys.modules.get(NAME), "value", None)


def seen_by(count: int) -> tuple[list[OnImport], list[object]]:
    seen: list[object] = []
    return [OnImport(NAME, lambda: seen.append(value())) for _ in range(count)], seen


def test_behind_an_import_that_is_still_to_come() -> None:
    (one, other), seen = seen_by(2)
    one.start()
    other.start()

    importlib.import_module(NAME)

    assert seen == [1, 1]


def test_at_once_where_it_is_there() -> None:
    (one,), seen = seen_by(1)
    importlib.import_module(NAME)

    one.start()

    assert seen == [1]


def test_at_the_end_of_an_import_that_is_under_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (one, other), seen = seen_by(2)

    def start() -> None:
        one.start()
        other.start()

    monkeypatch.setitem(sys.modules, "tests_waiting", start)  # pyright: ignore[reportArgumentType]  # what the module calls

    module = importlib.import_module(NAME)

    assert seen == [1, 1]
    assert type(module.__spec__).__name__ == "ModuleSpec"
    assert "_fxls_waiting" not in vars(module.__spec__)
    importlib.reload(module)
    assert seen == [1, 1, 1, 1]


def test_not_at_all_once_it_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    (early, late), seen = seen_by(2)
    early.start()
    early.stop()

    def start() -> None:
        late.start()
        late.stop()

    monkeypatch.setitem(sys.modules, "tests_waiting", start)  # pyright: ignore[reportArgumentType]  # what the module calls

    importlib.import_module(NAME)

    assert seen == []
