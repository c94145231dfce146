"""The source of a function of the program, with that of all that it reads by a name.

A script has it where torch and Python alone are needed: functions and classes of the
program are written again, and numbers, texts and lists of these by their value.
"""

from __future__ import annotations

import ast
import builtins
import dis
import importlib
import inspect
import math
import sys
import textwrap
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import torch

from fxls.attempt import Raised, attempt
from fxls.engine.ir.target_names import qualified_name
from fxls.runtime.numbers.graphs import NotRun
from fxls.runtime.numbers.scripts.script import OPERATORS, Function

__all__ = ["Written", "of_function", "of_method", "spelled", "value_text"]

_OF_THE_SCRIPT = frozenset(
    (
        *("RAISES", "all_raised", "error", "fake", "form", "function", "given"),
        *("inputs", "kernel", "library", "module", "own", "said", "unpacked"),
        *("NAMES", "WRITTEN", "before", "found", "lie", "memory"),
    )
)
"""Names that mean something else in a script."""
_LONGEST = 1 << 14
"""So many characters the value of a name may have."""
_OPS: Any = torch.ops
_OPERATORS: Any = (
    type(_OPS.aten),
    type(_OPS.aten.add),
    type(_OPS.aten.add.Tensor),
)
"""The classes of a namespace of operators, of an operator, and of one of its overloads."""
_READS = ("LOAD_GLOBAL", "LOAD_NAME")


@dataclass(frozen=True, slots=True)
class Written:
    """A function that is to be written, and what the names in it mean."""

    code: types.CodeType
    names: Mapping[str, Any]
    """Those of its module and of the functions around it."""

    @staticmethod
    def of(function: types.FunctionType) -> Written:
        """One that can be called."""
        cells = zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=True
        )
        free = {
            name: attempt(lambda cell=cell: cell.cell_contents) for name, cell in cells
        }
        known = {name: one for name, one in free.items() if not isinstance(one, Raised)}
        return Written(function.__code__, {**function.__globals__, **known})


def of_function(one: Written, called: str) -> Function:
    """The source of a function under another name, behind that of what it reads; raises
    `NotRun`, which says what needs more than torch.
    """
    reading = _Reading()
    tree = reading.function(one)
    tree.decorator_list, tree.name = [], called
    return reading.written(called, ast.unparse(tree))


def of_method(owner: Any, method: str) -> Function:
    """The source of the class of an object, and an object with the same values, whose
    method is to be called; raises `NotRun`.
    """
    reading = _Reading()
    kind = type(owner).__name__
    reading.read(kind, type(owner))
    try:
        held = value_text({**getattr(owner, "__dict__", {})})
    except NotRun as why:
        raise NotRun(
            f"the {kind} whose method it is holds what nothing writes"
        ) from why
    lines = f"own = object.__new__({kind})\n" + (
        f"own.__dict__.update({held})\n" if held != "{}" else ""
    )
    return reading.written(f"own.{method}", lines)


def spelled(value: Any) -> tuple[str, str] | None:
    """How something of torch or of Python is written, and the line that imports it; None
    for what is of neither.
    """
    if isinstance(value, _OPERATORS):
        text = _operator(value)
        return (text, "import torch") if text else None
    if isinstance(value, types.ModuleType):
        found = value.__name__
        return (found, f"import {found}") if _is_had(found) else None
    named = attempt(lambda: qualified_name(value))
    if isinstance(named, Raised):
        return None
    module, _, name = named.removeprefix("_").rpartition(".")  # operator is public
    if not module:
        return (name, "") if getattr(builtins, name, None) is value else None
    if not _is_had(module) or _at(module, name) is not value:
        return None
    return f"{module}.{name}", f"import {module}"


def value_text(value: Any) -> str:
    """A number, a text, what torch has of the kind, or a list of these; raises `NotRun`."""
    kind = cast("type[Any]", type(value))
    if value is None or kind in (bool, int, str, bytes):
        return repr(value)
    if isinstance(value, torch.dtype | torch.layout | torch.memory_format):
        return str(value)
    if isinstance(value, torch.device):
        return f"torch.device({str(value)!r})"
    if kind is float:
        return repr(value) if math.isfinite(value) else f'float("{value}")'
    if kind in (tuple, list, set):
        inside = ", ".join(map(value_text, value))
        if kind is tuple:
            return f"({inside},)" if len(value) == 1 else f"({inside})"
        return f"[{inside}]" if kind is list else f"{{{inside}}}" if value else "set()"
    if kind is dict:
        pairs = (f"{value_text(key)}: {value_text(one)}" for key, one in value.items())
        return "{" + ", ".join(pairs) + "}"
    if kind is slice:
        both = map(value_text, (value.start, value.stop, value.step))
        return f"slice({', '.join(both)})"
    raise NotRun(f"nothing writes a {kind.__name__}")


