"""Runs the models of a file, and says which hints its source gets and what was true.

``python -m tests.support.seen_shapes BACKEND FOLDER MODULE EACH`` prints one JSON object;
with EACH 2 every second model runs.
"""

from __future__ import annotations

import ast
import importlib
import json
import re
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, cast

import torch

import fxls
from fxls.entry import Entry, Kind, Producer
from fxls.ide.inlay_hints import source_hints
from fxls.ide.source.source_file import SourceFile
from fxls.serving.library import Library
from fxls.serving.settings import Settings
from fxls.text import LineTable
from fxls.wire import Failed, Trace
from fxls.worker.limits import MemoryLimit
from fxls.worker.trace import Attempt

field: Any = importlib.import_module(f"tests.support.{sys.argv[3]}")
PATH = str(Path(field.__file__))
TEXT = Path(PATH).read_text("utf-8")

_Shapes = dict[tuple[int, str], set[str]]


def called(name: str) -> tuple[torch.nn.Module, tuple[Any, ...], dict[str, Any]]:
    """A model, and the arguments of its entry."""
    torch.manual_seed(0)  # pyright: ignore[reportUnknownMemberType]  # torch's gap
    call = ast.parse(field.ENTRIES[name], mode="eval").body
    assert isinstance(call, ast.Call)
    names = cast("dict[str, Any]", vars(field)).copy()
    model = eval(ast.unparse(call.func), names)
    given = {
        one.arg or "": eval(ast.unparse(one.value), names) for one in call.keywords
    }
    return model, tuple(eval(ast.unparse(one), names) for one in call.args), given


def seen(run: Callable[[], object]) -> _Shapes:
    """The shapes that each statement of the file gave to a name, or returned."""
    found: _Shapes = defaultdict(set)
    bound = {
        node.lineno: [
            name.id
            for target in (
                node.targets if isinstance(node, ast.Assign) else [node.target]
            )
            for name in ast.walk(target)
            if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
        ]
        for node in ast.walk(ast.parse(TEXT))
        if isinstance(node, ast.Assign | ast.AugAssign)
    }
    last: dict[FrameType, int] = {}

    def note(frame: FrameType) -> None:
        line = last.get(frame, 0)
        for name in bound.get(line, ()):
            if name in frame.f_locals:
                found[line, name].add(_shape(frame.f_locals[name]))

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename != PATH:
            return None
        note(frame)
        last[frame] = frame.f_lineno
        if event == "return":
            found[frame.f_lineno, "return"].add(_shape(argument))
        return trace

    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(None)
    return found


def _shape(value: object) -> str:
    return str(list(value.shape)) if isinstance(value, torch.Tensor) else "no tensor"


def hinted(store: Path, entry: str) -> list[tuple[int, str, list[str]]]:
    """Line, name and shapes of each hint in the file."""
    documents = Library(lambda: Settings(store=str(store))).about(PATH, {entry})
    lines = LineTable(TEXT)
    found: list[tuple[int, str, list[str]]] = []
    for hint in source_hints(SourceFile(PATH, lines, documents), 0, 10_000):
        before = lines.line(hint.point.line)[: hint.point.column].strip()
        name = "return" if before.startswith("return") else _last_name(before)
        shapes = [one[one.find("[") :] for one in hint.text[2:].split(" | ")]
        found.append((hint.point.line + 1, name, shapes))
    return found


def _last_name(before: str) -> str:
    """``k`` of ``q, k``."""
    return re.split(r"[\s,(\[]+", before)[-1]


_ENTRIES = {
    "engine": Producer.ENGINE,
    "exported entry": Producer.EXPORT,
    "entry": None,
}
"""Backends that are a worker's: on whom the entry insists."""


def _make_listings(backend: str, name: str, store: Path) -> str:
    """Who made them."""
    model, inputs, given = called(name)
    if backend in _ENTRIES:
        producer = _ENTRIES[backend]
        entry = Entry(PATH, field.ENTRIES[name], Kind.COMMAND, None, producer)
        request = Trace(1, entry, str(store), 60.0, None)
        # Some compute with shapes in Python, which a symbolic trace cannot follow.
        limit = MemoryLimit(None)
        outcome = Attempt(request, limit, lambda _: None, lambda _: None).outcome()
        return "nobody" if isinstance(outcome, Failed) else outcome.identity.producer
    fxls.install(store)
    if backend == "export":
        exported: Any = cast("Any", torch).export.export(model, inputs, given)
        exported.run_decompositions().module()(*inputs, **given)
    else:
        compiled: Any = cast("Any", torch).compile(model, backend=backend)
        compiled(*inputs, **given).sum().backward()
    fxls.uninstall()
    return backend


def main(backend: str, folder: Path, each: int) -> None:
    said: dict[str, Any] = {}
    for name in [*field.ENTRIES][::each]:
        model, inputs, given = called(name)
        true = seen(lambda m=model, i=inputs, g=given: m(*i, **g))
        cast("Any", torch).compiler.reset()
        by = _make_listings(backend, name, folder / name)
        hints = hinted(folder / name, field.ENTRIES[name])
        wrong = [
            f"{line}: {what} is {', '.join(shapes)}, and was {sorted(true[line, what])}"
            for line, what, shapes in hints
            if not set(shapes) <= true[line, what]
        ]
        said[name] = {"hints": len(hints), "wrong": wrong, "by": by}
    sys.stdout.write(json.dumps(said))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[4]))
