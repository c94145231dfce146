"""Which shape the layers of a model take, read from its constructor.

A guess, for a first example input: it follows a parameter of ``forward`` to the first
layer that it is given to, and looks up how that was built.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fxls.ide.syntax.parameter_uses import (
    Function,
    assigned,
    calls,
    last_name,
    rank,
    uses,
)
from fxls.ide.syntax.signatures import ClassSyntax, Parameter, parameters

__all__ = ["Built", "FirstLayer", "Taken", "Value"]

Value = int | ast.Call
"""What is known of an argument: a number, or how a configuration is made."""

_SPATIAL = {f"{name}{n}d": n for name in ("Conv", "ConvTranspose") for n in (1, 2, 3)}
_SEQUENCES = {
    "GRU",
    "LSTM",
    "MultiheadAttention",
    "RNN",
    "TransformerDecoderLayer",
    "TransformerEncoderLayer",
}
_FEATURES = {"GRUCell", "LayerNorm", "Linear", "LSTMCell", "RMSNorm", "RNNCell"}
_INDICES = {"Embedding", "EmbeddingBag"}

_SIDES = {1: 32, 2: 32, 3: 8}
"""How long the sides of an image are, by how many it has."""

_GREY = 28
"""The same of images with one channel: most are of handwritten digits."""

_LENGTH = 8

_DEEPEST = 200
"""So many functions are looked at: a long file is not read whole for a guess."""


@dataclass(frozen=True, slots=True)
class Taken:
    """An input that a layer takes."""

    shape: tuple[int, ...]
    indices: bool = False
    """Whether its elements are the numbers of rows, as of an embedding."""
    loose: bool = False
    """Whether there may be more dimensions between the first and the last."""
    axis: int = -1
    """The dimension that the layer was built for."""
    by_layer: bool = True
    """Whether a layer takes it; else the code alone says how many dimensions it has."""
    behind: bool = False
    """Whether it first goes through a class of which that is not known."""

    def part(self, count: int) -> Taken:
        """One of so many inputs that are put beside each other for this one."""
        sizes = [*self.shape]
        if sizes[self.axis] % count == 0:
            sizes[self.axis] //= count
        return replace(self, shape=tuple(sizes))


@dataclass(frozen=True, slots=True)
class Built:
    """A class of the file, and what is known of its constructor's arguments."""

    syntax: ClassSyntax
    given: Mapping[str, Value]


