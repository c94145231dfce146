"""What the types in an operator's schema are in Python."""

from __future__ import annotations

import enum
import numbers
import typing
from typing import Any

import torch

__all__ = ["python_type"]

_torch: Any = torch

_PLAIN: dict[str, Any] = {
    "AnyEnumType": enum.Enum,
    "AnyType": Any,
    "BoolType": bool,
    "CapsuleType": Any,
    "ComplexType": complex,
    "DeviceObjType": torch.device,
    "FloatType": float,
    "GeneratorType": torch.Generator,
    "IntType": int,
    "LayoutType": torch.layout,
    "NoneType": type(None),
    "NumberType": numbers.Number,
    "PyObjectType": Any,
    "QSchemeType": torch.qscheme,
    "ScalarTypeType": int,
    "StorageType": torch.UntypedStorage,
    "StreamObjType": torch.Stream,
    "StringType": str,
    "SymBoolType": bool,
    "SymFloatType": float,
    "SymIntType": int,
    "TensorType": torch.Tensor,
    "VarType": typing.TypeVar("t"),
}
"""By the kind of the schema's type. Enumerations (dtypes) are integers in a schema."""


def python_type(schema_type: Any) -> Any:
    """The Python type of a type in a schema; NameError when there is none.

    Parametrized types come from `typing`, as ``typing.List[torch.Tensor]``: annotations
    of one and the same type then compare equal wherever they come from.
    """
    kind: str = schema_type.kind()
    plain = _PLAIN.get(kind)
    if plain is not None:
        return plain
    if kind == "ClassType":
        return _class(schema_type.annotation_str)
    parts = [python_type(part) for part in schema_type.containedTypes()]
    match kind, parts:
        case "ListType", [element]:
            return typing.List[element]  # noqa: UP006 - compares equal to annotations
        case "OptionalType", [element]:
            return typing.Optional[element]  # noqa: UP045 - a value, not an annotation
        case "FutureType", [element]:
            return torch.jit.Future[element]
        case "DictType", [key, value]:
            return typing.Dict[key, value]  # noqa: UP006 - compares equal to annotations
        case "TupleType", _:
            return typing.Tuple[tuple(parts)]  # noqa: UP006 - compares equal to annotations
        case "UnionType", _:
            return typing.Union[tuple(parts)]  # noqa: UP007 - a value, not an annotation
        case _:
            raise NameError(
                f"the schema type {schema_type.annotation_str} is no type of Python"
            )


def _class(name: str) -> Any:
    """A class that torch registered, as ``__torch__.torch.classes.space.Name``."""
    *path, last = name.removeprefix("__torch__.torch.").split(".")
    owner = _torch
    for atom in path:
        owner = getattr(owner, atom)
    return getattr(owner, last)
