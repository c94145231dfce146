# Graphs hold values of any type, and torch says little of the types of its own.
# pyright: reportUnknownMemberType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Running graphs node by node: on values, on proxies, and for shapes."""

from __future__ import annotations

import gc
import operator
import weakref
from typing import Any

import pytest
import torch
import torch.fx
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.passes.shape_prop import ShapeProp as TorchShapeProp

from fxls import engine as fx
from fxls.engine.passes.shape_prop import ShapeProp, TensorMetadata
from tests.engine.zoo.containers import InModuleList
from tests.engine.zoo.models import TransformerBlock
from tests.engine.zoo.opcodes import Identity, Pricing, Sum

STEPS = (
    *("run_node", "fetch_args_kwargs_from_env", "map_nodes_to_values", "fetch_attr"),
    *("placeholder", "call_function", "call_method", "call_module", "get_attr"),
    "output",
)


def scaled(x: Any, *rest: Any, by: Any = 2) -> Any:
    return x * by + len(rest)


def values(module: Any, *inputs: Any) -> dict[str, Any]:
    """The value of every node, by name."""
    interpreter = fx.Interpreter(module, garbage_collect_values=False)
    interpreter.run(*inputs)
    return {node.name: value for node, value in interpreter.env.items()}


class TestRun:
    def test_the_values_of_all_nodes_are_kept_when_they_are_to_be(self) -> None:
        module = fx.symbolic_trace(lambda x, y: (x + y) * x)

        assert values(module, 2, 3) == {
            "x": 2,
            "y": 3,
            "add": 5,
            "mul": 10,
            "output": 10,
        }

    def test_otherwise_a_value_is_dropped_behind_its_last_use(self) -> None:
        alive: list[bool] = []

        class Value:
            count = 0

            def __init__(self) -> None:
                Value.count += 1

            def __del__(self) -> None:
                Value.count -= 1

        def use(_: Value) -> Value:
            alive.append(Value.count == 1)
            return Value()

        graph = fx.Graph()
        node = graph.call_function(Value)
        for _ in range(4):
            node = graph.call_function(use, (node,))
        graph.output(node)

        class Slow(fx.Interpreter):
            def run_node(self, n: fx.Node) -> Any:
                return super().run_node(n)

        for kind in (fx.Interpreter, Slow):
            kind(fx.GraphModule({}, graph)).run()
        assert alive == [True] * 8

    def test_nodes_that_have_a_value_are_not_run(self) -> None:
        module = fx.symbolic_trace(lambda x: torch.neg(x) + 1)
        neg = module.graph.find_nodes(op="call_function", target=torch.neg)

        result = fx.Interpreter(module).run(
            torch.zeros(1), initial_env={neg[0]: torch.full((1,), 5.0)}
        )

        assert result == 6

    def test_stars_take_the_rest_and_defaults_what_is_missing(self) -> None:
        graph = fx.Graph()
        x = graph.placeholder("x")
        y = graph.placeholder("y", default_value=7)
        rest = graph.placeholder("*rest")
        graph.output((x, y, rest))
        module = fx.GraphModule({}, graph)

        results = [fx.Interpreter(module).run(*range(n)) for n in (1, 2, 4)]

        assert results == [(0, 7, []), (0, 1, []), (0, 1, [2, 3])]

    def test_an_input_that_is_missing_is_named(self) -> None:
        with pytest.raises(
            RuntimeError,
            match="Expected positional argument for parameter y, but one was not passed",
        ):
            fx.Interpreter(fx.symbolic_trace(Sum())).run(1)

    def test_a_boxed_run_empties_the_list(self) -> None:
        interpreter = fx.Interpreter(fx.symbolic_trace(Sum()))
        inputs = [1, 2]

        assert interpreter.boxed_run(inputs) == 3
        assert inputs == []
        with pytest.raises(RuntimeError, match=r"expected 2 arguments.*missing"):
            interpreter.boxed_run([1])

    def test_edits_are_seen_by_the_next_run(self) -> None:
        module = fx.symbolic_trace(Sum())
        interpreter = fx.Interpreter(module)
        add = module.graph.output_node().prev
        seen = [interpreter.run(3, 4)]

        add.target = operator.mul
        seen.append(interpreter.run(3, 4))
        add.args = (add.args[1], 10)
        seen.append(interpreter.run(3, 4))
        with module.graph.inserting_after(add):
            neg = module.graph.call_function(operator.neg, (add,))
        module.graph.output_node().args = (neg,)
        seen.append(interpreter.run(3, 4))
        module.graph.output_node().args = (add,)
        module.graph.erase_node(neg)
        seen.append(interpreter.run(3, 4))

        assert seen == [7, 12, 40, -40, 40]

    def test_another_graph_runs_on_the_attributes_of_the_module(self) -> None:
        module = Pricing()
        graph = fx.Graph()
        graph.output(graph.get_attr("till.bias"))

        assert fx.Interpreter(module, graph=graph).run() is module.till.bias

    def test_the_codegen_says_what_goes_in_and_comes_out(self) -> None:
        class OneArgument(fx.CodeGen):
            def process_inputs(self, *args: Any) -> Any:
                return args[0]

            def process_outputs(self, outputs: Any) -> Any:
                return [outputs]

        module = fx.symbolic_trace(Sum())
        module.graph.set_codegen(OneArgument())
        interpreter = fx.Interpreter(module)

        assert interpreter.run([1, 2]) == [3]
        assert interpreter.run(1, 2, enable_io_processing=False) == 3

    def test_errors_name_the_node_and_the_source(self) -> None:
        module = fx.symbolic_trace(lower_sums)
        source = lower_sums.__code__

        for interpreter in (fx.Interpreter(module), overriding("run_node")(module)):
            with pytest.raises(TypeError) as raised:
                interpreter.run(1)
            assert str(raised.value) == (
                "tril(): argument 'input' (position 1) must be Tensor, not int\n\n"
                "While executing %tril : [num_users=1] = call_function"
                "[target=torch.tril](args = (%x,), kwargs = {diagonal: 1})\n"
                "Original traceback:\n"
                f'File "{source.co_filename}", line {source.co_firstlineno + 1},'
                " in lower_sums\n    return torch.tril(x, diagonal=1).cumsum(dim=0)"
            )

    def test_a_key_error_can_be_read(self) -> None:
        module = fx.symbolic_trace(lambda x: x["key"])

        with pytest.raises(RuntimeError, match=r"^key\n\nWhile executing %getitem"):
            fx.Interpreter(module).run({})

    def test_a_value_that_is_not_there_yet_is_named(self) -> None:
        module = fx.symbolic_trace(Sum())
        x, _, add, _ = module.graph.nodes
        x.prepend(add)

        for interpreter in (fx.Interpreter(module), overriding("run_node")(module)):
            with pytest.raises(
                RuntimeError, match=r"add referenced nonexistent value x"
            ):
                interpreter.run(1, 2)

    def test_what_fails_in_front_of_such_a_value_is_what_is_raised(self) -> None:
        module = fx.symbolic_trace(Sum())
        x, _, add, _ = module.graph.nodes
        x.prepend(add)
        with module.graph.inserting_before(add):
            module.graph.call_function(len, (1,))

        for interpreter in (fx.Interpreter(module), overriding("run_node")(module)):
            with pytest.raises(TypeError, match=r"has no len\(\)"):
                interpreter.run(1, 2)

    def test_an_attribute_that_is_not_there_is_named(self) -> None:
        graph = fx.Graph()
        graph.output(graph.get_attr("till.nothing"))

        with pytest.raises(RuntimeError, match=r"nonexistent target till\.nothing"):
            fx.Interpreter(Pricing(), graph=graph).run()


