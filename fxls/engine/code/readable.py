"""Code for people to read: beside each node where it is from and what its value is.

Says what `meta` knows: ``add: "f32[2, 3]" = x + 1``, below a comment with the file and
the line that it and the nodes behind it came from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any

import torch

import fxls
from fxls.engine.code.generation import Generation
from fxls.engine.code.statement import PlainWriter, Writer
from fxls.engine.ir.node_text import dtype_text
from fxls.engine.origins import resolve as origin
from fxls.engine.torch_private import dtensor_module

if TYPE_CHECKING:
    from fxls.engine.code.codegen import CodeGen
    from fxls.engine.graph import Graph
    from fxls.engine.ir.arguments import Argument
    from fxls.engine.ir.names import Namespace
    from fxls.engine.ir.node import Node
    from fxls.listing import Place

__all__ = ["ReadableGeneration"]


class ReadableGeneration(Generation):
    """The writing of one graph, with all that is known of it."""

    def __init__(
        self,
        codegen: CodeGen,
        graph: Graph,
        root: str,
        *,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
        additional_meta: Sequence[str] | None = None,
        **form: Any,
    ) -> None:
        shows = _Shows(
            stride=include_stride, device=include_device, paint=_Paint(colored=colored)
        )
        # A class for this text, because the writer is made anew for each attempt at it.
        self.writer = type("ReadableWriter", (_ReadableWriter,), {"shows": shows})
        super().__init__(codegen, graph, root, **form)
        self._paint = shows.paint
        self._keys = additional_meta or ()
        self._is_plain = not colored
        self._said = ""
        self._said_of: dict[tuple[Any, int | None], tuple[str, Any]] = {}
        """What is said of an instruction, by the ids of what tells it."""

    def _write_own_names(self) -> bool:
        """As ever, but without keeping lines with nodes: these say more."""
        self._start(None)
        plain = PlainWriter(self._key[0], self._scope) if self._is_plain else None
        for node in self._nodes:
            if plain is None or node._op == "placeholder" or node._op == "output":
                self._add_row(node)
                continue
            self._add_comment(node)
            bound = self._writer.annotated(node, node._name) if node._meta else None
            self._texts.append(plain.line(node, bound))
            self._rows.append(node)
        self._scope.needed.clear()
        if self._scope.wrapped:
            self._scope.values["fxls"] = fxls
        return not (self._scope.clash or self._names_clash())

    def _start(self, namespace: Namespace | None) -> None:
        super()._start(namespace)
        self._said = ""

    def _add_row(self, node: Node) -> None:
        if node._op not in ("placeholder", "output"):
            self._add_comment(node)
        super()._add_row(node)

    def _add_comment(self, node: Node) -> None:
        comment = self._comment(node) if node._meta else f"# {self._origin(node)}"
        if not self._is_plain:
            comment = self._paint.dim(comment)
        if comment != self._said:
            above = [*([""] if self._texts else []), *comment.split("\n")]
            self._texts += above
            self._rows += [None] * len(above)
            self._said = comment

    def _freeing(self, names: Iterable[str]) -> str:
        return self._paint.dim(super()._freeing(names))

    def _comment(self, node: Node) -> str:
        """Where a node is from, and what else its meta says about its making."""
        meta = node.noted_all()
        entries = [f"{key}: {meta[key]}" for key in self._keys if key in meta]
        parts = [f"# {', '.join(entries)} #" if entries else "#"]
        if custom := meta.get("custom"):
            cut = {
                k: v if len(str(v)) <= 40 else f"{str(v)[:40]}..."
                for k, v in custom.items()
            }
            parts.append(f"Annotation: {cut}")
        recompute, region = meta.get("recompute"), meta.get("ac_graph_id")
        if region is not None:
            mode = "" if recompute is None else f" - {recompute.name}"
            parts.append(f"ac_graph_id: {region}{mode}")
        elif recompute is not None:
            parts.append(f"recompute: {recompute.name}")
        trace = meta.get("stack_trace")
        parts.append(self._origin(node) if trace is None else _summary(trace))
        return " ".join(parts)

    def _origin(self, node: Node) -> str:
        """The innermost place of a node's origin, on one line."""
        # What a trace notes, unless the code was generated, tells the place by itself.
        code = node._origin
        is_raw = type(code) is CodeType
        key = (id(code), node._offset) if is_raw else (id(code), None)
        known = self._said_of.get(key)
        if known is not None:
            return known[0]
        frames = (code, node._offset, node._caller) if is_raw else node._frames
        place = origin.innermost_place(frames)
        text = _UNKNOWN if place is None else _place_text(place)
        if not is_raw or origin.is_of_source(frames):
            self._said_of[key] = (text, code)
        return text


