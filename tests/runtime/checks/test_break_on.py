"""The first node whose value breaks a rule is named, with what went in and came out."""

from __future__ import annotations

import operator
import re
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from torch import nn

import fxls
from fxls import engine
from fxls.rules import BrokenRule
from fxls.runtime import listing_of
from fxls.store import Store
from tests.runtime import broken_nets as nets

fx: Any = torch.fx

TRACERS = [
    pytest.param(engine.symbolic_trace, id="engine"),
    pytest.param(fx.symbolic_trace, id="torch.fx"),
]
Trace = Callable[[nn.Module], Any]


@pytest.mark.parametrize("trace", TRACERS)
def test_the_node_is_reported_with_its_origin_and_values(
    store: Store, capfd: pytest.CaptureFixture[str], trace: Trace
) -> None:
    gm = trace(nets.Rooted())
    fxls.break_on("nan")
    assert gm(torch.tensor([4.0, 1.0])).tolist() == [3.0, 2.0]
    assert capfd.readouterr().err == ""
    assert gm(torch.tensor([4.0, -1.0])).isnan().tolist() == [False, True]
    path = Path(gm.forward.__code__.co_filename)
    assert path.parent == store.root
    assert capfd.readouterr().err == (
        f"fxls: nan: node sqrt of Rooted, line {line_of(path, 'sqrt')} of {path.name}:"
        " 1 of 2 is NaN\n"
        f'  File "{path}", line {line_of(path, "sqrt")}, in forward\n'
        "    sqrt = torch.sqrt(x)\n"
        f'  File "{nets.__file__}", line {source_line("root = torch.sqrt(x)")},'
        " in Rooted.forward\n"
        "    root = torch.sqrt(x)\n"
        "           ^^^^^^^^^^^^^\n"
        "  in call 2 of this forward\n"
        "  with x: float32 (2,) cpu, min -1 max 4 mean 1.5, [4, -1]\n"
        "  gives sqrt: float32 (2,) cpu, min 2 max 2 mean 2, 1 NaN, [2, nan]\n"
    )


@pytest.mark.parametrize("trace", TRACERS)
def test_raising_is_on_the_line_of_the_node(store: Store, trace: Trace) -> None:
    gm = trace(nets.Rooted())
    fxls.break_on("nan", on_break="raise")
    with pytest.raises(BrokenRule, match=r"^nan: node sqrt of Rooted, ") as raised:
        gm(torch.tensor([-1.0]))
    assert not hasattr(raised.value, "__notes__")
    last = traceback.extract_tb(raised.value.__traceback__)[-1]
    assert (last.filename, last.name) == (gm.forward.__code__.co_filename, "forward")
    assert (last.line or "").startswith("sqrt = torch.sqrt(x)")


@pytest.mark.parametrize(
    ("bad", "shown"),
    [
        (0, "def forward(self, argument_0, argument_1,"),
        (20, "… "),
        (39, "… "),
    ],
)
def test_of_a_long_line_what_is_around_the_node_is_reported(
    store: Store, capfd: pytest.CaptureFixture[str], bad: int, shown: str
) -> None:
    """As of the `def` of a captured model, which has all parameters."""
    graph = fx.Graph()
    given = [graph.placeholder(f"argument_{i}") for i in range(40)]
    graph.output(graph.call_function(torch.cat, (given,)))
    gm: Any = fx.GraphModule(nn.Module(), graph)
    fxls.break_on("nan")
    gm(*(torch.tensor([torch.nan if i == bad else 0.0]) for i in range(40)))
    summary, _, line, *_ = capfd.readouterr().err.splitlines()
    assert f"node argument_{bad} of" in summary
    assert line.startswith(f"    {shown}")
    assert f"argument_{bad}" in line
    assert line.endswith("argument_39):" if bad == 39 else " …")
    assert 120 < len(line) < 180


