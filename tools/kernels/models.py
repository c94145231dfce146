"""Models of libraries, each compiled by inductor: a step of training."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import torch

from tools import torchvision_operators

__all__ = ["MODELS"]

any_torch: Any = torch


def _imported(name: str) -> Any:
    """A library; each imports torchvision."""
    torchvision_operators.declare()
    return importlib.import_module(name)


def gpt2() -> None:
    """The GPT-2 of transformers, small."""
    library = _imported("transformers")
    sizes = {"n_layer": 2, "n_head": 4, "n_embd": 64, "n_positions": 32}
    words = {"vocab_size": 128, "bos_token_id": 0, "eos_token_id": 0}
    model = library.GPT2LMHeadModel(library.GPT2Config(**sizes, **words)).train()
    given = torch.zeros(2, 16, dtype=torch.long)
    any_torch.compile(model)(input_ids=given, labels=given).loss.backward()


def resnet18() -> None:
    """The ResNet-18 of torchvision."""
    library = _imported("torchvision.models")
    model = library.resnet18(weights=None, num_classes=10).train()
    any_torch.compile(model)(torch.ones(2, 3, 32, 32)).sum().backward()


def bert() -> None:
    """The BERT of transformers, small, for texts of any length."""
    library = _imported("transformers")
    sizes = {"num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 64}
    more = {"intermediate_size": 128, "vocab_size": 128}
    model = library.BertModel(library.BertConfig(**sizes, **more)).train()
    compiled = any_torch.compile(model, dynamic=True)
    for length in (7, 9):
        given = torch.zeros(2, length, dtype=torch.long)
        compiled(given).last_hidden_state.sum().backward()


MODELS: dict[str, Callable[[], None]] = {
    "GPT-2": gpt2,
    "ResNet-18": resnet18,
    "BERT, dynamic shapes": bert,
}
