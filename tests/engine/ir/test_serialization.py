# Graphs hold values of any type, and torch says little of the types of its own.
# pyright: reportUnknownMemberType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
"""A pickle of a graph has all that is plain, and nothing that bars it."""

from __future__ import annotations

import io
import operator
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any, Optional

import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - as everybody calls it
from torch import nn
from torch.package.package_exporter import PackageExporter
from torch.package.package_importer import PackageImporter

from fxls import engine as fx
from fxls.engine.passes.shape_prop import ShapeProp
from tests.engine.zoo.literals import Mode, take
from tests.engine.zoo.models import LanguageModel, Residual
from tests.engine.zoo.opcodes import Pricing, Sum


def returned(value: Any, protocol: int = pickle.DEFAULT_PROTOCOL) -> Any:
    return pickle.loads(pickle.dumps(value, protocol))


def calling(function: Any, *args: Any, **kwargs: Any) -> fx.GraphModule:
    """A module that calls a function with its input and more."""
    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_function(function, (x, *args), kwargs))
    return fx.GraphModule({}, graph)


@pytest.mark.parametrize("protocol", [2, pickle.HIGHEST_PROTOCOL])
@pytest.mark.parametrize(
    ("function", "args", "kwargs"),
    [
        (torch.relu, (), {}),
        (torch.Tensor.add, (2,), {"alpha": 3}),
        (torch.ops.aten.add.Tensor, (1,), {"alpha": 2}),
        (torch.ops.aten.sin, (), {}),
        (operator.getitem, ((slice(None), 0, ...),), {}),
        (getattr, ("shape",), {}),
        (F.gelu, (), {"approximate": "tanh"}),
        (F.max_pool1d, (2,), {}),
        (torch.Tensor.to, (torch.float64,), {}),
        (torch.clone, (), {"memory_format": torch.contiguous_format}),
        (take, (Mode.FAST, float("inf"), 2j, b"b", None), {"k": [torch.device("cpu")]}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_functions_and_literals_come_back(
    function: Any, args: Any, kwargs: Any, protocol: int
) -> None:
    module = calling(function, *args, **kwargs)
    x = torch.rand(2, 4)

    again = returned(module, protocol)

    ours, theirs = again.graph.output_node().prev, module.graph.output_node().prev
    assert ours.target is theirs.target
    assert str(again.graph) == str(module.graph)
    assert again.code == module.code
    assert str(again(x)) == str(module(x))


def test_annotations_come_back() -> None:
    graph = fx.Graph()
    x = graph.placeholder("x", Optional[torch.Tensor])  # noqa: UP045 - the older form
    graph.output((x,), tuple[torch.Tensor])

    again = returned(fx.GraphModule({}, graph))

    assert [node.type for node in again.graph.nodes] == [n.type for n in graph.nodes]
    again.graph.lint()


def test_all_of_the_module_comes_back() -> None:
    module: Any = fx.symbolic_trace(Residual())
    module.register_buffer("idle", torch.ones(1), persistent=False)
    module.add_submodule("unused.deep", nn.Linear(1, 1))
    module.note = "kept"
    module.eval()

    again = returned(module)

    assert repr(again) == repr(module)
    assert type(again).__mro__[1] is fx.GraphModule
    assert type(again) is not type(module)
    assert again.note == "kept"
    assert not again.training
    assert torch.equal(again.idle, module.idle)
    for name, tensor in module.state_dict().items():
        assert torch.equal(again.state_dict()[name], tensor)


def test_numbers_that_two_modules_share_stay_shared() -> None:
    file = io.BytesIO()
    torch.save(fx.symbolic_trace(LanguageModel()), file)
    file.seek(0)

    again: Any = torch.load(file, weights_only=False)

    assert again.head.weight is again.tokens.weight


def test_nodes_may_stand_anywhere() -> None:
    module = fx.symbolic_trace(Pricing())
    nodes = list(module.graph.nodes)
    nodes[2].meta["partner"] = {"of": [nodes[4]]}
    module.meta["first"] = nodes[0]
    module.meta["self"] = module

    again = returned(module)

    made = list(again.graph.nodes)
    assert made[2].meta["partner"] == {"of": [made[4]]}
    assert again.meta["first"] is made[0]
    assert again.meta["self"] is again


def test_plain_meta_comes_back_and_the_rest_stays_behind() -> None:
    module = fx.symbolic_trace(Pricing())
    ShapeProp(module).propagate(torch.rand(3, 4))
    for node in module.graph.nodes:
        node.meta["val"] = torch.rand(1)
        node.meta["hook"] = lambda: None
        setattr(node, "partition", 3)  # noqa: B010 - any attribute may be set

    again = returned(module)

    for node, other in zip(again.graph.nodes, module.graph.nodes, strict=True):
        assert node.meta["tensor_meta"] == other.meta["tensor_meta"]
        assert node.meta["type"] is other.meta["type"]
        assert node.meta.get("nn_module_stack") == other.meta.get("nn_module_stack")
        assert node.meta.keys().isdisjoint({"val", "hook"})
        assert node.partition == 3


def test_a_class_that_cannot_be_imported_leaves_its_name() -> None:
    class Local(nn.Module):
        def forward(self, x: Any) -> Any:
            return x + 1

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.local = Local()

        def forward(self, x: Any) -> Any:
            return self.local(x)

    module = fx.symbolic_trace(Outer())

    add = returned(module).graph.output_node().prev

    name = f"{__name__}.{Local.__qualname__}"
    assert list(add.meta["nn_module_stack"].values()) == [("local", name)]


def test_names_that_were_given_are_not_given_again() -> None:
    module = fx.symbolic_trace(Sum())
    graph = module.graph
    add = graph.output_node().prev
    with graph.inserting_after(add):
        graph.erase_node(graph.call_function(operator.add, (add, add)))

    for each in (returned(module), module):
        assert each.graph.call_function(operator.add, (1, 2)).name == "add_2"


def test_a_graph_alone_can_be_pickled_and_still_edited() -> None:
    graph = fx.symbolic_trace(Sum()).graph

    again = returned(graph)
    with again.inserting_before(again.output_node()):
        neg = again.call_function(torch.neg, (again.output_node().args[0],))
    again.output_node().args = (neg,)

    assert fx.GraphModule({}, again)(torch.ones(1), torch.ones(1)) == -2
    assert again.owning_module is not None
    assert str(graph) == str(fx.symbolic_trace(Sum()).graph)


def test_an_erased_node_is_refused() -> None:
    graph = fx.Graph()
    node = graph.placeholder("x")
    graph.erase_node(node)

    with pytest.raises(pickle.PicklingError, match="x is erased"):
        pickle.dumps(node)


@pytest.mark.slow
def test_another_process_reads_it_and_knows_the_source(tmp_path: Path) -> None:
    module = fx.symbolic_trace(Sum())
    (tmp_path / "module.pkl").write_bytes(pickle.dumps(module))
    program = (
        "import pickle, sys, pathlib\n"
        "module = pickle.loads(pathlib.Path(sys.argv[1]).read_bytes())\n"
        "print(module(2, 3), module.graph.output_node().prev.stack_trace)\n"
    )

    said = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "module.pkl")],
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    source = Sum.forward.__code__
    assert said == (
        f'5 File "{source.co_filename}", line {source.co_firstlineno + 1}, in forward\n'
        "    return x + y\n"
    )


def test_a_package_of_torch_holds_the_module_and_leaves_the_engine_out() -> None:
    module = fx.symbolic_trace(nn.Sequential(nn.Tanh(), nn.ReLU()))
    module.meta["note"] = 3
    file = io.BytesIO()
    with PackageExporter(file) as exporter:
        exporter.save_pickle("model", "model.pkl", module)
    file.seek(0)

    importer = PackageImporter(file)
    loaded: Any = importer.load_pickle("model", "model.pkl")

    x = torch.randn(3, 2)
    assert torch.equal(loaded(x), module(x))
    assert (loaded.code, loaded.meta) == (module.code, {"note": 3})
    assert isinstance(loaded, fx.GraphModule)
    assert not importer.file_structure(include="fxls/**").children
