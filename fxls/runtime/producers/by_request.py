"""Listings of a model by torch.export and torch.compile, for who asks for one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import torch

from fxls.listing import Listing
from fxls.runtime.hooks import Hooks
from fxls.runtime.producers.dynamo import Dynamo
from fxls.runtime.producers.places import frame_columns
from fxls.runtime.producers.torch_export import note_program
from fxls.runtime.producers.torch_fx import lister

__all__ = [
    "compiled",
    "compiled_to_run",
    "exported",
    "exported_call",
    "exported_to_run",
]


def exported(
    root: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Listing:
    """The program that torch.export makes of a model; raises as torch does."""
    return exported_to_run(root, args, kwargs)[0]


def exported_to_run(
    root: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[Listing, Callable[..., Any]]:
    """The same, and what calls the code of that listing as the model is called."""
    from torch.export import export  # noqa: PLC0415 - it takes long to import

    program: Any = cast("Any", export)(_module(root), tuple(args), dict(kwargs))
    listing = lister().listing(note_program(program, root))

    def run(*args: Any, **kwargs: Any) -> Any:
        # Parameters and buffers are inputs of the code, in front of the model's own.
        return program.graph_module(*program._graph_module_flat_inputs(args, kwargs))

    return listing, run


def compiled(
    root: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[Listing, ...]:
    """The graphs that torch.compile captures of one call; raises as torch does."""
    torch_fx = lister()
    found: list[Listing] = []

    def publish(gm: Any) -> Path | None:
        found.append(torch_fx.listing(gm))
        return None

    captures = Dynamo(publish)

    def backend(gm: Any, _inputs: Sequence[Any]) -> Callable[..., Any]:
        captures.captured_before(gm)
        return gm.forward

    # An installation has them too, and a worker has none.
    hooks = Hooks(frame_columns.hooks())
    hooks.put_in()
    try:
        cast("Any", torch).compile(root, backend=backend)(*args, **kwargs)
    finally:
        hooks.take_out()
    return tuple(found)


def compiled_to_run(root: Callable[..., Any]) -> Callable[..., Any]:
    """What runs a model by torch.compile, with no compiler behind Dynamo.

    What the program compiles by itself would bring its own.
    """
    plain: Any = getattr(root, "_orig_mod", root)
    plain = getattr(plain, "_torchdynamo_orig_callable", plain)
    return cast("Any", torch).compile(plain, backend="eager")


def exported_call(
    root: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Callable[..., Any]:
    """What calls the program that torch.export makes of a model; raises as torch does."""
    from torch.export import export  # noqa: PLC0415 - as above

    return cast("Any", export)(_module(root), tuple(args), dict(kwargs)).module()


def _module(root: Callable[..., Any]) -> torch.nn.Module:
    if isinstance(root, torch.nn.Module):
        return root

    class Function(torch.nn.Module):
        def forward(self, *args: Any, **kwargs: Any) -> Any:
            return root(*args, **kwargs)

    # torch.export says of each node which class it came from.
    Function.__qualname__ = Function.__name__ = getattr(
        root, "__qualname__", "function"
    )
    Function.__module__ = root.__module__
    return Function()