class FirstLayer:
    """Looks for the first layers of one model."""

    def __init__(
        self,
        classes: Mapping[str, ClassSyntax],
        model: Built,
        functions: Mapping[str, Function] | None = None,
    ) -> None:
        self._classes = classes
        self._functions = functions or {}
        self._model = model
        self._left = _DEEPEST
        self._asked: set[tuple[str, str]] = set()
        """The fields that are being looked up: one may be said in terms of itself."""
        self._side = self._image_size()

    def of(self, parameter: str) -> Taken | None:
        """What the layer takes that a parameter of ``forward`` is given to."""
        forward = self._model.syntax.method("forward")
        return forward and self._taken(self._model, forward, parameter)

    def of_any(self) -> Taken | None:
        """What the layer takes that is built first."""
        init = self._model.syntax.method("__init__")
        found = (self._in(one, self._model, 0) for one in (init.body if init else ()))
        return next(filter(None, found), None)

    def _taken(self, built: Built, function: Function, name: str) -> Taken | None:
        if not self._left:
            return None
        self._left -= 1
        dimensions = rank(function, name)
        lengths = [_LENGTH] * (dimensions - 1) if dimensions else []
        best = Taken((1, *lengths), by_layer=False) if dimensions else None
        for use in uses(function, name):
            if use.parts is None:
                continue
            method = built.syntax.method(use.attribute)
            if method is not None:
                below = _name_of(method, use.at)
                found = self._taken(built, method, below) if below else None
            else:
                made = assigned(built.syntax, use.attribute)
                found = self._in(made, built, use.at) if made else None
            if found is not None:
                found = found.part(use.parts)
            if found is not None and dimensions is not None:
                return _with_rank(found, dimensions)
            if found is not None and not found.loose:
                # What is behind a norm tells what that is given too.
                fits = best is None or best.shape[-1] == found.shape[-1]
                return found if fits else best
            best = best or found
        return best

    def _in(self, made: ast.AST, built: Built, argument: int | str) -> Taken | None:
        """What the first layer takes that an expression or statement builds."""
        behind = False
        for call in calls(made):
            name = last_name(call.func)
            below = self._classes.get(name)
            # A container gives what it is given to its first.
            at = argument if call is made else 0
            if name in self._functions and isinstance(call.func, ast.Name):
                found = self._of_function(self._functions[name], call, built)
            elif below is None:
                found = self._of_torch(name, call, built)
            else:
                found = self._of_class(below, call, built, at)
                behind = behind or found is None
            if found is not None:
                return replace(found, behind=True) if behind else found
        return None

    def _of_function(
        self, function: Function, call: ast.Call, built: Built
    ) -> Taken | None:
        """What a layer takes that a function builds, as ``conv3x3`` does."""
        if not self._left:
            return None
        self._left -= 1
        given = self._bound(call, parameters(function, 0), built)
        inner = Built(built.syntax, given)
        returned = (
            node.value
            for node in ast.walk(function)
            if isinstance(node, ast.Return) and node.value is not None
        )
        return next(filter(None, (self._in(one, inner, 0) for one in returned)), None)

    def _of_class(
        self, syntax: ClassSyntax, call: ast.Call, built: Built, argument: int | str
    ) -> Taken | None:
        forward = syntax.method("forward")
        name = _name_of(forward, argument) if forward else None
        if forward is None or name is None:
            return None
        taken = parameters(syntax.method("__init__"))
        inner = Built(syntax, self._bound(call, taken, built))
        return self._taken(inner, forward, name)

    def _of_torch(self, name: str, call: ast.Call, built: Built) -> Taken | None:
        if name in _INDICES:
            return Taken((1, _LENGTH), indices=True)
        first = [*call.args, *(keyword.value for keyword in call.keywords)][:1]
        size = self.value(first[0], built) if first else None
        width = size if isinstance(size, int) and size > 0 else 8
        if name in _SPATIAL:
            sides = _SPATIAL[name]
            side = _SIDES[sides]
            if sides == 2:
                side = self._side or (_GREY if width == 1 else side)
            return Taken((1, width, *[side] * sides), axis=1)
        if name in _SEQUENCES:
            return Taken((1, _LENGTH, width))
        return Taken((1, width), loose=True) if name in _FEATURES else None

    def _bound(
        self, call: ast.Call, taken: Sequence[Parameter], built: Built
    ) -> dict[str, Value]:
        """What is known of the arguments of a call in a constructor."""
        given = {
            one.name: ast.parse(one.default, mode="eval").body
            for one in taken
            if one.default is not None
        }
        given |= {one.name: value for one, value in zip(taken, call.args, strict=False)}
        given |= {one.arg: one.value for one in call.keywords if one.arg is not None}
        known = {name: self.value(value, built) for name, value in given.items()}
        return {name: value for name, value in known.items() if value is not None}

    def value(self, expression: ast.expr, built: Built | None) -> Value | None:
        """What an expression in the constructor of a class is."""
        match expression:
            case ast.Constant(value=int() as number):
                return number
            case ast.Call(func=ast.Name(id=name)) if name in self._classes:
                return expression
            case ast.Name(id=name):
                return built.given.get(name) if built else None
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                return built.given.get(name) if built else None
            case ast.Attribute(value=of, attr=name):
                made = self.value(of, built)
                return self._field(made, name) if isinstance(made, ast.Call) else None
            case ast.BinOp(left=left, op=op, right=right):
                one, other = self.value(left, built), self.value(right, built)
                if isinstance(one, int) and isinstance(other, int):
                    return _computed(one, op, other)
            case _:
                pass
        return None

    def _field(self, made: ast.Call, name: str) -> Value | None:
        """What a field of a configuration is."""
        for keyword in made.keywords:
            if keyword.arg == name:
                return self.value(keyword.value, None)
        owner = last_name(made.func)
        fields = self._classes[owner].fields()
        default = next((f.default for f in fields if f.name == name), None)
        if default is None or (owner, name) in self._asked:
            return None
        self._asked.add((owner, name))
        found = self.value(ast.parse(default, mode="eval").body, None)
        self._asked.discard((owner, name))
        return found

    def _image_size(self) -> int | None:
        for name, value in self._model.given.items():
            names = [name]
            if isinstance(value, ast.Call):
                syntax = self._classes[last_name(value.func)]
                names = [field.name for field in syntax.fields()]
            for one in names:
                if re.fullmatch(r"(image|img|input)_(size|resolution)", one):
                    found = (
                        self._field(value, one)
                        if isinstance(value, ast.Call)
                        else value
                    )
                    return found if isinstance(found, int) else None
        return None


def _with_rank(taken: Taken, dimensions: int) -> Taken:
    """With so many dimensions, between the first and the last."""
    if dimensions == len(taken.shape) or dimensions < 2:
        return taken
    between = [_LENGTH] * (dimensions - 2)
    return replace(taken, shape=(1, *between, taken.shape[-1]), loose=False)


def _name_of(function: Function, argument: int | str) -> str | None:
    """The parameter that an argument of a call is for."""
    names = [one.name for one in parameters(function)]
    if isinstance(argument, str):
        return argument if argument in names else None
    return names[argument] if argument < len(names) else None


def _computed(one: int, op: ast.operator, other: int) -> int | None:
    match op:
        case ast.Add():
            return one + other
        case ast.Sub():
            return one - other
        case ast.Mult():
            return one * other
        case ast.FloorDiv() if other:
            return one // other
        case _:
            return None
