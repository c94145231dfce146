"""Entry comments that are written for a class."""

from __future__ import annotations

import pytest

from fxls.ide.entries.write_entry import entry_fixes, written_entry
from fxls.ide.syntax.module_classes import modules
from fxls.text import Point
from tests.ide.model import PATH, applied
from tests.support.listings import span_of


def test_an_entry_comment_is_written_above_the_class() -> None:
    text = "import torch\n\n@final\nclass Net(torch.nn.Module):\n    def forward(self, ids): ...\n"
    point = span_of(text, "Net").start

    (fix,) = entry_fixes(text, PATH, point)

    assert fix.title == "Write an entry comment for Net"
    assert applied(fix, text) == text.replace(
        "@final", "# fxls: Net()(torch.zeros(1, 8, dtype=torch.long))\n@final"
    )
    assert entry_fixes(text, PATH, Point(0, 0)) == ()


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ("self, width, act: str", "Net(width=8, act=[...])(torch.randn(1, 8))"),
        ("self, é, width", "Net(é=[8], width=8)(torch.randn(1, 8))"),
        ("self", "Net()([torch.randn(1, 8)])"),
    ],
)
def test_an_entry_that_is_written_says_where_to_look(
    parameters: str, expected: str
) -> None:
    text = "import torch\r\nif 1: pass\r\nclass Net(torch.nn.Module):\r\n"
    text += (
        f"    def __init__({parameters}): pass\r\n    def forward(self, x): pass\r\n"
    )

    written = written_entry(text, PATH, "Net")

    assert written is not None
    assert written.text == applied(written.fix, text)
    line = written.text.split("\r\n")[2]
    start, end = written.focus.start.column, written.focus.end.column
    shown = f"{line[:start]}[{line[start:end]}]{line[end:]}"
    assert (written.focus.start.line, shown) == (2, f"# fxls: {expected}")
    assert written_entry(text, PATH, "Gone") is None


HUGGING_FACE = """\
import torch
from torch import nn
from transformers import GradientCheckpointingLayer, PreTrainedModel, TinyConfig

class TinyBlock(GradientCheckpointingLayer):
    def __init__(self, config):
        super().__init__()
        self.linear = nn.Linear(config.width, config.width)

    def forward(self, hidden_states):
        return self.linear(hidden_states)

class TinyPreTrainedModel(PreTrainedModel):
    config: TinyConfig

class TinyModel(TinyPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.embedding = nn.Embedding(99, config.width)
        self.block = TinyBlock(config)

    def forward(self, input_ids: torch.LongTensor | None = None):
        return self.block(self.embedding(input_ids))

class Bare(PreTrainedModel):
    def forward(self, input_ids=None):
        return input_ids
"""


def test_models_of_hugging_face_are_modules_that_need_their_configuration() -> None:
    said = [(one.name, one.constructible) for one in modules(HUGGING_FACE)]

    assert said == [("TinyBlock", False), ("TinyModel", False), ("Bare", False)]


def test_a_language_model_of_hugging_face_is_made_with_few_layers() -> None:
    ids = "self, input_ids: torch.LongTensor | None = None"
    text = HUGGING_FACE.replace(ids, f"{ids}, use_cache: bool | None = None")

    written = written_entry(text, PATH, "TinyModel")

    assert written is not None
    (edit,) = written.fix.edits
    assert edit.text == (
        "# fxls: TinyModel(config=TinyConfig(num_hidden_layers=2))"
        "(torch.zeros(1, 8, dtype=torch.long), use_cache=False)\n"
    )


def test_the_entry_of_a_model_of_hugging_face_makes_its_configuration() -> None:
    written = written_entry(HUGGING_FACE, PATH, "TinyModel")

    assert written is not None
    (edit,) = written.fix.edits
    assert edit.text == (
        "# fxls: TinyModel(config=TinyConfig())(torch.zeros(1, 8, dtype=torch.long))\n"
    )


TURNED = """\
import torch
from torch import nn
from transformers import TinyConfig

class TinyVisionRotaryEmbedding(nn.Module):
    def __init__(self, dim):
        super().__init__()

    def forward(self, position_ids):
        return position_ids

class OtherRotaryEmbedding(nn.Module):
    def __init__(self, config: TinyConfig):
        super().__init__()

    def forward(self, x, position_ids):
        return x, x

class TinyRotaryEmbedding(OtherRotaryEmbedding):
    pass

class TinyAttention(nn.Module):
    def __init__(self, config: TinyConfig, layer_idx: int):
        super().__init__()
        self.linear = nn.Linear(config.width, config.width)

    def forward(self, hidden_states, position_embeddings=None):
        cos, sin = position_embeddings
        return self.linear(hidden_states) * cos

class TinyNeeding(TinyAttention):
    def forward(self, hidden_states, position_embeddings):
        return super().forward(hidden_states, position_embeddings)
"""

TURNS = "TinyRotaryEmbedding(config=TinyConfig())(torch.randn(1, 8, 8), torch.arange(8)[None])"


@pytest.mark.parametrize(
    ("takes", "name", "inputs"),
    [
        pytest.param(
            "x, position_ids",
            "TinyAttention",
            f"torch.randn(1, 8), position_embeddings={TURNS}",
            id="they may be left out",
        ),
        pytest.param(
            "x, position_ids",
            "TinyNeeding",
            f"torch.randn(1, 8), {TURNS}",
            id="they must be given",
        ),
        pytest.param(
            "x, position_ids, layer_type",
            "TinyNeeding",
            f'torch.randn(1, 8), {TURNS.removesuffix(")")}, "full_attention")',
            id="they are those of a kind of attention",
        ),
        pytest.param(
            "x, ids", "TinyAttention", "torch.randn(1, 8)", id="no class makes them"
        ),
    ],
)
def test_a_layer_has_the_rotations_that_its_file_makes(
    takes: str, name: str, inputs: str
) -> None:
    text = TURNED.replace("x, position_ids", takes)

    written = written_entry(text, PATH, name)

    assert written is not None
    (edit,) = written.fix.edits
    made = f"{name}(config=TinyConfig(), layer_idx=0)"
    assert edit.text == f"# fxls: {made}({inputs})\n"
