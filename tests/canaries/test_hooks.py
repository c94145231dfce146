"""Each function of torch's that fxls replaces is there, with the arguments it is known by."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

import pytest

from fxls.runtime.hooks import Hook, unfit
from fxls.runtime.installation import built
from fxls.runtime.numbers.keeping import Keeping
from fxls.runtime.producers.compiled_calls import PRIVATE
from fxls.runtime.record.run_head import ThisRun
from fxls.store import Store

HOOKS = built(Store(Path("nowhere")), ThisRun(), keeping_numbers=Keeping(0)).hooks.rows


def name_of(hook: Hook) -> str:
    return f"{hook.module}.{'+'.join(hook.replacements)}"


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("hook", HOOKS, ids=name_of)
def test_a_hook_fits(hook: Hook) -> None:
    importlib.import_module(hook.module)
    assert list(unfit(hook)) == [], hook.without


@pytest.mark.parametrize("path", PRIVATE)
def test_torch_has_what_a_comparison_looks_up(path: str) -> None:
    found = pkgutil.resolve_name(path)
    assert callable(found) or hasattr(found, "get"), PRIVATE[path]
