"""What targets are, as plain facts: name, signature and place of what is called."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Mapping
from types import CodeType
from typing import Any, cast

import torch

from fxls.attempt import attempt
from fxls.engine.ir.node_text import pretty_target
from fxls.listing import Target
from fxls.runtime.torch_private import fx, schema_of

__all__ = ["Targets", "file_of", "passes_of"]


class Targets:
    """The rows of the target table: one for each thing that nodes call."""

    def __init__(self) -> None:
        self.rows: list[Target] = []
        self._known: dict[tuple[str, object], int] = {}

    def row(self, op: str, target: Any, submodule: object) -> int | None:
        """The row of what a node calls; `submodule` is what a call_module calls."""
        key: tuple[str, object]
        if op == "call_function":
            key = (op, id(target))
        elif op == "call_method":
            key = (op, target)
        elif op == "call_module" and submodule is not None:
            key = (op, type(submodule))
        else:
            return None
        row = self._known.get(key)
        if row is None:
            row = self._known[key] = len(self.rows)
            self.rows.append(_target(op, target, submodule))
        return row


def file_of(kind: object) -> str | None:
    """The file of the module that a class is of; None when that has none."""
    module = sys.modules.get(getattr(kind, "__module__", ""))
    file = getattr(module, "__file__", None)
    return file if isinstance(file, str) else None


def passes_of(meta: Mapping[str, Any], known: dict[str, str]) -> tuple[str, ...]:
    """The passes that made a node with this `meta`, the last one first.

    `known` keeps what a note names, for which the subclasses of a class are walked.
    """
    noted: object = meta.get("from_node")
    if noted is None:
        return ()
    names: list[str] = []
    while isinstance(noted, list) and noted:
        latest: object = cast("list[object]", noted)[-1]
        name = _pass_of(getattr(latest, "pass_name", ""), known)
        if name and name not in names[-1:]:
            names.append(name)
        noted = getattr(latest, "from_node", None)
    return tuple(names)


def _pass_of(noted: object, known: dict[str, str]) -> str:
    if not isinstance(noted, str):
        return ""
    if noted not in known:
        known[noted] = _named(noted)
    return known[noted]


def _named(noted: str) -> str:
    """The pass that a note names; empty for what is no step of anybody's.

    An interpreter that runs notes itself by its class, and torch runs some of its own.
    """
    name = noted.removeprefix("Interpreter_")
    if name == noted:
        return noted
    kinds: list[Any] = [fx.Interpreter]
    for kind in kinds:
        kinds += kind.__subclasses__()
        if kind.__name__ == name and kind.__module__.partition(".")[0] == "torch":
            return ""
    return name


def _target(op: str, target: Any, submodule: object) -> Target:
    if op == "call_method":
        name = str(target)
        method = getattr(torch.Tensor, name, None)
        known = f"torch.Tensor.{name}" if method is not None else name
        return _described(known, method, bound=True)
    if op == "call_module":
        kind = type(submodule)
        public = getattr(torch.nn, kind.__name__, None) is kind
        name = kind.__name__ if public else kind.__qualname__
        return _described(
            f"{'torch.nn' if public else kind.__module__}.{name}",
            inspect.getattr_static(kind, "forward", None),
            bound=True,
        )
    return _described(pretty_target(target), target, bound=False)


def _described(name: str, called: object, *, bound: bool) -> Target:
    code = getattr(called, "__code__", None)
    file, line = None, 0
    if isinstance(code, CodeType) and not code.co_filename.startswith("<"):
        file, line = code.co_filename, code.co_firstlineno - 1
    signature = attempt(lambda: _signature(called, bound=bound))
    return Target(name, signature if isinstance(signature, str) else "", file, line)


def _signature(called: object, *, bound: bool) -> str:
    schema = schema_of(called)
    if schema is not None:  # an operator of torch.ops
        return re.sub(r"^[^(]*", "", str(schema))
    if not isinstance(getattr(called, "__code__", None), CodeType):
        return _documented(called)
    signature = inspect.signature(called)  # pyright: ignore[reportArgumentType]  # it has code
    parameters = list(signature.parameters.values())
    written = [_parameter(p) for p in (parameters[1:] if bound else parameters)]
    return f"({', '.join(written)})"


def _parameter(parameter: inspect.Parameter) -> str:
    """A parameter without its annotation; most of those are longer than it."""
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}
    name = stars.get(parameter.kind, "") + parameter.name
    default = parameter.default
    if default is parameter.empty:
        return name
    # The repr of anything else may be long, or code of the user's.
    plain = default is None or type(default) in (bool, int, float, str)
    return f"{name}={default!r}" if plain else f"{name}=..."


def _documented(called: object) -> str:
    """The signature in the first line of the documentation, as torch writes it."""
    text = getattr(called, "__doc__", None)
    name = getattr(called, "__name__", "")
    if not isinstance(text, str) or not name:
        return ""
    first = text.strip().split("\n")[0]
    match = re.match(rf"(?:[\w.]*\.)?{re.escape(name)}(\(.*\)(?: -> .+)?)$", first)
    if match is not None:
        return match[1]
    given = getattr(called, "__text_signature__", None)
    return given.replace("$module, ", "") if isinstance(given, str) else ""
