"""Inductor's code as a listing: its kernels lead to nodes and lines as torch itself says.

torch's own notes need a setting that is a part of its caches' keys; a process of its own
makes them, without fxls.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from fxls.cli.followed_program import GRAPHS_ANEW
from fxls.listing import Facts, Listing
from fxls.store import Store
from fxls.text import LineTable, Span
from tests.support.programs import needs_inductor
from tools.kernels.__main__ import counts_of
from tools.kernels.compiling import Told, code_of, innermost, told_by

pytestmark = [pytest.mark.slow, needs_inductor]

ROOT = Path(__file__).parents[3]


class Compiled(NamedTuple):
    """What a program made with fxls, and what torch notes of each graph without."""

    model: str
    store: Store
    told: list[Told]


@pytest.fixture(scope="module", params=["gpt", "resnet", "trained", "sized"])
def compiled(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Compiled:
    folder = tmp_path_factory.mktemp(request.param)
    # What the first process compiled, the second one finds; graphs are made anew.
    for how, where in (("fxls", folder / "store"), ("torch", folder / "told.json")):
        compiling(request.param, how, where)
    told = told_by(folder / "told.json")
    return Compiled(request.param, Store(folder / "store"), told)


def compiling(model: str, how: str, where: Path) -> None:
    program = "tests.runtime.inductor.compile_kernels"
    subprocess.run(
        [sys.executable, "-m", program, model, how, str(where)],
        check=True,
        cwd=ROOT,
        timeout=300,
        env={
            **os.environ,
            **GRAPHS_ANEW,
            "TORCHINDUCTOR_COMPILE_THREADS": "1",
        },
    )


def calls_of(listing: Listing) -> list[tuple[int, Facts]]:
    return [
        (node, facts)
        for node, facts in enumerate(listing.nodes)
        if facts.opcode == "call_kernel"
    ]


def graph_of(store: Store, listing: Listing) -> Listing:
    """The post-grad graph that code is of."""
    return store.read(store.root / listing.parents[0].file)


def places_of(listing: Listing, node: int) -> set[tuple[str, Span]]:
    return {
        (origin.places[0].path, origin.places[0].span)
        for origin in listing.origins(node)
    }


def test_each_call_computes_the_nodes_that_torch_notes(compiled: Compiled) -> None:
    ours = [
        [(facts.target, sorted(facts.made_from)) for _, facts in calls_of(listing)]
        for listing in code_of(compiled.store)
    ]

    assert ours == [
        [(name.rpartition(":")[0], sorted(nodes)) for name, nodes in kernels.items()]
        for kernels in (one.nodes for one in compiled.told)
    ]
    assert all(ours)


def test_each_call_came_from_the_expressions_that_torch_notes(
    compiled: Compiled,
) -> None:
    for listing, told in zip(code_of(compiled.store), compiled.told, strict=True):
        kernels, stacks = told.nodes, told.stacks
        inputs = inputs_of(graph_of(compiled.store, listing))
        for (node, facts), name in zip(calls_of(listing), kernels, strict=True):
            ours = places_of(listing, node)
            # A parameter in another layout is of no expression.
            assert bool(ours) is not inputs.issuperset(facts.made_from), name
            assert all(is_whole(path, span) for path, span in ours)
            # What draws random numbers for dropout has no stack: a pass made it.
            if stacks[name] or (ours and "randint" not in name):
                begins = {(path, span.start) for path, span in ours}
                assert begins == {innermost(stack) for stack in stacks[name]}, name


def inputs_of(graph: Listing) -> set[str]:
    return {one.name for one in graph.nodes if one.opcode == "placeholder"}


def is_whole(path: str, span: Span) -> bool:
    lines = LineTable(Path(path).read_text())
    ast.parse(lines.slice(span))
    return True


def test_each_node_has_a_kernel_or_a_reason_for_none(compiled: Compiled) -> None:
    for listing in code_of(compiled.store):
        graph = graph_of(compiled.store, listing)
        computed = {name for _, facts in calls_of(listing) for name in facts.made_from}
        computed -= inputs_of(graph)  # which are given to it in another layout
        without = dict(listing.without_kernel)
        nodes = {
            facts.name
            for facts in graph.nodes
            if facts.opcode not in ("placeholder", "output")
        }

        assert graph.identity.stage.endswith("post-grad")
        assert (computed | without.keys(), computed & without.keys()) == (nodes, set())
        assert {*without.values()} <= {"view", "part", "size", "constant"}


def test_each_chain_leads_from_a_kernel_to_what_dynamo_captured(
    compiled: Compiled,
) -> None:
    """Over the post-grad and the joint graph, by the expressions with their columns."""
    for listing in code_of(compiled.store):
        files = [compiled.store.root / one.file for one in listing.parents]
        above = [compiled.store.read(file) for file in files]
        stages = [one.identity.stage.rpartition(", ")[2] for one in above]
        assert {"post-grad", "joint", "graph 0"} <= {*stages}
        places = [all_places(one) for one in above]
        for node, facts in calls_of(listing):
            own = places_of(listing, node)
            of_nodes = [
                places_of(above[0], at)
                for at, one in enumerate(above[0].nodes)
                if one.name in facts.made_from
            ]
            assert own == set[tuple[str, Span]]().union(*of_nodes)
            assert all(own <= found for found in places)


def test_the_table_of_kernels_counts_each_node_and_each_way(compiled: Compiled) -> None:
    found = counts_of(compiled.store, compiled.told)

    calls = sum(len(calls_of(listing)) for listing in code_of(compiled.store))
    nodes = found["nodes with a kernel"]
    assert found["kernels"] == calls > 0
    assert found["kernels that compute the nodes that torch says"] == calls
    assert nodes > 0
    for where in ("the joint graph", "Dynamo's graph", "a line and columns"):
        assert found[f"nodes that lead to {where}"] == nodes, where


def test_what_is_given_back_to_the_program_came_from_where_it_was_changed(
    compiled: Compiled,
) -> None:
    """As the statistics of a norm: torch says nothing of the node that writes them."""
    written = 0
    for listing in code_of(compiled.store):
        graph = graph_of(compiled.store, listing)
        for node, facts in enumerate(graph.nodes):
            if facts.target == "torch.ops.aten.copy_.default":
                written += 1
                ((value,),) = facts.args[1:]
                assert isinstance(value, int)
                assert places_of(graph, node) == places_of(graph, value) != set()
    norms = 5  # each with a mean, a variance and a number of batches
    assert written == (3 * norms if compiled.model == "trained" else 0)


def all_places(listing: Listing) -> set[tuple[str, Span]]:
    return set[tuple[str, Span]]().union(
        *(places_of(listing, node) for node in range(len(listing.nodes)))
    )


def test_each_name_stands_where_its_mark_is(compiled: Compiled) -> None:
    for listing in code_of(compiled.store):
        lines = listing.text.split("\n")
        for mark in listing.marks:
            name = listing.nodes[mark.node].name.partition(":")[0]
            written = lines[mark.line][mark.column : mark.column + mark.length]
            assert written == name
        marked = {mark.node for mark in listing.marks}
        assert marked == {*range(len(listing.nodes))}
        spans = [mark.span for mark in listing.marks]
        assert spans == sorted(spans)
