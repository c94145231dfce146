"""An entry for a class that is installed, in a file of the user's own."""

from __future__ import annotations

import ast
import builtins
from dataclasses import dataclass

from fxls.ide.entries.entries import place_in
from fxls.ide.entries.write_entry import first_to_look_at
from fxls.ide.samples.samples import Samples, comment_of
from fxls.ide.syntax.module_classes import modules
from fxls.text import Span

__all__ = ["OwnFile", "file_of_entry"]


@dataclass(frozen=True, slots=True)
class OwnFile:
    """A file that imports a class, with an entry for it."""

    name: str
    text: str
    expression: str
    """Its entry's."""
    focus: Span
    """What to look at first."""


def file_of_entry(
    text: str, package_path: str, name: str, expression: str | None = None
) -> OwnFile | None:
    """The file for a class of an installed file; None when that has no such class.

    `package_path` is its path from the folder of packages, with slashes. The expression
    of the entry is a guess, if none is given.
    """
    module = next((one for one in modules(text) if one.name == name), None)
    parts = package_path.removesuffix(".py").removesuffix("/__init__").split("/")
    if module is None or not all(part.isidentifier() for part in parts):
        return None
    expression = Samples(text).entry(module) if expression is None else expression
    comment = comment_of(expression)
    tree = ast.parse(expression, mode="eval").body
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    theirs = sorted(used - {"torch"} - {*dir(builtins)})
    head = ["import torch"] if "torch" in used else []
    head.append(f"from {'.'.join(parts)} import {', '.join(theirs)}")
    lines = [*head, "", comment, ""]
    line, end = len(head) + 1, len(comment)
    whole = Span.of(line, end - len(expression), line, end)
    focus = place_in(whole, expression, first_to_look_at(expression))
    return OwnFile(f"try_{name}.py", "\n".join(lines), expression, focus)
