"""Runs blocks of code under one engine, and tells what each statement did.

    python -m tools.documents.execution torch.fx BLOCKS.json OUTCOMES.json

The documents say torch.fx; for another engine its name takes that place in the imports.
The blocks of a document share their names, and begin with those that the documents take
for granted. A statement that raises does not keep the next one from running. What a block
defines and does not call is called by this tool, so that no engine escapes by it.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import inspect
import io
import itertools
import json
import linecache
import os
import re
import sys
import tempfile
import types
import typing
from collections.abc import Callable, Generator, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import torch
from torch import nn

from fxls.attempt import attempting
from tools import torchvision_operators
from tools.documents.blocks import Block
from tools.documents.sample import Sample

__all__ = ["ErrorText", "Outcome", "outcomes"]


@dataclass(frozen=True, slots=True)
class ErrorText:
    """An exception: the names of its class and the classes above, and what it says."""

    kinds: tuple[str, ...]
    said: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a statement did, or a call that this tool made of what a block defines."""

    block: int
    """The line of the document where the block begins."""
    ran: str
    printed: str
    made: tuple[str, ...]
    """The values that it computed or bound: graphs with their code, tensors, others."""
    raised: ErrorText | None = None


def outcomes(engine: str, blocks: list[Block], folder: Path) -> list[Outcome]:
    """Run the blocks in the folder, which gets what they write."""
    document = _Document(engine, folder)
    with contextlib.chdir(folder), _importing_from(folder):
        return [each for block in blocks for each in document.run(block)]


class _Document:
    """The names that the blocks of one document share, and what happens to them."""

    def __init__(self, engine: str, folder: Path) -> None:
        self.engine = engine
        self.folder = folder
        self.fx: Any = importlib.import_module(engine)
        # Functions that are wrapped are looked for in a module of this name.
        self.module = types.ModuleType("document")
        sys.modules["document"] = self.module
        self.names = self.module.__dict__
        self.names.update(_taken_for_granted(self.fx))

    def run(self, block: Block) -> Iterator[Outcome]:
        path = self.folder / f"block_{block.line}.py"
        source = _with_engine(block.source, self.engine)
        path.write_text(source, "utf-8")
        linecache.checkcache(str(path))
        cast("Any", torch).manual_seed(0)
        before = dict(self.names)
        written = block.source.splitlines()
        for line, several in itertools.groupby(ast.parse(source).body, _first_line):
            code = compile(ast.Interactive([*several]), str(path), "single")
            known = dict(self.names)
            yield self._outcome(
                block,
                written[line - 1],
                lambda code=code: exec(code, self.names),
                lambda known=known: self._changed(known),
            )
        for name, defined in self._changed_names(before):
            for said, call in self._calls(name, defined):
                yield self._outcome(block, said, call, list[Any])

    def _outcome(
        self,
        block: Block,
        ran: str,
        call: Callable[[], Any],
        changed: Callable[[], list[Any]],
    ) -> Outcome:
        values: list[Any] = []
        errors: list[Exception] = []
        printed = io.StringIO()
        shown, sys.displayhook = sys.displayhook, values.append
        with attempting(errors.append), contextlib.redirect_stdout(printed):
            values.append(call())
        sys.displayhook = shown
        made = [self._described(each) for each in [*values, *changed()]]
        return Outcome(
            block.line,
            self._plain(ran),
            self._plain(printed.getvalue()),
            tuple(self._plain(each) for each in made if each),
            *(self._text(error) for error in errors),
        )

    def _text(self, error: Exception) -> ErrorText:
        kinds = tuple(kind.__name__ for kind in type(error).__mro__)
        return ErrorText(kinds, self._plain(str(error)))

    def _changed_names(self, before: dict[str, Any]) -> list[tuple[str, Any]]:
        return [
            (name, value)
            for name, value in self.names.items()
            if name != "__builtins__" and before.get(name, self) is not value
        ]

    def _changed(self, before: dict[str, Any]) -> list[Any]:
        return [value for _, value in self._changed_names(before)]

    def _calls(
        self, name: str, defined: Any
    ) -> Iterator[tuple[str, Callable[[], Any]]]:
        """How something that a block defines can be tried."""
        trace = self.fx.symbolic_trace
        if getattr(defined, "__module__", None) != "document":
            return
        if isinstance(defined, types.FunctionType):
            first = next(iter(inspect.signature(defined).parameters.values()), None)
            if first is not None and "Module" in str(first.annotation):
                yield f"{name}(Sample())", lambda: defined(Sample())
            else:
                yield f"symbolic_trace({name})", lambda: trace(defined)
        elif isinstance(defined, type) and issubclass(defined, nn.Module):
            yield f"symbolic_trace({name}())", lambda: trace(defined())
        elif isinstance(defined, type) and issubclass(defined, self.fx.Tracer):
            tracer: Any = defined
            yield f"{name}().trace(Sample())", lambda: tracer().trace(Sample())

    def _described(self, value: Any) -> str:
        """What two engines have to agree on of a value."""
        match value:
            case None | str() | types.ModuleType():
                return ""
            case self.fx.GraphModule():
                return f"{type(value).__name__}\n{value.graph}{value.code}"
            case self.fx.Graph() | torch.Tensor() | bool() | int() | float():
                return str(value)
            case self.fx.Node():
                return value.format_node() or str(value)
            case self.fx.graph.PythonCode():
                return value.src
            case _:
                return type(value).__name__

    def _plain(self, text: str) -> str:
        """A text without what may differ: the engine's name, folders, addresses."""
        text = text.replace(str(self.folder), "").replace(self.engine, "torch.fx")
        text = text.replace("torch.fx._symbolic_trace.wrap", "torch.fx.wrap")
        return re.sub(r"0x[0-9a-f]+", "0x0", text)


