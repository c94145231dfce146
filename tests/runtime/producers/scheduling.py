"""A backend that lets inductor write code for a graph, and compiles no kernel of it."""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Callable
from typing import Any, cast

import pytest

__all__ = ["written_alone"]

compile_fx: Any = importlib.import_module("torch._inductor.compile_fx")


class _Written(BaseException):
    """The code is written; what would load it goes no further."""


def _written(gm: Any, inputs: Any, **options: Any) -> Callable[..., Any]:
    """What inductor does with a graph before a compiler gets its kernels; the graph runs
    as it was captured.
    """
    lowering: Any = importlib.import_module("torch._inductor.graph").GraphLowering
    settings: Any = importlib.import_module("torch._inductor.config")

    def stop(_code: str) -> None:
        raise _Written

    with (
        pytest.MonkeyPatch.context() as patch,
        settings.patch(fx_graph_cache=False),
        contextlib.suppress(_Written),
    ):
        # torch has this function so that tests get the code.
        patch.setattr(lowering, "save_output_code", staticmethod(stop))
        compile_fx.compile_fx_inner(gm, inputs, **options)

    def run(inputs: list[Any]) -> Any:
        return gm.forward(*inputs)

    cast("Any", run)._boxed_call = True
    return run


written_alone = functools.partial(compile_fx.compile_fx, inner_compile=_written)
