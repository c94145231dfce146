# Modules have members of any type, and torch says little of the types of its own.
# pyright: reportUnknownMemberType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
"""A GraphModule is a module like any other, whose forward is generated."""

from __future__ import annotations

import copy
import importlib
import inspect
import operator
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from torch import func, nn

from fxls import engine as fx
from tests.engine.zoo.containers import InModuleList, UnusedModules
from tests.engine.zoo.opcodes import Pricing, Sum


def traced(root: nn.Module) -> Any:
    return fx.symbolic_trace(root)


def made(root: Any, graph: Any) -> Any:
    return fx.GraphModule(root, graph)


def doubling() -> fx.Graph:
    graph = fx.Graph()
    graph.output(graph.call_function(operator.mul, (graph.placeholder("x"), 2)))
    return graph


def compiled(module: nn.Module, _x: torch.Tensor) -> Any:
    return torch.compile(module, backend="eager", fullgraph=True)


def exported(module: nn.Module, x: torch.Tensor) -> Any:
    return torch.export.export(module, (x,), strict=True).module()


def exported_by_dynamo(module: nn.Module, x: torch.Tensor) -> Any:
    return cast("Any", torch)._dynamo.export(module)(x).graph_module


def scripted(module: nn.Module, _x: torch.Tensor) -> Any:
    return torch.jit.script(module)


class TestConstruction:
    def test_takes_from_a_module_what_the_graph_names(self) -> None:
        root = UnusedModules()

        module = fx.GraphModule(root, fx.Tracer().trace(root), "Net")

        assert type(module).__name__ == "Net"
        assert dict(module.named_children()) == {"used": root.used}
        assert list(module.state_dict()) == ["used.weight", "used.bias"]

    def test_takes_from_a_dict_what_stands_at_a_path(self) -> None:
        graph = fx.Graph()
        x = graph.placeholder("x")
        weight = graph.get_attr("body.linear.weight")
        graph.output(
            graph.call_module("body.linear", (graph.call_method("mul", (x, weight)),))
        )
        linear = nn.Linear(3, 3)
        weight_of_its_own = nn.Parameter(torch.ones(3))

        module = fx.GraphModule(
            {"body.linear.weight": weight_of_its_own, "body.linear": linear}, graph
        )

        assert module.get_submodule("body.linear") is linear
        assert linear.weight is weight_of_its_own

    def test_a_dict_must_have_every_path(self) -> None:
        graph = fx.Graph()
        graph.output(graph.get_attr("weight"))

        with pytest.raises(RuntimeError, match=r"target weight but .* not provided in"):
            made({}, graph)

    def test_the_root_is_a_module_or_a_dict(self) -> None:
        with pytest.raises(RuntimeError, match="unsupported type"):
            made(3, doubling())

    def test_tensors_that_are_no_parameters_become_buffers(self) -> None:
        graph = fx.Graph()
        graph.output(graph.get_attr("table"))

        module = fx.GraphModule({"table": torch.ones(2)}, graph)

        assert list(dict(module.named_buffers())) == ["table"]

    def test_every_instance_has_a_class_of_its_own(self) -> None:
        first, second = made({}, doubling()), made({}, doubling())
        kind: Any = type(first)
        third = kind.__new__(kind)
        third.__init__({}, doubling())

        kinds: set[Any] = {kind, type(second), type(third)}
        assert len(kinds) == 3
        assert {kind.__mro__[1] for kind in kinds} == {fx.GraphModule}
        assert third(4) == 8

    def test_a_subclass_keeps_what_it_defines(self) -> None:
        class Counting(fx.GraphModule):
            calls = 0

            def __call__(self, *args: Any, **kwargs: Any) -> Any:
                self.calls += 1
                return super().__call__(*args, **kwargs)

        module = Counting({}, doubling())

        assert (module(1), module(2), module.calls) == (2, 4, 2)
        assert type(copy.deepcopy(module)).__mro__[1] is Counting

    def test_training_is_that_of_the_root(self) -> None:
        root = Sum().eval()

        assert not traced(root).training


