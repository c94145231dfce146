"""The settings of inductor under which a program compiles, as plain values."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

__all__ = ["settings_of"]


def settings_of(written: str) -> Mapping[str, Any]:
    """The settings in the text that inductor's configuration writes of itself, as far as
    they are literals; a path is none, as it is one of this machine.
    """
    found: dict[str, Any] = {}
    for line in written.splitlines():
        name, equals, text = line.partition(" = ")
        prefix = "torch._inductor.config."
        if not equals or not name.startswith(prefix):
            continue
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            continue
        if "/" not in text and "\\" not in text:
            found[name.removeprefix(prefix)] = value
    return found
