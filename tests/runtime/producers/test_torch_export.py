"""Programs of torch.export are listings that say what their inputs are."""

from __future__ import annotations

import io
import subprocess
import sys
from typing import Any, cast

import pytest
import torch
from msgspec.structs import replace

from fxls.listing import Facts, How, Identity, Listing, Parent
from fxls.store import Store
from tests.runtime.producers.looking import (
    MODULE,
    header,
    listing_in,
    listings_in,
    sources,
)
from tests.runtime.producers.torch_nets import Block, Choosing, Net

_export: Any = cast("Any", torch).export
export, save, load = _export.export, _export.save, _export.load


@pytest.mark.slow
def test_an_exported_program_is_one_listing_with_its_signature(store: Store) -> None:
    program = export(Net(), (torch.ones(2, 4),))
    listing = listing_in(store, program.graph_module)
    assert list(listings_in(store)) == [("Net", "torch.export", "")]
    assert listing.identity.module == MODULE
    assert header(listing) == [
        "Inputs:",
        "  p_linear_weight: parameter linear.weight",
        "  p_linear_bias: parameter linear.bias",
        "  b_shift: buffer shift",
        "  x: user input",
        "Outputs:",
        "  sum_1: user output",
    ]
    line = "return (hidden + self.shift).sum(dim=1)"
    assert sources(listing) == {
        "x": "x",
        "linear": "self.block(self.linear(x))",
        "relu": "return torch.relu(x) * 2 + x",
        "mul": "return torch.relu(x) * 2 + x",
        "add": "return torch.relu(x) * 2 + x",
        "add_1": line,
        "sum_1": line,
    }
    assert listing.parameters == 20
    scopes = {
        f.name: [s.path for s in listing.module_path(i)] for i, f in nodes(listing)
    }
    assert scopes["linear"] == ["linear"]
    assert scopes["relu"] == ["block"]
    shapes = {f.name: getattr(f.value, "shape", None) for _, f in nodes(listing)}
    assert shapes["linear"] == (2, 4)
    assert shapes["sum_1"] == (2,)


@pytest.mark.slow
# torch's own, where it copies a program.
@pytest.mark.filterwarnings("ignore:`isinstance.treespec:FutureWarning")
def test_graphs_on_the_way_to_a_program_are_torchs_own_business(store: Store) -> None:
    x = torch.ones(2, 4)
    kinds = {("Net", "torch.export", "")}
    program = export(Net(), (x,))
    assert set(listings_in(store)) == kinds
    lowered = program.run_decompositions()
    assert set(listings_in(store)) == kinds
    export(Net(), (x,), strict=True)
    assert set(listings_in(store)) == kinds
    file = io.BytesIO()
    save(program, file)
    file.seek(0)
    loaded = load(file)
    assert set(listings_in(store)) == kinds
    assert listing_in(store, loaded.graph_module) == listing_in(
        store, program.graph_module
    )
    first, other = (listing_in(store, one.graph_module) for one in (program, lowered))
    assert "torch.ops.aten.addmm.default" in other.text
    given = Parent(first.identity, store.path_of("Net", first.text).name)
    assert (first.parents, other.parents) == ((), (given,))
    assert listing_in(store, loaded.graph_module).parents == ()

    module = program.module()
    assert set(listings_in(store)) == {*kinds, ("Net", "torch.export", "module")}
    listing = listing_in(store, module)
    assert "linear_weight = self.linear.weight" in listing.text
    assert listing.parents == (replace(given, how=How.HOLDS),)
    held = Parent(other.identity, store.path_of("Net", other.text).name, How.HOLDS)
    assert listing_in(store, lowered.module()).parents == (held, given)
    model = Net()
    model.load_state_dict(program.state_dict)
    assert torch.equal(module(x), model(x))


@pytest.mark.slow
def test_a_program_of_a_graph_module_is_called_after_what_was_traced(
    store: Store,
) -> None:
    module = cast("Any", torch).fx.symbolic_trace(Net())
    export(module, (torch.ones(2, 4),))
    assert list(listings_in(store)) == [
        ("Net", "torch.export", ""),
        ("Net", "torch.fx", ""),
    ]


