"""Arguments that a person would write first, by the names and annotations."""

from __future__ import annotations

from collections.abc import Sequence

from fxls.ide.modules import ModuleClass
from fxls.ide.signatures import Parameter

__all__ = ["arguments", "comment_for", "entry_for"]

_VALUES = {
    "int": "8",
    "float": "0.5",
    "bool": "True",
    "str": '""',
    "Sequence[int]": "[2, 2]",
    "list[int]": "[2, 2]",
    "tuple[int, ...]": "(2, 2)",
}


def entry_for(module: ModuleClass) -> str:
    """The call of a class with all that it needs, and with an input for its forward."""
    return f"{module.name}({arguments(module.parameters)})({_inputs(module)})"


def comment_for(module: ModuleClass) -> str:
    """The entry as a comment."""
    return f"# fxls: {entry_for(module)}"


def arguments(parameters: Sequence[Parameter]) -> str:
    """The arguments that must be given, by name."""
    return ", ".join(
        f"{parameter.name}={_value(parameter)}"
        for parameter in parameters
        if parameter.default is None
    )


def _value(parameter: Parameter) -> str:
    annotation = parameter.annotation.removeprefix("typing.")
    if annotation in _VALUES:
        return _VALUES[annotation]
    # Without an annotation most arguments of models are sizes.
    return "8" if not annotation else "..."


def _inputs(module: ModuleClass) -> str:
    return ", ".join(
        _input(parameter) for parameter in module.inputs if parameter.default is None
    )


def _input(parameter: Parameter) -> str:
    annotation = parameter.annotation.rpartition(".")[2]
    if annotation in _VALUES:
        return _VALUES[annotation]
    if parameter.name in ("ids", "tokens", "indices", "input_ids", "token_ids"):
        return "torch.zeros(1, 8, dtype=torch.long)"
    return "torch.randn(1, 8)"
