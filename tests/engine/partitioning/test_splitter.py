"""A module is split by tags, and by what an accelerator supports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from fxls.engine._symbolic_trace import symbolic_trace
from fxls.engine.passes import splitter_base
from fxls.engine.passes.operator_support import create_op_support
from fxls.engine.passes.split_utils import split_by_tags
from tests.engine.partitioning.systems import (
    OURS,
    THEIRS,
    System,
    alike,
    refused_alike,
    shown,
)

X: Any = torch.tensor([[-1.0, 2.0, 3.0, -4.0]])


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.inner = nn.Sequential(nn.ReLU(), nn.Linear(4, 4))
        self.scale = nn.Parameter(torch.tensor([2.0]))

    def forward(self, x: Any) -> Any:
        a = self.first(x)
        b = torch.sigmoid(self.inner(a) * self.scale)
        size = a.size(0)
        return b.reshape(size, -1) + torch.neg(a)


class WithScale(Net):
    """Gives an attribute as it is."""

    def forward(self, x: Any) -> Any:
        return super().forward(x), self.scale


def is_named(names: set[str]) -> Any:
    def is_supported(_modules: Any, node: Any) -> bool:
        return any(name in str(node.target) for name in names)

    return is_supported


class Supports:
    """What a case may ask of a system: its splitter with a rule for the nodes."""

    def __init__(self, system: System, names: set[str]) -> None:
        support = system.passes("operator_support")
        self.rule = support.create_op_support(is_named(names))
        self.base = system.passes("splitter_base")

    def splitter(self, gm: Any, inputs: Any, **options: Any) -> Any:
        settings = self.base._SplitterSettingBase(**options)
        return self.base._SplitterBase(gm, inputs, self.rule, settings)


@pytest.fixture(autouse=True)
def _program_without_options(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]  # pytest calls it
    monkeypatch.setattr("sys.argv", ["program"])


def tagged(system: System, tags: dict[str, str]) -> Any:
    gm = system.trace(WithScale())
    for node in gm.graph.nodes:
        if node.op.startswith("call"):
            node.tag = tags.get(node.name, tags["*"])
    return gm


TAGS = {"first": "a", "size": "a", "neg": "a", "inner_0": "b", "*": "c"}


@pytest.mark.parametrize("is_tuple", [False, True])
def test_nodes_with_a_tag_become_a_submodule(is_tuple: bool) -> None:
    def case(system: System) -> Any:
        gm = tagged(system, TAGS)
        before = str(gm.graph)
        made, paths = system.passes("split_utils").split_by_tags(
            gm, ["a", "b", "c"], return_fqn_mapping=True, return_tuple=is_tuple
        )
        made.graph.lint()
        assert str(gm.graph) == before
        return shown(made), paths

    alike(case)


def test_the_split_module_computes_the_same() -> None:
    program = WithScale()
    gm = symbolic_trace(program)
    node: Any
    for node in gm.graph.nodes:
        node.tag = TAGS.get(node.name, "c")
    made: Any = split_by_tags(gm, ["a", "b", "c"])
    assert [one.tolist() for one in made(X)] == [one.tolist() for one in program(X)]


def test_tags_must_be_there_and_in_order() -> None:
    def split(system: System, gm: Any) -> Any:
        return system.passes("split_utils").split_by_tags(gm, ["a", "b", "c"])

    assert str(refused_alike(lambda s: split(s, s.trace(Net())))).startswith(
        "Node has no tag: %first"
    )
    wrong = {**TAGS, "first": "c"}
    assert str(refused_alike(lambda s: split(s, tagged(s, wrong)))) == (
        "inner_0 is tagged 'b' and uses first, which is tagged 'c': that tag comes later"
    )


def test_attributes_are_read_and_set_by_path() -> None:
    def case(system: System) -> Any:
        utils = system.passes("split_utils")
        module = nn.Module()
        module.layers = nn.ModuleList([nn.Linear(2, 2)])
        utils.setattr_recursive(module, "layers.0.note", "here")
        return [
            utils.getattr_recursive(module, path)
            for path in ("layers.0.note", "layers.1", "layers.0.none.deeper", "other")
        ]

    assert alike(case) == ["here", None, None, None]
    refused_alike(
        lambda s: s.passes("split_utils").setattr_recursive(nn.Module(), "a.b", 1)
    )


SUPPORTED = [
    {"first", "inner"},
    {"sigmoid", "mul", "add"},
    {"first", "inner", "mul", "sigmoid", "reshape", "add", "neg", "size"},
    {"neg", "size"},
    {"nothing"},
]


@pytest.mark.parametrize("names", SUPPORTED, ids=lambda names: "+".join(sorted(names)))
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"min_acc_module_size": 2},
        {"allow_non_tensor": True},
        {"skip_fusion": True, "allow_non_tensor": True},
        {"move_non_tensor_nodes_on_boundary": True, "allow_non_tensor": True},
    ],
    ids=str,
)
def test_supported_nodes_are_split_off(
    names: set[str], options: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    def case(system: System) -> Any:
        splitter = Supports(system, names).splitter(
            system.trace(Net()), (X,), **options
        )
        made, inputs, prefix = splitter.generate_split_results()
        given = {name: [_plain(one) for one in value] for name, value in inputs.items()}
        results = [_plain(one) for one in made(X)]
        return (
            shown(made),
            given,
            prefix,
            splitter.get_node_submodule_map(),
            len(results),
        )

    alike(case)
    capsys.readouterr()


def _plain(value: Any) -> Any:
    return list(value.shape) if isinstance(value, torch.Tensor) else value


def test_what_the_output_gives_as_it_is_makes_no_part() -> None:
    splitter = Supports(OURS, {"first", "inner"}).splitter(
        symbolic_trace(WithScale()), (X,)
    )
    made = splitter()
    # torch.fx has an empty _run_on_cpu_0 in front of them.
    assert [name for name, _ in made.named_children()] == [
        "_run_on_acc_0",
        "_run_on_cpu_1",
    ]


def test_events_say_why_a_node_is_not_on_the_accelerator(tmp_path: Path) -> None:
    names = {"first", "size", "inner"}

    def case(system: System) -> Any:
        splitter = Supports(system, names)
        gm = system.trace(Net())
        system.passes("shape_prop").ShapeProp(gm).propagate(X)
        finder = splitter.base.FxNetAccNodesFinder(gm, splitter.rule, False)
        finder.tracker = splitter.base.NodeEventTracker(
            3, str(tmp_path / system.package)
        )
        found = sorted(node.name for node in finder())
        lines: list[str] = []
        finder.tracker.print_all(lines.append)
        whole, nodes = [
            (tmp_path / f"{system.package}_{name}.txt").read_text()
            for name in ("all", "nodes")
        ]
        # Torch 2.11 leaves out the lines that say which node is tracked.
        marks = [line for line in nodes.splitlines() if line.startswith("=====")]
        assert len(marks) == 2 or system is THEIRS
        nodes = "".join(
            line for line in nodes.splitlines(keepends=True) if "=====" not in line
        )
        return found, lines, finder.tracker.to_dict(), [whole, nodes]

    found = alike(case)
    assert found[0] == ["first", "inner_0", "inner_1"]
    assert "size: acc_del|non_tensor_output_with_cpu_user reshape" in found[3][1]


def test_parts_grow_into_what_they_alone_use(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def program(x: Any) -> Any:
        a = torch.relu(x)
        b = torch.sigmoid(torch.neg(a))
        return torch.tanh(b) + a

    def case(system: System) -> Any:
        gm = system.trace(program)
        splitter = Supports(system, {"relu", "neg", "tanh", "sigmoid"}).splitter(
            gm, (X,)
        )
        for node, tag in zip(gm.graph.nodes, ("", *"01122"), strict=False):
            if node.op.startswith("call"):
                node.tag = f"_run_on_acc_{tag}"
        splitter.extend_acc_subgraph("_run_on_acc_2")
        starters = [sorted(map(str, nodes)) for nodes in splitter.starter_nodes()]
        tags = {node.name: getattr(node, "tag", None) for node in gm.graph.nodes}
        return starters, tags

    alike(case)
    capsys.readouterr()


def test_what_is_tagged_already_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    def case(system: System) -> Any:
        return Supports(system, {"first"}).splitter(tagged(system, TAGS), (X,))()

    assert str(refused_alike(case)) == "Node first was already tagged"
    capsys.readouterr()


def test_a_module_that_computes_nothing_has_no_parts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def case(system: System) -> Any:
        graph = system.fx.Graph()
        graph.placeholder("x")
        graph.output(None)
        gm = system.fx.GraphModule(nn.Module(), graph)
        return Supports(system, {"first"}).splitter(gm, (X,))()

    assert str(refused_alike(case)).startswith("Couldn't create subgraphs")
    refused_alike(lambda system: Supports(system, set()).splitter(Net(), (X,)))
    capsys.readouterr()


def test_too_many_parts_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    def case(system: System) -> Any:
        splitter = Supports(system, {"inner"}).splitter(
            system.trace(Net()), (X,), max_acc_splits=2
        )
        return splitter.generate_split_results()

    assert str(refused_alike(case)).startswith(
        "the module falls into 3 parts, and max_acc_splits allows 2"
    )
    capsys.readouterr()


def test_inputs_of_submodules_are_taken_while_the_model_runs() -> None:
    class Inplace(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner: Any = nn.ReLU(inplace=True)

        def forward(self, x: Any) -> Any:
            return self.inner(x)

    def case(system: System) -> Any:
        take = system.passes("splitter_base").generate_inputs_for_submodules
        model = Inplace()
        seen = [
            take(model, (X.clone(),), ["inner"], deepcopy=deep)["inner"][0].tolist()
            for deep in (False, True)
        ]
        with pytest.raises(TypeError):
            take(model, (), ["inner"])
        return seen, len(model.inner._forward_pre_hooks)

    assert alike(case) == ([X.relu().tolist(), X.tolist()], 0)


def test_options_of_the_program_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    given = ["program", "--min_acc_module_size", "7", "--skip-fusion", "--other", "x"]
    monkeypatch.setattr("sys.argv", given)

    def case(system: System) -> Any:
        settings: Any = system.passes("splitter_base")._SplitterSettingBase(3)
        return dict(settings.__dict__)

    assert alike(case)["min_acc_module_size"] == 7


def test_a_preview_says_what_is_supported(capsys: pytest.CaptureFixture[str]) -> None:
    splitter = Supports(OURS, {"first", "neg"}).splitter(symbolic_trace(Net()), (X,))
    report = splitter.node_support_preview()
    assert capsys.readouterr().out == report + "\n"
    assert report == (
        """
