"""What AOTAutograd decomposes, cleans up and divides is in the record, and nothing else."""

from __future__ import annotations

import copy
import functools
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from fxls.listing import Listing
from fxls.record import Pass, RevisionName
from fxls.record.first_pass import Asked, Question, first_passes
from fxls.runtime import finish
from fxls.store import Store
from tests.runtime.producers.looking import header

any_torch: Any = torch
aten: Any = any_torch.ops.aten
backends: Any = importlib.import_module("torch._dynamo.backends.common")
checkpoints: Any = importlib.import_module("torch.utils.checkpoint")
functorch: Any = importlib.import_module("torch._functorch.config")
partitioners: Any = importlib.import_module("torch._functorch.partitioners")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning"),  # torch's own
]


@pytest.fixture(autouse=True)
def compiles_anew() -> Iterator[None]:
    any_torch.compiler.reset()
    yield
    any_torch.compiler.reset()


def silu(x: Any) -> Any:
    """Computes something that nobody uses."""
    aten.cos.default(x)
    return x * aten.sigmoid.default(x)


class Divided:
    """Divides as torch does, and notes what torch itself can tell of it."""

    def __init__(self) -> None:
        self.saved: set[str] = set()
        self.both: set[str] = set()

    def __call__(self, joint: Any, inputs: Any, **named: Any) -> Any:
        cut = partitioners.min_cut_rematerialization_partition
        forward, backward = cut(joint, inputs, **named)
        (outputs,) = next(iter(reversed(forward.graph.nodes))).args
        self.saved = {node.name for node in outputs[named["num_fwd_outputs"] :]}
        first, second = map(self._called, (forward, backward))
        self.both = first & second
        return forward, backward

    @staticmethod
    def _called(module: Any) -> set[str]:
        return {n.name for n in module.graph.nodes if n.op == "call_function"}


def boxed(gm: Any, _inputs: Any) -> Any:
    def run(inputs: list[Any]) -> Any:
        return gm.forward(*inputs)

    run._boxed_call = True  # pyright: ignore[reportFunctionMemberAccess]  # as torch has it
    return run


def layer(x: Any, weight: Any) -> Any:
    return torch.sin(x @ weight)


def model(x: Any, weight: Any) -> Any:
    hidden = checkpoints.checkpoint(layer, x, weight, use_reentrant=False)
    same = hidden.exp() + hidden.exp()
    return torch.nn.functional.silu(same).sum()


def read(store: Store, name: RevisionName | None) -> Listing:
    assert name is not None
    return store.read(store.root / name.text)


def test_each_of_its_steps_is_a_revision_that_says_what_it_did(
    store: Store, noted: list[Pass]
) -> None:
    divided = Divided()
    backend = backends.aot_autograd(
        fw_compiler=boxed,
        partition_fn=divided,
        decompositions={aten.silu.default: silu},
    )
    x = torch.ones(4, 4)
    weight = torch.eye(4, requires_grad=True)
    any_torch.compile(model, backend=backend)(x, weight).backward()
    assert weight.grad is not None
    finish()
    assert [(one.name, one.stage, one.changed) for one in noted] == [
        ("decompositions", "graph 0, traced", True),
        ("clean-up", "graph 0, traced", True),
        ("partition", "graph 0, traced", True),
        ("partition", "graph 0, forward", True),
        ("partition", "graph 0, backward", True),
    ]
    decomposed, cleaned, merged, forward, backward = noted

    # One operator was decomposed, by the function of this file, into three nodes.
    (pattern,) = decomposed.patterns
    assert (pattern.name, pattern.count) == ("aten.silu.default", 3)
    assert pattern.place is not None
    assert pattern.place.place.path == __file__
    assert pattern.place.line == "def silu(x: Any) -> Any:"
    assert decomposed.created.first == ("cos", "sigmoid", "mul")
    traced = read(store, decomposed.after)
    by = {facts.name: facts.passes for facts in traced.nodes if facts.passes}
    assert by == dict.fromkeys(
        ("cos", "sigmoid", "mul"), ("the decomposition of aten.silu.default",)
    )
    assert read(store, decomposed.before).identity.stage == "graph 0"

    # What nobody uses is gone, and what was computed twice is computed once.
    assert cleaned.before == decomposed.after
    assert "cos" in cleaned.erased.first
    assert set(cleaned.altered.first) == set()
    assert merged.before == cleaned.after
    assert ("exp_1", "exp") in merged.replaced.first

    # The two halves have what torch says.
    for half in (forward, backward):
        assert half.before == merged.after
        assert set(half.saved.first) == divided.saved
        assert set(half.recomputed.first) == divided.both
        assert dict(half.reasons.first) == {
            "primals_1": "cannot recompute: primal input",
            "primals_2": "cannot recompute: primal input",
            "exp": "cannot recompute: materialized in backward",
            **{
                name: "must recompute: marked by checkpoint policy"
                for name in divided.both
                if name in ("mm", "sin")
            },
        }
    why = dict(forward.reasons.first)
    saved = ", ".join(
        f"{one} ({why[one]})" if one in why else one for one in forward.saved.first
    )
    assert f"Saved for the backward: {saved}." in header(read(store, forward.after))

    # A node that is in one half only is not gone; one that was merged is.
    asking = functools.partial(first_passes, noted, read=lambda n: read(store, n))
    gone = asking(question=Question(Asked.GONE, "exp_1")).found
    assert [(one.ran, one.reason) for one in gone] == [(merged, "is replaced by exp")]
    assert asking(question=Question(Asked.GONE, "sigmoid")).found == ()
    (made,) = asking(question=Question(Asked.MADE, "sigmoid")).found
    assert (made.ran, made.reason) == (
        decomposed,
        "is made by the decomposition of aten.silu.default",
    )
    assert made.place is not None
    line = Path(__file__).read_text("utf-8").splitlines()[made.place.span.start.line]
    assert line.strip() == "return torch.nn.functional.silu(same).sum()"


