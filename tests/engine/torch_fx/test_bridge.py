"""Graphs cross between our engine and torch.fx with all that they hold."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest
import torch
import torch.fx
from torch.fx._symbolic_trace import PH as TORCH_PH

from fxls import engine as fx
from fxls.engine.code.codegen import CodeGen
from fxls.engine.passes.dialect.common.cse_pass import CSEPass
from fxls.engine.torch_fx.bridge import from_torch_fx, to_torch_fx
from tests.engine.same import assert_same
from tests.engine.zoo import Example, examples
from tests.support.programs import needs_inductor

zoo = pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)

_torch: Any = torch
_fx: Any = torch.fx

Untyped = Callable[[Any, Any], Any]


class Layers(torch.nn.Module):
    """A plain holder, a parameter, a buffer that is not saved, and a nested result."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.ModuleDict({"linear": torch.nn.Linear(3, 3)})
        self.scale = torch.nn.Parameter(torch.ones(3))
        self.register_buffer("shift", torch.zeros(3), persistent=False)

    def forward(
        self, x: torch.Tensor, k: int = 3, *rest: Any, **named: Any
    ) -> dict[str, Any]:
        y = self.inner["linear"](x * self.scale + cast("Any", self).shift)[:, 0:2]
        return {"out": (y.clamp(min=0.0), [y, None]), "k": k}