Supported node types in the model:
torch.nn.modules.linear.Linear: ((torch.float32,), {})
torch.neg: ((torch.float32,), {})

Unsupported node types in the model:
torch.nn.modules.activation.ReLU: ((torch.float32,), {})
torch.nn.modules.linear.Linear: ((torch.float32,), {})
_operator.mul: ((torch.float32, torch.float32), {})
torch.sigmoid: ((torch.float32,), {})
size: ((torch.float32,), {})
reshape: ((torch.float32,), {})
_operator.add: ((torch.float32, torch.float32), {})
"""
    )


def test_a_preview_says_how_the_parts_run(capsys: pytest.CaptureFixture[str]) -> None:
    class Failing(splitter_base._SplitterBase):  # pyright: ignore[reportPrivateUsage]  # FX's name
        PCIe_BW = 1600

        def _lower_model_to_backend(self, mod: Any, inputs: Any) -> Any:
            if "neg" in mod.code:
                raise RuntimeError("no neg here")
            return mod

    rule = create_op_support(is_named({"first", "neg"}))
    settings = splitter_base._SplitterSettingBase()  # pyright: ignore[reportPrivateUsage]  # FX's name
    gm = symbolic_trace(Net())
    report = Failing(gm, (X,), rule, settings).split_preview()
    assert capsys.readouterr().out == report + "\n"
    assert report == (
        """As found: 2 subgraphs, 1 on the accelerator and 1 on the processor
Without small ones: 2 subgraphs, 1 on the accelerator and 1 on the processor
_run_on_acc_0: 2 node(s)
_run_on_cpu_1: 7 node(s)

Acc submodule _run_on_acc_0
16 bytes go in and 32 come out, so the transfer allows at most 50.0 runs per second.
Lowering failed: no neg here
_find_culprit() is not overridden, so nobody looked for what fails.

The transfer allows at most 50.0 runs of the model per second, because of submodule"""
        " _run_on_acc_0."
    )
    assert not any(hasattr(node, "tag") for node in gm.graph.nodes)