def test_what_needs_no_gradients_is_not_divided(noted: list[Pass]) -> None:
    backend = backends.aot_autograd(
        fw_compiler=boxed, decompositions={aten.silu.default: silu}
    )
    with torch.no_grad():
        any_torch.compile(model, backend=backend)(torch.ones(4, 4), torch.eye(4))
    assert [(one.name, one.stage, one.erased.first) for one in noted] == [
        ("decompositions", "graph 0, traced", ()),
        ("clean-up", "graph 0, traced", ("cos",)),
    ]


def removes_an_exponential(module: Any, _inputs: Any) -> Any:
    """A pass on the whole graph, in place."""
    first, second = module.graph.find_nodes(op="call_function", target=aten.exp.default)
    second.replace_all_uses_with(first)
    module.graph.erase_node(second)
    module.recompile()
    return module


def makes_another_module(module: Any, inputs: Any) -> Any:
    """The same, and what it returns is another module."""
    return removes_an_exponential(copy.deepcopy(module), inputs)


def raises(_module: Any, _inputs: Any) -> Any:
    raise ValueError("no")


@pytest.mark.filterwarnings("ignore:.isinstance.treespec:FutureWarning")  # torch's own
@pytest.mark.parametrize("given", [removes_an_exponential, makes_another_module])
def test_the_pass_of_the_setting_has_its_name(
    store: Store, noted: list[Pass], given: Any
) -> None:
    backend = backends.aot_autograd(fw_compiler=boxed, partition_fn=Divided())
    weight = torch.eye(4, requires_grad=True)
    with functorch.patch(joint_custom_pass=given):
        any_torch.compile(model, backend=backend)(torch.ones(4, 4), weight).backward()
        assert functorch.joint_custom_pass is given
    finish()
    own = ("decompositions", "clean-up")
    changed = [one for one in noted if one.changed and one.name not in own]
    assert [(one.name, one.stage) for one in changed] == [
        ("joint_custom_pass", "graph 0, traced"),
        ("partition", "graph 0, traced"),
        ("partition", "graph 0, forward"),
        ("partition", "graph 0, backward"),
    ]
    mine, merged, forward, backward = changed
    assert mine.erased.first == ("exp_1",)
    assert merged.before == mine.after
    assert forward.before == backward.before == merged.after
    nodes = [
        {facts.name for facts in read(store, one).nodes}
        for one in (mine.before, mine.after)
    ]
    assert nodes[0] - nodes[1] == {"exp_1"}


def test_the_pass_of_the_setting_may_raise(noted: list[Pass]) -> None:
    backend = backends.aot_autograd(fw_compiler=boxed, partition_fn=Divided())
    weight = torch.eye(4, requires_grad=True)
    with (
        functorch.patch(joint_custom_pass=raises),
        pytest.raises(Exception, match="no"),
    ):
        any_torch.compile(model, backend=backend)(torch.ones(4, 4), weight)
    (mine,) = [one for one in noted if one.name == "joint_custom_pass"]
    assert mine.raised == "ValueError: no"
