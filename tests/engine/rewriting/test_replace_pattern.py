"""Each rule of replacing patterns, with the results that torch.fx gives."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional

from tests.engine.rewriting.oracle import GraphOf, Traced, assert_rewritten_alike

aten: Any = torch.ops.aten
X = torch.tensor([[-1.0, 2.0], [3.0, -4.0]])
Y = torch.tensor([[5.0, -6.0], [-7.0, 8.0]])


def relu(x: Any) -> Any:
    return torch.relu(x)


def neg(x: Any) -> Any:
    return torch.neg(x)


def sigmoid(x: Any) -> Any:
    return torch.sigmoid(x)


def tanh(x: Any) -> Any:
    return torch.tanh(x)


def sub(x: Any, y: Any) -> Any:
    return torch.sub(x, y)


# -- what a pattern's nodes match ---------------------------------------------


def test_a_call_of_a_function_is_replaced_wherever_it_stands() -> None:
    def program(x: Any, y: Any) -> Any:
        return torch.relu(x) + torch.relu(y) * torch.relu(torch.relu(x))

    assert_rewritten_alike(program, relu, neg, (X, Y), matches=4)


def test_a_chain_matches_by_what_uses_what_and_not_by_names() -> None:
    def program(x: Any, y: Any) -> Any:
        first = torch.cat([x, y]).sum()
        second = torch.cat([x, y]).sum()
        return x + torch.max(first) + torch.max(second)

    assert_rewritten_alike(
        program,
        lambda a, b: torch.cat([a, b]).sum(),
        lambda a, b: torch.stack([a, b]),
        matches=2,
    )


def test_a_call_of_a_method_matches_by_its_name() -> None:
    def program(x: Any) -> Any:
        return x.relu().neg().relu()

    assert_rewritten_alike(
        program, lambda x: x.relu(), lambda x: x.sigmoid(), (X,), matches=2
    )


def test_a_call_of_a_submodule_matches_by_its_path() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.ReLU()
            self.second = nn.ReLU()

        def forward(self, x: Any) -> Any:
            return self.first(self.second(x))

    class Pattern(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.ReLU()

        def forward(self, x: Any) -> Any:
            return self.first(x)

    assert_rewritten_alike(Net(), Pattern(), sigmoid, (X,), matches=1)


def test_an_attribute_matches_any_tensor_of_its_class() -> None:
    class Scaled(nn.Module):
        def __init__(self, scale: Any) -> None:
            super().__init__()
            self.scale = scale

        def forward(self, x: Any) -> Any:
            return x * self.scale

    program = Scaled(torch.ones(2))
    assert_rewritten_alike(program, Scaled(torch.zeros(3)), neg, (X,), matches=1)
    parameter = Scaled(nn.Parameter(torch.zeros(3)))
    assert_rewritten_alike(program, parameter, neg, (X,), matches=0)


def test_the_arguments_must_be_as_many() -> None:
    def program(x: Any) -> Any:
        return torch.sum(x, 1) + torch.sum(x)

    assert_rewritten_alike(
        program, lambda x: torch.sum(x), lambda x: torch.max(x), (X,), matches=1
    )


def test_the_keywords_must_stand_in_the_same_order() -> None:
    def program(x: Any) -> Any:
        return torch.sum(x, dim=1, keepdim=True) + torch.sum(x, keepdim=True, dim=1)

    assert_rewritten_alike(
        program,
        lambda x: torch.sum(x, dim=1, keepdim=True),
        lambda x: torch.amax(x, dim=1, keepdim=True),
        (X,),
        matches=1,
    )


def test_the_pattern_may_be_the_whole_graph() -> None:
    def program(x: Any, y: Any) -> Any:
        return torch.add(torch.neg(x), y)

    assert_rewritten_alike(program, program, sub, (X, Y), matches=1)


def test_nothing_changes_where_nothing_matches() -> None:
    assert_rewritten_alike(relu, sigmoid, tanh, (X,), matches=0)


# -- what a pattern's inputs stand for ----------------------------------------


def test_an_input_stands_for_a_number() -> None:
    def program(x: Any) -> Any:
        return torch.add(x, 3) + torch.add(x, x.neg())

    assert_rewritten_alike(
        program,
        lambda x, y: torch.add(x, y),
        lambda x, y: torch.mul(x, y),
        (X,),
        matches=2,
    )


def test_an_input_stands_for_a_list() -> None:
    def program(x: Any, y: Any) -> Any:
        return torch.cat([x, y]).sum() + torch.cat((y, x, y)).sum()

    assert_rewritten_alike(
        program,
        lambda parts: torch.cat(parts),
        lambda parts: torch.cat(parts, dim=1),
        matches=2,
    )


def test_an_input_stands_for_text_none_and_slices() -> None:
    def program(x: Any) -> Any:
        scaled = functional.interpolate(x, None, 2, "nearest")
        return scaled, x[1:], x[0]

    assert_rewritten_alike(
        program,
        lambda x, size, scale, mode: functional.interpolate(x, size, scale, mode),
        lambda x, size, scale, mode: torch.clamp(x, size, scale),
        matches=1,
    )
    assert_rewritten_alike(
        program, lambda x, at: x[at], lambda x, at: torch.neg(x)[at], matches=2
    )


def test_an_input_stands_for_one_thing_in_all_places() -> None:
    def program(x: Any, y: Any) -> Any:
        same = torch.add(x, x), torch.clamp(x, 2, 2), torch.cat([x, x])
        return same, torch.add(x, y), torch.clamp(x, 2, 3), torch.cat([x, y])

    assert_rewritten_alike(
        program, lambda x: torch.add(x, x), lambda x: torch.mul(x, 2), matches=1
    )
    assert_rewritten_alike(
        program, lambda x, y: torch.clamp(x, y, y), lambda x, y: x - y, matches=1
    )
    assert_rewritten_alike(
        program, lambda x: torch.cat([x, x]), lambda x: x / 2, matches=1
    )


def test_two_inputs_do_not_stand_for_one_node() -> None:
    def program(x: Any, y: Any) -> Any:
        return torch.add(x, x), torch.add(x, y)

    assert_rewritten_alike(
        program, lambda x, y: torch.add(x, y), sub, (X, Y), matches=1
    )


# -- literals and defaults ----------------------------------------------------


def test_a_literal_must_be_equal_and_of_one_type() -> None:
    def program(x: Any) -> Any:
        return torch.add(x, 1), torch.add(x, 1.0), torch.add(x, 2), torch.add(x, True)

    assert_rewritten_alike(program, lambda x: torch.add(x, 1), neg, (X,), matches=1)


def test_lists_match_tuples_of_the_same_length() -> None:
    def program(x: Any) -> Any:
        return x.permute((1, 0)), x.permute([1, 0]), x.permute([0, 1])

    assert_rewritten_alike(
        program, lambda x: x.permute([1, 0]), lambda x: x.t(), (X,), matches=2
    )


def test_literals_are_ignored_on_request() -> None:
    def program(x: Any, y: Any) -> Any:
        return torch.add(x, 1) * torch.add(x, 2.5) - torch.add(x, y)

    assert_rewritten_alike(
        program,
        lambda x: torch.add(x, 7),
        neg,
        (X, Y),
        matches=3,
        ignore_literals=True,
    )


def test_what_the_schema_fills_in_is_filled_in_before_comparing() -> None:
    def program(x: Any, w: Any) -> Any:
        first = aten.conv2d.default(x, w)
        second = aten.conv2d.default(x, w, None, [1, 1], [0, 0])
        third = aten.conv2d.default(x, w, None, [1, 1], [1, 1])
        return first, second, third, aten.conv2d.default(input=x, weight=w)

    assert_rewritten_alike(
        program,
        lambda x, w: aten.conv2d.default(x, w, None, [1, 1], [0, 0]),
        lambda x, w: aten.mul.Tensor(x, w),
        matches=3,
    )


def test_the_names_of_operators_number_on() -> None:
    def program(x: Any, y: Any) -> Any:
        return aten.add.Tensor(aten.relu.default(x), aten.relu.default(y))

    gm = assert_rewritten_alike(
        program,
        lambda x: aten.relu.default(x),
        lambda x: aten.relu.default(aten.neg.default(x)),
        (X, Y),
        matches=2,
    )
    assert "relu_default_3 = torch.ops.aten.relu.default(neg_default_1)" in gm.code


# -- several matches ----------------------------------------------------------


def test_of_overlapping_matches_the_first_counts() -> None:
    def program(x: Any) -> Any:
        for _ in range(5):
            x = torch.neg(x)
        return x

    assert_rewritten_alike(
        program,
        lambda x: torch.neg(torch.neg(x)),
        relu,
        (X,),
        matches=2,
    )


def test_a_match_that_takes_another_ones_result_takes_what_replaced_it() -> None:
    def program(x: Any) -> Any:
        for _ in range(4):
            x = torch.sigmoid(torch.relu(x))
        return x

    assert_rewritten_alike(
        program,
        lambda x: torch.sigmoid(torch.relu(x)),
        lambda x: torch.tanh(x) + 1,
        (X,),
        matches=4,
    )


def test_matches_in_a_row_vanish_when_the_replacement_is_the_input() -> None:
    def program(x: Any) -> Any:
        for _ in range(6):
            x = torch.neg(x)
        return x + 1

    assert_rewritten_alike(
        program, lambda x: torch.neg(torch.neg(x)), lambda x: x, (X,), matches=3
    )


def test_what_is_put_in_is_not_searched_again() -> None:
    assert_rewritten_alike(
        relu, relu, lambda x: torch.relu(torch.relu(x)), (X,), matches=1
    )


# -- what stays outside -------------------------------------------------------


def test_an_inner_node_that_is_used_outside_prevents_the_match() -> None:
    def program(x: Any) -> Any:
        inner = torch.relu(x)
        return torch.neg(inner) + inner, torch.neg(torch.relu(x))

    assert_rewritten_alike(
        program,
        lambda x: torch.neg(torch.relu(x)),
        sigmoid,
        (X,),
        matches=1,
    )


def test_the_result_may_be_used_anywhere() -> None:
    def program(x: Any) -> Any:
        result = torch.neg(torch.relu(x))
        return result + 1, torch.sigmoid(result) * result

    assert_rewritten_alike(
        program, lambda x: torch.neg(torch.relu(x)), tanh, (X,), matches=1
    )


def test_a_match_that_would_have_to_run_before_itself_is_none() -> None:
    def program(x: Any) -> Any:
        first = torch.relu(x)
        return first + torch.neg(torch.sigmoid(first))

    assert_rewritten_alike(
        program,
        lambda x, y: (torch.relu(x), torch.neg(y)),
        lambda x, y: (x + y, x - y),
        (X,),
        matches=0,
    )


def test_a_result_that_nobody_uses_is_replaced_in_its_place() -> None:
    def program(x: Any) -> Any:
        torch.neg(torch.relu(x))
        return torch.sigmoid(x)

    assert_rewritten_alike(
        program, lambda x: torch.neg(torch.relu(x)), tanh, (X,), matches=1
    )


# -- several results ----------------------------------------------------------


def test_a_pattern_with_two_results_matches_pairs() -> None:
    def program(x: Any, y: Any) -> Any:
        first, second = torch.relu(x), torch.neg(x)
        third, fourth = torch.neg(y), torch.relu(y)
        return first * second + third * fourth

    assert_rewritten_alike(
        program,
        lambda x: (torch.relu(x), torch.neg(x)),
        lambda x: (torch.sigmoid(x), torch.tanh(x)),
        (X, Y),
        matches=2,
    )


def test_results_that_share_an_inner_node_are_found_together() -> None:
    def program(x: Any, y: Any) -> Any:
        a = torch.relu(x)
        b = torch.relu(y)
        return (a + 1) * (b + 1) - (b * 2) / (a * 2)

    assert_rewritten_alike(
        program,
        lambda x: (torch.relu(x) + 1, torch.relu(x) * 2),
        lambda x: (x, x),
        (X, Y),
        matches=0,
    )

    def shared(x: Any) -> Any:
        inner = torch.relu(x)
        return inner + 1, inner * 2

    assert_rewritten_alike(
        program, shared, lambda x: (x - 1, torch.neg(x)), (X, Y), matches=2
    )


def test_the_replacement_may_give_one_value_for_several_results() -> None:
    def program(x: Any, y: Any) -> Any:
        return torch.relu(x) + torch.neg(x), torch.relu(y)

    def one_for_two(x: Any) -> Any:
        value = torch.sigmoid(x)
        return value, value

    assert_rewritten_alike(
        program,
        lambda x: (torch.relu(x), torch.neg(x)),
        one_for_two,
        (X, Y),
        matches=1,
    )


def test_a_result_may_be_used_by_another_result() -> None:
    def program(x: Any, y: Any) -> Any:
        a = torch.relu(x)
        b = torch.neg(a)
        return a + b + y

    def pattern(x: Any) -> Any:
        a = torch.relu(x)
        return a, torch.neg(a)

    assert_rewritten_alike(
        program, pattern, lambda x: (x * 2, x * 3), (X, Y), matches=1
    )


def test_results_may_come_as_a_list() -> None:
    def program(x: Any) -> Any:
        return torch.relu(x) + torch.neg(x)

    assert_rewritten_alike(
        program,
        lambda x: [torch.relu(x), torch.neg(x)],
        lambda x: [torch.tanh(x), x],
        (X,),
        matches=1,
    )


# -- replacements -------------------------------------------------------------


def test_the_replacement_may_leave_an_input_out() -> None:
    def program(x: Any, y: Any) -> Any:
        return torch.neg(x) + torch.relu(y)

    assert_rewritten_alike(
        program,
        lambda x, y: torch.neg(x) + torch.relu(y),
        lambda x, y: torch.relu(x),
        (X, Y),
        matches=1,
    )


def test_the_replacement_may_be_a_value_that_is_there() -> None:
    def program(x: Any, y: Any) -> Any:
        return torch.add(x, y) * torch.add(y, x)

    assert_rewritten_alike(
        program, lambda x, y: torch.add(x, y), lambda x, y: y, (X, Y), matches=2
    )


def test_the_replacement_may_hold_constants() -> None:
    assert_rewritten_alike(
        relu,
        relu,
        lambda x: torch.clamp(x, min=0, max=float("inf")) + 1.5,
        (X,),
        matches=1,
    )


def test_patterns_and_replacements_may_be_graph_modules_or_graphs() -> None:
    def program(x: Any) -> Any:
        return torch.relu(x) + 1

    for kind in (Traced, GraphOf):
        assert_rewritten_alike(program, kind(relu), kind(neg), (X,), matches=1)


def test_what_is_put_in_runs_where_the_first_user_ran() -> None:
    def program(x: Any, y: Any) -> Any:
        total = torch.add(x, y)
        y.mul_(2)
        x.add_(1)
        return total + x

    assert_rewritten_alike(
        program,
        lambda x, y: torch.add(x, y),
        lambda x, y: torch.sub(x, y),
        (X, Y),
        matches=1,
    )


def test_operators_and_annotations_come_along() -> None:
    def program(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x.matmul(y) @ y

    def pattern(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x @ y

    def replacement(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return (x * y)[0, 1:]

    assert_rewritten_alike(program, pattern, replacement, (X, Y), matches=1)


# -- modules as replacements --------------------------------------------------


class Linears(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(2, 2)
        self.second = nn.Linear(2, 2)

    def forward(self, x: Any) -> Any:
        return torch.relu(self.second(self.first(x)))


class Fused(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fused = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        self.scale = nn.Parameter(torch.tensor([2.0]))
        self.shift = torch.tensor([3.0])
        self.first = nn.Linear(2, 2)

    def forward(self, x: Any) -> Any:
        return self.fused(x) * self.scale + self.shift + self.first(x)


class Chain(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(2, 2)
        self.second = nn.Linear(2, 2)

    def forward(self, x: Any) -> Any:
        return self.second(self.first(x))


def test_a_module_brings_its_members_and_unused_submodules_go() -> None:
    assert_rewritten_alike(Linears(), Chain(), Fused(), (X,), matches=1)


def test_a_graph_module_brings_its_members_too() -> None:
    assert_rewritten_alike(Linears(), Chain(), Traced(Fused()), (X,), matches=1)


def test_unused_submodules_go_also_when_nothing_matches() -> None:
    class WithUnused(Linears):
        def __init__(self) -> None:
            super().__init__()
            self.first.unused = nn.ReLU()

    assert_rewritten_alike(WithUnused(), sigmoid, Fused(), (X,), matches=0)


# -- choosing -----------------------------------------------------------------


def test_filters_choose_among_the_matches() -> None:
    def program(x: Any) -> Any:
        return torch.add(x, 1) + torch.add(x, 2) + torch.add(x, 3)

    def is_odd(match: Any, graph: Any, pattern: Any) -> bool:
        assert match.anchors[0] in pattern.nodes
        assert match.returning_nodes[0] in graph.nodes
        return match.placeholder_nodes[1] % 2 == 1

    def is_big(match: Any, graph: Any, pattern: Any) -> bool:
        return match.placeholder_nodes[1] > 1

    assert_rewritten_alike(
        program,
        lambda x, y: torch.add(x, y),
        lambda x, y: torch.sub(x, y),
        (X,),
        matches=1,
        match_filters=[is_odd, is_big],
    )


def test_a_callback_makes_a_replacement_for_each_match() -> None:
    def program(x: Any) -> Any:
        return torch.add(torch.add(x, 1), 2)

    def more_often(match: Any, graph: Any, pattern: Any) -> Any:
        made = type(graph)()
        x, y = made.placeholder("x"), made.placeholder("y")
        for _ in range(match.placeholder_nodes[1]):
            x = made.call_function(torch.mul, (x, y))
        made.output(x)
        return made

    assert_rewritten_alike(
        program,
        lambda x, y: torch.add(x, y),
        None,
        (X,),
        matches=2,
        replacement_callback=more_often,
    )


def test_a_name_makes_any_node_match() -> None:
    def program(x: Any) -> Any:
        return torch.sigmoid(torch.neg(x)) + torch.tanh(torch.neg(x))

    assert_rewritten_alike(
        program,
        lambda x: torch.relu(torch.neg(x)),
        sigmoid,
        (X,),
        matches=1,
        node_name_match="sigmoid",
    )
