"""Functions in which a pattern of a program nearly has a match, and what stands in the way.

``«…»`` is the expression of the node that does.
"""

from __future__ import annotations

import importlib
from typing import Any

import torch
from torch import Tensor

__all__ = ["PLANTED", "own_pass", "program"]

_USERS = "{} has 2 users, and in the pattern 1"
_OTHER = "{} is {}, and the pattern has {} there"
_MM = "aten.mm.default"

PLANTED = {
    # Users.
    "h = «x @ w»; return relu(h + 1.0) + h": ("shifted", _USERS.format("mm")),
    "h = «x @ w + 1.0»; return relu(h) * h": ("shifted", _USERS.format("add")),
    # Constants.
    "return relu(«x @ w + 2.0»)": ("shifted", "add has 2.0, and the pattern has 1.0"),
    "h = «x.to(torch.bfloat16)»; return h.cos()": (
        "halved",
        "convert_element_type has torch.bfloat16, and the pattern has torch.float16",
    ),
    # Other operators.
    "h = «x * w»; return relu(h + 1.0)": (
        "shifted",
        _OTHER.format("mul", "aten.mul.Tensor", _MM),
    ),
    "return relu(«torch.sub(x @ w, 1.0)»)": (
        "shifted",
        _OTHER.format("sub", "aten.sub.Tensor", "aten.add.Tensor"),
    ),
    "h = x @ w; h = «h.t()»; return relu(h + 1.0)": (
        "shifted",
        _OTHER.format("permute", "aten.permute.default", _MM),
    ),
    "h = «torch.bmm(x[None], w[None])»; return relu(h + 1.0)": (
        "shifted",
        _OTHER.format("bmm", "aten.bmm.default", _MM),
    ),
    "return relu(«x + 1.0»)": (
        "shifted",
        f"add reads an input, and the pattern has {_MM} there",
    ),
    # One value in two places.
    "h = «x * w»; return h.sin()": (
        "squared",
        "the pattern has one value twice, and here there are an input and another input",
    ),
    # The check of the program.
    "return «relu(x.double() @ w.double() + 1.0)»": (
        "shifted",
        "it has the form of the pattern, and the extra check refused it",
    ),
}
"""For each the pattern, and the reason."""


def program() -> str:
    """A module with a function for each."""
    functions = (
        f"def f{number}(x, w):\n    {text.replace('«', '').replace('»', '')}\n"
        for number, text in enumerate(PLANTED)
    )
    return "\n\n".join(("import torch\nfrom torch import relu", *functions))


def shifted(x: Tensor, w: Tensor) -> Tensor:
    return torch.relu(torch.mm(x, w) + 1.0)


def clamped(x: Tensor, w: Tensor) -> Tensor:
    return torch.mm(x, w).clamp_min(-1.0)


def halved(x: Tensor) -> Tensor:
    return x.to(torch.float16).cos()


def squared(x: Tensor) -> Tensor:
    return (x * x).sin()


def same(x: Tensor) -> Tensor:
    return x.exp()


def is_single(match: Any) -> bool:
    return match.output_node().meta["val"].dtype == torch.float32


def own_pass() -> Any:
    """A pass with the three patterns."""
    matcher: Any = importlib.import_module("torch._inductor.pattern_matcher")
    made = matcher.PatternMatcherPass(pass_name="my_fusions")
    x, w = torch.empty(4, 4), torch.empty(4, 4)
    for search, replace, inputs, options in (
        (shifted, clamped, [x, w], {"extra_check": is_single}),
        (halved, same, [x], {}),
        (squared, same, [x], {}),
    ):
        matcher.register_replacement(
            search, replace, inputs, matcher.fwd_only, [made], **options
        )
    return made