def _first_line(statement: ast.stmt) -> int:
    match statement:
        case ast.FunctionDef(decorator_list=[first, *_]):
            return first.lineno
        case _:
            return statement.lineno


def _taken_for_granted(fx: Any) -> dict[str, Any]:
    """What the documents use without saying where it is from."""
    traced = fx.symbolic_trace(Sample())
    # fxls.engine makes code when it is first looked at: edits before that are in it.
    _ = traced.code
    return {
        **{name: getattr(typing, name) for name in ("Any", "Dict", "List", "Tuple")},
        "typing": typing,
        "torch": torch,
        "nn": nn,
        "F": nn.functional,
        "fx": fx,
        # What `import torch.fx` binds, for the blocks that leave it out.
        fx.__name__.partition(".")[0]: sys.modules[fx.__name__.partition(".")[0]],
        "symbolic_trace": fx.symbolic_trace,
        "CodeGen": fx.graph.CodeGen,
        "Argument": Any,
        "traced": traced,
        "node": next(node for node in traced.graph.nodes if node.op == "call_function"),
    }


def _with_engine(source: str, engine: str) -> str:
    """The source as a program that uses the engine in place of torch.fx."""
    package, _, name = engine.rpartition(".")

    def imported(found: re.Match[str]) -> str:
        names = [each.strip() for each in found[2].split(",")]
        others = [each for each in names if each.split(" ")[0] != "fx"]
        mine = [each for each in names if each.split(" ")[0] == "fx"]
        lines = [f"from torch import {', '.join(others)}"] if others else []
        for each in mine:
            known = each.partition(" as ")[2] or "fx"
            lines.append(f"from {package} import {name} as {known}")
        return found[1] + "; ".join(lines)

    source = re.sub(
        r"^([ \t]*)from torch import (.*\bfx\b.*)$", imported, source, flags=re.M
    )
    return re.sub(r"\btorch\.fx\b", engine, source)


@contextlib.contextmanager
def _importing_from(folder: Path) -> Generator[None]:
    before = set(sys.modules)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name in set(sys.modules) - before:
            file = getattr(sys.modules[name], "__file__", None) or ""
            if file.startswith(str(folder)):
                del sys.modules[name]


def main() -> None:
    """Read the blocks of a document from one file, and write what they did to another."""
    engine, given, made = sys.argv[1:]
    blocks = [Block(**each) for each in json.loads(Path(given).read_text("utf-8"))]
    if any("torchvision" in block.source for block in blocks):
        torchvision_operators.declare()
    with tempfile.TemporaryDirectory() as folder:
        found = outcomes(engine, blocks, Path(os.path.realpath(folder)))
    Path(made).write_text(json.dumps([asdict(each) for each in found]), "utf-8")


if __name__ == "__main__":
    main()
