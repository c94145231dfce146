"""Runs that tests record, and the remarks that are made of them."""

from __future__ import annotations

import contextlib
import importlib.util
import re
import warnings
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
import torch

import fxls
from fxls.record import QuotedPlace
from fxls.record.remarks import SourceRemark, remarks_of
from fxls.serving.ownership import is_installed
from fxls.store.runs import Runs

__all__ = ["loaded", "marked", "quoted", "recorded"]

any_torch: Any = torch


@contextlib.contextmanager
def recorded(root: Path) -> Generator[list[SourceRemark]]:
    """At the end of the block, all remarks of what was compiled in it."""
    found: list[SourceRemark] = []
    any_torch.compiler.reset()
    fxls.install(root)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield found
    finally:
        fxls.uninstall()
        any_torch.compiler.reset()
    runs = Runs(root, lambda trouble: pytest.fail(str(trouble)))
    (name,) = runs.newest_launch()
    found += remarks_of(runs.read(name).entries, lambda path: not is_installed(path))


def loaded(path: Path) -> Any:
    """The module of a file."""
    spec = importlib.util.spec_from_file_location("small_functions", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def quoted(place: QuotedPlace | None) -> str:
    """The expression that a place has."""
    assert place is not None
    span = place.place.span
    return place.line[span.start.column : span.end.column]


def marked(text: str) -> list[str]:
    """What stands between « and » in a function."""
    return re.findall("«(.*?)»", text)
