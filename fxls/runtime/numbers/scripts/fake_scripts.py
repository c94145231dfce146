"""Writes an operator whose fake kernel is wrong as a script that needs torch alone.

Torch alone has no such operator, so the script defines it: by the source of its kernels
where that needs torch alone, and otherwise by the forms that they gave in the program.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from fxls.attempt import Raised, attempt
from fxls.runtime.numbers.graphs import ReplayedGraph, leaves
from fxls.runtime.numbers.scripts.program_source import Written, of_function
from fxls.runtime.numbers.scripts.reproducing import TORCH, Cut
from fxls.runtime.numbers.scripts.script import Function, assembled, function_of
from fxls.runtime.numbers.scripts.script_inputs import imagined, variants
from fxls.runtime.producers.compiled_calls import kernels_of
from fxls.runtime.torch_private import fx, schema_of
from fxls.verdicts.comparison import Reproducer

__all__ = ["of_fake"]

_HAD = "gives the form that it gave in the program"
_SAID = "says the form that it said there"


def of_fake(
    graph: ReplayedGraph, values: Mapping[str, Any], node: str
) -> Sequence[Reproducer]:
    """The script for an operator whose values have another form than its fake kernel says;
    raises `NotRun`.
    """
    row = graph.by_name[node]
    schema = str(schema_of(row.target))
    space, _, signature = schema.partition("::")
    name = signature.partition("(")[0]
    made: Any = fx.Graph()
    placed = {one: made.placeholder(one) for one in graph.uses(row)}

    def moved(argument: Any) -> Any:
        return placed[graph.name_of(argument)]

    args, kwargs = fx.node.map_arg((row.args, row.kwargs), moved)
    made.output(made.create_node("call_function", row.target, args, kwargs, node))
    function = function_of(made, "function", own=space)
    real, fake = kernels_of(row.target)
    said = graph.said_of(row).get("val")
    kernel = _source(real, "kernel")
    told = _source(fake, "fake")
    stands_in = [
        *([f"its kernel {_HAD}"] if kernel is None else []),
        *([f"its fake kernel {_SAID}"] if told is None else []),
    ]
    kernel = kernel or _giving("kernel", values[node])
    told = told or _giving("fake", said)
    texts, where, _ = next(variants([*placed], values))
    text = assembled(
        [kernel, told, function],
        texts,
        [_end(space, signature, name)],
        imports=["from torch._subclasses.fake_tensor import FakeTensorMode"],
    )
    shows = "The script defines the operator" + (
        f": {' and '.join(stands_in)}."
        if stands_in
        else ", by the program's own source."
    )
    claim = (
        f"The fake kernel of {space}.{name} says another form than its kernel gives."
    )
    count = Cut(made).nodes
    return [Reproducer(claim, text, count, False, where, TORCH, shows)]  # noqa: FBT003  # it is a field


def _giving(name: str, value: Any) -> Function:
    """A function that gives values of the form of these."""
    given = [imagined(one) for one in leaves(value)]
    returned = f"[{', '.join(given)}]" if isinstance(value, tuple | list) else given[0]
    return Function(name, f"def {name}(*_, **__):\n    return {returned}", ())


def _source(function: Any, name: str) -> Function | None:
    """The source of a function under another name; None where it needs more than torch."""
    if not inspect.isfunction(function):
        return None
    written = attempt(lambda: of_function(Written.of(function), name))
    return None if isinstance(written, Raised) else written


def _end(space: str, signature: str, name: str) -> str:
    return f'''\
library = torch.library.Library("{space}", "FRAGMENT")
library.define("{signature}")
library.impl("{name}", kernel, "CompositeExplicitAutograd")
torch.library.register_fake("{space}::{name}", fake, lib=library)


def form(value):
    """What compiled code counts on; a dimension of one element has any stride."""
    if isinstance(value, (tuple, list)):
        return [form(one) for one in value]
    if not isinstance(value, torch.Tensor):
        return None
    sizes = [] if not value.numel() else zip(value.shape, value.stride())
    strides = tuple(stride if size != 1 else None for size, stride in sizes)
    return str(value.dtype), tuple(value.shape), strides


with torch.no_grad():
    real = form(function(*inputs()))
    mode = FakeTensorMode()
    given = [
        mode.from_tensor(one) if isinstance(one, torch.Tensor) else one
        for one in inputs()
    ]
    with mode:
        said = form(function(*given))
if real != said:
    print("wrong: it is", real, "and its fake kernel says", said)
    sys.exit(1)
print("right: it is", real, "and its fake kernel says so")
'''
