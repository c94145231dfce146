"""Graph modules as pickles: their attributes and their graph; the code is made again."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

from fxls.engine.ir import serialization
from fxls.engine.lasting import lasting

if TYPE_CHECKING:
    from fxls.engine.graph_module import GraphModule

__all__ = ["blank_module", "packaged_module", "reduce_module", "reduce_packaged"]


def reduce_module(module: GraphModule) -> tuple[Any, ...]:
    """What pickle writes for a graph module."""
    kind = next(c for c in type(module).__mro__ if "_is_of_one" not in c.__dict__)
    state = {
        key: module.__dict__[key] for key in module.__dict__ if key != "_forward_code"
    }
    return blank_module, (serialization.FORMAT, kind, type(module).__name__), state


def reduce_packaged(module: GraphModule, exporter: Any) -> tuple[Any, ...]:
    """What torch.package writes; the engine stays outside of the package, as torch does.

    The class goes by its name: torch.package takes a class with this method for a module.
    """
    exporter.extern("fxls.**")
    _, (version, kind, class_name), state = reduce_module(module)
    exporter.add_dependency(kind.__module__)
    return packaged_module, (
        version,
        (kind.__module__, kind.__qualname__),
        class_name,
        state,
    )


@lasting("fxls.engine", "_packaged_module")
def packaged_module(
    importer: Any,
    version: int,
    kind: tuple[str, str],
    class_name: str,
    state: dict[str, Any],
) -> GraphModule:
    """The module that a package has."""
    path, name = kind
    found = attrgetter(name)(importer.import_module(path))
    module = blank_module(version, found, class_name)
    module.__setstate__(state)
    return module


@lasting("fxls.engine", "_blank_module")
def blank_module(version: int, kind: type[GraphModule], class_name: str) -> GraphModule:
    """A module without its state: what an unpickled one starts as."""
    serialization.require_format(version)
    module = kind.__new__(kind)
    type(module).__name__ = class_name
    return module
