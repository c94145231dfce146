"""Where torch.compile hands over what it compiled, so that somebody sees it called."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterator, Mapping
from types import CodeType
from typing import Any

from fxls.installed_torch import always, private
from fxls.runtime.hooks import Hook, around, giving

__all__ = [
    "PRIVATE",
    "buffers_of",
    "compile_with",
    "kernels_of",
    "made_nodes",
    "of_compiled_calls",
    "original_of",
    "written_settings",
]

_Watch = Callable[..., Generator[None, Any, Any]]

CALLS = "no numbers are compared, as nobody sees compiled functions called"
AOT = "numbers of aot_eager are not compared"
BEHIND = "numbers of backends behind AOTAutograd are not compared"
KERNELS = "numbers of kernels are not compared"
SETTINGS = "reproducers lack the settings of inductor"
SOURCES = "reproducers of a wrong fake kernel lack the source of the operator"
DECOMPOSED = "numbers of decompositions are not compared"
CAPTURED = "what Dynamo captures is not compared with what Python does"

_COMPILERS = ("fw_compiler", "bw_compiler", "inference_compiler")

_SLOT = "torch.fx.experimental.proxy_tensor:get_proxy_slot"
_COMPILE = "torch._inductor.compile_fx:compile_fx_inner"
_PATCH = "torch._inductor.config:patch"
_WRITE = "torch._inductor.config:codegen_config"
_DEFINED = "torch._library.custom_ops:OPDEFS"
_ORIGINALS = "torch._dynamo.convert_frame:orig_code_map"
PRIVATE = {
    _SLOT: DECOMPOSED,
    _COMPILE: KERNELS,
    _PATCH: KERNELS,
    _WRITE: SETTINGS,
    _DEFINED: SOURCES,
    _ORIGINALS: CAPTURED,
}
"""What is looked up only while numbers are compared, and what is off without it."""


def of_compiled_calls(
    *,
    captured: _Watch,
    compiled: _Watch,
    interpreted: _Watch,
    lowered: _Watch,
    written: _Watch,
    decomposed: _Watch,
    behind: Callable[[Any], Any],
) -> tuple[Hook, ...]:
    """Where a backend gets a graph, inductor and `aot_eager` compile one; where inductor
    lowers it and has written its code; and where an operator is decomposed. `behind`
    makes of what compiles a graph behind AOTAutograd what is to do it instead.
    """
    return (
        Hook(
            "torch._dynamo.output_graph",
            CALLS,
            {"OutputGraph.call_user_compiler": around(captured, CALLS)},
        ),
        Hook(
            "torch._inductor.compile_fx",
            CALLS,
            {"_compile_fx_inner": around(compiled, CALLS)},
        ),
        Hook(
            "torch._functorch.aot_autograd",
            BEHIND,
            {"aot_stage2_compile": giving(_COMPILERS, behind)},
        ),
        Hook(
            "torch._dynamo.backends.debugging",
            AOT,
            {"boxed_nop": around(interpreted, AOT)},
        ),
        Hook(
            "torch._inductor.graph",
            KERNELS,
            {
                "GraphLowering.run": around(lowered, KERNELS),
                "GraphLowering.compile_to_module": around(written, KERNELS),
            },
        ),
        Hook(
            "torch.fx.experimental.proxy_tensor",
            DECOMPOSED,
            {"maybe_handle_decomp": around(decomposed, DECOMPOSED)},
        ),
    )


def made_nodes(tracer: Any) -> Callable[[Any], Any]:
    """What gives the node of a traced tensor; None for what is none."""
    slot: Any = private(_SLOT, DECOMPOSED, _nothing)

    def node(value: Any) -> Any:
        found = slot(value, tracer, None)
        return getattr(getattr(found, "proxy", None), "node", None)

    return node


def buffers_of(lowering: Any) -> Mapping[str, tuple[str, str]]:
    """By the name of each buffer of inductor's code the node whose value it is and the
    name of the kernel that writes it.
    """
    found = dict(_buffers(lowering))
    for name in unwritten(lowering):
        found.pop(name, None)
    return found


def unwritten(lowering: Any) -> set[str]:
    """The buffers that inductor's code may name and no kernel writes, because nothing
    behind the kernel reads them. One in the memory of another buffer holds that one's
    value (torch/_inductor/codegen/common.py).
    """
    return {*lowering.removed_buffers, *lowering.inplaced_to_remove}


def _buffers(lowering: Any) -> Iterator[tuple[str, tuple[str, str]]]:
    for one in lowering.scheduler.nodes:
        for part in one.get_nodes():
            origin = None if part.node is None else part.node.get_origin_node()
            if origin is None:
                continue
            for name in part.get_buffer_names():
                yield name, (origin.name, one.get_name())


def _compile_alone(module: Any, inputs: list[Any]) -> Any:
    """What inductor makes of a graph, by itself."""
    inner: Any = private(_COMPILE, KERNELS, lambda: always(None))
    return inner(module, inputs)


def compile_with(settings: Mapping[str, Any], module: Any, inputs: list[Any]) -> Any:
    """What inductor makes of a graph, by itself, under these settings of its own."""
    patch: Any = private(_PATCH, KERNELS, _nothing)
    with patch(dict(settings)) or contextlib.nullcontext():
        return _compile_alone(module, inputs)


def kernels_of(operator: Any) -> tuple[Any, Any]:
    """The functions of a program that are the kernel of an operator of its own, and its
    fake kernel; None for what is no function of Python, or registered in another way.
    """
    known: Any = private(_DEFINED, SOURCES, dict[str, Any])
    made = known.get(str(operator.name()).rpartition(".")[0] or operator.name())
    made = made or known.get(operator.name())
    return getattr(made, "_init_fn", None), getattr(made, "_abstract_fn", None)


def original_of(code: CodeType) -> CodeType | None:
    """The program's code in whose place Dynamo made this; None for code of others."""
    originals: Any = private(_ORIGINALS, CAPTURED, dict[CodeType, CodeType])
    return originals.get(code)


def written_settings() -> str:
    """The text that inductor's configuration writes of what is unusual in it."""
    write: Any = private(_WRITE, SETTINGS, _nothing)
    return write() or ""


def _nothing() -> Callable[..., Any]:
    return always(None)
