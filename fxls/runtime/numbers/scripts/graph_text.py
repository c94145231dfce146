"""The text of a function that makes a graph, node by node and with their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from fxls.engine.ir.target_names import pretty_target
from fxls.runtime.numbers.graphs import NotRun, ReplayedGraph
from fxls.runtime.numbers.scripts.program_source import spelled, value_text
from fxls.runtime.numbers.scripts.script import Function
from fxls.runtime.passes.graph_state import Row, is_node

__all__ = ["making"]

_PROPAGATE = "from torch.fx.passes.fake_tensor_prop import FakeTensorProp"
_NOTES = """\
    made = torch.fx.GraphModule({}, graph)
    FakeTensorProp(made).propagate(*inputs())
"""
_RENAMED = """\
    for node in graph.nodes:
        node.meta["example_value"] = node.meta.pop("val", None)
"""


def making(
    graph: ReplayedGraph,
    names: Sequence[str],
    rows: Sequence[Row],
    returned: Any,
    held: Mapping[str, str],
) -> Function:
    """A function that makes a graph of some rows, whose inputs have these names, and
    whose module holds these texts; its nodes note what their values are. Raises `NotRun`.
    """
    imports = {_PROPAGATE: None}
    lines = [f'{_bound(name)} = graph.placeholder("{name}")' for name in names]
    for row in rows:
        target, line = _target(row)
        imports |= dict.fromkeys([line] if line else [])
        if row.opcode == "get_attr":
            lines.append(f'{_bound(row.name)} = graph.get_attr("{row.target}")')
            continue
        args, kwargs = (_text(graph, one) for one in (row.args, row.kwargs))
        made = f'"{row.opcode}", {target}, {args}, {kwargs}, "{row.name}"'
        lines.append(f"{_bound(row.name)} = graph.create_node({made})")
    lines.append(f"graph.output({_text(graph, returned)})")
    is_captured = any("example_value" in graph.said_of(row) for row in graph.rows)
    kept = ", ".join(f'"{name}": {text}' for name, text in held.items())
    text = (
        "def module():\n    graph = torch.fx.Graph()\n"
        + "".join(f"    {line}\n" for line in lines)
        + _NOTES.format("{" + kept + "}")
        + (_RENAMED if is_captured else "")
        + "    return made"
    )
    return Function("module", text, [*imports])


def _bound(name: str) -> str:
    """The name of a node as that of a variable."""
    if name in ("graph", "made", "node", "inputs", "torch"):
        raise NotRun(f"a script has {name} for something else than a node")
    return name


def _target(row: Row) -> tuple[str, str]:
    """How what a node calls is written, and the line that imports it."""
    if row.opcode in ("call_method", "get_attr"):
        return repr(row.target), ""
    if row.opcode != "call_function":
        raise NotRun(f"{row.name} is a {row.opcode}, and a script has no module")
    found = spelled(row.target)
    if found is None:
        raise NotRun(f"torch alone has no {pretty_target(row.target)}")
    return found


def _text(graph: ReplayedGraph, value: Any) -> str:
    """An argument of nodes, by their variables; raises `NotRun`."""
    if is_node(value):
        return graph.name_of(value)
    if isinstance(value, tuple | list):
        items = [_text(graph, one) for one in cast("Sequence[Any]", value)]
        inside = ", ".join(items)
        if isinstance(value, tuple):
            return f"({inside},)" if len(items) == 1 else f"({inside})"
        return f"[{inside}]"
    if isinstance(value, Mapping):
        pairs = cast("Mapping[Any, Any]", value).items()
        return (
            "{" + ", ".join(f"{key!r}: {_text(graph, one)}" for key, one in pairs) + "}"
        )
    if isinstance(value, slice):
        of = cast("Any", value)
        ends = (of.start, of.stop, of.step)
        return f"slice({', '.join(_text(graph, one) for one in ends)})"
    return value_text(value)