class _Reading:
    """What a function reads, each before what reads it."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        """By the name of what they define."""
        self.imports: dict[str, None] = {}
        self._known: dict[str, Any] = {}

    def written(self, called: str, last: str) -> Function:
        """All of it, and behind it what reads it."""
        return Function(
            called, "\n\n\n".join([*self.texts.values(), last]), [*self.imports]
        )

    def function(self, one: Written) -> ast.FunctionDef:
        """The syntax of a function, once all that it reads is written."""
        tree = _defined(one.code)
        if not isinstance(tree, ast.FunctionDef):
            raise NotRun(f"the source of {one.code.co_name} is not that of a function")
        self._read_all(one.names, {*_global_names(one.code), *_names_in_head(tree)})
        return tree

    def read(self, name: str, value: Any) -> None:
        """Let a name mean what it means in the program."""
        if name in self._known:
            if self._known[name] is not value:
                raise NotRun(f"{name} means several things in its source")
            return
        if name in _OF_THE_SCRIPT:
            raise NotRun(f"it reads {name}, which a script has for something else")
        self._known[name] = value
        found = spelled(value)
        if found is not None:
            text, line = found
            self.imports |= dict.fromkeys([line] if line else [])
            if text != name and line != f"import {text}":
                self.texts[name] = f"{name} = {text}"
            elif text != name:
                self.imports.pop(line)
                self.imports[f"import {text} as {name}"] = None
        else:
            self._read_own(name, value)

    def _read_own(self, name: str, value: Any) -> None:
        if _is_of_others(value):
            raise NotRun(f"it reads {name}, which torch and Python alone have not")
        if isinstance(value, types.FunctionType):
            tree = self.function(Written.of(value))
            if tree.decorator_list or value.__code__.co_name != tree.name:
                raise NotRun(f"it reads {name}, which something decorates")
            tree.name = name
            self.texts[name] = ast.unparse(tree)
        elif isinstance(value, type):
            self._class(name, cast("type[Any]", value))
        else:
            text = attempt(lambda: value_text(value))
            if isinstance(text, Raised) or len(text) > _LONGEST:
                raise NotRun(f"it reads {name}, of which nothing writes the value")
            if "torch." in text:
                self.imports["import torch"] = None
            self.texts[name] = f"{name} = {text}"

    def _class(self, name: str, value: type[Any]) -> None:
        tree = _defined(value)
        if not isinstance(tree, ast.ClassDef) or tree.decorator_list:
            raise NotRun(f"it reads {name}, a class whose source says too little")
        module = sys.modules.get(value.__module__)
        names: dict[str, Any] = dict(vars(module)) if module is not None else {}
        written = {
            one.id
            for one in ast.walk(tree)
            if isinstance(one, ast.Name) and one.id != name
        }
        for one in vars(value).values():
            if isinstance(one, types.FunctionType):
                names |= Written.of(one).names
        bases = {base.__name__: base for base in value.__bases__}
        names = {**bases, **names}
        names.pop(name, None)
        for one in ast.walk(tree):
            if isinstance(one, ast.FunctionDef):
                _without_annotations(one)
        self._read_all(names, written & names.keys())
        tree.name = name
        self.texts[name] = ast.unparse(tree)

    def _read_all(self, names: Mapping[str, Any], wanted: set[str]) -> None:
        for name in sorted(wanted):
            if name in names:
                self.read(name, names[name])
            elif not hasattr(builtins, name):
                raise NotRun(f"it reads {name}, of which nobody knows what it is")


def _defined(what: Any) -> ast.stmt | None:
    """The syntax of a function or class, without annotations, by its source."""
    text = attempt(lambda: textwrap.dedent(inspect.getsource(what)))
    tree = None if isinstance(text, Raised) else attempt(lambda: ast.parse(text))
    if tree is None or isinstance(tree, Raised) or len(tree.body) != 1:
        return None
    (defined,) = tree.body
    if isinstance(defined, ast.FunctionDef):
        _without_annotations(defined)
    return defined


def _without_annotations(tree: ast.FunctionDef) -> None:
    """Nothing reads them, and they may name what only type checkers know."""
    tree.returns = None
    for one in ast.walk(tree):
        if isinstance(one, ast.arg):
            one.annotation = None


def _global_names(code: types.CodeType) -> Iterator[str]:
    """What code reads that is none of its own, and neither of functions in it."""
    inner = [one for one in code.co_consts if isinstance(one, types.CodeType)]
    yield from code.co_freevars
    for one in dis.get_instructions(code):
        if one.opname in _READS and isinstance(one.argval, str):
            yield one.argval
    for one in inner:
        own = {*code.co_varnames, *code.co_cellvars, "__class__", "__module__"}
        own |= {"__name__", "__qualname__"}
        yield from (name for name in _global_names(one) if name not in own)


def _names_in_head(tree: ast.FunctionDef) -> Iterator[str]:
    """What its defaults read."""
    defaults = [*tree.args.defaults, *(one for one in tree.args.kw_defaults if one)]
    for default in defaults:
        for one in ast.walk(default):
            if isinstance(one, ast.Name):
                yield one.id


def _operator(value: Any) -> str:
    """How an operator, or a namespace of them, is written; empty where it is none of
    torch's own.
    """
    text = str(value.name if isinstance(value, _OPERATORS[0]) else value)
    return f"torch.ops.{text}" if text.partition(".")[0] in OPERATORS else ""


def _is_of_others(value: Any) -> bool:
    """Whether it is a module, or a function or class of a package that is installed."""
    if isinstance(value, types.ModuleType):
        return True
    if not isinstance(value, types.FunctionType | type):
        return False
    module = sys.modules.get(value.__module__)
    return "site-packages" in str(getattr(module, "__file__", ""))


def _is_had(module: str) -> bool:
    """Whether a module is there where torch is, and nothing else."""
    root = module.partition(".")[0]
    return root == "torch" or (root in sys.stdlib_module_names and root != "__main__")


def _at(module: str, name: str) -> Any:
    """What a module has at a name; None where it has nothing."""

    def found() -> Any:
        return getattr(importlib.import_module(module), name)

    got = attempt(found)
    return None if isinstance(got, Raised) else got
