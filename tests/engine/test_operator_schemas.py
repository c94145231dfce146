"""Signatures of operators, and arguments written as they prescribe."""

from __future__ import annotations

import operator
import typing
from collections.abc import Callable
from inspect import Parameter
from typing import Any

import pytest
import torch
import torch.fx
from torch.fx import operator_schemas as theirs

from fxls import engine as fx
from fxls.engine import operator_schemas as ours

aten: Any = torch.ops.aten
_torch: Any = torch
_F: Any = torch.nn.functional


def packets() -> list[Any]:
    """Every operator of aten."""
    names = {
        schema.name.removeprefix("aten::")
        for schema in _torch._C._jit_get_all_schemas()
        if schema.name.startswith("aten::")
    }
    return [getattr(aten, name) for name in sorted(names) if hasattr(aten, name)]


def signatures(module: Any, packet: Any) -> Any:
    try:
        return list(map(str, module.get_signature_for_torch_op(packet)))
    except (NameError, ValueError) as error:
        return type(error)


def test_signatures_of_aten_are_those_of_torch_fx() -> None:
    differing: dict[str, Any] = {}
    for packet in packets():
        expected = signatures(theirs, packet)
        # A generator of random numbers is one of Python's generators there.
        if "Generator" not in str(expected) and signatures(ours, packet) != expected:
            differing[packet.__name__] = expected

    # Types that torch.fx cannot name.
    assert set(differing) <= {
        *("__is__", "__isnot__", "dict", "record_stream"),
        *("quantized_gru", "quantized_lstm"),
    }


def test_schemas_come_with_the_signatures() -> None:
    found, schemas = ours.get_signature_for_torch_op(torch.relu, return_schemas=True)

    assert found is not None
    assert schemas is not None
    assert str(schemas[0]) == "aten::relu(Tensor self) -> Tensor"
    assert len(schemas) == len(found)
    assert list(found[0].parameters) == ["input"]
    assert ours.get_signature_for_torch_op(operator.add) is None
    assert ours.get_signature_for_torch_op(torch.nonzero) is None


def test_a_parameter_called_from_has_no_keyword() -> None:
    (signature,) = ours.get_signature_for_torch_op(aten.uniform_.default) or []
    kinds = {name: one.kind for name, one in signature.parameters.items()}

    assert kinds["from"] is kinds["input"] is Parameter.POSITIONAL_ONLY
    assert kinds["to"] is Parameter.POSITIONAL_OR_KEYWORD


CALLS: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = [
    (torch.relu, (1,), {}),
    (torch.flatten, (1, 2), {}),
    (_torch.conv2d, (1, 2), {"stride": [1, 1]}),
    (_F.relu, (1,), {}),
    (_F.max_pool2d, (1, 2), {"return_indices": False}),
    (_F.dropout, (), {"input": 1, "p": 0.3}),
    (aten.add.Tensor, (1, 2), {}),
    (aten.uniform_.default, (1,), {}),
    (torch.relu, (), {}),
    (torch.nonzero, (1,), {}),
    (_torch.einsum, ("ij", 1), {}),
]


@pytest.mark.parametrize("only_kwargs", [False, True])
@pytest.mark.parametrize(("target", "args", "kwargs"), CALLS)
def test_arguments_are_normalized_as_by_torch_fx(
    target: Any, args: Any, kwargs: Any, only_kwargs: bool
) -> None:
    def normalized(module: Any) -> Any:
        try:
            return module.normalize_function(
                target, args, kwargs, normalize_to_only_use_kwargs=only_kwargs
            )
        except (RuntimeError, TypeError) as error:
            return type(error)

    assert normalized(ours) == normalized(theirs)


@pytest.mark.filterwarnings("ignore:Does not support nested:UserWarning")  # of torch.fx
def test_types_choose_between_overloads() -> None:
    def chosen(module: Any, *types: Any) -> Any:
        return module.normalize_function(torch.add, (1, 2), {}, types or None)

    with pytest.raises(RuntimeError, match="ambiguous"):
        chosen(ours)
    assert chosen(ours, torch.Tensor, torch.Tensor) == ((1, 2), {"alpha": 1})
    for types in [(torch.Tensor, torch.Tensor), (torch.Tensor, int), (str, str)]:
        assert chosen(ours, *types) == chosen(theirs, *types)


def test_a_module_is_normalized_by_its_forward() -> None:
    root = torch.nn.Sequential(
        torch.nn.Linear(2, 2), fx.symbolic_trace(torch.nn.ReLU())
    )

    def by_name(target: str) -> Any:
        return ours.normalize_module(
            root, target, (1,), normalize_to_only_use_kwargs=True
        )

    assert by_name("0") == ours.ArgsKwargsPair((), {"input": 1})
    assert by_name("1") is None
    with pytest.raises(RuntimeError, match="has no attribute `2`"):
        by_name("2")


@pytest.mark.parametrize(
    ("wanted", "given"),
    [
        (int, int),
        (int, torch.dtype),
        (float, int),
        (typing.Optional[int], type(None)),  # noqa: UP045 - as a schema has it
        (typing.Optional[int], int),  # noqa: UP045 - as a schema has it
        (typing.List[int], int),  # noqa: UP006 - as a schema has it
        (typing.List[int], list[int]),  # noqa: UP006 - as a schema has it
        (typing.List[int], tuple[int, ...]),  # noqa: UP006 - as a schema has it
        (typing.List[int], tuple[int, str]),  # noqa: UP006 - as a schema has it
        (typing.List[torch.Tensor], torch.Tensor),  # noqa: UP006 - as a schema has it
        (torch.Tensor, torch.nn.Parameter),
        (torch.Tensor, int),
        (__import__("numbers").Number, float),
        (typing.Any, int),
    ],
)
def test_types_match_where_they_do_in_torch_fx(wanted: Any, given: Any) -> None:
    assert ours.type_matches(wanted, given) == theirs.type_matches(wanted, given)


@pytest.mark.parametrize(
    "types",
    [[int, int], [int, bool], [bool, int], (int, str), [], (), int, [[int], int]],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_hints_are_those_of_torch_fx(types: Any) -> None:
    assert ours.create_type_hint(types) == theirs.create_type_hint(types)


def test_a_call_that_changes_its_argument_is_refused() -> None:
    with pytest.raises(RuntimeError, match=r"mutable operation aten::relu_\("):
        ours.check_for_mutable_operation(aten.relu_.default, (1,), {})
    ours.check_for_mutable_operation(aten.relu.default, (1,), {})
    ours.check_for_mutable_operation(operator.add, (1, 2), {})


@pytest.mark.parametrize("only_kwargs", [False, True])
def test_a_node_gives_its_arguments_as_in_torch_fx(only_kwargs: bool) -> None:
    class Calls(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(2, 2)

        def forward(self, x: Any) -> Any:
            return _F.softmax(self.linear(x), 1).neg().flatten(1)

    def arguments(system: Any) -> list[str]:
        module = system.symbolic_trace(Calls())
        return [
            str(
                node.normalized_arguments(
                    module, normalize_to_only_use_kwargs=only_kwargs
                )
            )
            for node in module.graph.nodes
        ]

    assert arguments(fx) == arguments(torch.fx)
