"""The lines above a listing's ``def`` that say what its global names are.

The generated function gets its globals by value, and needs no import. The lines are for
who reads it: a person, and the editor's Python support. What they import from torch and
the standard library is what the function has anyway. The user's own names stand under
``TYPE_CHECKING``, because importing the user's program while it runs would run it twice.
"""

from __future__ import annotations

import builtins
import re
import sys
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any

from fxls.engine.code.codegen import STANDARD_GLOBALS
from fxls.engine.tracing.wrap import function_behind
from fxls.runtime.listings.module_names import importable_name

__all__ = ["import_lines"]

_STANDARD = frozenset(STANDARD_GLOBALS)
_IN_WORD = re.compile(r"\w")


def import_lines(code: str, values: Mapping[str, Any]) -> list[str]:
    """Statements that bind the names of `values` that stand in `code`."""
    executed: dict[str, None] = {}
    declared: dict[str, None] = {}
    for name, value in values.items():
        if _stands(name, code) and getattr(builtins, name, None) is not value:
            line, module = _binding(name, value)
            if line and _is_safe(module):
                executed[line] = None
            elif line:
                declared[line] = None
    lines = sorted(executed, key=_order)
    if declared:
        lines += ["", "TYPE_CHECKING = False", "if TYPE_CHECKING:"]
        lines += [f"    {line}" for line in sorted(declared, key=_order)]
    return lines


def _stands(name: str, code: str) -> bool:
    """Whether a name is a word of `code`; most are not even a part of it.

    An expression for the word itself would stop at each word of the code.
    """
    at = code.find(name)
    while at >= 0:
        end = at + len(name)
        if not _IN_WORD.search(code[max(at - 1, 0) : at] + code[end : end + 1]):
            return True
        at = code.find(name, end)
    return False


def _binding(name: str, value: Any) -> tuple[str, str]:
    """A statement that binds `name` to `value`, and the module it imports; or blanks."""
    if isinstance(value, ModuleType):
        module = value.__name__
        if module == "fxls":  # for the calls of fxls.engine.wrap
            return "import fxls.engine", module
        if module == name:
            return f"import {module}", module
        return f"import {module} as {name}", module
    if name in ("inf", "nan"):
        return f"from math import {name}", "math"
    if name == "NoneType":
        return "from types import NoneType", "types"
    for module, attribute in _addresses(value):
        # Another thread may be tracing, when what is wrapped has a recorder in its place.
        found = function_behind(_reach(module, attribute))
        if found is value and "<" not in attribute:
            module = importable_name(module)
            if "." not in attribute:
                as_name = "" if attribute == name else f" as {name}"
                return f"from {module} import {attribute}{as_name}", module
            if module.partition(".")[0] == "torch":
                return f"{name} = {module}.{attribute}", module
    return "", ""


def _addresses(value: Any) -> Iterable[tuple[str, str]]:
    """Where a value says that it can be found: module and attribute path."""
    attribute = getattr(value, "__qualname__", None) or getattr(value, "_name", None)
    if not isinstance(attribute, str):
        return
    module = getattr(value, "__module__", None)
    if isinstance(module, str):
        yield module, attribute
    yield "torch", getattr(value, "__name__", attribute)
    yield "torch", f"Tensor.{getattr(value, '__name__', attribute)}"


def _reach(module: str, attribute: str) -> Any:
    at: Any = sys.modules.get(module)
    for atom in attribute.split("."):
        at = getattr(at, atom, None)
    return at


def _is_safe(module: str) -> bool:
    """Whether importing a module cannot run any code of the user's."""
    top = module.partition(".")[0]
    return top in ("torch", "fxls") or top in sys.stdlib_module_names


def _order(line: str) -> tuple[bool, str]:
    return (not line.startswith("import"), line)
