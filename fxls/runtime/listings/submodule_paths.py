"""How torch writes the path of a submodule."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

__all__ = ["module_path", "submodule_of"]

_LOCAL = re.compile(r"^L\['\w+'\]\.?|^L__\w+?__\.?")
_ITEM = re.compile(r"\._modules\['([^']*)'\]|\[(\d+)\]|\['([^']*)'\]")


def module_path(path: str) -> str:
    """The path as `get_submodule` takes it, of a path in ``nn_module_stack``.

    torch.compile writes expressions there: ``L['self'].layers[0].conv``.
    """
    plain = _LOCAL.sub("", path)
    return _ITEM.sub(lambda m: f".{m[1] or m[2] or m[3]}", plain).lstrip(".")


def submodule_of(meta: Mapping[str, Any]) -> str:
    """The submodule that was called when a node was made, as ``0.act (ReLU)``, and the
    class alone of the root; empty where nobody noted it.

    A node of a backward has that of the forward.
    """
    stack: Any = meta.get("nn_module_stack") or meta.get("fwd_nn_module_stack")
    if not stack or not isinstance(stack, dict):
        return ""
    *_, last = cast("dict[object, object]", stack).values()
    if not isinstance(last, tuple) or len(cast("tuple[object, ...]", last)) != 2:
        return ""
    path, kind = cast("tuple[object, object]", last)
    name = kind.__name__ if isinstance(kind, type) else str(kind).rpartition(".")[2]
    inside = module_path(str(path)).removeprefix("G.")  # of a module that is a global
    return f"{inside} ({name})" if inside else name
