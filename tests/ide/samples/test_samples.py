"""The entry that is written for a class whose constructor needs arguments."""

from __future__ import annotations

from textwrap import dedent

import pytest

from fxls.ide.samples.samples import Samples
from fxls.ide.syntax.module_classes import modules

HEAD = """\
import enum
from dataclasses import dataclass
from typing import Callable, Literal, Optional
import torch
from torch import nn, Tensor
from library import BertConfig, Tokenizer


class Kind(enum.Enum):
    FIRST = 1
    SECOND = 2


@dataclass
class NetConfig:
    width: int = 32
    heads: int = 4


"""


def entry_of(code: str) -> str:
    """The entry of the last class of a file."""
    text = HEAD + dedent(code)
    return Samples(text).entry(modules(text)[-1])


@pytest.mark.parametrize(
    ("parameters", "given"),
    [
        ("width, in_channels, n_layer", "width=8, in_channels=3, n_layer=2"),
        ("kernel_size, num_classes", "kernel_size=3, num_classes=10"),
        ("dropout, use_norm, bias: bool", "dropout=0.1, use_norm=True, bias=True"),
        ("eps: float, scale: float", "eps=1e-5, scale=0.1"),
        ("sizes: list[int], kind: Kind", "sizes=[2, 2], kind=Kind.FIRST"),
        ("mode: Literal['sum', 'mean'], size: int = 3", "mode='sum'"),
        ("mode: Literal['a, b', 'c'], other: Literal[1]", "mode='a, b', other=1"),
        ("past: Optional[int], other: Tensor | None", "past=None, other=None"),
        (
            "part: nn.Module, scale: Tensor",
            "part=torch.nn.Identity(), scale=torch.randn(8)",
        ),
        ("fn: Callable[[Tensor], Tensor]", "fn=torch.nn.functional.relu"),
        ("config", "config=NetConfig()"),
        ("cfg: NetConfig, other: BertConfig", "cfg=NetConfig(), other=BertConfig()"),
        (
            "one: Union['Gone', 'NetConfig'], other: BertConfig | NetConfig",
            "one=NetConfig(), other=BertConfig()",
        ),
        ("name, norm_layer, words: Tokenizer", "name=..., norm_layer=..., words=..."),
        ("cfg: Type[NetConfig], words: type[Tokenizer]", "cfg=NetConfig, words=..."),
    ],
)
def test_an_argument_is_guessed_by_its_annotation_else_by_its_name(
    parameters: str, given: str
) -> None:
    written = entry_of(
        f"""
        class Net(nn.Module):
            def __init__(self, {parameters}): ...
            def forward(self): ...
        """
    )

    assert written == f"Net({given})()"


def test_a_configuration_that_needs_something_is_given_it() -> None:
    given = entry_of(
        """
        class ModelArgs(NamedTuple):
            dim: int
            rope: "ModelArgs"
            heads: int = 2

        class Model(nn.Module):
            def __init__(self, args: "ModelArgs"):
                self.out = nn.Linear(args.dim, 2)

            def forward(self, x):
                return self.out(x)
        """
    )

    assert given == "Model(args=ModelArgs(dim=64, rope=...))(torch.randn(1, 64))"


def inputs(constructor: str, forward: str, parameters: str = "", x: str = "x") -> str:
    """What a model with these statements is called with."""
    text = f"""
class Part(nn.Module):
    def __init__(self, planes, bias=True):
        self.layers = nn.Sequential(nn.ReLU(), nn.Conv2d(planes, 3, 1))
    def forward(self, y):
        return self.layers(y)
class Net(nn.Module):
    def __init__(self, {parameters}):
        {constructor}
    def forward(self, {x}):
        {forward}
"""
    written = entry_of(text)
    return written[written.index(")(") + 2 : -1]