class TestCode:
    def test_edits_are_unseen_until_recompile(self) -> None:
        module = made({}, doubling())
        before = module.code, module(3)
        node = next(n for n in module.graph.nodes if n.op == "call_function")

        node.target = operator.add
        unseen = module.code, module(3)
        code = module.recompile()
        seen = module.code, module(3)

        assert unseen == before == (module.code.replace("+", "*"), 6)
        assert seen == (code.src, 5)
        assert code.globals["torch"] is torch

    def test_another_graph_is_other_code(self) -> None:
        module = made({}, doubling())
        assert module(3) == 6
        graph = fx.Graph()
        graph.output(graph.placeholder("x"))

        module.graph = graph

        assert module(3) == 3
        assert graph.owning_module is module

    @pytest.mark.parametrize("system", [fx, torch.fx], ids=["ours", "theirs"])
    def test_names_that_are_none_of_python_are_written_as_some(
        self, system: Any
    ) -> None:
        graph = system.Graph()
        x = graph.placeholder("x")
        for name in ("a b!", "1st", "é", "class", ""):
            x = graph.call_method("neg", (x,))
            x.name = name
        graph.output(x)

        module = system.GraphModule({}, graph)

        lines = [line.split(";")[0].strip() for line in module.code.splitlines()[3:]]
        assert lines == [
            "def forward(self, x):",
            "a_b_ = x.neg()",
            "_1st = a_b_.neg()",
            "_ = _1st.neg()",
            "class_1 = _.neg()",
            "_unnamed = class_1.neg()",
            "return _unnamed",
            "",
        ]
        assert module(torch.ones(())) == -1

    @pytest.mark.parametrize("system", [fx, torch.fx], ids=["ours", "theirs"])
    def test_a_module_that_is_not_there_cannot_be_called(self, system: Any) -> None:
        module = system.GraphModule(nn.Module(), system.Graph())
        x = module.graph.placeholder("x")

        with pytest.raises(AttributeError, match="has no attribute `nothing`"):
            module.graph.call_module("nothing.there", (x,))

    def test_a_graph_is_a_graph(self) -> None:
        module = made({}, doubling())

        with pytest.raises(AssertionError, match="is a Graph, not str"):
            module.graph = "graph"

    def test_submodules_are_recompiled_too(self) -> None:
        inner = made({}, doubling())
        graph = fx.Graph()
        graph.output(graph.call_module("inner", (graph.placeholder("x"),)))
        outer = fx.GraphModule({"inner": inner}, graph)
        assert outer(3) == 6

        inner.graph.output_node().prev.target = operator.add
        outer.recompile()

        assert outer(3) == 5

    def test_code_that_cannot_be_written_is_no_missing_attribute(self) -> None:
        class Nameless:
            def __call__(self, x: Any) -> Any:
                return x

        graph = fx.Graph()
        x = graph.placeholder("x")
        graph.output(graph.create_node("call_function", Nameless(), (x,), name="f"))
        module = made({}, graph)

        with pytest.raises(RuntimeError, match="cannot be written as code"):
            _ = module.code

    def test_it_prints_as_module_and_code(self) -> None:
        assert str(traced(Sum())) == (
            "Sum()\n\n\n\ndef forward(self, x, y):\n"
            "    add = x + y;  x = y = None\n    return add\n    \n"
            "# To see more debug info, please use `graph_module.print_readable()`"
        )

    def test_the_forward_is_the_generated_function(self) -> None:
        module = traced(Sum())

        assert inspect.signature(module.forward) == inspect.signature(lambda x, y: None)
        assert inspect.getsource(module.forward) == module.code.lstrip("\n").rstrip(" ")
        assert module.forward.__func__ is type(module).forward
        assert "__name__" not in module.forward.__globals__


