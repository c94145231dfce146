"""How torch writes the path of a submodule."""

from __future__ import annotations

import re

__all__ = ["module_path"]

_LOCAL = re.compile(r"^L\['\w+'\]\.?|^L__\w+?__\.?")
_ITEM = re.compile(r"\._modules\['([^']*)'\]|\[(\d+)\]|\['([^']*)'\]")


def module_path(path: str) -> str:
    """The path as `get_submodule` takes it, of a path in ``nn_module_stack``.

    torch.compile writes expressions there: ``L['self'].layers[0].conv``.
    """
    plain = _LOCAL.sub("", path)
    return _ITEM.sub(lambda m: f".{m[1] or m[2] or m[3]}", plain).lstrip(".")
