"""What a launch configuration of the type `fxls` means, in the words of debugpy."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import fxls
from fxls.rules import rules_of

__all__ = ["RULES", "Unclear", "translated"]

RULES = (
    {"path": "**/torch/nn/modules/module.py", "include": False},
    {"path": "**/torch/nn/**", "include": True},
)
"""One step leads from a listing into the `forward` of a module of torch's."""


class Unclear(ValueError):
    """A launch configuration that says nothing, or two things; the message says what."""


def translated(
    given: Mapping[str, Any], environment: Mapping[str, str]
) -> dict[str, Any]:
    """What debugpy is to be told for a launch configuration of `type: fxls`.

    Raises `Unclear`. `environment` is what the program inherits.
    """
    own = {name: given.get(name) for name in _OWN}
    wanted = [name for name in _WHAT if given.get(name)]
    left_out = {*_OWN, *_WHAT} - {*wanted} | {"entry"}
    asked: dict[str, Any] = {n: v for n, v in given.items() if n not in left_out}
    if len(wanted) != 1:
        said = " and ".join(wanted) or "none of them"
        raise Unclear(f"say one of {', '.join(_WHAT)}: there is {said}")
    if own["node"] and wanted != ["entry"]:
        raise Unclear("`node` goes with `entry`: another program stops at a breakpoint")
    told = {"justMyCode": True, "rules": list(RULES), **asked, "type": "debugpy"}
    env = {**_variables(own, environment), **_strings(asked.get("env"), "env")}
    if wanted == ["entry"]:
        told["module"] = "fxls.debug_entry"
        told["args"] = ["--stop", *_node(own["node"]), str(own["entry"])]
    else:
        folder = str(Path(fxls.__file__).parent / "startup")
        path = env.get("PYTHONPATH") or environment.get("PYTHONPATH")
        env["PYTHONPATH"] = os.pathsep.join(filter(None, (folder, path)))
    told["env"] = env
    return told


_OWN = ("entry", "node", "breakOn", "onBreak", "keepValues", "store")
_WHAT = ("program", "module", "code", "entry")


def _node(name: object) -> list[str]:
    return [] if name is None else ["--node", str(name)]


def _variables(
    own: Mapping[str, Any], environment: Mapping[str, str]
) -> dict[str, str]:
    """What is asked of the runtime, as it finds it in its environment."""
    found: dict[str, str] = {}
    store = own["store"] or environment.get("FXLS_STORE")
    if store:
        found["FXLS_STORE"] = str(store)
    if own["breakOn"]:
        named = own["breakOn"]
        names = cast("list[Any]", named) if isinstance(named, list) else [named]
        try:
            rules = rules_of(map(str, names))
        except ValueError as error:
            raise Unclear(str(error)) from None
        found["FXLS_BREAK_ON"] = ",".join(rule.value for rule in rules)
        found["FXLS_ON_BREAK"] = str(own["onBreak"] or "report")
    if own["keepValues"]:
        found["FXLS_KEEP_VALUES"] = "1"
    return found


def _strings(value: object, name: str) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Unclear(f"`{name}` is an object of names and values")
    table = cast("dict[Any, Any]", value)
    return {str(key): str(one) for key, one in table.items() if one is not None}
