"""What of fxls works in this interpreter, and why the rest does not: for `fxls doctor`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from fxls import installed_torch
from fxls.attempt import Raised, attempt
from fxls.health import Examination, Part, examination
from fxls.runtime.debugging.pydevd_names import missing
from fxls.runtime.hooks import unfit
from fxls.runtime.installation import built
from fxls.runtime.numbers.keeping import Keeping
from fxls.runtime.producers import compiled_calls
from fxls.runtime.record.run_head import ThisRun
from fxls.store import Store

__all__ = ["examined"]


def examined(root: Path, environment: Mapping[str, str]) -> Examination:
    """Look at all of it; imports what torch.compile, torch.export and debugpy are made of."""
    parts = (*_engine(), *_producers(root), *_numbers(), *_debugger())
    return examination(root, environment, parts)


def _engine() -> Iterator[Part]:
    # What was looked up while the engine was imported, and the runtime.
    lacking = tuple(
        f"torch has no {name}: {without}"
        for name, without in installed_torch.lacking.items()
    )
    yield Part("fxls.engine", "tracing, graphs and passes", lacking)


def _producers(root: Path) -> Iterator[Part]:
    # With what only `fxls compare` and `fxls bisect` put in.
    parts = built(Store(root), ThisRun(), keeping_numbers=Keeping(0))
    for hook in parts.hooks.rows:
        if hook.module == "sys":
            continue
        found = attempt(lambda hook=hook: importlib.import_module(hook.module))
        if isinstance(found, Raised):
            problems = (f"{hook.module} cannot be imported: {found.error}",)
        else:
            problems = tuple(unfit(hook))
        package = hook.module.split(".")[1].lstrip("_")
        area = _AREAS.get(package, "torch.fx")
        said = tuple(f"{problem}: {hook.without}" for problem in problems)
        yield Part(area, ", ".join(hook.replacements), said)


def _numbers() -> Iterator[Part]:
    """What a comparison looks up by itself."""
    for path, without in compiled_calls.PRIVATE.items():
        found = attempt(lambda path=path: pkgutil.resolve_name(path))
        name = path.replace(":", ".")
        said = (f"torch has no {name}: {without}",)
        yield Part("torch.compile", name, said if isinstance(found, Raised) else ())


def _debugger() -> Iterator[Part]:
    for feature, problems in missing().items():
        yield Part("debugger", feature, problems)


_AREAS = {
    "engine": "fxls.engine",
    "dynamo": "torch.compile",
    "functorch": "torch.compile",
    "guards": "torch.compile",
    "inductor": "torch.compile",
    "export": "torch.export",
}
"""The producers by the packages of torch that they are in."""
