"""Each input of an exported program leads to the parameter of the forward it came by."""

from __future__ import annotations

import functools
import inspect
import io
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch
from torch import nn

from fxls.runtime.producers import by_request
from fxls.store import Store
from tests.runtime.producers.looking import listing_in, origins, sources
from tests.runtime.producers.torch_nets import Net

pytestmark = [
    pytest.mark.slow,
    # torch's own, where it copies a program.
    pytest.mark.filterwarnings("ignore:.isinstance.treespec:FutureWarning"),
]

any_torch: Any = torch
_export: Any = any_torch.export
export, save, load = _export.export, _export.save, _export.load

ONE = torch.ones(4)


class Pair(NamedTuple):
    left: torch.Tensor
    right: torch.Tensor


class Taking(nn.Module):
    """What takes its inputs in every way there is."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("shift", torch.ones(4))

    def forward(
        self,
        x: torch.Tensor,
        pair: Any,
        named: Pair,
        power: int = 2,
        *rest: torch.Tensor,
        scale: torch.Tensor,
        unused: torch.Tensor | None = None,
        **more: torch.Tensor,
    ) -> torch.Tensor:
        both = pair["a"] * pair["b"][0] + named.left * named.right
        all_of_it = self.linear(x) ** power + both + rest[0] + rest[1] * scale
        return all_of_it + more["z"] + more["y"] + self.shift


GIVEN = (ONE, {"a": ONE, "b": (ONE, ONE)}, Pair(ONE, ONE), 2, ONE, ONE)
NAMED = {"z": ONE, "scale": ONE, "y": ONE}
TAKEN = {
    "x": "x",
    "pair_a": "pair",
    "pair_b_0": "pair",
    "pair_b_1": "pair",
    "named_left": "named",
    "named_right": "named",
    "power": "power",
    "rest_0": "rest",
    "rest_1": "rest",
    "z": "more",
    "scale": "scale",
    "y": "more",
}


def inputs(store: Store, module: Any) -> dict[str, str]:
    """For each placeholder that has an origin, the name that it leads to."""
    listing = listing_in(store, module)
    found = sources(listing)
    taken = [f.name for f in listing.nodes if f.opcode == "placeholder"]
    return {name: found[name] for name in taken if name in found}


@pytest.mark.parametrize("strict", [False, True])
def test_an_input_leads_to_the_parameter_that_it_came_by(
    store: Store,
    strict: bool,
) -> None:
    program = export(Taking(), GIVEN, NAMED, strict=strict)
    assert inputs(store, program.graph_module) == TAKEN
    origin = origins(listing_in(store, program.graph_module))["rest_1"]
    lines, first = inspect.getsourcelines(Taking.forward)
    line = next(i for i, text in enumerate(lines) if "*rest" in text)
    (place,) = origin.places
    assert (place.path, place.function) == (__file__, "Taking.forward")
    assert place.span.start.line == first - 1 + line
    assert place.span.start.column == lines[line].index("rest")


def test_what_is_made_of_a_program_leads_there_as_well(store: Store) -> None:
    program = export(Taking(), GIVEN, NAMED)
    lowered = program.run_decompositions()
    assert inputs(store, lowered.graph_module) == TAKEN
    assert inputs(store, lowered.run_decompositions().graph_module) == TAKEN
    assert inputs(store, program.module()) == TAKEN
    assert inputs(store, lowered.module()) == TAKEN
    again = export(program.module(), GIVEN, NAMED)
    assert inputs(store, again.graph_module) == TAKEN


def saved_and_loaded(program: Any) -> Any:
    file = io.BytesIO()
    save(program, file)
    file.seek(0)
    return load(file)


def test_a_loaded_program_knows_no_model_and_takes_nothing_away(store: Store) -> None:
    program = export(Net(), (torch.ones(2, 4),))
    first = listing_in(store, program.graph_module)
    assert inputs(store, program.graph_module) == {"x": "x"}
    loaded = saved_and_loaded(program)
    assert listing_in(store, loaded.graph_module) == first
    again = saved_and_loaded(export(Net(), (torch.ones(2, 4),)))
    assert listing_in(store, again.graph_module) == first, "where neither was written"
    assert inputs(store, again.run_decompositions().graph_module) == {}


def test_a_listing_that_is_asked_for_has_the_same_origins() -> None:
    found = sources(by_request.exported(Taking(), GIVEN, NAMED))
    assert {name: found.get(name) for name in TAKEN} == TAKEN

    def scaled(first: torch.Tensor, *others: torch.Tensor) -> torch.Tensor:
        return first * others[0]

    found = sources(by_request.exported(scaled, (ONE, ONE), {}))
    assert (found["args_0"], found["args_1"]) == ("first", "others")


def doubling(forward: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(forward)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        return forward(self, *args, **kwargs) * 2

    return wrapper


class Decorated(nn.Module):
    @doubling
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x - y


class Inherited(Decorated):
    """With the forward of another class."""


def test_it_is_the_parameter_of_the_forward_that_somebody_wrote(store: Store) -> None:
    for model in (Decorated(), Inherited()):
        program = export(model, (ONE,), {"y": ONE})
        assert inputs(store, program.graph_module) == {"x": "x", "y": "y"}
        identity = listing_in(store, program.graph_module).identity
        assert identity.qualname == type(model).__name__

    def of_one_model(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        return first - second

    model = Decorated()
    model.forward = of_one_model
    program = export(model, (ONE, ONE))
    found = inputs(store, program.graph_module)
    assert found == {"first": "first", "second": "second"}


class Swapped(Decorated):
    def __call__(self, *args: Any) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]  # torch's is a variable
        return super().__call__(*reversed(args))


def test_what_is_not_handed_on_as_it_is_given_leads_nowhere(store: Store) -> None:
    hooked = Decorated()
    hooked.register_forward_pre_hook(lambda _, args: args[::-1])
    for model in (hooked, Swapped()):
        program = export(model, (ONE, ONE))
        assert inputs(store, program.graph_module) == {}
    sequential = export(nn.Sequential(Net()), (torch.ones(2, 4),))
    assert inputs(store, sequential.graph_module) == {}, "its forward is torch's own"