class TestAsModule:
    def test_functional_call_uses_the_parameters_that_it_is_given(self) -> None:
        module = traced(Pricing())
        x = torch.rand(3, 4)
        zeros = {name: torch.zeros_like(p) for name, p in module.named_parameters()}

        result = cast("Any", func).functional_call(module, zeros, (x,))

        assert torch.equal(result, torch.zeros(3, 5))

    def test_hooks_run(self) -> None:
        module = traced(Sum())
        seen: list[Any] = []
        module.register_forward_pre_hook(lambda _, args: seen.append(args))
        module.register_forward_hook(lambda _, args, result: result * 10)

        assert module(1, 2) == 30
        assert seen == [(1, 2)]

    @pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
    def test_torch_script_takes_it(self) -> None:
        module = traced(Pricing())
        x = torch.rand(3, 4)

        scripted = torch.jit.script(module)

        assert torch.equal(scripted(x), module(x))

    @pytest.mark.slow
    def test_torch_compile_takes_it(self) -> None:
        module = traced(Pricing())
        x = torch.rand(3, 4)

        compiled = torch.compile(module, backend="eager", fullgraph=True)

        assert torch.equal(compiled(x), module(x))

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "capture", [compiled, exported, exported_by_dynamo, scripted]
    )
    @pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
    def test_a_module_that_holds_one_is_captured_before_its_first_call(
        self, capture: Callable[[nn.Module, Any], Any]
    ) -> None:
        class Holder(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.inner: nn.Module = traced(Pricing())
                self.other: nn.Module = traced(Pricing())

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return self.inner(x) + self.other.forward(x)

        holder, x = Holder(), torch.rand(3, 4)

        captured = capture(holder, x)

        assert torch.equal(captured(x), holder(x))

    def test_a_class_that_has_its_own_call_keeps_it(self) -> None:
        class Counting(fx.GraphModule):
            calls = 0

            def __call__(self, *args: Any) -> Any:
                type(self).calls += 1
                return super().__call__(*args)

        module = Counting({}, doubling())

        assert (module(2), module(3), type(module).calls) == (4, 6, 2)

    def test_a_call_costs_no_frame_more_than_that_of_any_module(self) -> None:
        def depth() -> int:
            return len(inspect.stack(0))

        class Plain(nn.Module):
            def forward(self) -> int:
                return depth()

        graph = fx.Graph()
        graph.output(graph.create_node("call_function", depth, name="depth"))
        module = made({}, graph)
        module()

        assert module() == Plain()()

    def test_a_data_parallel_replica_is_of_a_class_of_its_own(self) -> None:
        module = traced(Pricing())

        replica = module._replicate_for_data_parallel()

        assert replica._is_replica
        assert replica.code == module.code


class TestSubmodules:
    def test_adding_makes_the_modules_on_the_way(self) -> None:
        module = traced(Sum())
        child = nn.ReLU()

        assert module.add_submodule("a.b.c", child)
        assert module.get_submodule("a.b.c") is child

    def test_adding_below_what_is_no_module_changes_nothing(self) -> None:
        module = traced(Pricing())
        before = list(dict(module.named_modules()))

        assert not module.add_submodule("till.weight.c", nn.ReLU())
        assert not module.add_submodule("discount.c", nn.ReLU())
        assert list(dict(module.named_modules())) == before

    def test_deleting_says_whether_there_was_one(self) -> None:
        module = traced(Pricing())

        assert not module.delete_submodule("till.weight")
        assert not module.delete_submodule("nothing.there")
        assert module.delete_submodule("till")
        assert list(module.children()) == []

    def test_what_the_graph_does_not_use_is_deleted(self) -> None:
        root = InModuleList()
        cast("Any", root.blocks).append(
            nn.Sequential(nn.ReLU(), nn.Sequential(nn.ReLU()))
        )
        module = fx.GraphModule(root, fx.Tracer().trace(root))
        module.add_submodule("blocks.0.extra.deep", nn.ReLU())
        module.add_submodule("idle.deep", nn.ReLU())
        for node in reversed(list(module.graph.nodes)):
            if node.target == "blocks.3.1.0":
                node.replace_all_uses_with(node.args[0])
                module.graph.erase_node(node)

        module.delete_all_unused_submodules()

        assert [name for name, _ in module.named_modules()] == [
            "",
            "blocks",
            "blocks.0",
            "blocks.0.linear",
            "blocks.1",
            "blocks.1.linear",
            "blocks.2",
            "blocks.2.linear",
            "blocks.3",
            "blocks.3.0",
        ]


class TestCopies:
    def test_copies_share_the_compiled_text_and_not_the_origins(self) -> None:
        module = traced(Sum())
        again = copy.deepcopy(module)

        ours, theirs = module.forward.__code__, again.forward.__code__
        assert ours.co_filename == theirs.co_filename
        assert ours.co_consts is theirs.co_consts
        assert ours is not theirs

    def test_a_cycle_in_meta_ends(self) -> None:
        module = traced(Sum())
        module.meta["self"] = [module]
        module.meta["node"] = module.graph.output_node()

        again = copy.deepcopy(module)

        assert again.meta["self"][0] is again
        assert again.meta["node"] is again.graph.output_node()

    def test_attributes_are_copied_and_hooks_are_not(self) -> None:
        module = traced(Sum())
        module.extra = [1]
        module.register_forward_hook(lambda _, args, result: result + 1)

        again = copy.deepcopy(module)

        assert again.extra == [1]
        assert again.extra is not module.extra
        assert (module(1, 2), again(1, 2)) == (4, 3)

    def test_a_shallow_copy_shares_graph_and_meta(self) -> None:
        module = traced(Sum())

        again = copy.copy(module)

        assert again.graph is module.graph
        assert again.meta is module.meta
        assert again(1, 2) == 3


class TestHooks:
    def test_nodes_tell_their_module_what_happens_to_them(self) -> None:
        module = made({}, doubling())
        said: list[tuple[str, str]] = []

        def say(what: str) -> Callable[[Any], None]:
            return lambda node: said.append((what, str(node)))

        created, erased = say("created"), say("erased")
        module._register_create_node_hook(created)
        module._register_erase_node_hook(erased)

        def replaced(old: fx.Node, new: str, user: fx.Node) -> None:
            said.append(("replaced", f"{old} by {new} in {user}"))

        graph = module.graph
        mul = graph.output_node().prev
        with graph.inserting_after(mul):
            neg = graph.call_function(operator.neg, (mul.args[0],))
        with module._set_replace_hook(replaced):
            mul.replace_all_uses_with(neg)
        graph.erase_node(mul)
        module._unregister_create_node_hook(created)
        graph.call_function(operator.neg, (neg,))

        assert said == [
            ("created", "neg"),
            ("replaced", "mul by neg in output"),
            ("erased", "mul"),
        ]

    def test_a_deep_copy_is_told(self) -> None:
        module = made({}, doubling())
        copies: list[Any] = []
        module._register_deepcopy_hook(copies.append)

        again = copy.deepcopy(module)

        assert copies == [again]

    def test_a_hook_is_something_to_call(self) -> None:
        module = made({}, doubling())

        with pytest.raises(AssertionError, match="something to call"):
            module._register_create_node_hook(3)


class TestFolder:
    def test_the_package_computes_the_same_wherever_it_lies(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Net(Pricing):
            def __init__(self) -> None:
                super().__init__()
                self.tail = nn.Sequential(nn.ReLU(), nn.Dropout())
                self.offset = torch.full((5,), 3.0)
                self.register_buffer("scale", torch.rand(5), persistent=False)

            def forward(self, prices: Any) -> Any:
                return (
                    self.tail(cast("Any", super()).forward(prices) + self.offset)
                    * self.scale
                )

        module = traced(Net().eval())
        x = torch.rand(3, 4)

        with pytest.warns(UserWarning, match="as pickles: tail"):
            module.to_folder(tmp_path / "made", "Bar")
        (tmp_path / "made").rename(tmp_path / "moved")
        monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
        loaded: Any = importlib.import_module("moved").Bar()
        loaded.eval()
        assert torch.equal(loaded(x), module(x))
        assert list(loaded.state_dict()) == list(module.state_dict())
        del sys.modules["moved"]
