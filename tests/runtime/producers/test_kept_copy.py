"""The copy of a graph that the listing of the next revision is made of."""

from __future__ import annotations

import operator
from typing import Any

import torch
import torch.fx

from fxls.engine.graph import Graph
from fxls.runtime.producers.kept_copy import KeptCopy
from fxls.runtime.producers.snapshot import Snapshot


def test_a_module_that_is_revised_has_its_copy_from_the_second_listing_on() -> None:
    module = _module()
    first, second, third = (_copied(module) for _ in range(3))
    assert first is not second
    assert second is third
    _insert(module)
    assert _copied(module) is second
    assert str(second) == str(
        Snapshot(module.graph, lambda nodes: [None] * len(nodes)).graph()
    )


def test_who_comes_while_another_one_has_the_copy_gets_another_one() -> None:
    module = _module()
    kept = [_copied(module) for _ in range(2)][-1]
    one, other = KeptCopy(module), KeptCopy(module)
    snapshot = Snapshot(module.graph, lambda nodes: [None] * len(nodes))
    assert one.written(snapshot, module.code)[0] is kept
    assert other.written(snapshot, module.code)[0] is not kept


def test_a_copy_is_made_anew_where_its_code_is_not_what_torch_wrote() -> None:
    module = _module()
    kept = [_copied(module) for _ in range(2)][-1]
    snapshot = Snapshot(module.graph, lambda nodes: [None] * len(nodes))
    graph, code = KeptCopy(module).written(snapshot, "")
    assert graph is not kept
    assert code is None


def _module() -> Any:
    fx: Any = torch.fx
    graph = fx.Graph()
    graph.output(graph.call_function(operator.add, (graph.placeholder("x"), 1)))
    return fx.GraphModule({}, graph)


def _insert(module: Any) -> None:
    add = next(node for node in module.graph.nodes if node.op == "call_function")
    with module.graph.inserting_before(add):
        add.args = (module.graph.call_function(torch.relu, (add.args[0],)), 2)
    module.recompile()


def _copied(module: Any) -> Graph:
    kept = KeptCopy(module)
    snapshot = Snapshot(module.graph, lambda nodes: [None] * len(nodes))
    graph, _ = kept.written(snapshot, module.code)
    kept.put_back()
    return graph