RULES: dict[str, tuple[str, nn.Module, torch.Tensor, list[str]]] = {
    "an input that is bad already": (
        *("nan", nets.Rooted(), torch.tensor([torch.nan])),
        ["x: 1 of 1 is NaN"],
    ),
    "inf": (
        *("inf", nets.Inverse(), torch.tensor([1.0, 0.0, -0.0])),
        ["reciprocal: 2 of 3 are infinite"],
    ),
    "several rules at once": (
        *("nan,inf", nets.Inverse(), torch.tensor([1.0, 0.0])),
        ["reciprocal: 1 of 2 is infinite", "mul: 1 of 2 is NaN"],
    ),
    "a mask is meant to be infinite": (
        *("inf", nets.Masked(), torch.tensor([0.0, 1.0, 2.0])),
        ["truediv: 1 of 3 is infinite"],
    ),
    "numbers of eight bits": (
        *("nan", nets.Eighth(), torch.tensor([torch.nan])),
        ["x: 1 of 1 is NaN"],
    ),
    "what is changed in place": (
        *("nan", nets.InPlace(), torch.tensor([-1.0])),
        ["sqrt_: 1 of 1 is NaN"],
    ),
    "several values at once": (
        *("nan", nets.Split(), torch.tensor([-1.0, 1.0])),
        ["sqrt: 1 of 2 is NaN"],
    ),
    "a number that is no tensor": (
        *("nan", nets.Number(), torch.tensor([0.0])),
        ["mul: it is nan"],
    ),
    "a dtype that no input has": (
        *("dtype-change", nets.Promoting(), torch.ones(2)),
        ["add: dtype float64, where its inputs are float32 and float64"],
    ),
}


@pytest.mark.parametrize("trace", TRACERS)
@pytest.mark.parametrize("case", RULES)
def test_the_first_node_of_each_rule_is_found(
    store: Store, capfd: pytest.CaptureFixture[str], trace: Trace, case: str
) -> None:
    rule, net, x, found = RULES[case]
    gm = trace(net)
    fxls.break_on(rule)
    gm(x.clone())
    assert summaries(capfd) == found


@pytest.mark.parametrize("trace", TRACERS)
def test_a_node_is_found_once_until_it_is_asked_again(
    store: Store, capfd: pytest.CaptureFixture[str], trace: Trace
) -> None:
    gm = trace(nets.Rooted())
    x = torch.tensor([-1.0])
    fxls.break_on("nan")
    gm(x)
    gm(x)
    assert summaries(capfd) == ["sqrt: 1 of 1 is NaN"]
    fxls.break_on("nan", "inf")
    gm(x)
    assert summaries(capfd) == ["sqrt: 1 of 1 is NaN"]


@pytest.mark.parametrize("trace", TRACERS)
def test_a_listing_that_calls_another_is_not_to_blame_for_it(
    store: Store, capfd: pytest.CaptureFixture[str], trace: Trace
) -> None:
    inner = trace(nets.Rooted())
    graph: Any = fx.Graph() if trace is fx.symbolic_trace else engine.Graph()
    x = graph.placeholder("x")
    called = graph.call_module("inner", (x,))
    graph.output(graph.call_function(operator.neg, (called,)))
    kind: Any = fx.GraphModule if trace is fx.symbolic_trace else engine.GraphModule
    outer = kind({"inner": inner}, graph)
    fxls.break_on("nan")
    outer(torch.tensor([-1.0]))
    assert summaries(capfd) == ["sqrt: 1 of 1 is NaN"]


def test_a_shape_is_held_against_what_the_listing_records(
    store: Store, capfd: pytest.CaptureFixture[str]
) -> None:
    from fxls.engine.passes.shape_prop import ShapeProp  # noqa: PLC0415

    gm = engine.symbolic_trace(nets.Pairs())
    ShapeProp(gm).propagate(torch.ones(4, 3))
    store.materialize(listing_of(gm))
    fxls.break_on("shape", "dtype-change")
    gm(torch.ones(4, 3))
    assert summaries(capfd) == []
    gm(torch.ones(4, 5))
    assert summaries(capfd) == ["x: shape (4, 5), where (4, 3) is recorded"]
    fxls.break_on("shape", "dtype-change")
    gm(torch.ones(4, 3, dtype=torch.float64))
    assert summaries(capfd) == ["x: dtype float64, where float32 is recorded"]


