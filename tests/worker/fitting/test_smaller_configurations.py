"""The example of a model that is too large for anybody has a smaller configuration."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest

from fxls.entry import Entry, Kind
from fxls.wire import Fitted
from fxls.worker.fitting.smaller_configurations import smaller_configurations
from tests.worker.asking import TIME_LIMIT, Asking


class TextConfig:
    """As those of transformers, which have their sizes under common names too."""

    attribute_map: ClassVar[dict[str, str]] = {"num_hidden_layers": "depth"}
    model_type = "text"

    def __init__(self, depth: int = 12, hidden_size: int = 1024, **others: int) -> None:
        self.num_hidden_layers = others.get("num_hidden_layers", depth)
        self.hidden_size = hidden_size
        self.num_attention_heads = 8
        self.intermediate_size = others.get("intermediate_size", 4096)


@dataclass
class MoeConfig:
    attribute_map: ClassVar[dict[str, str]] = {}
    hidden_size: int = 1000
    num_attention_heads: int = 96
    moe_intermediate_size: int = 1024
    ffn_dim: int | None = None
    encoder_layers: int = 2


@dataclass
class PairConfig:
    attribute_map: ClassVar[dict[str, str]] = {}
    sub_configs: ClassVar[dict[str, type]] = {"text": TextConfig, "other": TextConfig}
    """Those of transformers say so which of their attributes are configurations."""
    text: TextConfig = field(default_factory=TextConfig)
    other: TextConfig | None = None


@dataclass
class Net:
    config: Any
    width: int = 8


NAMES = {one.__name__: one for one in (TextConfig, MoeConfig, PairConfig, Net, dict)}


SAID = "hidden_size=2048, num_hidden_layers=4"
PART = {"model_type": "text", "num_hidden_layers": 2}


def of_width(width: int) -> str:
    return f"hidden_size={width}, intermediate_size={2 * width}"


def part_of_width(width: int) -> dict[str, object]:
    sizes = {"hidden_size": width, "intermediate_size": 2 * width}
    return {**PART, **sizes, "num_attention_heads": 8}


@pytest.mark.parametrize(
    ("entry", "smaller"),
    [
        (
            "Net(config=TextConfig())(x)",
            [
                "Net(config=TextConfig(num_hidden_layers=2))(x)",
                f"Net(config=TextConfig(num_hidden_layers=2, {of_width(512)}))(x)",
                f"Net(config=TextConfig(num_hidden_layers=2, {of_width(128)}))(x)",
            ],
        ),
        (
            f"Net(TextConfig({SAID}))(x)",
            [
                f"Net(TextConfig({SAID}, intermediate_size=1024))(x)",
                f"Net(TextConfig({SAID}, intermediate_size=256))(x)",
            ],
        ),
        (
            "Net(MoeConfig(1000))(x)",
            ["Net(MoeConfig(1000, hidden_size=512))(x)"],
        ),
        (
            "Net(width='é', config=PairConfig())(x)",
            [
                f"Net(width='é', config=PairConfig(text={PART}))(x)",
                f"Net(width='é', config=PairConfig(text={part_of_width(512)}))(x)",
                f"Net(width='é', config=PairConfig(text={part_of_width(128)}))(x)",
            ],
        ),
        ("Net(config=TextConfig(2, 64, intermediate_size=64))(x)", []),
        ("Net(config=dict(depth=12))(x)", []),
        ("Net(config=3)(x)", []),
    ],
)
def test_what_a_configuration_does_not_say_is_less(
    entry: str, smaller: list[str]
) -> None:
    found = [*smaller_configurations(entry, NAMES)]

    assert found == smaller


LARGE = """
import torch
from torch import nn


class Config:
    attribute_map = {}

    def __init__(self, num_hidden_layers=400, hidden_size=16384):
        self.num_hidden_layers = num_hidden_layers
        self.hidden_size = hidden_size
        self.num_attention_heads = 4


class Large(nn.Module):
    def __init__(self, config):
        super().__init__()
        sizes = (config.hidden_size, config.hidden_size)
        self.layers = nn.ModuleList(
            nn.Linear(*sizes) for _ in range(config.num_hidden_layers)
        )

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class Unfit(Large):
    def forward(self, x):
        raise ValueError("no input is right")


class Narrow(Large):
    def forward(self, x):
        if self.layers[0].in_features > 100:
            raise ValueError("it is too wide")
        return super().forward(x)


class Counted(Large):
    built = 0

    def __init__(self, config):
        Counted.built += 1
        super().__init__(config)

    def forward(self, x):
        if Counted.built > 2:
            raise ValueError("it was built too often")
        return super().forward(x)


class Concrete(Large):  # which cannot be built without numbers
    def __init__(self, config):
        super().__init__(config)
        self.scale = torch.ones(1).item()
"""


@pytest.mark.parametrize(
    ("written", "fits"),
    [
        pytest.param(
            "Large(Config())(torch.randn(1, 8))",
            "Large(Config(num_hidden_layers=2, hidden_size=256))(torch.randn(1, 256))",
            id="what it does not say is less",
        ),
        pytest.param(
            "Large(Config(hidden_size=1200))(torch.randn(1, 1200))",
            "Large(Config(hidden_size=1200, num_hidden_layers=2))(torch.randn(1, 1200))",
            id="fewer layers are enough",
        ),
        pytest.param(
            "Large(Config(hidden_size=100))(torch.randn(1, 100))",
            "Large(Config(hidden_size=100))(torch.randn(1, 100))",
            id="it is not too large",
        ),
        pytest.param(
            "Unfit(Config())(torch.randn(1, 8))",
            "Unfit(Config(num_hidden_layers=2, hidden_size=256))(torch.randn(1, 8))",
            id="it can be built, whatever its inputs are",
        ),
        pytest.param(
            "Narrow(Config())(torch.randn(1, 8))",
            "Narrow(Config(num_hidden_layers=2, hidden_size=64))(torch.randn(1, 64))",
            id="it runs with the least of all",
        ),
        pytest.param(
            "Counted(Config(hidden_size=64))(torch.randn(1, 64))",
            "Counted(Config(hidden_size=64))(torch.randn(1, 64))",
            id="it is built twice at most where it is not too large",
        ),
        pytest.param(
            "Concrete(Config(hidden_size=64))(torch.randn(1, 8))",
            "Concrete(Config(hidden_size=64))(torch.randn(1, 64))",
            id="how large it is cannot be said",
        ),
    ],
)
def test_a_model_that_is_too_large_to_wait_for_is_made_smaller(
    shared: Asking, written: str, fits: str
) -> None:
    path = shared.file(LARGE, "large.py")
    entry = Entry(str(path), written, Kind.COMMAND)

    outcome = shared.run(shared.host.fit(entry, LARGE, time_limit=TIME_LIMIT))

    assert isinstance(outcome, Fitted)
    assert outcome.expression == fits
