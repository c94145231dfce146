"""Origins from stack traces, which is how torch keeps them: as text.

A trace that Python 3.11 or later wrote underlines the expression, if it is a part of its
line; else the place is the whole line.
"""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Sequence
from functools import lru_cache

from fxls import regular_file
from fxls.engine.origins.from_frames import is_source_file
from fxls.engine.origins.parsing import parse
from fxls.engine.origins.resolve import RawOrigin
from fxls.listing import Place
from fxls.text import Span

__all__ = ["origin_of", "resumed"]

_FRAME = re.compile(
    r'^ *File "(?P<path>.*?)", line (?P<line>\d+), in (?P<function>.*)$'
)
_TRACERS = ("torch/fx/_symbolic_trace.py", "torch/fx/experimental/proxy_tensor.py")
"""Files of torch in which the code that is traced is called."""

_OF_TORCH = ("<eval_with_key>", "torch/")
"""Code that torch keeps in memory, and its own files, as it names some of them."""

_CARETS = re.compile(r"^ *[~^]+ *$")
_RESUMED = re.compile(r"torch_dynamo_resume_in_(\w*?)_at_\d+")
"""What torch.compile calls the rest of a function behind a graph break."""


@lru_cache(maxsize=4096)
def origin_of(trace: str) -> RawOrigin | None:
    """The origin as the engine keeps it, without the frames of torch; None for none.

    `trace` is outermost first, as Python prints it.
    """
    lines = trace.split("\n")
    chain: RawOrigin | None = None
    for at, text in enumerate(lines):
        found = _FRAME.match(text)
        if found is not None and found["path"].replace("\\", "/").endswith(_TRACERS):
            chain = None  # what lies outside called the tracer, and not the model
        if found is None or not is_source_file(found["path"]):
            continue
        if found["path"].startswith(_OF_TORCH):
            continue
        shown = lines[at + 1] if at + 1 < len(lines) else ""
        carets = lines[at + 2] if at + 2 < len(lines) else ""
        function = resumed(found["function"])
        place = _place(found["path"], int(found["line"]), function, shown, carets)
        chain = (place, None, chain)
    return chain


def resumed(function: str) -> str:
    """The name of a function, also where torch.compile goes on behind a graph break."""
    return _RESUMED.sub(r"\1", function)


def _place(path: str, line: int, function: str, shown: str, carets: str) -> Place:
    text = linecache.getline(path, line).rstrip()
    indent = len(text) - len(text.lstrip())
    start, end = indent, len(text)
    if _CARETS.match(carets) and text and text.strip() == shown.strip():
        first = len(shown) - len(shown.lstrip())
        start = indent + len(carets) - len(carets.lstrip()) - first
        end = indent + len(carets.rstrip()) - first
        if end >= len(text):
            # torch often knows where an expression starts, and not where it ends.
            end = _ends(path).get((line, len(text[:start].encode())), end)
    span = Span.of(line - 1, start, line - 1, end)
    return Place(path, _qualified(path, line, function), span)


def _qualified(path: str, line: int, function: str) -> str:
    """The qualified name of the function, for which a trace has the last part alone."""
    if path.startswith("<"):
        return function
    names = [name for first, last, name in _functions(path) if first <= line <= last]
    inner = [name for name in names if name.rpartition(".")[2] == function]
    return inner[-1] if inner else function


@lru_cache(maxsize=16)
def _tree(path: str) -> ast.Module:
    """The syntax of a file; an empty one when it cannot be read."""
    try:
        return parse(regular_file.read(path, regular_file.SOURCE_BYTES))
    except (OSError, SyntaxError, ValueError):
        return ast.Module([], [])


@lru_cache(maxsize=64)
def _ends(path: str) -> dict[tuple[int, int], int]:
    """By line and byte where an expression starts, the column where the longest ends.

    Those that end on another line are left out.
    """
    found: dict[tuple[int, int], int] = {}
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.expr) and node.lineno == node.end_lineno:
            key = (node.lineno, node.col_offset)
            line = linecache.getline(path, node.lineno).encode()
            end = len(line[: node.end_col_offset].decode(errors="ignore"))
            found[key] = max(end, found.get(key, 0))
    return found


@lru_cache(maxsize=64)
def _functions(path: str) -> Sequence[tuple[int, int, str]]:
    """First line, last line and qualified name of each function, the outer ones first."""
    found: list[tuple[int, int, str]] = []

    def walk(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            inner = prefix
            if isinstance(child, ast.ClassDef):
                inner = f"{prefix}{child.name}."
            elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                name = f"{prefix}{child.name}"
                found.append((child.lineno, child.end_lineno or child.lineno, name))
                inner = f"{name}.<locals>."
            walk(child, inner)

    walk(_tree(path), "")
    return found