class Calling(torch.nn.Module):
    """A function as a module."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self._function = function

    def forward(self, x: Any) -> Any:
        return self._function(x)


def told(module: Any) -> tuple[str, str]:
    code = module.code.replace("torch.fx._symbolic_trace.wrap", "fxls.engine.wrap")
    return str(module.graph), code


def nodes(module: Any) -> Iterator[tuple[Any, ...]]:
    """All that a node holds, but for the arguments, which `str(graph)` shows."""
    for node in module.graph.nodes:
        yield node.name, node.op, node.target, node.type, node.meta


@zoo
def test_a_module_of_torch_fx_comes_over_and_goes_back(example: Example) -> None:
    theirs = _fx.symbolic_trace(example.make())
    crossed = from_torch_fx(theirs)
    back = to_torch_fx(crossed)

    assert told(crossed) == told(theirs)
    assert (str(back.graph), back.code) == (str(theirs.graph), theirs.code)
    assert list(nodes(crossed)) == list(nodes(theirs)) == list(nodes(back))
    assert isinstance(back, torch.fx.GraphModule)
    crossed.graph.lint()
    back.graph.lint()
    expected = theirs(*example.inputs())
    assert_same(crossed(*example.inputs()), expected)
    assert_same(back(*example.inputs()), expected)


@zoo
def test_a_module_of_ours_goes_over_and_comes_back(example: Example) -> None:
    ours = fx.symbolic_trace(example.make())
    back = from_torch_fx(to_torch_fx(ours))

    assert told(back) == told(ours)
    assert list(nodes(back)) == list(nodes(ours))
    assert [n.origin for n in back.graph.nodes] == [n.origin for n in ours.graph.nodes]


def test_parameters_buffers_and_submodules_are_shared() -> None:
    theirs = _fx.symbolic_trace(Layers())
    crossed: Any = from_torch_fx(theirs)

    assert crossed.inner.linear is theirs.inner.linear
    assert crossed.scale is theirs.scale
    assert crossed.shift is theirs.shift
    assert list(crossed.state_dict()) == list(theirs.state_dict())


def test_an_edit_on_one_side_does_not_reach_the_other() -> None:
    theirs = _fx.symbolic_trace(Layers())
    before = str(theirs.graph)
    crossed = from_torch_fx(theirs)

    crossed.graph.find_nodes(op="call_method")[0].target = "abs"
    crossed.add_submodule("more", torch.nn.ReLU())
    next(iter(crossed.graph.nodes)).meta["said"] = 1

    assert str(theirs.graph) == before
    assert [name for name, _ in theirs.named_children()] == ["inner"]
    assert next(iter(theirs.graph.nodes)).meta.get("said") is None


def test_what_was_set_on_module_and_nodes_crosses() -> None:
    theirs = _fx.symbolic_trace(Layers())
    theirs.note = ["kept"]
    theirs.meta["pass"] = 3
    calls: list[str] = []
    theirs.register_forward_hook(lambda _m, _x, _y: calls.append("hook"))  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]  # a hook of torch's
    first = next(iter(theirs.graph.nodes))
    first.color = "red"
    theirs.eval()

    crossed: Any = from_torch_fx(theirs)
    crossed(torch.ones(1, 3))

    assert crossed.note is theirs.note
    assert crossed.meta == {"pass": 3}
    assert next(iter(crossed.graph.nodes)).color == "red"
    assert not crossed.training
    assert calls == ["hook"]


def relu_and_neg(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x).neg()


class Keeping(fx.Tracer):
    """Calls every submodule."""

    def is_leaf_module(self, m: torch.nn.Module, module_qualified_name: str) -> bool:
        return True


class KeepingOfTorch(_fx.Tracer):
    """The same on the other side."""

    def is_leaf_module(self, m: torch.nn.Module, module_qualified_name: str) -> bool:
        return True


def test_on_its_return_a_graph_has_the_tracer_that_made_it() -> None:
    class Local(Keeping):
        """One that cannot be found by its name."""

    net = Layers()
    for tracer in (fx.Tracer, Keeping, Local):
        ours = fx.GraphModule(net, tracer().trace(net))
        back = from_torch_fx(to_torch_fx(ours))
        assert back.graph._tracer_cls is tracer
        assert back._tracer_cls is ours._tracer_cls
        assert back.graph.traced == (__name__, "Layers")

    theirs = _fx.GraphModule(net, KeepingOfTorch().trace(net))
    crossed = from_torch_fx(theirs)
    assert (crossed.graph._tracer_cls, crossed.graph.traced) == (None, None)
    assert to_torch_fx(crossed)._tracer_cls is KeepingOfTorch


def test_names_of_erased_nodes_stay_taken() -> None:
    theirs = _fx.symbolic_trace(relu_and_neg)
    relu = theirs.graph.find_nodes(op="call_function", target=torch.relu)[0]
    relu.replace_all_uses_with(relu.args[0])
    theirs.graph.erase_node(relu)
    crossed = from_torch_fx(theirs)

    for module in (theirs, crossed):
        with module.graph.inserting_before(module.graph.output_node()):
            module.graph.call_function(torch.relu)

    assert str(crossed.graph) == str(theirs.graph)


def test_code_for_nested_inputs_crosses() -> None:
    theirs = _fx.symbolic_trace(add_nested, concrete_args={"nested": {"y": [TORCH_PH]}})
    crossed = from_torch_fx(theirs)
    back = to_torch_fx(crossed)

    assert crossed.code == theirs.code == back.code
    one = torch.ones(2)
    for module in (crossed, back):
        assert_same(module(one, {"y": [one]}), {"sum": one + one})
        run = fx.Interpreter(module) if module is crossed else _fx.Interpreter(module)
        assert_same(run.run(one, {"y": [one]}), {"sum": one + one})


# An unpacking takes no annotations, so these programs have none.
add_nested: Untyped = lambda x, nested: {"sum": x + nested["y"][0]}  # noqa: E731
add: Untyped = lambda a, b: a + b  # noqa: E731


class Packed:
    """Takes the inputs as one value: written once, for the class of either engine."""

    def gen_fn_def(
        self, free_vars: list[str], maybe_return_annotation: str, **_form: Any
    ) -> str:
        head = f"def forward(self, *packs: Pack){maybe_return_annotation}:"
        return f"{head}\n    ({', '.join(free_vars)}), = packs"

    def additional_globals(self) -> list[tuple[str, Any]]:
        return [("Pack", list)]

    def process_inputs(self, *inputs: Any) -> Any:
        return inputs[0]


def test_rules_of_code_generation_cross_both_ways() -> None:
    class Theirs(Packed, _fx.graph.CodeGen):
        pass

    class Ours(Packed, CodeGen):
        pass

    theirs = _fx.symbolic_trace(add)
    theirs.graph.set_codegen(Theirs())
    theirs.recompile()
    ours = fx.symbolic_trace(add)
    ours.graph.set_codegen(Ours())
    ours.recompile()
    one = torch.ones(2)

    for module in (from_torch_fx(theirs), to_torch_fx(ours), ours):
        assert module.code == theirs.code
        assert_same(module([one, one]), one + one)
    assert isinstance(to_torch_fx(from_torch_fx(theirs)).graph._codegen, Theirs)
    assert isinstance(from_torch_fx(to_torch_fx(ours)).graph._codegen, Ours)
    assert fx.Interpreter(from_torch_fx(theirs)).run([one, one]).tolist() == [2, 2]


def test_codegen_with_the_old_extension_point_goes_over() -> None:
    class Older(CodeGen):
        def generate_prologue(self, free_vars: list[str], returns: str) -> str:
            return f"\ndef forward(self, all):\n    {', '.join(free_vars)} = all"

    ours = fx.symbolic_trace(add)
    ours.graph.set_codegen(Older())
    ours.recompile()

    assert to_torch_fx(ours).code.split() == ours.code.split()


def test_a_changed_body_crosses() -> None:
    theirs = _fx.symbolic_trace(torch.nn.functional.relu)

    def longer(body: list[str]) -> list[str]:
        return ["said = 1\n", *body]

    def change(_before: Any) -> Callable[[list[str]], list[str]]:
        return longer

    theirs.graph.on_generate_code(change)
    theirs.recompile()

    assert from_torch_fx(theirs).code == theirs.code
    assert to_torch_fx(from_torch_fx(theirs)).code == theirs.code


def test_errors_in_torch_name_the_line_of_the_source() -> None:
    def model(x: Any) -> Any:
        return torch.add(x, 1)  # the line

    theirs = to_torch_fx(fx.symbolic_trace(model))
    add = theirs.graph.find_nodes(op="call_function", target=torch.add)[0]

    assert add.stack_trace.endswith("return torch.add(x, 1)  # the line")


@pytest.mark.slow
def test_branches_of_a_condition_cross_with_the_graph() -> None:
    def positive(x: Any) -> Any:
        return x * 2

    def negative(x: Any) -> Any:
        return x - 1

    def model(x: Any) -> Any:
        return _torch.cond(x.sum() > 0, positive, negative, (x,))

    theirs: Any = torch.export.export(Calling(model), (torch.ones(2),)).module()
    crossed: Any = from_torch_fx(theirs)
    back = to_torch_fx(crossed)

    assert isinstance(crossed.true_graph_0, fx.GraphModule)
    assert isinstance(back.true_graph_0, torch.fx.GraphModule)
    for module in (crossed, back):
        assert module(torch.ones(2)).tolist() == [2, 2]
        assert module(-torch.ones(2)).tolist() == [-2, -2]


def test_a_graph_of_export_crosses() -> None:
    exported: Any = torch.export.export(Layers(), (torch.randn(4, 3),)).module()
    crossed = from_torch_fx(exported)
    back = to_torch_fx(crossed)
    x = torch.randn(4, 3)

    assert crossed.code == exported.code == back.code
    assert_same(crossed(x), exported(x))
    assert_same(back(x), exported(x))


def test_refused_is_what_is_no_graph_module_of_that_side() -> None:
    ours = fx.symbolic_trace(torch.nn.ReLU())

    with pytest.raises(TypeError, match=r"torch\.fx\.GraphModule, not .*ReLU"):
        from_torch_fx(torch.nn.ReLU())
    with pytest.raises(TypeError, match=r"not fxls\.engine\.graph_module\."):
        from_torch_fx(ours)
    with pytest.raises(TypeError, match=r"of fxls\.engine, not torch\.nn"):
        to_torch_fx(cast("Any", torch.nn.ReLU()))


def test_a_crossed_module_can_be_copied() -> None:
    crossed = from_torch_fx(_fx.symbolic_trace(Layers().eval()))
    x = torch.ones(1, 3)

    assert_same(copy.deepcopy(crossed)(x), crossed(x))


def _count_sums_once(gm: torch.fx.GraphModule) -> torch.fx.GraphModule:
    result = CSEPass()(from_torch_fx(gm))
    assert result is not None
    assert result.modified
    return to_torch_fx(cast("fx.GraphModule", result.graph_module))


def twice(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return (x @ w).relu().sum() + (x @ w).relu() * x[0]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch uses torch.jit
@pytest.mark.parametrize(
    "backend", ["aot_eager", pytest.param("inductor", marks=needs_inductor)]
)
def test_a_graph_of_torch_compile_is_changed_and_compiled_on(backend: str) -> None:
    from torch._dynamo import lookup_backend  # noqa: PLC0415 - takes a second

    seen: list[int] = []

    def with_our_pass(gm: torch.fx.GraphModule, inputs: Any) -> Any:
        smaller = _count_sums_once(gm)
        seen.append(len(gm.graph.nodes) - len(smaller.graph.nodes))
        compile_on: Any = lookup_backend(backend)
        return compile_on(smaller, inputs)

    x, w = torch.randn(3, 3), torch.randn(3, 3, requires_grad=True)
    _torch._dynamo.reset()
    result = _torch.compile(twice, backend=with_our_pass)(x, w)

    assert seen == [2]
    torch.testing.assert_close(result, twice(x, w))
    _torch.autograd.backward(result.sum())
    assert w.grad is not None