@pytest.mark.slow
# torch's own, where it copies a program.
@pytest.mark.filterwarnings("ignore:`isinstance.treespec:FutureWarning")
def test_what_checks_sizes_is_not_what_a_program_is_called_after(store: Store) -> None:
    rows = _export.Dim("rows", min=2, max=8)
    program = export(Net(), (torch.ones(3, 4),), dynamic_shapes=({0: rows},))
    lowered = program.run_decompositions()
    compiled: Any = cast("Any", torch).compile(lowered.module(), backend="eager")
    compiled(torch.ones(4, 4))
    assert {(one, producer) for one, producer, _ in listings_in(store)} == {
        ("Net", "torch.export"),
        ("Net", "torch.compile"),
    }


@pytest.mark.slow
def test_the_branches_of_a_condition_are_listings(store: Store) -> None:
    export(Choosing(), (torch.ones(2),))
    found = listings_in(store)
    assert list(found) == [
        ("Choosing", "torch.export", stage)
        for stage in ("", "false_graph_0", "true_graph_0")
    ]
    branch = found["Choosing", "torch.export", "true_graph_0"]
    assert header(branch) == ["It is called by the graph as true_graph_0."]
    whole = found["Choosing", "torch.export", ""]
    file = store.path_of("Choosing", whole.text).name
    assert branch.parents == (Parent(whole.identity, file, How.CALLED),)
    assert "torch.ops.aten.sin.default" in branch.text


def nodes(listing: Listing) -> list[tuple[int, Facts]]:
    return list(enumerate(listing.nodes))


class Outer:
    class Inner(Net):
        """A class in a class."""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.isinstance.treespec:FutureWarning")  # torch's own
def test_whatever_is_made_of_a_program_is_called_after_its_model(store: Store) -> None:
    program = export(Outer.Inner(), (torch.ones(2, 4),))
    file = io.BytesIO()
    save(program, file)
    file.seek(0)
    loaded = load(file)
    fx: Any = torch.fx
    fx.symbolic_trace(loaded.module())
    fx.GraphModule(program.graph_module, program.graph)
    fx.Transformer(program.graph_module).transform()
    _export.unflatten(program)(torch.ones(2, 4))
    found = listings_in(store)
    assert {one.identity.module for one in found.values()} == {__name__}
    assert set(found) == {
        ("Outer.Inner", "torch.export", ""),
        ("Outer.Inner", "torch.export", "module"),
        ("Outer.Inner", "torch.export", "unflattened"),
        ("Outer.Inner", "torch.export", "unflattened, linear"),
        ("Outer.Inner", "torch.export", "unflattened, block"),
        ("Outer.Inner", "torch.fx", ""),
    }


@pytest.mark.slow
def test_a_program_of_another_process_is_called_after_its_model(store: Store) -> None:
    source = (
        "import torch\n"
        "class Outer:\n"
        "    class Inner(torch.nn.Module):\n"
        "        def forward(self, x):\n"
        "            return x.relu()\n"
    )
    package = store.root.parent / "written"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "nets.py").write_text(source, "utf-8")
    script = (
        "import torch, written.nets as nets\n"
        "program = torch.export.export(nets.Outer.Inner(), (torch.ones(2),))\n"
        "torch.export.save(program, 'program.pt2')\n"
    )
    command = [sys.executable, "-c", script]
    subprocess.run(command, check=True, cwd=package.parent)
    program = load(package.parent / "program.pt2")
    identity = listing_in(store, program.graph_module).identity
    assert identity == Identity("written.nets", "Outer.Inner", "torch.export")


@pytest.mark.slow
def test_what_has_parameters_as_inputs_claims_no_zero(store: Store) -> None:
    program = export(Net(), (torch.ones(2, 4),))
    fx: Any = torch.fx
    again = listing_in(store, fx.GraphModule(program.graph_module, program.graph))
    assert again.parameters is None
    none = listing_in(store, fx.symbolic_trace(Block()))
    assert none.parameters == 0, "and what has none says so"
