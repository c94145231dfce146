"""Smaller sizes for the configuration of a model that takes too long to build.

Configurations are those of transformers, which all have the same names for their sizes,
whatever their own ones are (`attribute_map`).
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from typing import Any, cast

from fxls.text import LineTable, Point

__all__ = ["smaller_configurations"]

_LAYERS = ("num_hidden_layers", "encoder_layers", "decoder_layers", "num_layers")
"""Two of them have the code of all."""

_WIDTH = "hidden_size"
_HEADS = "num_attention_heads"
_PER_HEAD = (64, 16)
"""Features of each head: as many as most have, and the fewest that most allow."""

_KIND = "model_type"

_NARROW = 512
"""How wide layers are whose heads have a width of their own."""

_INSIDE = (
    "intermediate_size",
    "moe_intermediate_size",
    "shared_expert_intermediate_size",
    "ffn_dim",
    "encoder_ffn_dim",
    "decoder_ffn_dim",
    "ffn_hidden_size",
)
"""How wide the layers are that are wider than the others."""


def smaller_configurations(
    expression: str, names: Mapping[str, object]
) -> Iterator[str]:
    """An entry whose configurations say fewer layers, and then less and less of all.

    What the entry says itself is left as it is. `names` are those that it may use.
    Raises `SyntaxError`, and whatever a configuration raises.
    """
    last = expression
    for per_head, kept in ((_PER_HEAD[0], _LAYERS), *((n, None) for n in _PER_HEAD)):
        text = expression
        for end, comma, smaller in _sizes_said(expression, names, per_head):
            said = ", ".join(
                f"{name}={value!r}" for name, value in _only(smaller, kept).items()
            )
            text = text[:end] + (comma if said else "") + said + text[end:]
        if text != last:
            last = text
            yield text


def _sizes_said(
    expression: str, names: Mapping[str, object], per_head: int
) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Where something can be said, what stands before it, and what; the last is first."""
    tree = ast.parse(expression, mode="eval").body
    lines = LineTable(expression)
    calls = [
        one
        for one in ast.walk(tree)
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Name | ast.Attribute)
    ]
    for call in sorted(calls, key=lambda one: _end(lines, one), reverse=True):
        if _is_configuration(_value(call.func, names)):
            said = {one.arg for one in call.keywords}
            smaller = _smaller(_value(call, names), per_head)
            comma = ", " if call.args or call.keywords else ""
            unsaid = {name: smaller[name] for name in smaller if name not in said}
            yield _end(lines, call) - 1, comma, unsaid


def _only(sizes: dict[str, Any], kept: Collection[str] | None) -> dict[str, Any]:
    """Those with these names, also of the configurations inside; None for all."""
    if kept is None:
        return sizes
    found: dict[str, Any] = {}
    for name, value in sizes.items():
        if isinstance(value, dict):
            inside = cast("dict[str, Any]", value)
            part = _only(inside, kept)
            if part:
                found[name] = {_KIND: inside[_KIND], **part}
        elif name in kept:
            found[name] = value
    return found


def _value(node: ast.expr, names: Mapping[str, object]) -> object:
    return eval(compile(ast.Expression(node), "<entry>", "eval"), dict(names))


def _end(lines: LineTable, node: ast.expr) -> int:
    line, column = (node.end_lineno or 1) - 1, node.end_col_offset or 0
    return lines.offset(Point(line, len(lines.line(line).encode()[:column].decode())))


def _is_configuration(value: object) -> bool:
    """Whether it is a class of configurations, as those of transformers are."""
    return isinstance(value, type) and hasattr(value, "attribute_map")


def _smaller(configuration: object, per_head: int) -> dict[str, Any]:
    """The sizes that are too large, by their names, and what to say instead."""
    found: dict[str, Any] = {}
    for name in _LAYERS:
        if _number(configuration, name) > 2:
            found[name] = 2
    width, heads = _number(configuration, _WIDTH), _number(configuration, _HEADS)
    narrow = heads * per_head if heads and width % heads == 0 else _NARROW
    if 0 < narrow < width:
        found[_WIDTH] = narrow
    for name in _INSIDE:
        if _number(configuration, name) > 2 * narrow > 0:
            found[name] = 2 * narrow
    for name, part in _parts(configuration):
        smaller = _smaller(part, per_head)
        if smaller:
            # It is made by its kind where the configuration around may have any, and of
            # what is said here alone.
            heads = _number(part, _HEADS)
            if _WIDTH in smaller and heads:
                smaller[_HEADS] = heads
            found[name] = {_KIND: getattr(part, _KIND, ""), **smaller}
    return found


def _number(configuration: object, name: str) -> int:
    value: object = getattr(configuration, name, None)
    return value if type(value) is int else 0


def _parts(configuration: object) -> Iterator[tuple[str, object]]:
    """The configurations inside of one, as that of the text and that of the images."""
    parts = cast("Mapping[str, object]", getattr(configuration, "sub_configs", {}))
    for name in parts:
        part: object = getattr(configuration, name, None)
        if part is not None and _is_configuration(type(part)):
            yield name, part
