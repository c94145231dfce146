"""A called GraphModule that becomes nodes of its caller, for programs that split graphs."""

from __future__ import annotations

import operator
from typing import Any, cast

from fxls.engine.graph_module import GraphModule
from fxls.engine.ir.node import Node, map_arg

__all__ = ["_inline_module"]


def _inline_module(
    gm: GraphModule,
    inline_mod_name: str,
    run_dce: bool = True,  # noqa: FBT001, FBT002 - FX's signature
) -> dict[Node, Any]:
    """Put the nodes of a GraphModule where it is first called; the module itself stays.

    Returns by each of its nodes, and by each node of the caller that took one of several
    results, what stands for it.
    """
    inner = gm.get_submodule(inline_mod_name)
    assert isinstance(inner, GraphModule), f"{inline_mod_name} is no GraphModule"
    graph = gm.graph
    calls = graph.find_nodes(op="call_module", target=inline_mod_name)
    assert calls, f"nothing calls {inline_mod_name}"
    call = calls[0]
    given = iter(call.args)
    made: dict[Node, Any] = {}
    result: Any = None
    with graph.inserting_before(call):
        for node in inner.graph.nodes:
            if node.op == "placeholder":
                by_place = next(given, node.args[0] if node.args else None)
                made[node] = call.kwargs.get(node.name, by_place)
            elif node.op == "output":
                result = map_arg(node.args[0], made.__getitem__)
            else:
                made[node] = graph.node_copy(node, made.__getitem__)
    if isinstance(result, (list, tuple)):
        results = cast("list[Any]", result)
        for user in _takers(call):
            made[user] = results[user.args[1]]
            _stand_for(user, made[user])
            graph.erase_node(user)
    _stand_for(call, result)
    graph.erase_node(call)
    if run_dce:
        graph.eliminate_dead_code()
    return made


def _takers(call: Node) -> list[Node]:
    """The nodes that take one of the results of a call."""
    return [
        user
        for user in call.users
        if user.target is operator.getitem
        and user.args[0] is call
        and isinstance(user.args[1], int)
    ]


def _stand_for(node: Node, value: Any) -> None:
    """Let users of a node have a value, which need not be a node."""
    if isinstance(value, Node):
        node.replace_all_uses_with(value)
        return
    for user in list(node.users):
        user.args = map_arg(user.args, lambda one: value if one is node else one)
        user.kwargs = map_arg(user.kwargs, lambda one: value if one is node else one)
