"""Whatever is done to a graph, it becomes the graph that torch.fx makes of the same."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.fx
from hypothesis import given, settings
from hypothesis import strategies as st

from fxls import engine as fx

Place = st.integers(0, 30)
Edit = st.tuples(st.sampled_from(range(25)), Place, Place, Place)


class Twin:
    """A graph of each engine, to which the same edits are made."""

    def __init__(self) -> None:
        self.ours: Any = fx.Graph()
        self.theirs: Any = torch.fx.Graph()
        for graph in (self.ours, self.theirs):
            x = graph.placeholder("x")
            graph.placeholder("y", default_value=2)
            graph.output((x, [graph.call_function(torch.relu, (x,))]))
        self.assert_alike()

    def both(self, edit: Callable[[Any, Callable[[int], Any]], Any]) -> None:
        """Make an edit to both; they are refused alike, or give nodes of one name."""
        results: list[Any] = []
        for graph in (self.ours, self.theirs):
            nodes = list(graph.nodes)

            def at(i: int, nodes: list[Any] = nodes) -> Any:
                return nodes[i % len(nodes)]

            try:
                results.append(edit(graph, at))
            except (RuntimeError, AssertionError, IndexError, ValueError) as error:
                results.append(type(error))
        ours, theirs = results
        assert str(ours) == str(theirs)
        self.assert_alike()

    def assert_alike(self) -> None:
        for ours, theirs in zip(self.ours.nodes, self.theirs.nodes, strict=True):
            assert ours.name == theirs.name
            assert list(map(str, ours.users)) == list(map(str, theirs.users))
            assert names(ours.all_input_nodes) == names(theirs.all_input_nodes)
            assert ours.op == theirs.op
        assert str(self.ours) == str(self.theirs)
        assert is_well_formed(self.ours) == is_well_formed(self.theirs)
        # For placeholders alone torch.fx writes a function without a body.
        if is_well_formed(self.ours) and has_body(self.ours):
            assert code_of(self.ours) == code_of(self.theirs)


def names(nodes: list[Any]) -> list[str]:
    """In the order of the alphabet: torch.fx puts what `insert_arg` adds at the end."""
    return sorted(node.name for node in nodes)


def code_of(graph: Any) -> str:
    return graph.python_code("self").src


def has_body(graph: Any) -> bool:
    return any(node.op != "placeholder" for node in graph.nodes)


def is_well_formed(graph: Any) -> bool:
    try:
        graph.lint()
    except RuntimeError:
        return False
    return True


def edit(twin: Twin, which: int, i: int, j: int, k: int) -> None:  # noqa: C901, PLR0915 - a table of edits
    def before(make: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        """The edit in front of node k, which no output can be."""

        def inserted(graph: Any, at: Any) -> Any:
            with graph.inserting_before(at(k)):
                return make(graph, at)

        return inserted

    both = twin.both
    if which == 0:
        both(before(lambda g, at: g.call_function(torch.add, (at(i), at(j)))))
    elif which == 1:
        both(before(lambda g, at: g.call_function(operator.mul, (at(i), 2.5))))
    elif which == 2:
        both(before(lambda g, at: g.call_method("relu", (at(i),))))
    elif which == 3:
        both(
            before(
                lambda g, at: g.call_function(
                    torch.cat, ([at(i), at(j), at(i)],), {"dim": at(k)}
                )
            )
        )
    elif which == 4:
        both(before(lambda g, at: g.get_attr(f"layers.{i % 3}.weight")))
    elif which == 5:
        both(before(lambda g, at: g.call_module("linear", (at(i),))))
    elif which == 6:
        both(lambda g, at: at(i).replace_all_uses_with(at(j)))
    elif which == 7:
        both(
            lambda g, at: at(i).replace_all_uses_with(
                at(j), delete_user_cb=partial(operator.is_not, at(j))
            )
        )
    elif which == 8:
        both(lambda g, at: at(i).replace_input_with(at(j), at(k)))
    elif which == 9:
        both(lambda g, at: g.erase_node(at(i)))
    elif which == 10:
        both(lambda g, at: at(i).prepend(at(j)) if at(i) is not at(j) else None)
    elif which == 11:
        both(lambda g, at: at(i).append(at(j)) if at(i) is not at(j) else None)
    elif which == 12:
        both(lambda g, at: at(i).update_arg(0, at(j)))
    elif which == 13:
        both(lambda g, at: at(i).insert_arg(k % 4, at(j)) if calls(at(i)) else None)
    elif which == 14:
        both(lambda g, at: at(i).update_kwarg("alpha", at(j)) if calls(at(i)) else None)
    elif which == 15:

        def reassign(_: Any, at: Any) -> None:
            if calls(at(i)):
                at(i).args = (at(j), (at(k), [at(j)]), slice(None, at(k)))

        both(reassign)
    elif which == 16:

        def rename(graph: Any, at: Any) -> None:
            if at(i).op != "output":  # torch.fx forgets its name in a deep copy
                at(i)._rename(f"{at(j).name}_{k}" if k % 2 else "relu")

        both(rename)
    elif which == 17:
        both(lambda g, at: g.eliminate_dead_code() if is_well_formed(g) else None)
    elif which == 18:
        both(before(lambda g, at: g.node_copy(at(i))) if i % 4 else skip)
    elif which == 19:
        if is_well_formed(twin.ours):
            twin.ours = copy.deepcopy(twin.ours)
            twin.theirs = copy.deepcopy(twin.theirs)
            twin.assert_alike()
    elif which == 20:
        both(lambda g, at: g.find_nodes(op="call_function", target=torch.add))
        both(lambda g, at: g.find_nodes(op="placeholder"))
        both(lambda g, at: (at(i) < at(j), at(i) >= at(j), sorted(g.nodes)))
    elif which == 21:

        def behind(graph: Any, at: Any) -> Any:
            if at(k).op == "output":
                return None
            with graph.inserting_after(at(k)):
                graph.call_function(torch.neg, (at(k),))
                with graph.inserting_before(at(k)):
                    graph.get_attr("bias")
                return graph.call_function(torch.abs, (at(k),))

        both(behind)
    elif which == 22:

        def at_start(graph: Any, _: Any) -> Any:
            with graph.inserting_before():
                graph.get_attr("scale")
                return graph.get_attr("shift")

        both(at_start)
    elif which == 23:

        def erased_place(graph: Any, at: Any) -> Any:
            if at(k).users or at(k).op == "output":
                return None
            with (
                graph.inserting_after(at(k)) if i % 2 else graph.inserting_before(at(k))
            ):
                graph.erase_node(at(k))
                return graph.get_attr("gone")

        both(erased_place)
    else:

        def retarget(_: Any, at: Any) -> None:
            if at(i).op == "call_function" and len(at(i).args) == 2:
                at(i).target = (torch.sub, operator.add, torch.add)[k % 3]

        both(retarget)


def calls(node: Any) -> bool:
    return node.op.startswith("call_")


def skip(_graph: Any, _at: Any) -> None:
    return None


@settings(max_examples=120)
@given(st.lists(Edit, max_size=12))
def test_edits_make_the_graph_that_torch_fx_makes(edits: list[Any]) -> None:
    twin = Twin()
    for which, i, j, k in edits:
        edit(twin, which, i, j, k)
