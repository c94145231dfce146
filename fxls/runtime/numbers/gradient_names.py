"""What people call a gradient: of which input, and through which node it is computed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, cast

from fxls.runtime.listings.program_names import program_name
from fxls.runtime.numbers.graphs import leaves
from fxls.runtime.passes.graph_state import GraphState, Row, is_node
from fxls.runtime.torch_private import source_of

__all__ = ["backward_of", "computing", "expression_of", "gradients_among"]


def expression_of(row: Row) -> str:
    """``self.layers.0.weight``: an input as the program has it; the name of its node where
    torch.compile does not say more.
    """
    if row.opcode != "placeholder":
        return row.name
    return program_name(source_of(row.node)) or row.name


def gradients_among(
    outputs: Collection[str], state: GraphState, captured: GraphState
) -> Sequence[str]:
    """Of what the gradients are that a graph behind AOTAutograd returns by these nodes,
    as `expression_of` has it.
    """
    last = state.rows[-1]
    said: Sequence[Any] = last.node.meta.get("desc") or ()
    returned = leaves(last.args) if last.opcode == "output" else []
    if len(said) != len(returned):
        return ()
    names = {row.node: row.name for row in state.rows}
    inputs = [row for row in captured.rows if row.opcode == "placeholder"]
    found: list[str] = []
    for one, of in zip(returned, said, strict=True):
        taken = getattr(of, "grad_of", None)
        if taken is None or not is_node(one) or names.get(one) not in outputs:
            continue
        at = getattr(taken, "idx", None)
        if isinstance(at, int) and at < len(inputs):
            found.append(expression_of(inputs[at]))
        elif isinstance(target := getattr(taken, "target", None), str):
            found.append(target)
    return found


def backward_of(meta: Mapping[str, Any]) -> str:
    """The node of the captured graph whose gradients a node computes; empty for one of a
    forward, and where torch does not say.
    """
    if "source_fn_stack" in meta:
        return ""
    stack: object = meta.get("fwd_source_fn_stack")
    if not stack or not isinstance(stack, list | tuple):
        return ""
    last: object = cast("Sequence[object]", stack)[-1]
    name = cast("tuple[object, ...]", last)[0] if isinstance(last, tuple) else ""
    return name if isinstance(name, str) else ""


def computing(traced: GraphState | None, names: Iterable[str]) -> Sequence[str]:
    """The nodes of a traced graph that compute the gradients through some captured ones."""
    wanted = {*names}
    rows = () if traced is None else traced.rows
    return [row.name for row in rows if backward_of(row.node.meta) in wanted]
