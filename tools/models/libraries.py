# The libraries are installed where this runs, and not where it is checked.
# pyright: reportMissingImports=false
"""Which models of which libraries are traced, and how each is made."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch

from tools import torchvision_operators
from tools.clients.families import timm_names

__all__ = ["LIBRARIES", "Model"]


@dataclass(frozen=True, slots=True)
class Model:
    """A model by its name, and what `symbolic_trace` gets besides."""

    name: str
    make: Callable[[], torch.nn.Module]
    inputs: tuple[str, ...] = field(default=())
    """The arguments that stay open; the others are fixed to their defaults."""
    example: Callable[[torch.nn.Module], dict[str, Any]] | None = None
    """What it is called with, by name; None where nothing is known."""

    def fixed(self, model: torch.nn.Module) -> dict[str, Any] | None:
        """``concrete_args``; None where every argument stays open."""
        if not self.inputs:
            return None
        parameters = inspect.signature(inspect.unwrap(type(model).forward)).parameters
        return {
            name: parameter.default
            for name, parameter in parameters.items()
            if name not in (*self.inputs, "self")
            and parameter.default is not inspect.Parameter.empty
        }


def _imported(name: str) -> Any:
    """A library; each imports torchvision."""
    torchvision_operators.declare()
    return importlib.import_module(name)


def torchvision_models() -> Iterator[Model]:
    """All, besides those that are quantized."""
    models: Any = _imported("torchvision.models")
    for name in sorted(models.list_models()):
        if not name.startswith("quantized_"):
            accepted = inspect.signature(models.get_model_builder(name)).parameters
            bare = {one: None for one in accepted if one.startswith("weights")}
            make = partial(models.get_model, name, **bare)
            yield Model(name, _made(make), example=_image)


def timm_models() -> Iterator[Model]:
    """One of each family."""
    timm: Any = _imported("timm")
    for name in timm_names():
        yield Model(name, _made(partial(timm.create_model, name)), example=_image)


def _made(make: Callable[[], Any]) -> Callable[[], torch.nn.Module]:
    """Without weights where the model lets itself be made so, which is faster."""

    def bare() -> torch.nn.Module:
        try:
            with torch.device("meta"):
                return make().eval()
        except (NotImplementedError, RuntimeError, TypeError, ValueError):
            return make().eval()

    return bare


def _image(model: torch.nn.Module) -> dict[str, Any]:
    """An image of the size that a model is made for, or two; a list for a detector."""
    size = getattr(model, "default_cfg", {}).get("input_size", (3, 224, 224))
    needed = [
        name
        for name, one in inspect.signature(model.forward).parameters.items()
        if one.default is inspect.Parameter.empty
    ]
    images = {name: torch.randn(1, *size) for name in needed}
    return {n: [one[0]] if n == "images" else one for n, one in images.items()}


def transformers_models() -> Iterator[Model]:
    """One of each family, with two small layers."""
    transformers: Any = _imported("transformers")
    transformers.logging.set_verbosity_error()
    for family, (kind, settings) in _FAMILIES.items():
        name, config = f"{family}Model", f"{family.removesuffix('Encoder')}Config"

        def make(name: str = name, config: str = config, of: Any = settings) -> Any:
            made = getattr(transformers, config)(**of)
            return getattr(transformers, name)(made).eval()

        example = partial(_small, kind, settings.get("image_size", 32))
        yield Model(name, make, (kind,), example)


def _small(kind: str, size: int, model: torch.nn.Module) -> dict[str, Any]:
    """Two texts, or two images, and no cache, which is no tensor that could go out."""
    value = torch.randint(50, (2, 7))
    if kind == _IMAGE:
        value = torch.randn(2, 3, size, size)
    accepts = inspect.signature(inspect.unwrap(type(model).forward)).parameters
    no_cache = {"use_cache": False} if "use_cache" in accepts else {}
    return {kind: value, **no_cache}


_TEXT, _IMAGE = "input_ids", "pixel_values"
_LAYERS = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
_SMALL = {**_LAYERS, "intermediate_size": 32, "vocab_size": 50}
_PATCHES = {**_LAYERS, "intermediate_size": 32, "image_size": 16, "patch_size": 4}
_GPT = {"n_embd": 16, "n_layer": 2, "n_head": 2, "vocab_size": 50}
_FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "Albert": (_TEXT, {**_SMALL, "embedding_size": 16}),
    "Bert": (_TEXT, _SMALL),
    "CLIPVision": (_IMAGE, _PATCHES),
    "ConvNext": (_IMAGE, {"hidden_sizes": [4, 8, 8, 8], "depths": [1, 1, 1, 1]}),
    "DeiT": (_IMAGE, _PATCHES),
    "DistilBert": (
        _TEXT,
        {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32, "vocab_size": 50},
    ),
    "Electra": (_TEXT, {**_SMALL, "embedding_size": 16}),
    "GPT2": (_TEXT, _GPT),
    "GPTNeoX": (_TEXT, _SMALL),
    "Llama": (_TEXT, _SMALL),
    "Mistral": (_TEXT, {**_SMALL, "num_key_value_heads": 2}),
    "OPT": (
        _TEXT,
        {**_LAYERS, "word_embed_proj_dim": 16, "ffn_dim": 32, "vocab_size": 50},
    ),
    "Qwen2": (_TEXT, {**_SMALL, "num_key_value_heads": 2}),
    "ResNet": (
        _IMAGE,
        {"embedding_size": 4, "hidden_sizes": [4, 8], "depths": [1, 1]},
    ),
    "Roberta": (_TEXT, _SMALL),
    "Swin": (
        _IMAGE,
        {
            "embed_dim": 8,
            "depths": [1, 1],
            "num_heads": [2, 2],
            "image_size": 16,
            "patch_size": 2,
            "window_size": 2,
        },
    ),
    "T5Encoder": (
        _TEXT,
        {
            "d_model": 16,
            "d_kv": 8,
            "d_ff": 32,
            "num_layers": 2,
            "num_heads": 2,
            "vocab_size": 50,
        },
    ),
    "ViT": (_IMAGE, _PATCHES),
}

LIBRARIES: dict[str, Callable[[], Iterator[Model]]] = {
    "torchvision": torchvision_models,
    "timm": timm_models,
    "transformers": transformers_models,
}