@pytest.mark.parametrize(
    ("constructor", "given"),
    [
        ("self.a = nn.Linear(3 * 4, 2)", "torch.randn(1, 12)"),
        ("self.a = nn.Conv2d(5, 2, 3)", "torch.randn(1, 5, 32, 32)"),
        ("self.a = nn.Conv1d(5, 2, 3)", "torch.randn(1, 5, 32)"),
        ("self.a = nn.GRU(input_size=6)", "torch.randn(1, 8, 6)"),
        ("self.a = nn.Embedding(9, 2)", "torch.zeros(1, 8, dtype=torch.long)"),
        ("self.a = Part(7)", "torch.randn(1, 7, 32, 32)"),
        (
            "self.a = nn.Sequential(nn.ReLU(), Part(planes=7))",
            "torch.randn(1, 7, 32, 32)",
        ),
        ("self.b = nn.Linear(3, 2); self.a = Part(7)", "torch.randn(1, 7, 32, 32)"),
        ("pass", "torch.randn(1, 8)"),
    ],
)
def test_an_input_has_the_shape_that_its_layer_takes(
    constructor: str, given: str
) -> None:
    assert inputs(constructor, "return self.a(x)") == given


@pytest.mark.parametrize(
    ("forward", "given"),
    [
        ("for part in self.parts: x = part(x)", "torch.randn(1, 7, 32, 32)"),
        ("return self.b(self.parts[0](x))", "torch.randn(1, 7, 32, 32)"),
        ("return self.attend(self.norm(x))", "torch.randn(1, 8, 6)"),
        ("return self.run(True, y=x)", "torch.randn(1, 6)"),
        ("b, t, c = x.size(); return self.norm(x)", "torch.randn(1, 8, 6)"),
        ("b, t, h, c = x.shape; return self.norm(x)", "torch.randn(1, 8, 8, 6)"),
        ("t = x.size(1) + x.shape[2]; return self.norm(x)", "torch.randn(1, 8, 6)"),
        ("b, *rest = x.shape; return self.norm(x)", "torch.randn(1, 6)"),
        # Nothing is called with it: the layer that is built first.
        ("return x + 1", "torch.randn(1, 6)"),
    ],
)
def test_an_input_is_followed_to_the_first_layer_that_gets_it(
    forward: str, given: str
) -> None:
    constructor = """
        self.norm = nn.LayerNorm(6)
        self.attend = nn.MultiheadAttention(6, 2)
        self.parts = nn.ModuleList([Part(7) for _ in range(3)])

    def run(self, flag, y):
        return self.norm(y)
"""

    assert inputs(constructor, forward) == given


@pytest.mark.parametrize(
    ("parameters", "layer", "given"),
    [
        ("config", "nn.Linear(config.width // 2, 2)", "torch.randn(1, 16)"),
        ("config", "nn.Linear(self.config.heads, 2)", "torch.randn(1, 4)"),
        ("n_channels", "Part(n_channels)", "torch.randn(1, 3, 32, 32)"),
        ("image_size=64", "nn.Conv2d(3, 8, 1)", "torch.randn(1, 3, 64, 64)"),
        ("width", "nn.Linear(unknown(width), 2)", "torch.randn(1, 8)"),
    ],
)
def test_sizes_are_those_that_the_constructor_is_given(
    parameters: str, layer: str, given: str
) -> None:
    assert inputs(f"self.a = {layer}", "return self.a(x)", parameters) == given


@pytest.mark.parametrize(
    ("parameters", "given"),
    [
        ("input_ids", "torch.zeros(1, 8, dtype=torch.long)"),
        ("image", "torch.randn(1, 3, 32, 32)"),
        ("x: Tensor, t: Tensor", "torch.randn(1, 8), torch.zeros(1, dtype=torch.long)"),
        ("x, flag: bool, start: int", "torch.randn(1, 8), True, 8"),
        ("x, mask: Tensor | None, cache: Tokenizer", "torch.randn(1, 8), None, ..."),
        ("x: Optional[Tensor], y: Tensor | None", "torch.randn(1, 8), None"),
        ("x: tuple[torch.FloatTensor] | None", "torch.randn(1, 8)"),
        ("image, other", "torch.randn(1, 3, 32, 32), torch.randn(1, 3, 32, 32)"),
        ("x, y=None, *more, key, **rest", "torch.randn(1, 8), key=torch.randn(1, 8)"),
    ],
)
def test_an_input_that_no_layer_takes_is_guessed_by_its_name(
    parameters: str, given: str
) -> None:
    assert inputs("pass", "...", x=parameters) == given


