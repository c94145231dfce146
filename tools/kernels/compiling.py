"""What fxls and what torch itself note of the kernels that a program compiles.

torch's notes need a setting that is a part of its caches' keys; so a process of its own
makes them, without fxls.
"""

from __future__ import annotations

import copy
import functools
import importlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fxls
from fxls.listing import Listing
from fxls.runtime import finish
from fxls.store import Store
from fxls.text import Point

__all__ = ["Told", "code_of", "innermost", "told_by", "with_fxls", "with_provenance"]


@dataclass(frozen=True, slots=True)
class Told:
    """What torch notes of one graph."""

    nodes: dict[str, list[str]]
    """Of each kernel, the nodes of the last graph that it computes."""
    stacks: dict[str, list[str]]
    """Of each kernel, where these came from."""
    captured: dict[str, list[str]]
    """Of each node of the last graph, those of Dynamo's; empty for a backward."""


def with_fxls(run: Callable[[], None], store: str) -> None:
    """Compile under fxls, whose listings lie in the store then."""
    fxls.install(store)
    run()
    finish()
    fxls.uninstall()


def with_provenance(run: Callable[[], None], file: str) -> None:
    """Compile with the setting by which torch takes notes; they lie in the file then."""
    config: Any = importlib.import_module("torch._inductor.config")
    debug: Any = importlib.import_module("torch._inductor.debug")
    lowering: Any = importlib.import_module("torch._inductor.graph").GraphLowering
    own = lowering._compile_to_module_lines
    found: list[Any] = []

    @functools.wraps(own)
    def noting(self: Any, wrapper_code: Any) -> Any:
        nodes = debug._inductor_triton_kernel_to_post_grad_node_info
        stacks = debug._inductor_kernel_stack_trace
        captured = debug._inductor_post_to_pre_grad_nodes.get("postToPre", {})
        of_each = {name: [*names] for name, names in captured.items()}
        found.append([copy.deepcopy(nodes), copy.deepcopy(stacks), of_each])
        return own(self, wrapper_code)

    lowering._compile_to_module_lines = noting
    with config.patch({"trace.provenance_tracking_level": 1}):
        run()
    Path(file).write_text(json.dumps(found))


def told_by(file: Path) -> list[Told]:
    """What torch noted, each kernel once: a backward goes on from its forward."""
    found: list[Told] = []
    seen: set[str] = set()
    for nodes, stacks, captured in json.loads(file.read_text()):
        own = {name: nodes[name] for name in nodes if name not in seen}
        seen = set(nodes)
        found.append(Told(own, {name: stacks[name] for name in own}, captured))
    return found


def innermost(stack: str) -> tuple[str, Point]:
    """Where the expression begins that torch's stack ends with.

    torch's signs below the line go on to the last bracket behind the expression.
    """
    lines = stack.rstrip("\n").split("\n")
    at = max(i for i, line in enumerate(lines) if line.startswith('  File "'))
    found = re.match(r'  File "(.+)", line (\d+), in ', lines[at])
    assert found is not None
    path, line = found[1], int(found[2]) - 1
    text = Path(path).read_text().split("\n")[line]
    indent = len(text) - len(text.lstrip())
    # There are none where the expression is all of the line.
    signs = lines[at + 2] if at + 2 < len(lines) else "    "
    before = len(signs) - len(signs.lstrip()) if signs.strip() else 4
    return path, Point(line, before - 4 + indent)


def code_of(store: Store) -> list[Listing]:
    """The listings of code, in the order in which torch compiled."""
    made = [
        revision
        for identity in store.identities()
        if identity.stage.endswith(", kernels")
        for revision in store.revisions(identity)
    ]
    made.sort(key=lambda one: one.time)
    return [store.read_revision(one) for one in made]
