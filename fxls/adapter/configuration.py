"""What a configuration of the type `fxls` means, in the words of debugpy."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import fxls
from fxls.launching.listening import LOCAL, Address
from fxls.rules import OnBreak, on_break_of, rules_of

__all__ = [
    "RULES",
    "Configuration",
    "Unclear",
    "address_of",
    "attached",
    "launched",
]

RULES = (
    {"path": "**/torch/nn/modules/module.py", "include": False},
    {"path": "**/torch/nn/**", "include": True},
)
"""One step leads from a listing into the `forward` of a module of torch's."""


class Unclear(ValueError):
    """A configuration that says nothing, or two things; the message says what."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """What debugpy is told of a program, and what the program is watched for."""

    arguments: dict[str, Any]
    rules: tuple[str, ...] = ()
    on_break: str = OnBreak.REPORT.value
    runs_already: bool = False
    """Whether the program began without what `arguments` say of its environment."""
    has_own_rules: bool = False
    """Whether somebody said which frames a step leads into."""
    listens: Address | None = None
    """Where an adapter of debugpy's waits for us, beside the program."""


def launched(given: Mapping[str, Any], environment: Mapping[str, str]) -> Configuration:
    """The program that a launch configuration means.

    Raises `Unclear`. `environment` is what the program inherits.
    """
    own = {name: given.get(name) for name in _OWN}
    wanted = [name for name in _WHAT if given.get(name)]
    if len(wanted) != 1:
        said = " and ".join(wanted) or "none of them"
        raise Unclear(f"say one of {', '.join(_WHAT)}: there is {said}")
    if own["node"] and wanted != ["entry"]:
        raise Unclear("`node` needs `entry`; in another program, set a breakpoint")
    told = _told(given, {*_OWN, *_WHAT} - {*wanted} | {"entry"})
    env = {**_variables(own, environment), **_strings(told.get("env"), "env")}
    if wanted == ["entry"]:
        told["module"] = "fxls.debug_entry"
        store = env.get("FXLS_STORE")
        where = [] if store is None else ["--store", store]
        node = [] if own["node"] is None else ["--node", str(own["node"])]
        told["args"] = ["--stop", *where, *node, str(own["entry"])]
    else:
        folder = str(Path(fxls.__file__).parent / "startup")
        path = env.get("PYTHONPATH") or environment.get("PYTHONPATH")
        env["PYTHONPATH"] = os.pathsep.join(filter(None, (folder, path)))
    told["env"] = env
    inherited = {**environment, **env}
    return Configuration(
        told,
        _names(inherited.get("FXLS_BREAK_ON", "")),
        inherited.get("FXLS_ON_BREAK") or OnBreak.REPORT.value,
        has_own_rules=_has_own_rules(given),
    )


def attached(given: Mapping[str, Any]) -> Configuration:
    """The program that a configuration attaches to; raises `Unclear`."""
    for name in ("entry", "node", "keepValues", "store"):
        if given.get(name):
            raise Unclear(
                f"`{name}` is for a launch; the program that an attach joins runs already"
            )
    own = {name: given.get(name) for name in _OWN}
    # debugpy announces a child process with the configuration of its parent.
    is_child = given.get("subProcessId") is not None
    inherited = _strings(given.get("env"), "env") if is_child else {}
    env = {**_variables(own, {}), **inherited}
    return Configuration(
        _told(given, {*_OWN}),
        _names(env.get("FXLS_BREAK_ON", "")),
        env.get("FXLS_ON_BREAK") or OnBreak.REPORT.value,
        runs_already=not is_child,
        has_own_rules=_has_own_rules(given),
        listens=address_of(given),
    )


_OWN = ("entry", "node", "breakOn", "onBreak", "keepValues", "store")
_WHAT = ("program", "module", "code", "entry")


def _told(given: Mapping[str, Any], left_out: set[str]) -> dict[str, Any]:
    asked = {name: value for name, value in given.items() if name not in left_out}
    return {"justMyCode": True, "rules": list(RULES), **asked, "type": "debugpy"}


def _has_own_rules(given: Mapping[str, Any]) -> bool:
    return "rules" in given or "justMyCode" in given


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _variables(
    own: Mapping[str, Any], environment: Mapping[str, str]
) -> dict[str, str]:
    """What is asked of the runtime, as it finds it in its environment."""
    found: dict[str, str] = {}
    store = own["store"] or environment.get("FXLS_STORE")
    if store:
        found["FXLS_STORE"] = str(store)
    try:
        if own["breakOn"]:
            named = own["breakOn"]
            names = cast("list[Any]", named) if isinstance(named, list) else [named]
            rules = rules_of(map(str, names))
            found["FXLS_BREAK_ON"] = ",".join(rule.value for rule in rules)
        if own["breakOn"] or own["onBreak"]:
            how = on_break_of(str(own["onBreak"] or OnBreak.REPORT.value))
            found["FXLS_ON_BREAK"] = how.value
    except ValueError as error:
        raise Unclear(str(error)) from None
    if own["keepValues"]:
        found["FXLS_KEEP_VALUES"] = "1"
    return found


def _strings(value: object, name: str) -> dict[str, str]:
    return {
        key: str(one) for key, one in _table(value, name).items() if one is not None
    }


def _table(value: object, name: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Unclear(f"`{name}` is an object of names and values")
    table = cast("dict[Any, Any]", value)
    return {str(key): one for key, one in table.items()}


def address_of(given: Mapping[str, Any]) -> Address | None:
    """Where debugpy listens, beside a program that was started so; raises `Unclear`."""
    where = _table(given.get("connect"), "connect") or given
    port = where.get("port")
    if port is None:
        return None
    if not str(port).isdecimal() or not 0 < int(port) < 1 << 16:
        raise Unclear(f"`port` is a number up to 65535, not {port!r}")
    return Address(str(where.get("host") or LOCAL), int(port))