def test_classes_that_build_each_other_end() -> None:
    code = """
    class Left(nn.Module):
        def __init__(self, right: "Right"):
            self.right = Right(self)
        def forward(self, x):
            return self.right(x)
    class Right(nn.Module):
        def __init__(self, left: Left):
            self.left = Left(self)
        def forward(self, x):
            return self.left(x)
    """

    assert entry_of(code) == "Right(left=Left(right=...))(torch.randn(1, 8))"


@pytest.mark.parametrize(
    "fields",
    ["width: int = Config().width", "width = Config().depth; depth = Config().width"],
)
def test_a_configuration_that_is_said_in_terms_of_itself_tells_nothing(
    fields: str,
) -> None:
    code = f"""
    class Config:
        {fields}
    class Net(nn.Module):
        def __init__(self, config: Config):
            self.linear = nn.Linear(config.width, 4)
        def forward(self, x):
            return self.linear(x)
    """

    assert entry_of(code) == "Net(config=Config())(torch.randn(1, 8))"


@pytest.mark.parametrize(
    ("x", "forward", "given"),
    [
        # What is put beside each other has a part of the size each.
        ("a, b", "self.fc(torch.cat([a, b], -1))", "{0}(1, 6), {0}(1, 6)"),
        ("a, b", "both = torch.cat((a, b), 1); self.fc(both)", "{0}(1, 6), {0}(1, 6)"),
        (
            "image, mask",
            "self.conv(torch.cat([image, mask], 1))",
            "{0}(1, 2, 32, 32), torch.ones(1, 2, 32, 32)",
        ),
        (
            "q, k, v",
            "q @ k.transpose(2, 3) @ v",
            "{0}(1, 8, 8, 8), {0}(1, 8, 8, 8), {0}(1, 8, 8, 8)",
        ),
        (
            "x, context",
            "b, n, c = x.shape; self.fc(x) @ self.fc(context)",
            "{0}(1, 8, 12), {0}(1, 8, 12)",
        ),
        (
            "x, t",
            "b, n, c = x.shape; self.fc(x) + self.fc(t)",
            "{0}(1, 8, 12), {0}(1, 12)",
        ),
        (
            "x, edge_index, batch",
            "self.fc(x[edge_index[0]])",
            "{0}(8, 12), torch.zeros(2, 16, {1}), torch.zeros(8, {1})",
        ),
        ("x, adj", "adj @ self.fc(x)", "{0}(8, 12), torch.eye(8)"),
        (
            "ids, attention_mask",
            "self.words(ids) * attention_mask[..., None]",
            "torch.zeros(1, 8, {1}), torch.ones(1, 8)",
        ),
        ("x, mask", "self.fc(x) if mask is None else 0", "{0}(1, 12), None"),
        ("x, lengths", "self.fc(x)[:, lengths]", "{0}(1, 12), torch.tensor([8])"),
        (
            "ids: torch.LongTensor, x: torch.FloatTensor",
            "self.fc(x)",
            "torch.zeros(1, 8, {1}), {0}(1, 12)",
        ),
        ("xs: List[Tensor]", "self.fc(xs[0])", "[{0}(1, 12)]"),
        (
            "state: tuple[Tensor, Tensor], one: Tuple[Tensor, ...]",
            "self.fc(state[0]) + self.fc(one[0])",
            "({0}(1, 12), {0}(1, 12)), ({0}(1, 12),)",
        ),
        (
            "batch: Dict[str, Tensor], size: list[int], dtype: torch.dtype",
            "self.fc(batch['x']).to(dtype)",
            "..., [2, 2], torch.float32",
        ),
        ("x, *, scale", "self.fc(x)", "{0}(1, 12), scale={0}(1, 12)"),
        # All of them may be left out: the main one is given.
        (
            "input_ids: Optional[Tensor] = None, labels: Optional[Tensor] = None",
            "self.words(input_ids)",
            "torch.zeros(1, 8, {1})",
        ),
        ("x", "self.made(x)", "{0}(1, 5, 32, 32)"),
        ("x", "self.grey(x)", "{0}(1, 1, 28, 28)"),
        ("t", "self.of_time(t)", "torch.zeros(1, {1})"),
    ],
)
def test_inputs_fit_the_layers_and_each_other(x: str, forward: str, given: str) -> None:
    written = entry_of(
        f"""
        def conv3x3(planes, out, stride=1):
            return nn.Conv2d(planes, out, 3, stride)

        class Wave(nn.Module):
            def forward(self, x):
                return x.sin()

        class Net(nn.Module):
            def __init__(self):
                self.fc = nn.Linear(12, 12)
                self.conv = nn.Conv2d(4, 4, 3)
                self.grey = nn.Conv2d(1, 4, 3)
                self.words = nn.Embedding(9, 2)
                self.made = conv3x3(5, 4)
                self.of_time = nn.Sequential(Wave(), nn.Linear(12, 12))
            def forward(self, {x}):
                {forward}
        """
    )

    inputs = given.format("torch.randn", "dtype=torch.long")
    assert written == f"Net()({inputs})"


