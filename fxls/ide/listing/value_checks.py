"""Whether what is known of a node's value is what its target can give.

Only what is certain is said: where a target, an argument or a size is not
known, nothing is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import cast

from fxls.ide.listing.value_text import dtype_of, short_form
from fxls.listing import Facts, Listing, Tensor

__all__ = ["contradiction"]

Shape = tuple[int, ...]


def contradiction(listing: Listing, node: int) -> str | None:
    """Why the value of a node cannot be what it is said to be; None when it may be."""
    facts = listing.nodes[node]
    value = facts.value
    if not isinstance(value, Tensor):
        return None
    name = _name(listing, facts)
    given = _DTYPES.get(name)
    # A library may write its dtypes with their module.
    if given is not None and given not in (value.dtype, dtype_of(value)):
        return f"{name} gives {given}, not {short_form(value)}"
    shape_of = _SHAPES.get(name)
    if shape_of is None or facts.kwargs or (shape := _known(value)) is None:
        return None
    inputs = [_input(pieces, listing.nodes) for pieces in facts.args]
    expected = shape_of(facts, inputs, shape)
    if expected is None or expected == shape:
        return None
    of = ", ".join(short_form(i) for i in inputs if isinstance(i, Tensor))
    sizes = ", ".join(map(str, expected))
    return f"{name} of {of} gives [{sizes}], not {short_form(value)}"


_Input = Tensor | str | None
"""A tensor, a written number, or something that nothing is known of."""
_ShapeOf = Callable[[Facts, list[_Input], Shape], Shape | None]
"""The shape that the value must have, given the one it has; None for no opinion."""


def _input(pieces: tuple[str | int, ...], nodes: Sequence[Facts]) -> _Input:
    if len(pieces) != 1:
        return None
    (piece,) = pieces
    if isinstance(piece, str):
        return piece if re.fullmatch(r"-?[\d.]+(e[-+]?\d+)?", piece) else None
    value = nodes[piece].value if piece < len(nodes) else None
    return value if isinstance(value, Tensor) else None


def _known(value: _Input) -> Shape | None:
    if not isinstance(value, Tensor):
        return None
    for size in value.shape:
        if not isinstance(size, int):
            return None
    return cast("Shape", value.shape)


def _name(listing: Listing, facts: Facts) -> str:
    """``relu`` for every way to call it; the class for a submodule of torch's."""
    name = facts.target.rpartition(".")[2]
    match facts.opcode:
        case "call_module" if facts.scope is not None:
            scope = listing.scopes[facts.scope]
            known = scope.path == facts.target and scope.type.startswith("torch.nn.")
            return scope.type.rpartition(".")[2] if known else ""
        case "call_function" if facts.target.startswith(("torch.", "operator.")):
            return name
        case "call_method":
            return name
        case _:
            return ""


def _same(_facts: Facts, inputs: list[_Input], _shape: Shape) -> Shape | None:
    return _known(inputs[0]) if inputs else None


def _broadcast(_facts: Facts, inputs: list[_Input], _shape: Shape) -> Shape | None:
    if len(inputs) != 2 or None in inputs:
        return None
    shapes = [() if isinstance(i, str) else _known(i) for i in inputs]
    left, right = shapes
    if left is None or right is None:
        return None
    longer = max(len(left), len(right))
    pairs = zip(
        (1,) * (longer - len(left)) + left,
        (1,) * (longer - len(right)) + right,
        strict=True,
    )
    sizes: list[int] = []
    for a, b in pairs:
        if a != b and 1 not in (a, b):
            return None
        sizes.append(b if a == 1 else a)
    return tuple(sizes)


def _count(_facts: Facts, inputs: list[_Input], shape: Shape) -> Shape | None:
    """As many elements as before, in another shape."""
    before = _known(inputs[0]) if inputs else None
    if before is None or math.prod(before) == math.prod(shape):
        return None
    return before


def _matmul(_facts: Facts, inputs: list[_Input], _shape: Shape) -> Shape | None:
    if len(inputs) != 2:
        return None
    left, right = map(_known, inputs)
    if left is None or right is None or len(left) != 2 or len(right) != 2:
        return None
    return (left[0], right[1])


def _linear(facts: Facts, inputs: list[_Input], _shape: Shape) -> Shape | None:
    before = _known(inputs[0]) if inputs else None
    return (*before[:-1], facts.width) if before and facts.width is not None else None


def _conv(dimensions: int) -> _ShapeOf:
    """The channels; what a convolution makes of the rest, it says itself."""

    def rule(facts: Facts, inputs: list[_Input], shape: Shape) -> Shape | None:
        before = _known(inputs[0]) if inputs else None
        if before is None or facts.width is None or len(before) != dimensions + 2:
            return None
        return (before[0], facts.width, *shape[2:])

    return rule


# fmt: off
_POINTWISE = (
    "abs", "neg", "exp", "log", "sqrt", "rsqrt", "sigmoid", "tanh", "sin", "cos", "erf",
    "relu", "relu6", "gelu", "silu", "elu", "leaky_relu", "mish", "hardtanh",
    "hardswish", "softplus", "softmax", "log_softmax", "dropout", "layer_norm",
    "batch_norm", "contiguous", "clone", "detach",
    "ReLU", "ReLU6", "GELU", "SiLU", "ELU", "LeakyReLU", "Mish", "Hardtanh",
    "Hardswish", "Sigmoid", "Tanh", "Softmax", "LogSoftmax", "Dropout", "Dropout2d",
    "LayerNorm", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "GroupNorm", "Identity",
)
_BINARY = (
    "add", "sub", "mul", "truediv", "div", "floordiv", "pow", "maximum", "minimum",
)
_RESHAPING = (
    "view", "reshape", "flatten", "transpose", "permute", "squeeze", "unsqueeze", "t",
)
# fmt: on

_SHAPES: dict[str, _ShapeOf] = {
    **dict.fromkeys(_POINTWISE, _same),
    **dict.fromkeys(_BINARY, _broadcast),
    **dict.fromkeys(_RESHAPING, _count),
    **{f"Conv{dimensions}d": _conv(dimensions) for dimensions in (1, 2, 3)},
    "matmul": _matmul,
    "mm": _matmul,
    "Linear": _linear,
}

_DTYPES = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "bfloat16": "bfloat16",
    "long": "int64",
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge", "isnan"), "bool"),
}