def test_double_precision_that_nobody_asked_for_is_found_though_it_is_recorded(
    store: Store, capfd: pytest.CaptureFixture[str]
) -> None:
    compiled: Any = cast("Any", torch).compile(nets.Promoting(), backend="aot_eager")
    fxls.break_on("dtype-change")
    compiled(torch.ones(2))
    assert summaries(capfd) == [
        "add: dtype float64, where its inputs are float32 and float64"
    ]


def test_a_shape_that_the_graph_recorded_in_torch(
    store: Store, capfd: pytest.CaptureFixture[str]
) -> None:
    gm = fx.symbolic_trace(nets.Pairs())
    fx.passes.shape_prop.ShapeProp(gm).propagate(torch.ones(4, 3))
    gm.recompile()
    fxls.break_on("shape")
    gm(torch.ones(4, 3))
    gm(torch.ones(2, 3))
    assert summaries(capfd) == ["x: shape (2, 3), where (4, 3) is recorded"]


@pytest.mark.parametrize("trace", TRACERS)
def test_a_gradient_names_the_node_whose_backward_made_it(
    store: Store, capfd: pytest.CaptureFixture[str], trace: Trace
) -> None:
    gm = trace(nets.FlatRoot())
    fxls.break_on("grad-nan")
    gm(torch.ones(2, requires_grad=True)).backward()
    path = Path(gm.forward.__code__.co_filename)
    assert capfd.readouterr().err == (
        f"fxls: grad-nan: node mul of FlatRoot, line {line_of(path, 'mul')} of"
        f" {path.name}: its backward makes a gradient of relu, of which 2 of 2 are NaN\n"
        f'  File "{path}", line {line_of(path, "mul")}, in forward\n'
        "    mul = relu * 0\n"
        f'  File "{nets.__file__}", line {source_line("flat = torch.relu(x) * 0")},'
        " in FlatRoot.forward\n"
        "    flat = torch.relu(x) * 0\n"
        "           ^^^^^^^^^^^^^^^^^\n"
        "  in call 1 of this forward\n"
        "  with relu: float32 (2,) cpu, min 1 max 1 mean 1, [1, 1]\n"
        "  gives mul: float32 (2,) cpu, min 0 max 0 mean 0, [0, 0]\n"
        "  gives grad_mul: float32 (2,) cpu, 2 Inf, [inf, inf]\n"
        "  gives grad_relu: float32 (2,) cpu, 2 NaN, [nan, nan]\n"
    )


@pytest.mark.parametrize("trace", TRACERS)
def test_a_gradient_that_comes_in_bad_is_not_the_models_fault(
    store: Store, capfd: pytest.CaptureFixture[str], trace: Trace
) -> None:
    gm = trace(nets.Rooted())
    fxls.break_on("grad-nan")
    y = gm(torch.tensor([4.0], requires_grad=True))
    y.backward(torch.tensor([torch.nan]))
    assert summaries(capfd) == [
        "add: the gradient that comes to it from outside is bad: 1 of 1 is NaN"
    ]


def test_the_gradient_of_a_parameter_is_watched_in_every_run(
    store: Store, capfd: pytest.CaptureFixture[str]
) -> None:
    gm = fx.symbolic_trace(nets.Scaled())
    fxls.break_on("grad-nan", on_break="raise")
    gm(torch.ones(2)).backward()
    gm.scale.data.zero_()
    with pytest.raises(BrokenRule, match=r"makes a gradient of scale") as raised:
        gm(torch.zeros(2)).backward()
    last = traceback.extract_tb(raised.value.__traceback__)[-1]
    assert raised.value.args[0].startswith("grad-nan: node sqrt of Scaled")
    assert last.filename != gm.forward.__code__.co_filename
    fxls.break_on()
    gm(torch.zeros(2)).backward()
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("kind", [engine, fx])
def test_the_gradient_of_a_parameter_inside_of_a_module(
    store: Store, capfd: pytest.CaptureFixture[str], kind: Any
) -> None:
    class Keeping(kind.Tracer):
        def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
            return not isinstance(m, nn.Sequential)

    gm = kind.GraphModule(net := nets.Layers(), Keeping().trace(net))
    fxls.break_on("grad-nan")
    for _ in range(2):
        gm(torch.ones(2)).backward()
    assert summaries(capfd) == [
        (
            "layers_1: its backward makes a gradient of layers.1.factor, of which"
            " 2 of 2 are NaN"
        )
    ]


