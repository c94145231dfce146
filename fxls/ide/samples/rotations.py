"""What layers of transformers take beside a sequence: how far each position is turned."""

from __future__ import annotations

from collections.abc import Mapping

from fxls.ide.syntax.signatures import ClassSyntax, parameters

__all__ = ["ROTATIONS", "rotating_class", "rotations"]

ROTATIONS = "position_embeddings"
"""The parameter for them. It may have a default, and the forward raises without it."""

_KIND = "layer_type"
"""The kind of attention, where a model has several, which may turn differently far."""


def rotating_class(owner: str, classes: Mapping[str, ClassSyntax]) -> str | None:
    """The class of a file that makes them for another one of its classes."""
    found = [
        name
        for name, syntax in classes.items()
        if name.endswith("RotaryEmbedding") and _inputs(syntax)[1:2] == ["position_ids"]
    ]
    return max(found, key=lambda name: _alike(name, owner), default=None)


def _alike(one: str, other: str) -> int:
    """How many letters two names begin with in common."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def rotations(call: str, syntax: ClassSyntax) -> str:
    """Those of a sequence of eight, where `call` builds what makes them."""
    given = ["torch.randn(1, 8, 8)", "torch.arange(8)[None]"]
    if _KIND in _inputs(syntax):
        given.append('"full_attention"')
    return f"{call}({', '.join(given)})"


def _inputs(syntax: ClassSyntax) -> list[str]:
    return [one.name for one in parameters(syntax.method("forward"))]
