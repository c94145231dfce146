"""Example inputs for a model, which fit its layers and each other."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fxls.ide.samples.first_layer import FirstLayer, Taken
from fxls.ide.syntax.signatures import Parameter

__all__ = ["sample_inputs"]

_BLANK = "..."

_INDICES = "torch.zeros({}, dtype=torch.long)"

_NAMED = (
    (r"(\w*_)?(ids?|tokens?|indices|idx)", _INDICES.format("1, 8")),
    (r"t|time|(time_?)?steps?|timesteps", _INDICES.format("1")),
    (r"(\w*_)?(images?|img|imgs|pixels|pixel_values)", "torch.randn(1, 3, 32, 32)"),
    (r"(\w*_)?(lengths?|lens)", "torch.tensor([8])"),
)

_PLAIN = {
    "bool": "True",
    "float": "0.1",
    "int": "8",
    "dtype": "torch.float32",
    "device": '"cpu"',
    "Sequence[int]": "[2, 2]",
    "list[int]": "[2, 2]",
    "List[int]": "[2, 2]",
    "tuple[int, ...]": "(2, 2)",
}

_MAPPING = re.compile(r"(\w+\.)?(dict|Dict|Mapping)\[")
_SEVERAL = re.compile(r"(\w+\.)?(?P<kind>list|List|Sequence|tuple|Tuple)\[")
_TENSOR = re.compile(r"\b(?P<kind>Long|Int|Float|Half|Double|Bool)?Tensor\b")

_OF_GRAPHS = (
    (r"edge_(index|indices)|edges", _INDICES.format("2, 16")),
    (r"edge_(weights?|w)", "torch.ones(16)"),
    (r"edge_(attrs?|feats?|features)", "torch.randn(16, 8)"),
    (r"(\w*_)?batch(_index|_idx)?", _INDICES.format("8")),
    (r"(\w*_)?adj(acency)?(_\w+)?", "torch.eye(8)"),
)
_IS_GRAPH = r"edge_(index|indices)|(\w*_)?adj(acency)?(_\w+)?"

_MASK = r"(\w*_)?masks?"

_CHOSEN = {"use_cache": "False"}
"""What a call says also where it need not: the cache that a model of Hugging Face's gives
back beside its values is none of torch's, so what makes a graph cannot write it down.
"""

_BESIDE_A_SEQUENCE = r"(\w*_)?(context|cond|memory|encoder\w*|enc\w*|q|k|v|kv|query|key|value|hidden_states)"
"""What is as long as the sequence before it, where layers take any length."""


@dataclass(slots=True)
class _Before:
    """The inputs that were written."""

    written: list[str]
    shapes: list[tuple[int, ...]]

    def of_rank(self, rank: int) -> tuple[int, ...] | None:
        return next((shape for shape in self.shapes if len(shape) == rank), None)


def sample_inputs(
    inputs: Sequence[Parameter],
    layers: FirstLayer,
    takes_none: Callable[[str], bool],
    made: Mapping[str, str],
) -> str:
    """The arguments of a call of a model.

    `takes_none` says of a mask whether there need not be one; `made` has what classes
    of the same file make, by the names of inputs.
    """
    needed = [one for one in inputs if one.default is None]
    if not needed:
        # A model whose inputs may all be left out is called with its main one.
        needed = [_required(one) for one in inputs[:1] if _is_tensor(one)]
    elif needed[0] is inputs[0] and _is_tensor(needed[0]):
        # The main one is no None, also where its annotation says that it may be.
        may_be_none = _may_be_none(needed[0].annotation)
        needed[0] = _required(needed[0]) if may_be_none else needed[0]
    is_graph = any(re.fullmatch(_IS_GRAPH, one.name) for one in inputs)
    free = _free_shape(needed, layers)
    before = _Before([], [])
    for one in needed:
        graph = _named(one.name, _OF_GRAPHS) if is_graph else None
        known = _CHOSEN.get(one.name, made.get(one.name, graph))
        if known is not None:
            sample, shape = known, ()
        else:
            sample, shape = _sample(one, layers, before, takes_none, free)
            if is_graph and len(shape) == 2 and "long" not in sample:
                sample, shape = _randn((8, shape[1])), (8, shape[1])
        before.shapes.append(shape)
        before.written.append(f"{one.name}={sample}" if one.by_keyword else sample)
    chosen = {**made, **_CHOSEN}
    before.written += [
        f"{one.name}={chosen[one.name]}"
        for one in inputs
        if one.name in chosen and one.default in ("None", "True")
    ]
    return ", ".join(before.written)


def _is_tensor(one: Parameter) -> bool:
    return _TENSOR.search(one.annotation) is not None


def _required(one: Parameter) -> Parameter:
    tensor = _TENSOR.search(one.annotation)
    return Parameter(one.name, tensor[0] if tensor else "", None, one.by_keyword)


def _free_shape(
    needed: Sequence[Parameter], layers: FirstLayer
) -> tuple[int, ...] | None:
    """The shape of inputs that no layer takes, as far as the code looks at it."""
    found = [layers.of(one.name) for one in needed]
    shapes = [one.shape for one in found if one is not None and not one.by_layer]
    return max(shapes, key=len, default=None)


def _sample(
    one: Parameter,
    layers: FirstLayer,
    before: _Before,
    takes_none: Callable[[str], bool],
    free: tuple[int, ...] | None,
) -> tuple[str, tuple[int, ...]]:
    """An input that fits those before it, and its shape where that is known."""
    name, annotation = one.name, one.annotation.strip("'\"")
    if _may_be_none(annotation):
        return "None", ()
    tensor = _TENSOR.search(annotation)
    if _MAPPING.match(annotation) or (annotation and tensor is None):
        last = annotation if "[" in annotation else annotation.rpartition(".")[2]
        return _PLAIN.get(last, _BLANK), ()
    kind = tensor["kind"] if tensor else None
    if re.fullmatch(_MASK, name):
        return ("None", ()) if takes_none(name) else _mask(layers.of(name), before)
    usual = _named(name, _NAMED)
    if kind in ("Long", "Int") and usual is None:
        usual = _INDICES.format("1, 8")
    sample, shape = _by_layer(name, usual, layers, before, free)
    several = _SEVERAL.match(annotation)
    if several is None:
        return sample, shape
    if several["kind"] not in ("tuple", "Tuple"):
        return f"[{sample}]", ()
    count = len(_TENSOR.findall(annotation))
    return f"({sample},)" if count == 1 else f"({', '.join([sample] * count)})", ()


def _by_layer(
    name: str,
    usual: str | None,
    layers: FirstLayer,
    before: _Before,
    free: tuple[int, ...] | None,
) -> tuple[str, tuple[int, ...]]:
    taken = layers.of(name)
    if taken is not None and not taken.by_layer:
        taken = None if usual else taken
    elif taken is None and not before.written and usual is None and free is None:
        taken = layers.of_any()
    is_flat = taken is not None and len(taken.shape) < 4
    if taken is None or (usual and (taken.behind or ("32" in usual and is_flat))):
        if usual is not None:
            return usual, _shape_of(usual)
        # Inputs of which nothing is known are often added to each other.
        alike = (shape for shape in before.shapes if shape)
        shape = free or next(alike, (1, 8))
        return _randn(shape), shape
    shape = _beside(name, taken, before)
    if taken.indices:
        return _INDICES.format(_sizes(shape)), shape
    return _randn(shape), shape


def _beside(name: str, taken: Taken, before: _Before) -> tuple[int, ...]:
    """The shape that a layer takes, with the length of a sequence before it."""
    sequence = before.of_rank(3)
    if taken.loose and sequence and re.fullmatch(_BESIDE_A_SEQUENCE, name):
        return (*sequence[:2], taken.shape[-1])
    return taken.shape


def _mask(taken: Taken | None, before: _Before) -> tuple[str, tuple[int, ...]]:
    image = before.of_rank(4)
    if taken is not None and len(taken.shape) > 2:
        shape = taken.shape
    elif image is not None:
        shape = (image[0], 1, *image[2:])
    else:
        shape = next((shape[:2] for shape in before.shapes if len(shape) > 1), (1, 8))
    return f"torch.ones({_sizes(shape)})", shape


def _randn(shape: Sequence[int]) -> str:
    return f"torch.randn({_sizes(shape)})"


def _sizes(shape: Sequence[int]) -> str:
    return ", ".join(map(str, shape))


def _shape_of(sample: str) -> tuple[int, ...]:
    """The shape that a sample is made with."""
    match = re.match(r"torch\.(?:randn|zeros)\(([\d, ]+)", sample)
    return tuple(map(int, match[1].strip(", ").split(", "))) if match else ()


def _named(name: str, samples: Sequence[tuple[str, str]]) -> str | None:
    found = (value for pattern, value in samples if re.fullmatch(pattern, name))
    return next(found, None)


def _may_be_none(annotation: str) -> bool:
    return re.search(r"Optional\[|\bNone\b", annotation) is not None
