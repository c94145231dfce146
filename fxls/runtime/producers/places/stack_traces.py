"""Origins from stack traces, which is how torch keeps them: as text.

A trace underlines the expression, if it is a part of its line and whoever wrote it knew
the columns, as torch.export does not. Where nothing is underlined, what is done in a line
that assigns or returns a call is done in that call, which Python 3.13 never underlines;
else the place is the whole line.
"""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from fxls.engine.origins.from_frames import is_source_file
from fxls.engine.origins.resolve import RawOrigin
from fxls.listing import Place
from fxls.runtime.producers.places.started_expressions import (
    called,
    end_of,
    only_call,
    tree,
)
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


def origin_of(meta: Mapping[str, Any]) -> RawOrigin | None:
    """The origin of a node of torch as the engine keeps it, without the frames of torch;
    None where its `meta` has no trace of a source.
    """
    trace = meta.get("stack_trace")
    return _origin(trace, called(meta)) if isinstance(trace, str) else None


@lru_cache(maxsize=4096)
def _origin(trace: str, name: str) -> RawOrigin | None:
    """What a trace says, which is outermost first, as Python prints it.

    `name` was called by its innermost line, and each other line called the function of
    the next one.
    """
    lines = trace.split("\n")
    frames: list[tuple[re.Match[str], int]] = []
    for at, text in enumerate(lines):
        found = _FRAME.match(text)
        if found is None:
            continue
        frames.append((found, at))
        if found["path"].replace("\\", "/").endswith(_TRACERS):
            frames.clear()  # what lies outside called the tracer, and not the model
    chain: RawOrigin | None = None
    names = [*(resumed(found["function"]) for found, _ in frames), name]
    for (found, at), function, inner in zip(frames, names, names[1:], strict=False):
        path, line = found["path"], int(found["line"])
        if not is_source_file(path) or path.startswith(_OF_TORCH):
            continue
        shown, carets, *_ = [*lines[at + 1 : at + 3], "", ""]
        span = _span(path, line, shown, carets, inner)
        chain = (Place(path, _qualified(path, line, function), span), None, chain)
    return chain


def resumed(function: str) -> str:
    """The name of a function, also where torch.compile goes on behind a graph break."""
    return _RESUMED.sub(r"\1", function)


def _span(path: str, line: int, shown: str, carets: str, name: str) -> Span:
    """The expression in a line where something was called; else all of the line."""
    text = linecache.getline(path, line).rstrip()
    indent = len(text) - len(text.lstrip())
    start, end = indent, len(text)
    has_carets = bool(_CARETS.match(carets))
    if has_carets and text and text.strip() == shown.strip():
        first = len(shown) - len(shown.lstrip())
        start = indent + len(carets) - len(carets.lstrip()) - first
        end = indent + len(carets.rstrip()) - first
    if end >= len(text):
        # torch often knows where an expression starts, and not where it ends.
        known = end_of(path, line, start, name)
        # Python underlines no whole line, so an expression of several begins with one.
        if known is not None and (has_carets or known[0] > line):
            return Span.of(line - 1, start, known[0] - 1, known[1])
    if not has_carets and text.strip() == shown.strip():
        return only_call(path, line) or Span.of(line - 1, start, line - 1, end)
    return Span.of(line - 1, start, line - 1, end)


def _qualified(path: str, line: int, function: str) -> str:
    """The qualified name of the function, for which a trace has the last part alone."""
    if path.startswith("<"):
        return function
    names = [name for first, last, name in _functions(path) if first <= line <= last]
    inner = [name for name in names if name.rpartition(".")[2] == function]
    return inner[-1] if inner else function


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

    walk(tree(path), "")
    return found
