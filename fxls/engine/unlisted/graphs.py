"""Parts of a graph that programs subclass or take apart."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

from fxls.engine.ir import node_list
from fxls.engine.ir.names import Namespace as _Namespace
from fxls.engine.ir.names import snake_case as _snake_case

if TYPE_CHECKING:
    from fxls.engine.graph import Graph

__all__ = ["_InsertPoint", "_Namespace", "_node_list", "_snake_case"]


_node_list = node_list.NodeList


class _InsertPoint:
    """A block in which a function of the program puts new nodes where it wants."""

    def __init__(self, graph: Graph, new_insert: Callable[..., Any]) -> None:
        self.graph = graph
        self.orig_insert = graph._insert
        graph._insert = new_insert

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self.graph._insert = self.orig_insert
