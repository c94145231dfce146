"""Functions in which a pattern that is given to `replace_pattern` nearly has a match, and
what stands in the way.

``«…»`` is the expression of the node that does.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

__all__ = ["PATTERNS", "PLANTED", "program"]

PLANTED = {
    # Users.
    "h = «torch.mm(x, w)»; return torch.relu(h + 1.0) * h": (
        "shifted",
        "mm is used by mul outside of the pattern",
    ),
    "h = «torch.mm(x, w) + 1.0»; return torch.relu(h), h": (
        "shifted",
        "add is returned outside of the pattern",
    ),
    # Constants, also a dtype.
    "return torch.relu(«torch.mm(x, w) + 2.0»)": (
        "shifted",
        "add has 2.0, and the pattern has 1.0 there",
    ),
    "return torch.relu(«torch.mm(x, w) + w»)": (
        "shifted",
        "add has an input, and the pattern has 1.0 there",
    ),
    "return «x.to(torch.bfloat16)».cos()": (
        "halved",
        "to has torch.bfloat16, and the pattern has torch.float16 there",
    ),
    # Other operators.
    "return torch.relu(«torch.mm(x, w) - 1.0»)": (
        "shifted",
        "sub is operator.sub, and the pattern has operator.add there",
    ),
    "return torch.relu(«x.mm(w)» + 1.0)": (
        "shifted",
        "mm is the method mm, and the pattern has torch.mm there",
    ),
    "return torch.relu(«x + 1.0»)": (
        "shifted",
        "add reads an input, and the pattern has torch.mm there",
    ),
    "return «x.flatten()».cos()": (
        "halved",
        "flatten is the method flatten, and the pattern has the method to there",
    ),
    # The number of arguments.
    "return «torch.cat([x, w, x])»": (
        "joined",
        "cat has 3 values, and the pattern 2 there",
    ),
    "return «torch.cat([x, w], 1)»": (
        "joined",
        "cat has 2 arguments, and in the pattern 1",
    ),
    # One value in two places, and two in one.
    "return torch.sin(«x * w»)": (
        "squared",
        "the pattern has one value twice, and here there are an input and another input",
    ),
    "return «torch.cat([x, x])»": (
        "joined",
        "the pattern has two values, and here both are an input",
    ),
    # Another match, and a filter of the program.
    "h = «torch.exp(x)»; return (h + 1.0) * (h + 1.0)": (
        "both",
        "exp is a part of another match",
    ),
    "return «torch.relu(torch.mm(w, x) + 1.0)»": (
        "shifted",
        "it has the form of the pattern, and a filter refused it",
    ),
}
"""For each the pattern, and the reason."""


def program() -> str:
    """A module with a function for each."""
    functions = (
        f"def f{number}(x, w):\n    {text.replace('«', '').replace('»', '')}\n"
        for number, text in enumerate(PLANTED)
    )
    return "\n\n".join(("import torch", *functions))


def shifted(x: Tensor, w: Tensor) -> Tensor:
    return torch.relu(torch.mm(x, w) + 1.0)


def halved(x: Tensor) -> Tensor:
    return x.to(torch.float16).cos()


def joined(x: Tensor, w: Tensor) -> Tensor:
    return torch.cat([x, w])


def squared(x: Tensor) -> Tensor:
    return torch.sin(x * x)


def both(x: Tensor) -> tuple[Tensor, Tensor]:
    grown = torch.exp(x)
    return grown + 1.0, grown


def of_two(x: Tensor, w: Tensor) -> Tensor:
    return x - w


def of_one(x: Tensor) -> Tensor:
    return x.neg()


def as_it_is(x: Tensor) -> tuple[Tensor, Tensor]:
    return x, x.neg()


PATTERNS: dict[str, tuple[Any, Any]] = {
    "shifted": (shifted, of_two),
    "halved": (halved, of_one),
    "joined": (joined, of_two),
    "squared": (squared, of_one),
    "both": (both, as_it_is),
}
"""By name the pattern, and what is put in its place."""
