"""What a program writes with that has a CodeGen or a `recompile` of its own."""

from __future__ import annotations

import itertools
import keyword
import linecache
import typing
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple, cast

from fxls.engine.code import python_code
from fxls.engine.code.statement import is_in_torch as _is_from_torch
from fxls.engine.ir import names, target_names

__all__ = [
    "_CustomBuiltin",
    "_WrappedCall",
    "_custom_builtins",
    "_exec_with_source",
    "_find_module_of_method",
    "_format_import_statement",
    "_format_target",
    "_is_from_torch",
    "_origin_type_map",
    "_register_custom_builtin",
]

_origin_type_map: dict[type, Any] = {
    list: typing.List,  # noqa: UP006 - it is asked for the form that typing has
    dict: typing.Dict,  # noqa: UP006
    set: typing.Set,  # noqa: UP006
    frozenset: typing.FrozenSet,  # noqa: UP006
    tuple: typing.Tuple,  # noqa: UP006
}
"""By the class of a container what an annotation of it is subscripted from."""


class _CustomBuiltin(NamedTuple):
    """A global name of every generated function."""

    import_str: str
    """The statement that gives a file the name."""
    obj: Any


class _Builtins(dict[str, _CustomBuiltin]):
    """By name; what a program adds is a global of what is generated from then on."""

    def __setitem__(self, name: str, builtin: _CustomBuiltin) -> None:
        super().__setitem__(name, builtin)
        python_code.STANDARD_GLOBALS[name] = builtin.obj
        names.RESERVED.add(name)


def _import_text(name: str, value: Any) -> str:
    if isinstance(value, ModuleType):
        whole = value.__name__
        return f"import {whole}" if name == whole else f"import {whole} as {name}"
    if value is type(None):
        return f"{name} = type(None)"
    module = getattr(value, "__module__", None) or "math"
    return f"from {module} import {name}"


_custom_builtins = _Builtins(
    (name, _CustomBuiltin(_import_text(name, value), value))
    for name, value in python_code.STANDARD_GLOBALS.items()
)


def _register_custom_builtin(name: str, import_str: str, obj: Any) -> None:
    """Let every generated function have a global name."""
    _custom_builtins[name] = _CustomBuiltin(import_str, obj)


def _format_target(base: str, target: str) -> str:
    """The expression of what a path leads to; `base` is the one of where it begins."""
    text = base
    for atom in target.split("."):
        is_name = atom.isidentifier() and not keyword.iskeyword(atom)
        text = f"{text}.{atom}" if is_name else f'getattr({text}, "{atom}")'
    return text


def _format_import_statement(name: str, obj: Any, importer: Any) -> str:
    """The statement that gives a file a global name, as an importer of torch.package says."""
    builtin = _custom_builtins.get(name)
    if builtin is not None:
        return builtin.import_str
    if isinstance(obj, ModuleType):
        return f"import {obj.__name__} as {name}"
    module, path = importer.get_name(obj)
    return f"from {module} import {path} as {name}"


def _exec_with_source(
    src: str,
    globals: dict[str, Any],  # noqa: A002 - FX's signature
    co_fields: dict[str, Any] | None = None,
) -> None:
    """Run a source; a traceback that passes through it shows its lines.

    `co_fields` says of which function it is made, which the name of its file repeats.
    """
    file = f"<executed source {next(_numbers)}>"
    if co_fields:
        place = f"{co_fields['co_filename']}:{co_fields['co_firstlineno']}"
        file = f"{file} from {place} in {co_fields['co_name']}"
    linecache.cache[file] = (len(src), None, src.splitlines(keepends=True), file)
    exec(compile(src, file, "exec"), globals)


_numbers = itertools.count()


def _find_module_of_method(orig_method: Callable[..., Any]) -> str:
    """The name of the module in which a function is found by its name."""
    return target_names.module_of(orig_method, orig_method.__name__)


class _WrappedCall:
    """Calls a module of a class: by the call that the class has, or by that above it."""

    def __init__(self, cls: type, cls_call: Callable[..., Any] | None) -> None:
        self.cls = cls
        self.cls_call = cls_call

    def __call__(self, obj: Any, *args: Any, **kwargs: Any) -> Any:
        if self.cls_call is not None:
            return self.cls_call(obj, *args, **kwargs)
        above = cast("Any", super(self.cls, obj))
        return above.__call__(*args, **kwargs)
