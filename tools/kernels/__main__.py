"""Follows the kernels of models of libraries to their lines, and asks torch.

    ENVIRONMENT/bin/python -m tools.kernels [MODEL]

ENVIRONMENT has torchvision and transformers, as that of `make clients` has. Prints the
table of docs/compiler.md: how many nodes have a kernel, how many of them lead over the
joint graph to Dynamo's, and to a line with its columns, and how many of these ways are
those that torch's own provenance says. Fails where a node with a kernel leads nowhere,
or a kernel computes other nodes than torch says.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from fxls.listing import Listing, Place
from fxls.store import Store
from tools.kernels.compiling import (
    Told,
    code_of,
    innermost,
    told_by,
    with_fxls,
    with_provenance,
)
from tools.kernels.models import MODELS

ROOT = Path(__file__).parent.parent.parent
_ROWS = (
    "graphs",
    "kernels",
    "kernels that compute the nodes that torch says",
    "kernels with a stack of torch's",
    "kernels from the expressions of that stack",
    "nodes with a kernel",
    "nodes that lead to the joint graph",
    "nodes that lead to Dynamo's graph",
    "nodes that lead to a line and columns",
    "nodes for which torch names nodes of Dynamo's",
    "nodes from the expressions of all of these",
    "nodes from some of them: the rest is a view that was merged",
    "inputs that a kernel brings into another layout",
    "nodes without a kernel",
    *(f"nodes without a kernel: {kind}" for kind in ("view", "part", "size")),
    *(f"nodes without a kernel: {kind}" for kind in ("constant", "other")),
)

_Origin = tuple[tuple[Place, ...], tuple[str, ...]]
"""The places of an expression with its callers, and the submodules that were called."""


def counts_of(store: Store, told: list[Told]) -> Counter[str]:
    """The rows of the table for one model."""
    found: Counter[str] = Counter()
    codes = code_of(store)
    assert len(codes) == len(told), "each graph once"
    for code, of_torch in zip(codes, told, strict=True):
        found["graphs"] += 1
        _count_kernels(found, code, of_torch)
        _count_nodes(found, store, code, of_torch)
    return found


def _count_kernels(found: Counter[str], code: Listing, told: Told) -> None:
    calls = [at for at, one in enumerate(code.nodes) if one.opcode == "call_kernel"]
    assert len(calls) == len(told.nodes), "torch says the same calls"
    for at, (name, nodes) in zip(calls, told.nodes.items(), strict=True):
        facts = code.nodes[at]
        is_same = facts.target == name.rpartition(":")[0]
        is_same = is_same and sorted(facts.made_from) == sorted(nodes)
        found["kernels"] += 1
        found["kernels that compute the nodes that torch says"] += is_same
        # What a pass made has none of a source.
        stacks = [one for one in told.stacks[name] if '  File "' in one]
        if stacks:
            places = (origin.places[0] for origin in code.origins(at))
            begins = {(place.path, place.span.start) for place in places}
            is_same = begins == {*map(innermost, stacks)}
            found["kernels with a stack of torch's"] += 1
            found["kernels from the expressions of that stack"] += is_same


def _count_nodes(found: Counter[str], store: Store, code: Listing, told: Told) -> None:
    above = {
        one.identity.stage.rpartition(", ")[2]: store.read(store.root / one.file)
        for one in code.parents
    }
    last, joint, captured = above["post-grad"], above["joint"], above["graph 0"]
    calls = (one for one in code.nodes if one.opcode == "call_kernel")
    computed = {name for one in calls for name in one.made_from}
    of_captured = _origins(captured)
    in_joint, everywhere = _places(_origins(joint)), _places(of_captured)
    for name, kind in code.without_kernel:
        assert name not in computed
        found["nodes without a kernel"] += 1
        found[f"nodes without a kernel: {kind}"] += 1
    for name, own in _origins(last, all_of_them=True).items():
        if name not in computed:
            continue
        if last.nodes[_index(last, name)].opcode == "placeholder":
            found["inputs that a kernel brings into another layout"] += 1
            continue
        found["nodes with a kernel"] += 1
        # A node of a backward is of no submodule.
        at = {places for places, _ in own}
        found["nodes that lead to the joint graph"] += not at.isdisjoint(in_joint)
        found["nodes that lead to Dynamo's graph"] += not at.isdisjoint(everywhere)
        found["nodes that lead to a line and columns"] += bool(own) and all(
            place.span.start != place.span.end for places, _ in own for place in places
        )
        theirs = set[_Origin]().union(
            *(of_captured.get(one, ()) for one in told.captured.get(name, ()))
        )
        if theirs:
            found["nodes for which torch names nodes of Dynamo's"] += 1
            found["nodes from the expressions of all of these"] += own == theirs
            found[_ROWS[11]] += own < theirs


def _places(origins: dict[str, set[_Origin]]) -> set[tuple[Place, ...]]:
    return {places for found in origins.values() for places, _ in found}


def _index(listing: Listing, name: str) -> int:
    return next(at for at, one in enumerate(listing.nodes) if one.name == name)


def _origins(listing: Listing, *, all_of_them: bool = False) -> dict[str, set[_Origin]]:
    """Of each node that computes something, or of all."""
    return {
        facts.name: {
            (origin.places, tuple(one.path for one in listing.module_path(at)))
            for origin in listing.origins(at)
        }
        for at, facts in enumerate(listing.nodes)
        if all_of_them or facts.opcode.startswith("call_")
    }


def _counted(model: str) -> Counter[str]:
    # Not below a folder of somebody's, which may have a blank.
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "TORCHINDUCTOR_CACHE_DIR": f"{folder}/cache",
            # What the first process built the second one finds, and no graph.
            "TORCHINDUCTOR_FX_GRAPH_CACHE": "0",
            "TORCHINDUCTOR_AUTOGRAD_CACHE": "0",
        }
        for how, where in (("fxls", "store"), ("torch", "told.json")):
            program = (sys.executable, "-m", "tools.kernels", model, how)
            subprocess.run(
                [*program, f"{folder}/{where}"], check=True, cwd=ROOT, env=environment
            )
        return counts_of(
            Store(Path(folder, "store")), told_by(Path(folder, "told.json"))
        )


def main() -> int:
    """Print the table; fails where a node leads nowhere or torch says otherwise."""
    models = sys.argv[1:2] or [*MODELS]
    columns = [_counted(model) for model in models]
    print(f"| | {' | '.join(models)} |\n|---|{'---:|' * len(models)}")
    for row in _ROWS:
        print(f"| {row} | {' | '.join(f'{one[row]:,}' for one in columns)} |")
    return int(
        any(
            one["kernels"] != one["kernels that compute the nodes that torch says"]
            or one["nodes with a kernel"]
            != one["nodes that lead to a line and columns"]
            for one in columns
        )
    )


if __name__ == "__main__":
    if len(sys.argv) == 4:
        _, asked, how, where = sys.argv
        {"fxls": with_fxls, "torch": with_provenance}[how](MODELS[asked], where)
    else:
        sys.exit(main())
