"""What the hooks count on in torch.compile when they run."""

from __future__ import annotations

import copy
import importlib
from typing import Any

import pytest
import torch

from fxls.runtime import torch_private

any_torch: Any = torch


@pytest.fixture(scope="module")
def seen() -> dict[str, Any]:
    """What a backend finds while it compiles a function."""
    output_graph: Any = importlib.import_module("torch._dynamo.output_graph")
    utils: Any = importlib.import_module("torch._dynamo.utils")
    found: dict[str, Any] = {}
    own = output_graph.OutputGraph.call_user_compiler

    def watched(output: Any, gm: Any, *more: Any) -> Any:
        found.update(output=output, gm=gm, translator=output.root_tx)
        found["locals"] = dict(output.root_tx.f_locals)
        return own(output, gm, *more)

    def backend(gm: Any, _inputs: Any) -> Any:
        found["id"] = torch_private.compile_id()
        found["compiling"] = torch_private.is_compiling()
        found["metrics"] = utils.get_metrics_context()._metrics
        return gm.forward

    def doubled(x: Any) -> Any:
        return x * 2

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(output_graph.OutputGraph, "call_user_compiler", watched)
        any_torch.compiler.reset()
        utils.counters.clear()  # what other tests compiled in this process counts, too
        any_torch.compile(doubled, backend=backend)(torch.ones(1))
        found["counters"] = copy.deepcopy(utils.counters)
    any_torch.compiler.reset()
    return found


def test_a_compilation_has_a_name_and_is_known_to_run(seen: dict[str, Any]) -> None:
    assert (seen["id"], seen["compiling"]) == ("0/0", True)
    assert torch_private.compile_id() == "None"
    assert not torch_private.is_compiling()


def test_a_captured_graph_knows_its_compilation(seen: dict[str, Any]) -> None:
    compilation = seen["gm"].meta["dynamo_compile_id"]
    assert (str(compilation), compilation.frame_compile_id) == ("0/0", 0)


def test_the_output_knows_backend_and_function(seen: dict[str, Any]) -> None:
    assert callable(seen["output"].compiler_fn)
    translator = seen["translator"]
    assert translator.f_code.co_name == "doubled"
    assert set(seen["locals"]) == {"x"}
    assert isinstance(translator.f_globals, dict)


def test_a_graph_says_why_it_ends(seen: dict[str, Any]) -> None:
    assert not seen["gm"].compile_subgraph_reason.graph_break


def test_counters_and_metrics_are_tables(seen: dict[str, Any]) -> None:
    assert seen["counters"]["inductor"]["fxgraph_cache_hit"] == 0
    assert isinstance(seen["metrics"], dict)


def test_compiled_code_is_noted() -> None:
    frames: Any = importlib.import_module("torch._dynamo.convert_frame")
    assert hasattr(frames, "output_codes")
    assert hasattr(frames, "input_codes")


def test_a_dispatch_mode_sees_each_operator() -> None:
    seen: list[str] = []

    class Seeing(torch_private.DispatchMode):
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    with Seeing():
        torch.ones(2).sum()

    assert seen == ["aten.ones.default", "aten.sum.default"]