def lower_sums(x: Any) -> Any:
    return torch.tril(x, diagonal=1).cumsum(dim=0)


def overriding(step: str) -> Any:
    """An interpreter class that overrides one step, to do what it does anyway."""

    def same(self: Any, *args: Any) -> Any:
        counted.append(step)
        return getattr(fx.Interpreter, step)(self, *args)

    counted: list[str] = []
    return type("Overriding", (fx.Interpreter,), {step: same, "counted": counted})


class TestOverrides:
    @pytest.mark.parametrize("step", STEPS)
    def test_every_step_can_be_overridden(self, step: str) -> None:
        root = TransformerBlock().eval()
        module = fx.symbolic_trace(root)
        x = torch.randn(2, 5, 8)
        kind = overriding(step)

        assert torch.equal(kind(module).run(x), root(x))
        ops = [node.op for node in module.graph.nodes]
        reads = ops.count("get_attr") + ops.count("call_module")
        expected = {
            "fetch_attr": reads,
            "map_nodes_to_values": len(ops)
            + sum(bool(n.kwargs) for n in module.graph.nodes),
        }
        assert len(kind.counted) == expected.get(step, ops.count(step) or len(ops))

    def test_functions_and_methods_are_computed_as_the_steps_say(self) -> None:
        class UpperProducts(fx.Interpreter):
            def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
                assert target is torch.tril
                return torch.triu(*args, **kwargs)

            def call_method(self, target: Any, args: Any, kwargs: Any) -> Any:
                return super().call_method("cumprod", args, kwargs)

        module = fx.symbolic_trace(lower_sums)
        x = torch.randn(3, 3)

        result = UpperProducts(module).run(x)

        assert torch.equal(result, torch.triu(x, diagonal=1).cumprod(dim=0))

    def test_a_step_can_be_overridden_in_one_interpreter(self) -> None:
        interpreter: Any = fx.Interpreter(fx.symbolic_trace(Sum()))
        interpreter.call_function = lambda target, args, kwargs: target

        assert interpreter.run(1, 2) is operator.add


