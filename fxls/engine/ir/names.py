"""The names of nodes: unique in a graph, and what they are derived from."""

from __future__ import annotations

import builtins
import keyword
import re
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from fxls.engine.torch_private import COUNTED_BY_BASE

if TYPE_CHECKING:
    from fxls.engine.ir.node import Node

__all__ = [
    "RESERVED",
    "Namespace",
    "are_legal",
    "default_name",
    "identifier",
    "is_illegal",
    "naming_in_force",
    "snake_case",
    "target_name",
]

RESERVED = {"inf", "nan", "NoneType", "torch", "device", "fx_pytree", "pytree"}
"""Names that generated code uses for values that Python prints but cannot read."""


class Namespace:
    """Hands out identifiers, each once.

    - A name that was given is never given again, also after its node is gone.
    - No name is a keyword, a builtin or reserved, unless it is handed out for just
      that object.
    - A taken name gets the next free number behind the last one seen with its base.
    """

    __slots__ = ("_last", "_names", "_used")

    def __init__(self) -> None:
        self._used: set[str] = set()
        self._last: dict[str, int] = {}
        self._names: dict[int, tuple[str, Any]] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._used

    def create_name(self, candidate: str, obj: Any | None) -> str:
        """A free identifier close to `candidate`; for an object always the same one."""
        if obj is not None:
            known = self._names.get(id(obj))
            if known is not None:
                return known[0]
        elif (at := self._last.get(candidate)) is not None:
            # A base that is taken, the usual case: what `_free` does with it.
            name = f"{candidate}_{at + 1}"
            used = self._used
            if (
                candidate in used
                and name not in used
                and name not in _BUILTINS
                and candidate[-1] not in _DIGITS
            ):
                self._last[candidate] = at + 1
                used.add(name)
                return name
        name = self._free(candidate, obj)
        self._used.add(name)
        if obj is not None:
            self._names[id(obj)] = (
                name,
                obj,
            )  # the object kept, so its id is not reused
        return name

    def associate_name_with_obj(self, name: str, obj: Any) -> None:
        """Remember that `name`, handed out before, stands for `obj`."""
        self._names[id(obj)] = (name, obj)

    @property
    def is_new(self) -> bool:
        """Whether no name was handed out."""
        return not self._used

    def take(self, names: Iterable[str]) -> None:
        """Hand out names that are unique and legal, in this order."""
        self._used.update(names)
        last = self._last
        for name in names:
            if name[-1] in _DIGITS:  # what `_split` does, without the call
                base, _, digits = name.rpartition("_")
                if base and digits.isdecimal() and digits.isascii():
                    last[base] = int(digits)

    def has_none_of(self, names: Iterable[str]) -> bool:
        """Whether none of these names was handed out."""
        return self._used.isdisjoint(names)

    def copy(self) -> Namespace:
        """A namespace in which the same names are taken, for no object."""
        new = Namespace()
        new._used = self._used.copy()
        new._last = self._last.copy()
        return new

    def _free(self, candidate: str, obj: Any | None) -> str:
        base = candidate
        if not (candidate.isidentifier() and candidate.isascii()):
            base = candidate = identifier(candidate)
        number = None
        if candidate[-1] in _DIGITS:
            base, number = _split(candidate)
        last = self._last
        if candidate not in self._used and not is_illegal(candidate, obj):
            if number is not None:
                last[base] = number
            return candidate
        at = last.get(base if COUNTED_BY_BASE else candidate, 0)
        while True:
            at += 1
            name = f"{base}_{at}"
            if name not in self._used and not is_illegal(name, obj):
                last[base] = at
                return name


def snake_case(name: str) -> str:
    """``PascalCase`` and ``ALL_CAPS`` in lower case, words parted by underscores."""
    known = _snake_cased.get(name)
    if known is None:
        known = _snake_cased[name] = _HUMP.sub(_parted, name).lower()
    return known


def target_name(target: Callable[..., Any] | str) -> str:
    """What a node is called after its target, before it is made unique."""
    if not isinstance(target, str):
        return snake_case(target.__name__)
    known = _named.get(target)
    if known is None:
        name = target
        if name.startswith("__") and name.endswith("__"):
            name = name[2:-2]
        known = _named[target] = snake_case(name)
    return known


def default_name(target: Callable[..., Any] | str) -> str:
    """`target_name` as an identifier, which `create_name` makes it anyway."""
    if isinstance(target, str):
        known = _default_names.get(target)
        if known is None:
            known = _default_names[target] = identifier(target_name(target))
        return known
    name = target.__name__
    known = _names_of_functions.get(name)
    if known is None:
        known = _names_of_functions[name] = identifier(snake_case(name))
    return known


_DIGITS = frozenset("0123456789")
_OTHER = re.compile(r"[^0-9a-zA-Z_]+")
_HUMP = re.compile(r"(?<=[a-z])[A-Z]")
_KEYWORDS = frozenset(keyword.kwlist)
_BUILTINS = vars(builtins)
_snake_cased: dict[str, str] = {}
_named: dict[str, str] = {}
_default_names: dict[str, str] = {}
_names_of_functions: dict[str, str] = {}
"""By name, not by function, which would live for as long as its entry."""


def _parted(found: re.Match[str]) -> str:
    return "_" + found.group()


def identifier(candidate: str) -> str:
    """`candidate` with every other character than those of a name made one ``_``."""
    name = _OTHER.sub("_", candidate) or "_unnamed"
    return "_" + name if name[0] in _DIGITS else name


def _split(name: str) -> tuple[str, int | None]:
    base, _, digits = name.rpartition("_")
    if base and digits.isascii() and digits.isdecimal():
        return base, int(digits)
    return name, None


def is_illegal(name: str, obj: Any | None) -> bool:
    """Whether a name is Python's or reserved, and stands for another object."""
    if name in _BUILTINS:
        return obj is None or _BUILTINS[name] is not obj
    return name in _KEYWORDS or (name in RESERVED and obj is None)


def are_legal(names: set[str]) -> bool:
    """Whether each is an identifier that `is_illegal` lets stand for a node."""
    # Each of these is one call in C, and there is a name for every node of a graph.
    return (
        names.isdisjoint(_BUILTINS)
        and names.isdisjoint(_KEYWORDS)
        and names.isdisjoint(RESERVED)
        and all(map(str.isidentifier, names))
        and all(map(str.isascii, names))
    )


class _Naming(threading.local):
    """How this thread names nodes where it writes them by their `repr`."""

    reads: Callable[[Node], str] | None = None


naming_in_force = _Naming()
"""Set while a CodeGen writes an output, which it may do as it likes."""
