"""Graph modules of torch's FX keep the name of their model in a pickle.

torch pickles their code, and not what it was made of. Ours is one entry more in what it
pickles, and is taken out again when that is read.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from fxls.runtime.faults import logging_faults
from fxls.runtime.hooks import Hook, around
from fxls.runtime.listings.module_names import importable_name
from fxls.runtime.producers.capture import is_hushed
from fxls.runtime.producers.torch_tracer import PICKLED_NAME
from fxls.runtime.torch_private import is_compiling

__all__ = ["PickledModules"]


class PickledModules:
    """What lets unpickled graph modules have the name of their model, by its hooks."""

    def __init__(
        self,
        root_of: Callable[[Any], tuple[str, str] | None],
        stage_of: Callable[[Any], str],
    ) -> None:
        """`root_of` says what a graph module was made of, `stage_of` which part it is."""
        self._root_of = root_of
        self._stage_of = stage_of

    def hooks(self) -> tuple[Hook, ...]:
        """What writes graph modules."""
        return (
            Hook(
                "torch.fx.graph_module",
                _NAMELESS,
                {
                    "GraphModule.__reduce__": around(self._reduce, _NAMELESS),
                    "GraphModule.__reduce_package__": around(self._reduce, _NAMELESS),
                },
            ),
        )

    def _reduce(self, module: Any, /, *_: Any, **__: Any) -> Generator[None, Any, Any]:
        reduced = yield
        # torch.compile makes the keys of its caches of this.
        if not is_hushed() and not is_compiling():
            with logging_faults(_NAMELESS):
                root = self._root_of(module)
                if root is not None:
                    # By the program of the process that reads it, `__main__` is another.
                    of = (importable_name(root[0]), root[1], self._stage_of(module))
                    reduced[1][0][PICKLED_NAME] = of
        return reduced


_NAMELESS = "unpickled graph modules of torch.fx do not have the name of their model"
