"""Types for values of a traced program."""

from __future__ import annotations

from typing import Any

from fxls.engine.tracing.proxy import Proxy

__all__ = ["annotate"]


def annotate(val: Any, type: Any) -> Any:  # noqa: A002 - FX's name
    """Give a traced value a type, and return it; any other value stays as it is.

    RuntimeError when it has one: the type of a parameter stands in the signature.
    """
    if isinstance(val, Proxy):
        if val.node.type:
            raise RuntimeError(
                f"{val} already had a type, {val.node.type}, and cannot get {type}. Was it"
                " annotated twice, or is it a parameter, whose type stands in the"
                " signature?"
            )
        val.node.type = type
    return val