def test_a_mask_that_is_only_passed_on_is_left_out_where_that_is_possible() -> None:
    code = """
    class Attention(nn.Module):
        def __init__(self):
            self.fc = nn.Linear(4, 4)
        def forward(self, x, mask: Tensor | None = None):
            return self.fc(x) if mask is None else self.fc(x * mask)
    class Layer(nn.Module):
        def __init__(self):
            self.attention = Attention()
        def forward(self, x, src_mask):
            return self.attention(x, src_mask)
    """

    assert entry_of(code) == "Layer()(torch.randn(1, 4), None)"


@pytest.mark.parametrize(
    ("use_cache", "given"),
    [
        ("use_cache: bool | None = None", "use_cache=False"),
        ("use_cache=True", "use_cache=False"),
        ("*, use_cache: bool", "use_cache=False"),
        ("use_cache: bool", "False"),
        ("use_cache=False", ""),
    ],
)
def test_no_cache_is_made_that_no_graph_can_hold(use_cache: str, given: str) -> None:
    ids = "input_ids" if use_cache.endswith("bool") else "input_ids=None"
    code = f"""
        class Net(nn.Module):
            def __init__(self, config):
                super().__init__()

            def forward(self, {ids.replace("=", ": Tensor | None=")}, {use_cache}):
                return input_ids
        """
    inputs = ", ".join(filter(None, ["torch.zeros(1, 8, dtype=torch.long)", given]))
    assert entry_of(code) == f"Net(config=NetConfig())({inputs})"


def test_an_abstract_class_has_no_entry() -> None:
    code = """
    class Base(nn.Module, ABC):
        @abstractmethod
        def encode(self, x): ...
        def forward(self, x):
            return self.encode(x)
    class Net(Base):
        def encode(self, x):
            return x
    """

    assert [one.name for one in modules(HEAD + dedent(code))] == ["Net"]


def test_a_choice_that_the_file_makes_is_made_again() -> None:
    """`causal=True` may need what the file does not have."""
    code = """
        class Attention(nn.Module):
            def __init__(self, width, heads, causal, mode, *, norm, act, bias):
                pass

            def forward(self, x):
                return x


        def build(sizes):
            yield Attention(512, 3, False, "flash", norm=None, act=sizes[0])
            yield Attention(*sizes, True, norm=True, bias=False)
        """

    assert entry_of(code) == (
        "Attention(width=8, heads=2, causal=False, mode='flash', norm=None, act=...,"
        " bias=False)(torch.randn(1, 8))"
    )