class TestTransformer:
    def test_what_the_steps_call_is_the_new_graph(self) -> None:
        class UpperProducts(fx.Transformer):
            def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
                # A function may become a method, and a method a function.
                return args[0].triu(**kwargs)

            def call_method(self, target: Any, args: Any, kwargs: Any) -> Any:
                return torch.cumprod(*args, **kwargs)

        module = fx.symbolic_trace(lower_sums)

        transformed = UpperProducts(module).transform()

        assert [(node.op, node.target) for node in transformed.graph.nodes] == [
            ("placeholder", "x"),
            ("call_method", "triu"),
            ("call_function", torch.cumprod),
            ("output", "output"),
        ]
        new = {node.name: node.origin for node in transformed.graph.nodes}
        old = {node.name: node.origin for node in module.graph.nodes}
        assert new == {
            "x": old["x"],
            "triu": old["tril"],
            "cumprod": old["cumsum"],
            "output": old["output"],
        }

    def test_meta_is_kept_as_torch_fx_keeps_it(self) -> None:
        kept: list[Any] = []
        for engine in (fx, torch.fx):
            module = engine.symbolic_trace(InModuleList())
            for node in module.graph.nodes:
                node.meta["stack_trace"] = f"trace of {node.name}"
                node.meta["source_fn_stack"] = [(node.name, node.target)]
                node.meta["own"] = 1
            transformed = engine.Transformer(module).transform()
            kept.append(
                [
                    {
                        k: v
                        for k, v in node.meta.items()
                        if k not in ("seq_nr", "from_node")
                    }
                    for node in transformed.graph.nodes
                ]
            )

        assert kept[0] == kept[1]

    def test_a_codegen_is_kept(self) -> None:
        class OneArgument(fx.CodeGen):
            def gen_fn_def(
                self,
                free_vars: list[str],
                maybe_return_annotation: str,
                *,
                expanded_def: bool = False,
            ) -> str:
                return f"def forward(self, all):\n    {', '.join(free_vars)} = all"

            def process_inputs(self, *args: Any) -> Any:
                return args[0]

        module = fx.symbolic_trace(Sum())
        module.graph.set_codegen(OneArgument())
        module.recompile()
        assert module([1, 2]) == 3

        assert fx.Transformer(module).transform()([1, 2]) == 3


class TestShapeProp:
    def test_notes_tensors_in_containers(self) -> None:
        graph = fx.Graph()
        x = graph.placeholder("x")
        graph.output({"n": 3, "all": (x, [graph.call_method("size", (x, 0))])})
        module = fx.GraphModule({}, graph)

        ShapeProp(module).propagate(torch.ones(2, 3))

        tensor = TensorMetadata(
            torch.Size([2, 3]),
            torch.float32,
            False,
            (3, 1),
            torch.contiguous_format,
            False,
            {},
        )
        noted = {n.name: n.meta.get("tensor_meta") for n in module.graph.nodes}
        assert noted == {
            "x": tensor,
            "size": None,
            "output": {"n": 3, "all": (tensor, [2])},
        }

    @pytest.mark.parametrize(
        "make",
        [
            lambda: torch.ones(2, 3, 4, 5),
            lambda: torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last),
            lambda: torch.ones(2, 3, 4, 5, 6).to(memory_format=torch.channels_last_3d),
            lambda: torch.ones(2, 1, 1, 1).to(memory_format=torch.channels_last),
            lambda: torch.ones(4, 4).t(),
            lambda: torch.ones(4, 4)[:, ::2],
            lambda: torch.eye(3).to_sparse(),
            lambda: torch.ones(0, 3),
            lambda: torch.ones(2, requires_grad=True),
            lambda: torch.ones(1, 4).expand(3, 4),
        ],
    )
    def test_layouts_are_those_that_torch_fx_finds(self, make: Any) -> None:
        noted: list[Any] = []
        for engine, prop in ((fx, ShapeProp), (torch.fx, TorchShapeProp)):
            module: Any = engine.symbolic_trace(Identity())
            prop(module).propagate(make())
            noted.append([tuple(n.meta["tensor_meta"]) for n in module.graph.nodes])

        assert noted[0] == noted[1]

    @pytest.mark.slow
    def test_with_a_fake_mode_nothing_is_computed(self) -> None:
        module = fx.symbolic_trace(Pricing())
        mode = FakeTensorMode()

        result = ShapeProp(module, mode).propagate(torch.ones(3, 4))

        assert type(result).__name__ == "FakeTensor"
        assert result.shape == (3, 5)
        assert type(module.get_parameter("till.weight")) is nn.Parameter
        assert module.graph.output_node().meta["tensor_meta"].shape == (3, 5)

    def test_an_error_names_the_node(self, capsys: pytest.CaptureFixture[str]) -> None:
        module = fx.symbolic_trace(Sum())

        with pytest.raises(RuntimeError, match="ShapeProp error for: node=%add"):
            ShapeProp(module).propagate(torch.ones(2), torch.ones(3))

        assert "must match the size" in capsys.readouterr().err


def test_a_graph_that_was_run_is_let_go() -> None:
    module = fx.symbolic_trace(nn.ReLU())
    fx.Interpreter(module).run(torch.ones(1))
    graph = weakref.ref(module.graph)

    del module
    gc.collect()

    assert graph() is None