def _place_text(place: Place) -> str:
    function = place.function.rpartition(".")[2]
    where = f"File: {place.path}:{place.span.start.line + 1} in {function}"
    return f"{where}, code: {origin.source_line(place).strip()}"


_UNKNOWN = "No stacktrace found for following nodes"


def _summary(trace: str | None) -> str:
    """The innermost frame of a stack trace, on one line."""
    lines = (trace or "").strip().split("\n")
    for i in range(len(lines) - 2, -1, -1):
        found = _FRAME.match(lines[i].strip())
        if found:
            path, line, function = found.groups()
            return f"File: {path}:{line} in {function}, code: {lines[i + 1].strip()}"
    return _UNKNOWN


_FRAME = re.compile(r'File "(.+)", line (\d+), in (.+)')


class _Paint:
    """Colours for a terminal, or none."""

    def __init__(self, *, colored: bool) -> None:
        self._colored = colored

    def dim(self, text: str) -> str:
        return self._in("2", text)

    def dtype(self, text: str) -> str:
        return self._in("31", text)

    def shape(self, text: str) -> str:
        return self._in("34", text)

    constant = shape

    def stride(self, text: str) -> str:
        return self._in("2", self._in("34", text, end=""))

    def device(self, text: str) -> str:
        return self._in("2", self._in("32", text, end=""))

    def _in(self, code: str, text: str, end: str = "\033[0m") -> str:
        return f"\033[{code}m{text}{end}" if self._colored else text


class _Shows:
    """What is shown of a value."""

    def __init__(self, *, stride: bool, device: bool, paint: _Paint) -> None:
        self._stride = stride
        self._device = device
        self.paint = paint

    def value(self, value: Any) -> str | None:
        """What is known of a value; None when nothing is."""
        if isinstance(value, torch.Tensor):
            if value.layout in (torch.sparse_csc, torch.sparse_csr):
                return None
            return self._tensor(value)
        if isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool):
            return f"Sym({value})"
        if type(value).__name__ == "TensorMetadata":  # of this engine or of torch
            return f"{dtype_text(value.dtype)}{_listed(value.shape)}"
        return None

    def _tensor(self, value: torch.Tensor) -> str:
        paint = self.paint
        text = "".join(
            [
                paint.dtype(dtype_text(value.dtype)),
                paint.shape(_listed(value.shape)),
                paint.stride(_listed(value.stride()) if self._stride else ""),
                paint.device(str(value.device) if self._device else ""),
            ]
        )
        kind = type(value)
        if kind is torch.Tensor or kind.__name__ == "FakeTensor":
            return text
        distributed = dtensor_module()
        if distributed is not None and kind is distributed.DTensor:
            spec: Any = getattr(value, "_spec")  # noqa: B009 - not every Tensor has it
            order = distributed.DTensorSpec.format_shard_order_str(
                spec.placements, spec.shard_order
            )
            text = f"{text}, {paint.device(order)}"
        return f"{kind.__name__}({text})"


def _listed(sizes: Iterable[object]) -> str:
    return f"[{', '.join(map(str, sizes))}]"


_PAINTED = frozenset(
    {int, float, str, bool, type(None), complex, bytes, torch.dtype, torch.device}
)


class _ReadableWriter(Writer):
    """Writes behind each name what is known of the value."""

    shows: _Shows

    def argument(self, arg: Argument) -> str:
        text = super().argument(arg)
        return self.shows.paint.constant(text) if type(arg) in _PAINTED else text

    def annotated(self, node: Node, bound: str) -> str:
        meta = node.noted_all()
        keys = ("val", "tensor_meta", "example_value")
        value = next((meta[key] for key in keys if key in meta), None)
        known = self.shows.value(value)
        return (
            super().annotated(node, bound) if known is None else f'{bound}: "{known}"'
        )
