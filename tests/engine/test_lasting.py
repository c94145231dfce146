# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
"""Pickles and generated code name nothing of ours that a move could change."""

from __future__ import annotations

import pickle
import pickletools
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.fx
from torch import nn
from torch.fx.graph import CodeGen

from fxls import __version__
from fxls import engine as fx
from fxls.engine.ir import serialization
from fxls.engine.module.pickling import packaged_module
from fxls.engine.passes.shape_prop import ShapeProp
from tests.engine.asserting import Asserting, Checked
from tests.engine.zoo import Example, examples

OF_FX = {
    "fxls.engine._symbolic_trace PHBase",
    "fxls.engine._symbolic_trace PHWithMeta",
    "fxls.engine._symbolic_trace Tracer",
    "fxls.engine._symbolic_trace _assert_is_none",
    "fxls.engine.graph CodeGen",
    "fxls.engine.graph Graph",
    "fxls.engine.graph _PyTreeCodeGen",
    "fxls.engine.graph _PyTreeInfo",
    "fxls.engine.graph_module GraphModule",
    "fxls.engine.immutable_collections immutable_dict",
    "fxls.engine.immutable_collections immutable_list",
    "fxls.engine.interpreter TransformerTracer",
    "fxls.engine.passes.shape_prop TensorMetadata",
    "fxls.engine.proxy assert_fn",
}
"""What torch.fx has by the same name, which every FX has to have."""

OF_OURS = {
    "fxls.engine _Around",
    "fxls.engine _ForeignCodeGen",
    "fxls.engine _ModuleStack",
    "fxls.engine _blank_graph",
    "fxls.engine _blank_module",
    "fxls.engine _code_of_text",
    "fxls.engine _packaged_module",
    "fxls.engine _fill_graph",
    "fxls.engine _node_at",
    "fxls.engine _value_named",
}
"""What `fxls.engine` leads to, wherever the code stands."""

PLAIN = {"fxls.listing Place", "fxls.text Point", "fxls.text Span"}
"""The values that cross between processes, whose modules are public."""


def nested() -> fx.GraphModule:
    tracer = Asserting()
    graph = tracer.trace(Checked(), {"pair": (fx.PH, fx.PH), "scale": None})
    return fx.GraphModule(tracer.root, graph)


def around() -> fx.GraphModule:
    return fx.trace_around(Checked().inner, nn.Linear)


def transformed() -> fx.GraphModule:
    module = fx.symbolic_trace(Checked().inner)
    ShapeProp(module).propagate(torch.ones(2, 3))
    return fx.Transformer(module).transform()


def crossed() -> fx.GraphModule:
    """A module of torch.fx that has rules of code of its own."""
    module = torch.fx.symbolic_trace(Checked().inner)

    module.graph.set_codegen(Listed())
    module.recompile()
    return fx.from_torch_fx(module)


def attributes() -> dict[str, Any]:
    """What a program pickles that sends a module's graph in another way."""
    return {**transformed().__dict__}


class Listed(CodeGen):
    """Rules of code that change nothing."""


def stack() -> Any:
    """The stack of modules of a tracer that has traced."""
    tracer = fx.Tracer()
    tracer.trace(Checked().inner)
    return tracer.module_stack


MADE: list[Callable[[], Any]] = [
    nested,
    around,
    transformed,
    crossed,
    attributes,
    stack,
    lambda: fx.PH,
    lambda: fx._symbolic_trace.PHWithMeta("key"),
    lambda: packaged_module,  # which only a package of torch names
]


def names_in(data: bytes) -> Iterator[str]:
    """The modules and names that a pickle has for what it does not hold."""
    texts: list[str] = []
    memo: dict[int, str] = {}
    for opcode, found, _ in pickletools.genops(data):
        argument: Any = found
        match opcode.name:
            case "GLOBAL":
                yield argument
            case "STACK_GLOBAL":
                yield " ".join(texts[-2:])
            case "MEMOIZE":
                memo[len(memo)] = texts[-1] if texts else ""
            case "BINGET" | "LONG_BINGET":
                texts.append(memo.get(argument, ""))
            case _ if isinstance(found, str):
                texts.append(found)
            case _:
                continue


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_pickles_name_what_lasts_alone(protocol: int) -> None:
    named = {
        name
        for make in MADE
        for name in names_in(pickle.dumps(make(), protocol))
        if name.startswith("fxls")
    }

    assert named <= OF_FX | OF_OURS | PLAIN
    assert named >= OF_OURS


@pytest.mark.parametrize("example", examples(), ids=lambda e: e.name)
def test_pickles_of_the_zoo_name_what_lasts_alone(example: Example) -> None:
    data = pickle.dumps(fx.symbolic_trace(example.make()))

    named = {name for name in names_in(data) if name.startswith("fxls")}
    assert named <= OF_FX | OF_OURS | PLAIN


@pytest.mark.parametrize("name", sorted(OF_OURS))
def test_a_name_that_lasts_leads_to_what_has_it(name: str) -> None:
    module, attribute = name.split()
    value = getattr(fx, attribute)

    assert (value.__module__, value.__qualname__) == (module, attribute)


def test_generated_code_calls_functions_by_the_names_that_fx_has() -> None:
    code = nested().code

    assert set(re.findall(r"fxls[\w.]*", code)) == {
        "fxls.engine.wrap",
        "fxls_engine__symbolic_trace__assert_is_none",
        "fxls_engine_proxy_assert_fn",
    }


@pytest.mark.parametrize(
    ("version", "age"), [(serialization.FORMAT + 1, "a newer"), (0, "an older")]
)
def test_a_pickle_of_another_format_is_refused(
    version: int, age: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serialization, "FORMAT", version)
    data = pickle.dumps(transformed())
    monkeypatch.undo()

    with pytest.raises(pickle.UnpicklingError) as refused:
        pickle.loads(data)

    assert str(refused.value) == (
        f"the pickle has format {version}, from {age} fxls; this one, {__version__},"
        " reads format 1. Load it with the fxls that wrote it, or trace the model again."
    )
