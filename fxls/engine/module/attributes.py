"""What lies at the dotted paths of a module: read, put and removed by path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import torch
from torch.nn import Module

from fxls.engine.ir.node_list import ordered

if TYPE_CHECKING:
    from fxls.engine.graph import Graph

__all__ = [
    "add_submodule",
    "delete_submodule",
    "delete_unused_submodules",
    "fetch",
    "install_targets",
    "share_targets",
]


def fetch(module: Any, path: str) -> Any:
    """What a dotted path leads to; raises AttributeError as `getattr` does."""
    for atom in path.split("."):
        module = getattr(module, atom)
    return module


def share_targets(module: Module, root: Module, graph: Graph) -> None:
    """Let `module` have what the graph's paths lead to in `root`, the same objects.

    Modules on the way to an attribute are made anew, and empty, unless the graph calls
    them as well: then they are `root`'s with all that they hold.
    """
    ways: dict[str, tuple[Any, Any] | None] = {"": (module, root)}
    for path in _paths(graph):
        way, _, last = path.rpartition(".")
        pair = ways[way] if way in ways else _walk(way, ways)
        if pair is None:
            continue
        to, at = pair
        if not _share(to, at, last):
            _put(to, last, getattr(at, last))


def install_targets(module: Module, values: Mapping[str, Any], graph: Graph) -> None:
    """Put at each of the graph's paths what `values` has for it.

    Raises RuntimeError when it has nothing.
    """
    paths = _paths(graph)
    for path, node_name in paths.items():
        if path not in values:
            raise RuntimeError(
                f"Node {node_name} referenced target {path} but that target was not"
                f" provided in ``root``! It has: {', '.join(map(str, values))}"
            )
    # The short ones first: whatever lies below a path must not be put before it.
    for path in sorted(paths, key=lambda path: path.count(".")):
        *way, last = path.split(".")
        to: Any = module
        for atom in way:
            to = _step(to, atom)
        _put(to, last, values[path])


def add_submodule(module: Module, path: str, child: Module) -> bool:
    """Put a module at a path; False, and nothing done, where the way is barred."""
    *way, last = path.split(".")
    at: Any = module
    for atom in way:
        at = getattr(at, atom, None)
        if at is None:
            break
        if not isinstance(at, Module):
            return False
    at = module
    for atom in way:
        at = _step(at, atom)
    at.add_module(last, child)
    return True


def delete_submodule(module: Module, path: str) -> bool:
    """Remove the module at a path; False when there is none."""
    *way, last = path.split(".")
    at: Any = module
    for atom in [*way, last]:
        holder = at
        at = getattr(holder, atom, None)
        if not isinstance(at, Module):
            return False
    delattr(holder, last)  # pyright: ignore[reportPossiblyUnboundVariable]  # the path has an atom
    return True


def delete_unused_submodules(module: Module, graph: Graph) -> None:
    """Remove the submodules that no node calls, reads from or has below a called one."""
    on_way: set[str] = set()
    called: set[str] = set()
    for node in graph.nodes:
        if node._op == "call_module":
            called.add(str(node._target))
        if node._op == "call_module" or node._op == "get_attr":
            path = str(node._target)
            while path and path not in on_way:
                on_way.add(path)
                path = path.rpartition(".")[0]

    def clean(at: Module, prefix: str) -> None:
        for name, child in list(at._modules.items()):
            path = f"{prefix}{name}"
            if path in called or child is None:
                continue
            if path in on_way:
                clean(child, path + ".")
            else:
                delattr(at, name)

    clean(module, "")


def _paths(graph: Graph) -> dict[str, str]:
    """The paths that the graph names, in its order, each with the first node's name."""
    paths: dict[str, str] = {}
    for node in ordered(graph):
        op = node._op
        if op == "call_module" or op == "get_attr":
            paths.setdefault(cast("str", node._target), node._name)
    return paths


def _share(to: Any, at: Any, name: str) -> bool:
    """Put what a table of `at` has for a name into that of `to`; False when none has it.

    What `setattr` would do, where nothing else has the name, in a tenth of the time.
    """
    ours, theirs = to.__dict__, at.__dict__
    if _has_itself(to, name):
        return False
    for table in _TABLES:
        held = theirs.get(table)
        # Those of a scripted module are no dicts, and are read from C++.
        value = held.get(name) if hasattr(held, "get") else None
        if value is not None:
            ours[table][name] = value
            return True
    return False


def _has_itself(module: Module, name: str) -> bool:
    """Whether a module has an attribute that is in none of its tables."""
    kind: type[Module] = type(module)
    if kind is Module:  # one that was made on the way, as most are
        return name in module.__dict__ or name in _OF_MODULE
    return name in module.__dict__ or hasattr(kind, name)


_OF_MODULE = frozenset(dir(Module))
"""Asking `hasattr` for what a class does not have takes ten times as long."""


_TABLES = ("_modules", "_parameters", "_buffers")


def _walk(way: str, ways: dict[str, tuple[Any, Any] | None]) -> tuple[Any, Any] | None:
    """Where a path leads in the new module and in the root; noted in `ways`.

    None when both are one module, which was adopted as a whole.
    """
    outer, _, atom = way.rpartition(".")
    pair = ways[outer] if outer in ways else _walk(outer, ways)
    if pair is not None:
        to, at = _step(pair[0], atom), _child(pair[1], atom)
        pair = None if to is at else (to, at)
    ways[way] = pair
    return pair


def _child(module: Any, atom: str) -> Any:
    """What `getattr` gives, in a third of the time for a submodule."""
    if isinstance(module, Module) and not _has_itself(module, atom):
        held: Any = module._modules  # of a scripted module it is no dict
        child = held.get(atom) if hasattr(held, "get") else None
        if child is not None:
            return child
    return getattr(module, atom)


def _step(at: Module, atom: str) -> Module:
    """The module one atom further, made when there is nothing."""
    held: Any = at._modules
    step = held.get(atom) if hasattr(held, "get") else getattr(at, atom)
    if step is None and not (
        atom in at._parameters or atom in at._buffers or _has_itself(at, atom)
    ):
        step = at._modules[atom] = _blank()
    if step is None:
        step = getattr(at, atom, None)
    if step is None:
        step = _blank()
        setattr(at, atom, step)
    return step


def _blank() -> Module:
    """What ``Module()`` gives, in a third of the time."""
    new = object.__new__(Module)
    state = new.__dict__
    state.update(_NEW)
    for name, kind in _EMPTY:
        state[name] = kind()
    return new


_NEW = Module().__dict__
_EMPTY: list[tuple[str, type]] = [
    (name, type(table))
    for name, table in cast("dict[str, object]", _NEW).items()
    if issubclass(type(table), dict | set)
]


def _put(at: Module, name: str, value: Any) -> None:
    """Set an attribute; a tensor that is no parameter becomes a buffer."""
    if isinstance(value, torch.Tensor) and not isinstance(value, torch.nn.Parameter):
        at.register_buffer(name, value)
    else:
        setattr(at, name, value)