def test_without_a_rule_the_code_is_that_of_the_text(store: Store) -> None:
    for trace in (engine.symbolic_trace, fx.symbolic_trace):
        gm: Any = trace(nets.Rooted())
        plain = gm.forward.__code__
        fxls.break_on("nan")
        assert gm.forward.__code__ != plain
        assert "__fxls_check__" in gm.forward.__code__.co_names
        fxls.break_on()
        assert gm.forward.__code__ == plain


def test_nobody_who_traces_sees_the_checks(store: Store) -> None:
    fxls.break_on("nan", "grad-nan", "shape", "dtype-change")
    gm: Any = fx.symbolic_trace(nets.Rooted())
    plain = "sqrt = torch.sqrt(x);  x = None\n    add = sqrt + 1;  sqrt = None\n"
    assert plain in gm.code
    assert plain in fx.symbolic_trace(gm).code
    assert plain in engine.symbolic_trace(gm).code
    made = fx.experimental.proxy_tensor.make_fx(gm)(torch.ones(2))
    called = [str(node.target) for node in made.graph.nodes]
    assert called[1:] == ["aten.sqrt.default", "aten.add.Tensor", "output"]
    mapped: Any = torch.func.vmap(gm)
    assert mapped(torch.tensor([[4.0]])).tolist() == [[3.0]]


def test_a_rule_that_there_is_not_is_refused(store: Store) -> None:
    with pytest.raises(
        ValueError,
        match=r"^there is no rule 'nanan'; the rules are nan, inf, shape, dtype-change,"
        r" grad-nan$",
    ):
        fxls.break_on("nan", "nanan")
    with pytest.raises(
        ValueError, match=r"^a broken rule can report or raise, not 'stop'$"
    ):
        fxls.break_on("nan", on_break="stop")


@pytest.mark.slow
@pytest.mark.parametrize("trace", TRACERS)
def test_the_planted_node_is_found_among_ten_thousand(
    store: Store, capfd: pytest.CaptureFixture[str], trace: Trace
) -> None:
    fxls.break_on("nan", "grad-nan")
    gm = trace(nets.Long(10_000, planted=6_789))
    gm(torch.tensor([-1.0]))
    assert summaries(capfd) == ["log: 1 of 1 is NaN"]
    x = torch.zeros(1, requires_grad=True)
    gm = trace(nets.LongGradient(10_000, planted=6_789))
    gm(x).backward()
    assert summaries(capfd) == [
        "mul: its backward makes a gradient of add_6788, of which 1 of 1 is NaN"
    ]


def summaries(capfd: pytest.CaptureFixture[str]) -> list[str]:
    """Node and what is wrong, of each report."""
    found = re.findall(
        r"^fxls: [\w-]+: node (\w+) of \w+, line \d+ of \w+\.py: (.*)$",
        capfd.readouterr().err,
        re.M,
    )
    return [f"{node}: {said}" for node, said in found]


def line_of(path: Path, name: str) -> int:
    """The line of a listing that binds a name."""
    lines = path.read_text("utf-8").splitlines()
    (line,) = (
        n for n, text in enumerate(lines, 1) if text.strip().startswith(f"{name} =")
    )
    return line


def source_line(text: str) -> int:
    lines = Path(nets.__file__).read_text("utf-8").splitlines()
    (line,) = (n for n, one in enumerate(lines, 1) if one.strip() == text)
    return line
