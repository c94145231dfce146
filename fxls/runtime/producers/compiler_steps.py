"""Where compilers of torch do something to graphs that stands in no observer of torch's."""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Callable, Generator
from typing import Any, cast

from fxls.runtime.hooks import Hook, around
from fxls.runtime.torch_private import TANGENTS

__all__ = [
    "DIVIDED",
    "JOINT_PASS",
    "TRACED",
    "cut_of_caller",
    "direction_of",
    "is_given_gradients",
    "of_aot_autograd",
    "of_inductor",
    "with_joint_pass",
]

_Watch = Callable[..., Generator[None, Any, Any]]

TRACED = "what AOTAutograd cleans up is no revision"
DIVIDED = "partitions of torch.compile are no revisions"
_DECOMPOSED = "nodes do not say which operator was decomposed into them"
_CUT = "partitions do not say why a value is saved or recomputed"
_SORTED = "what inductor sorts between two passes has no name"
_MATCHED = "passes of inductor do not say which patterns they found"


def of_aot_autograd(
    *, traced: _Watch, created: _Watch, decomposed: _Watch, divided: _Watch, cut: _Watch
) -> tuple[Hook, ...]:
    """Where AOTAutograd traces a graph, which makes it, decomposes, and divides it; and
    where a partitioner has found the cut.
    """
    steps = "torch._functorch._aot_autograd.graph_compile"
    both = around(traced, TRACED)
    return (
        Hook(
            steps,
            TRACED,
            {"aot_dispatch_autograd_graph": both, "aot_dispatch_base_graph": both},
        ),
        Hook(
            "torch._functorch._aot_autograd.graph_capture",
            TRACED,
            {"_create_graph": around(created, TRACED)},
        ),
        Hook(
            "torch.fx.experimental.proxy_tensor",
            _DECOMPOSED,
            {"maybe_handle_decomp": around(decomposed, _DECOMPOSED)},
        ),
        Hook(steps, DIVIDED, {"_aot_stage2a_partition": around(divided, DIVIDED)}),
        Hook(
            "torch._functorch.partitioners",
            _CUT,
            {"get_name_to_node": around(cut, _CUT)},
        ),
    )


def of_inductor(*, sorted_: _Watch, matched: _Watch) -> tuple[Hook, ...]:
    """Where inductor sorts graphs between two passes, and where a pattern has a match."""
    modules = ("pre_grad", "joint_graph", "post_grad")
    kinds = ("GraphPatternEntry", "LoweringPatternEntry", "ReplacementPatternEntry")
    return (
        *(
            Hook(
                f"torch._inductor.fx_passes.{module}",
                _SORTED,
                {"stable_topological_sort": around(sorted_, _SORTED)},
            )
            for module in modules
        ),
        Hook(
            "torch._inductor.pattern_matcher",
            _MATCHED,
            {f"{kind}.apply": around(matched, _MATCHED) for kind in kinds},
        ),
    )


def direction_of(module: Any) -> str:
    """Which half of a divided graph a module is: the backward is given gradients."""
    return "backward" if is_given_gradients(module) else "forward"


def is_given_gradients(module: Any) -> bool:
    """Whether a graph is given the gradients of what another one computes."""
    return any(
        node.op == "placeholder" and node.name.startswith(TANGENTS)
        for node in module.graph.nodes
    )


JOINT_PASS = "joint_custom_pass"
"""The setting of AOTAutograd that has a pass of the program's."""


@contextlib.contextmanager
def with_joint_pass(around_it: Callable[[Any], Any]) -> Generator[None]:
    """A block in which that pass, if there is one, is what `around_it` makes of it."""
    settings = sys.modules.get("torch._functorch.config")
    theirs = getattr(settings, JOINT_PASS, None)
    if settings is None or not callable(theirs):
        yield
        return
    with cast("Any", settings).patch({JOINT_PASS: around_it(theirs)}):
        yield


def cut_of_caller() -> Any:
    """The graph of which a partitioner has found the cut, for what watches the function
    that it calls then; None where it has another name.
    """
    # It has no other name than the maker's own.
    frame = inspect.currentframe()
    for _ in range(3):
        frame = frame and frame.f_back
    return frame and frame.f_locals.get("nx_graph")
