"""A graph as a picture, by Graphviz; needs the package ``pydot``."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, TypeAlias, cast

import torch

from fxls.engine.graph_module import GraphModule
from fxls.engine.ir.node import Node
from fxls.engine.ir.node_text import format_arg
from fxls.engine.ir.target_names import qualified_name
from fxls.engine.module import attributes
from fxls.engine.operator_schemas import normalize_function
from fxls.engine.passes.shape_prop import TensorMetadata

__all__ = ["FxGraphDrawer"]

Shape: TypeAlias = str
"""What a node is drawn as: a shape that Graphviz knows."""

_FILLED = {"style": '"filled,rounded"', "fontcolor": "#000000"}

_COLOR_OF_OPCODE = {
    "placeholder": '"AliceBlue"',
    "call_module": "LemonChiffon1",
    "get_attr": "LightGrey",
    "output": "PowderBlue",
}

_COLORS = (
    *("CadetBlue1", "Coral", "DarkOliveGreen1", "DarkSeaGreen1", "GhostWhite"),
    *("Khaki1", "LavenderBlush1", "LightSkyBlue", "MistyRose1", "MistyRose2"),
    *("PaleTurquoise2", "PeachPuff1", "Salmon", "Thistle1", "Thistle3", "Wheat1"),
)
"""Calls of one function have one of these, always the same."""

_LONGEST = 8
"""How many elements of a list are drawn."""

_SCALES = ("scale", "zero_point")


class FxGraphDrawer:
    """Draws the graph of a module, and those of the GraphModules that it calls.

    - `get_dot_graph` gives a ``pydot.Dot``, whose ``write_svg`` needs Graphviz itself.
    - `skip_node_names_in_args` leaves nodes out of the arguments: edges show them.
    - `parse_stack_trace` adds the line of the source that a node came from.
    - `normalize_args` names arguments by the signature of the function.
    """

    def __init__(
        self,
        graph_module: GraphModule,
        name: str,
        ignore_getattr: bool = False,  # noqa: FBT001, FBT002 - FX's signature
        ignore_parameters_and_buffers: bool = False,  # noqa: FBT001, FBT002 - FX's signature
        skip_node_names_in_args: bool = True,  # noqa: FBT001, FBT002 - FX's signature
        parse_stack_trace: bool = False,  # noqa: FBT001, FBT002 - FX's signature
        dot_graph_shape: Shape | None = None,
        normalize_args: bool = False,  # noqa: FBT001, FBT002 - FX's signature
    ) -> None:
        try:
            import pydot  # noqa: PLC0415 - an optional package
        except ModuleNotFoundError as error:
            raise RuntimeError(
                "a graph is drawn by the package pydot, which is not there:"
                " pip install pydot"
            ) from error
        self._pydot: Any = pydot
        self._name = name
        self.dot_graph_shape = dot_graph_shape or "record"
        self.normalize_args = normalize_args
        self._draws_reads = not ignore_getattr
        self._draws_state = not ignore_parameters_and_buffers
        self._skips_nodes = skip_node_names_in_args
        self._shows_source = parse_stack_trace
        self._dot_graphs: dict[str, Any] = {name: self._drawn(graph_module, name)}
        for node in graph_module.graph.find_nodes(op="call_module"):
            child = _module_at(graph_module, node.target)
            if isinstance(child, GraphModule):
                child_name = f"{name}_{node.target}"
                self._dot_graphs[child_name] = self._drawn(child, child_name)

    def get_dot_graph(self, submod_name: str | None = None) -> Any:
        """The drawing of the module, or of a GraphModule in it by its path."""
        if submod_name is None:
            return self.get_main_dot_graph()
        return self.get_submod_dot_graph(submod_name)

    def get_main_dot_graph(self) -> Any:
        """The drawing of the module."""
        return self._dot_graphs[self._name]

    def get_submod_dot_graph(self, submod_name: str) -> Any:
        """The drawing of a GraphModule in the module, by its path."""
        return self._dot_graphs[f"{self._name}_{submod_name}"]

    def get_all_dot_graphs(self) -> dict[str, Any]:
        """The drawings by their names."""
        return self._dot_graphs

    def _drawn(self, module: GraphModule, name: str) -> Any:
        pydot = self._pydot
        dot = pydot.Dot(name, rankdir="TB")
        buffers: dict[str, Any] = {}
        nodes = [
            node
            for node in module.graph.nodes
            if self._draws_reads or node.op != "get_attr"
        ]
        for node in nodes:
            box = pydot.Node(
                node.name, label=self._label(module, node), **self._style(node)
            )
            self._cluster(dot, buffers, node).add_node(box)
            if node.op == "call_module" and self._draws_state:
                self._draw_state(dot, node, _module_at(module, node.target))
        for cluster in buffers.values():
            cluster.set("color", "royalblue")
            cluster.set("penwidth", "2")
            dot.add_subgraph(cluster)
        for node in nodes:
            for user in node.users:
                dot.add_edge(pydot.Edge(node.name, user.name))
        return dot

    def _cluster(self, dot: Any, buffers: dict[str, Any], node: Node) -> Any:
        """Where a node is drawn: with those that Inductor puts into one buffer."""
        buffer = node.meta.get("buf_meta")
        if buffer is None or buffer.n_origin < 2:
            return dot
        if buffer.name not in buffers:
            buffers[buffer.name] = self._pydot.Cluster(buffer.name, label=buffer.name)
        return buffers[buffer.name]

    def _draw_state(self, dot: Any, node: Node, module: torch.nn.Module) -> None:
        if isinstance(module, GraphModule):
            return
        for name, tensor in (*module.named_parameters(), *module.named_buffers()):
            full = f"{node.name}.{name}"
            is_parameter = isinstance(tensor, torch.nn.Parameter)
            kind = f"{full}|op_code=get_parameter" if is_parameter else r"buffer\l"
            label = f"{{{kind}{tensor.dtype}{list(tensor.shape)}\\n}}"
            style = {"fillcolor": "Salmon", **_FILLED, "shape": self.dot_graph_shape}
            dot.add_node(self._pydot.Node(full, label=label, **style))
            dot.add_edge(self._pydot.Edge(full, node.name))

    def _style(self, node: Node) -> dict[str, str]:
        color = _COLOR_OF_OPCODE.get(node.op)
        if color is None:
            target = node._pretty_print_target(node.target).encode()
            digest = hashlib.md5(target, usedforsecurity=False).hexdigest()
            color = _COLORS[int(digest[:8], 16) % len(_COLORS)]
        return {"shape": self.dot_graph_shape, "fillcolor": color, **_FILLED}

    def _label(self, module: GraphModule, node: Node) -> str:
        parts = [f"name=%{node.name}|op_code={node.op}\n"]
        if node.op == "call_module":
            parts += _module_label(_module_at(module, node.target))
        else:
            parts += self._call_label(node)
        parts += _tensors(node.meta.get("tensor_meta"))
        buffer = node.meta.get("buf_meta")
        if buffer is not None:
            parts.append(rf"|buf={buffer.name}\n|n_origin={buffer.n_origin}\n")
        if self._shows_source:
            parts.append(_source(node))
        return "{" + "".join(parts) + "}"

    def _call_label(self, node: Node) -> Iterator[str]:
        target = node.target
        text = target if isinstance(target, str) else qualified_name(target)
        yield rf"|target={_escaped(text)}\n"
        args, kwargs = node.args, node.kwargs
        if self.normalize_args and node.op == "call_function":
            args, kwargs = _normalized(node) or (args, kwargs)
        shown = [_short(a) for a in args]
        yield self._listed(shown, r"|args=(\l", r",\n)\l")
        shown = [f"{key}: {_short(a)}" for key, a in kwargs.items()]
        yield self._listed(shown, r"|kwargs={\l", r",\n}\l")
        yield rf"|num_users={len(node.users)}\n"

    def _listed(self, shown: list[str], opening: str, closing: str) -> str:
        if self._skips_nodes:
            shown = [one for one in shown if "%" not in one]
        if not shown:
            return ""
        text = opening + r",\n".join(shown) + closing
        if len(shown) == 1:
            text = text.replace(r"\l", "").replace(r"\n", "")
        return _escaped(text)


def _module_at(module: GraphModule, path: Any) -> torch.nn.Module:
    try:
        return attributes.fetch(module, path)
    except AttributeError as error:
        raise RuntimeError(f"{module} does not have attribute {path}!") from error


def _module_label(module: torch.nn.Module) -> Iterator[str]:
    constants: Sequence[str] = getattr(module, "__constants__", ())
    yield rf"\n{_escaped(torch.typename(module))}\n|"
    yield r"\n".join([f"{name}: {getattr(module, name)}" for name in constants])
    yield r"\n"


def _normalized(node: Node) -> Any:
    """The arguments by the signature; None where it does not say, or not which."""
    try:
        return normalize_function(
            node.target, node.args, node.kwargs, normalize_to_only_use_kwargs=True
        )
    except (RuntimeError, TypeError, ValueError):
        return None


def _escaped(text: str) -> str:
    """A text without the braces that have a meaning in a label."""
    return text.replace("{", r"\{").replace("}", r"\}")


def _short(a: Any) -> str:
    if not isinstance(a, list | tuple) or len(cast("Sequence[Any]", a)) <= _LONGEST:
        return format_arg(a)
    items = cast("Sequence[Any]", a)
    opening, closing = ("[", "]") if isinstance(a, list) else ("(", ")")
    shown = ", ".join(map(format_arg, items[:_LONGEST]))
    return f"{opening}{shown}, ...[total_len={len(items)}]{closing}"


def _source(node: Node) -> str:
    """The innermost line of the source that the node came from."""
    lines = (node.stack_trace or "").strip().splitlines()
    if len(lines) < 2:
        return ""
    place, code = lines[-2].strip(), lines[-1].strip()
    file, _, behind = place.removeprefix('File "').partition('", line ')
    number = behind.partition(",")[0]
    code = re.sub(r'([|<>"])', r"\\\1", _escaped(code))
    return rf"|file={'/'.join(PurePath(file).parts[-2:])}:{number} {code}\n"


def _tensors(meta: Any) -> Iterator[str]:
    """What is known of the tensors in a value."""
    if meta is None:
        return
    if isinstance(meta, TensorMetadata):
        yield from _tensor(meta)
    elif isinstance(meta, list | tuple):
        for one in cast("Sequence[Any]", meta):
            yield from _tensors(one)
    elif isinstance(meta, dict):
        for one in cast("dict[Any, Any]", meta).values():
            yield from _tensors(one)
    else:
        raise RuntimeError(f"Unsupported tensor meta type {type(meta)}")


def _tensor(meta: TensorMetadata) -> Iterator[str]:
    field: Callable[[str, object], str] = r"|{}={}\n".format
    yield field("dtype", meta.dtype)
    yield field("shape", tuple(meta.shape))
    yield field("requires_grad", meta.requires_grad)
    yield field("stride", meta.stride)
    if not meta.is_quantized:
        return
    known: Mapping[str, Any] = meta.qparams
    scheme = known["qscheme"]
    if scheme in (torch.per_tensor_affine, torch.per_tensor_symmetric):
        prefix, names = "q_", _SCALES
    elif str(scheme).startswith("torch.per_channel"):
        prefix, names = "q_per_channel_", (*_SCALES, "axis")
    else:
        raise RuntimeError(f"Unsupported qscheme: {scheme}")
    for name in names:
        yield field(prefix + name, known[name])
    yield field("qscheme", scheme)
