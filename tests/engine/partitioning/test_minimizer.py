"""The nodes at which two ways of running a module differ are found."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from tests.engine.partitioning.systems import OURS, System, alike, refused_alike

X = torch.tensor([[-1.0, 2.0], [3.0, -4.0]])


def program(x: Any) -> Any:
    a = torch.relu(x)
    b = torch.sigmoid(a)
    c = torch.neg(b)
    d = torch.tanh(c)
    return torch.add(d, a)


def minimizer(
    system: System,
    settings: dict[str, Any],
    wrong: set[str],
    failing: set[str] = frozenset(),  # pyright: ignore[reportArgumentType]  # never changed
    **options: Any,
) -> Any:
    """One whose way b adds one behind some functions, and fails at others."""
    base = system.passes("net_min_base")
    interpreter: Any = system.fx.Interpreter

    class Minimizer(base._MinimizerBase):
        def run_a(self, mod: Any, inputs: Any, report_idx: int = -1) -> Any:
            return mod(*inputs)

        def run_b(self, mod: Any, inputs: Any, report_idx: int = -1) -> Any:
            class Wrong(interpreter):
                def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
                    if target.__name__ in failing:
                        raise ValueError(f"no {target.__name__}")
                    value: Any = target(*args, **kwargs)
                    return value + 1 if target.__name__ in wrong else value

            return Wrong(mod).run(*inputs)

    def compare(a: Any, b: Any, names: Any) -> Any:
        is_one = isinstance(a, torch.Tensor)
        pairs = [(a, b)] if is_one else list(zip(a, b, strict=True))
        distance = max(float((one - other).abs().max()) for one, other in pairs)
        return distance, distance < 0.01

    return Minimizer(
        system.trace(program),
        (X,),
        compare,
        base._MinimizerSettingBase(**settings),
        **options,
    )


def names_of(nodes: Any) -> list[str]:
    return sorted(node.name for node in nodes)


@pytest.mark.parametrize("wrong", [set[str](), {"neg"}, {"relu"}, {"add"}], ids=str)
@pytest.mark.parametrize(
    "settings",
    [
        {"traverse_method": "sequential"},
        {"traverse_method": "sequential", "find_all": True},
        {"traverse_method": "sequential", "accumulate_error": True},
        {"traverse_method": "binary"},
        {"traverse_method": "accumulate"},
        {"traverse_method": "accumulate", "find_all": True},
        {"traverse_method": "block"},
    ],
    ids=lambda settings: "-".join(map(str, settings.values())),
)
def test_the_culprit_is_found(settings: dict[str, Any], wrong: set[str]) -> None:
    alike(lambda system: names_of(minimizer(system, settings, wrong).minimize()))


@pytest.mark.parametrize("method", ["sequential", "binary", "accumulate", "block"])
def test_a_node_that_cannot_be_run_is_a_culprit(method: str) -> None:
    def case(system: System) -> Any:
        found = minimizer(system, {"traverse_method": method}, set(), {"tanh"})
        return names_of(found.minimize())

    assert alike(case) == ["tanh"]


def test_a_search_may_begin_and_end_at_nodes() -> None:
    def case(system: System) -> Any:
        found = minimizer(system, {"find_all": True}, {"relu", "neg", "tanh"})
        return names_of(found.minimize(start="sigmoid", end="neg"))

    assert alike(case) == ["neg"]


def test_the_ends_of_a_block_are_found_one_by_one() -> None:
    settings = {"traverse_method": "block"}
    last = minimizer(OURS, settings, {"neg"}).minimize(find_last_node=True)
    assert names_of(last) == ["neg", "relu", "sigmoid"]
    first = minimizer(OURS, settings, {"neg"}).minimize(find_last_node=False)
    assert names_of(first) == ["add", "neg", "tanh"]


def test_stretches_between_nodes_that_are_left_out_are_compared() -> None:
    def case(system: System) -> Any:
        found = minimizer(system, {"traverse_method": "skip"}, {"add"})
        return names_of(found.minimize(skip_nodes=["sigmoid"]))

    assert alike(case) == ["add", "neg", "tanh"]


def test_skipping_needs_names() -> None:
    settings = {"traverse_method": "skip"}
    error = refused_alike(lambda s: minimizer(s, settings, set()).minimize())
    assert str(error).startswith("traverse_method is 'skip', which needs skip_nodes")


def test_an_unknown_method_is_refused() -> None:
    settings = {"traverse_method": "guess"}
    error = refused_alike(lambda s: minimizer(s, settings, set()).minimize())
    assert str(error) == "Unknown traverse method guess!"


def test_all_nodes_are_compared_at_once() -> None:
    settings = {"traverse_method": "defined"}
    everything = ["add", "neg", "relu", "sigmoid", "tanh"]
    assert names_of(minimizer(OURS, settings, {"neg"}).minimize()) == everything
    assert names_of(minimizer(OURS, settings, set()).minimize()) == []


def test_with_find_all_halving_keeps_what_it_found_before() -> None:
    settings = {"traverse_method": "binary", "find_all": True}
    found = minimizer(OURS, settings, {"relu", "tanh"}).minimize()
    assert names_of(found) == ["relu", "tanh"]


def test_excluded_nodes_are_not_compared() -> None:
    def exclude(nodes: Any, start: int, end: int) -> None:
        nodes[:] = [node for node in nodes if node.name != "neg"]

    def case(system: System) -> Any:
        found = minimizer(
            system, {"find_all": True}, {"neg", "tanh"}, exclusion_fn=exclude
        )
        return names_of(found.minimize()), len(found.reports)

    assert alike(case)[0] == ["tanh"]


def test_what_differs_is_exported_with_both_inputs() -> None:
    def case(system: System) -> Any:
        exported: list[Any] = []

        def export(inputs: Any, module: Any, name: str) -> None:
            exported.append((inputs[0].tolist(), module.code, name))

        minimizer(system, {}, {"neg"}, module_exporter=export).minimize()
        return exported

    assert [name for _, _, name in alike(case)] == ["neg_cpu", "neg_acc"]


@pytest.mark.parametrize("is_intermediate", [False, True])
def test_a_part_is_compared(
    is_intermediate: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    def case(system: System) -> Any:
        settings = {"return_intermediate": is_intermediate}
        found = minimizer(system, settings, {"neg"})
        found.run_nodes(start="sigmoid", end="tanh")
        return capsys.readouterr().out, list(found.results)

    told, _ = alike(case)
    assert told.startswith("Result mismatch for")


def test_the_inputs_must_be_as_many() -> None:
    def case(system: System) -> Any:
        base = system.passes("net_min_base")
        gm = system.trace(program)
        gm.graph.placeholder("unused")
        settings = base._MinimizerSettingBase()
        return base._MinimizerBase(gm, (X,), None, settings)

    refused_alike(case)


def test_both_ways_must_be_given() -> None:
    class Empty(nn.Module):
        def forward(self, x: Any) -> Any:
            return x + 1

    def case(system: System) -> Any:
        base = system.passes("net_min_base")
        settings = base._MinimizerSettingBase()
        found = base._MinimizerBase(system.trace(Empty()), (X,), None, settings)
        return found.run_a(None, ()), found.run_b(None, ())

    assert str(refused_alike(case)).startswith("run_a() is not implemented")


def test_settings_are_printed() -> None:
    def case(system: System) -> Any:
        return str(system.passes("net_min_base")._MinimizerSettingBase(find_all=True))

    alike(case)
