"""What a source does when it is imported, besides defining: it trains, it asks."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeGuard

from fxls.ide.syntax.loops import Loop, counts_epochs, is_endless, last_name
from fxls.ide.syntax.quiet_parser import parsed
from fxls.text import LineTable, Span

__all__ = ["ImportWork", "import_work"]


@dataclass(frozen=True, slots=True)
class ImportWork:
    """A statement at module level that does the work of a program: the weightiest."""

    does: str
    """As the end of a sentence: "trains"."""
    span: Span
    """Its first line."""
    text: str
    """The statement, which is the same when only its layout or comments are others."""


@lru_cache(maxsize=16)
def import_work(text: str) -> ImportWork | None:
    """What an import of the file would do; None where it only defines.

    It judges by what is written in the file alone, so it calls work only what is
    hardly anything else: an import that does more than it seems is run as before.
    """
    # A key that is pressed asks for this; most models have none of these words.
    tree = parsed(text) if _HINT.search(text) else None
    if tree is None:
        return None
    try:
        return _work_of_module(tree, text)
    except RecursionError:  # nested more deeply than anybody writes
        return None


def _work_of_module(tree: ast.Module, text: str) -> ImportWork | None:
    known = _Functions(tree)
    found = [
        (does, statement)
        for statement in _run(tree.body)
        for does in known.work_of(statement, loops=False)
    ]
    if not found:
        return None
    does, statement = min(found, key=lambda one: _WEIGHTIEST_FIRST.index(one[0]))
    return _work(does, statement, text)


def _work(does: str, statement: ast.stmt, text: str) -> ImportWork:
    lines, first = LineTable(text), statement.lineno - 1
    content = lines.line(first)
    start = len(content) - len(content.lstrip())
    span = Span.of(first, start, first, max(start, len(content.rstrip())))
    return ImportWork(does, span, ast.unparse(statement))


_HINT = re.compile(
    r"\.backward\b|\bfit\b|\btrain(er)?\.|epoch|\bparse_(known_)?args\b|\bargv\b"
    r"|\binput\(|\binit_process_group\b|\bdownload\b|\burlretrieve\b"
    r"|\bload_dataset\b|\bspawn\b|\bhydra\b|\.command\b|\bFire\b|\.run\b"
    r"|\bunittest\b|\.launch\b|\.show\b|opt\w*\.step\b|\bwhile +(True|1)\b",
    re.IGNORECASE,
)
"""Without any of these there is nothing that `_said_by` could find."""

_TRAINS = "trains"
_ARGUMENTS = "reads the command line"
_INPUT = "waits for input"
_PROCESSES = "joins or starts other processes"
_DOWNLOADS = "downloads data"
_FOREVER = "runs until it is stopped"
_SERVES = "starts a server"
_SHOWS = "opens a window"
_TESTS = "runs tests"
_WEIGHTIEST_FIRST = (
    *(_TRAINS, _PROCESSES, _FOREVER, _SERVES, _INPUT, _SHOWS, _DOWNLOADS, _TESTS),
    _ARGUMENTS,
)

_BY_NAME = {
    "init_process_group": _PROCESSES,
    "load_dataset": _DOWNLOADS,
    "parse_args": _ARGUMENTS,
    "parse_args_into_dataclasses": _ARGUMENTS,
    "parse_known_args": _ARGUMENTS,
    "urlretrieve": _DOWNLOADS,
}
"""Of functions and methods that are called hardly anything else."""

_BY_OWNER = {
    "app.run": _ARGUMENTS,  # absl
    "demo.launch": _SERVES,  # Gradio
    "fire.Fire": _ARGUMENTS,
    "plt.show": _SHOWS,
    "typer.run": _ARGUMENTS,
    "unittest.main": _TESTS,
    "uvicorn.run": _SERVES,
}
"""Of what is called by a name under which everybody has it."""

_Function = ast.FunctionDef | ast.AsyncFunctionDef


class _Functions:
    """The functions of a file, and what a call of each does."""

    def __init__(self, tree: ast.Module) -> None:
        self._functions: dict[str, list[_Function]] = {}
        self._methods: dict[str, list[_Function]] = {}
        self._classes = {
            node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
        }
        self._known: dict[tuple[int, bool], frozenset[str]] = {}
        methods = {id(one) for node in self._classes.values() for one in node.body}
        for node in ast.walk(tree):
            if _is_function(node):
                into = self._methods if id(node) in methods else self._functions
                into.setdefault(node.name, []).append(node)

    def work_of(self, node: ast.AST, *, loops: bool) -> Iterator[str]:
        """What a statement or an expression does; `loops` says whether in a loop."""
        if _is_function(node) or isinstance(node, ast.Lambda | ast.ClassDef):
            return  # defined, and not called
        if isinstance(node, Loop) and counts_epochs(node):
            yield _TRAINS
        if isinstance(node, ast.While) and is_endless(node):
            yield _FOREVER
        if isinstance(node, ast.Call):
            if not _is_given_arguments(node):
                yield from _said_by(node, loops=loops)
            for function in self._called(node.func):
                yield from self._work_of_call(function, loops=loops)
        elif isinstance(node, ast.Subscript) and _reads_argument(node):
            yield _ARGUMENTS
        inside = loops or isinstance(node, Loop)
        for child in ast.iter_child_nodes(node):
            yield from self.work_of(child, loops=inside)

    def _work_of_call(self, function: _Function, *, loops: bool) -> frozenset[str]:
        key = (id(function), loops)
        found = self._known.get(key)
        if found is None:
            # A function that calls itself adds nothing.
            self._known[key] = frozenset()
            does = [_ARGUMENTS] if _is_command(function) else []
            for statement in function.body:
                does += self.work_of(statement, loops=loops)
            found = self._known[key] = frozenset(does)
        return found

    def _called(self, called: ast.expr) -> Iterator[_Function]:
        match called:
            case ast.Name(id=name) if name in self._classes:
                for one in self._classes[name].body:
                    if _is_function(one) and one.name == "__init__":
                        yield one
            case ast.Name(id=name):
                yield from self._functions.get(name, ())
            case ast.Attribute(attr=name, value=ast.Name()):
                # Nobody knows of what: a method of the file that trains is meant.
                yield from self._methods.get(name, ())
            case ast.Attribute(attr=name, value=ast.Call(func=ast.Name(id=owner))):
                if owner in self._classes:
                    yield from self._methods.get(name, ())
            case _:
                pass


def _run(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that an import runs, out of blocks that are no loops."""
    for statement in body:
        match statement:
            case ast.If(test=test):
                is_main = _asks_for_main(test)
                if is_main is not True:
                    yield from _run(statement.body)
                if is_main is not False:
                    yield from _run(statement.orelse)
            case ast.With() | ast.AsyncWith():
                yield from _run(statement.body)
            case ast.Try() | ast.TryStar():
                yield from _run(statement.body)
                yield from _run(statement.orelse)
                yield from _run(statement.finalbody)
            case ast.ClassDef():
                yield from _run(statement.body)
            case _:
                yield statement


def _asks_for_main(test: ast.expr) -> bool | None:
    """Whether a condition holds in a program alone (True), or in an import alone."""
    for node in ast.walk(test):
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                sides = {ast.unparse(left), ast.unparse(right)}
                if sides == {"__name__", "'__main__'"}:
                    return isinstance(op, ast.Eq)
            case _:
                pass
    return None


def _said_by(call: ast.Call, *, loops: bool) -> Iterator[str]:
    """What a call does by its name."""
    match call.func:
        case ast.Name(id="input"):
            yield _INPUT
        case ast.Name(id=name) if name in _BY_NAME:
            yield _BY_NAME[name]
        case ast.Attribute(attr="backward") if loops:
            yield _TRAINS
        case ast.Attribute(attr="step", value=value) if loops and _is_optimizer(value):
            yield _TRAINS
        case ast.Attribute(attr="fit") if call.args or call.keywords:
            yield _TRAINS
        case ast.Attribute(attr="train", value=value) if _is_trainer(value):
            yield _TRAINS
        case ast.Attribute(attr="spawn", value=value) if last_name(value) in _STARTING:
            yield _PROCESSES
        case ast.Attribute(attr=name, value=ast.Name(id=owner)) if (
            f"{owner}.{name}" in _BY_OWNER
        ):
            yield _BY_OWNER[f"{owner}.{name}"]
        case ast.Attribute(attr=name) if name in _BY_NAME:
            yield _BY_NAME[name]
        case _:
            pass
    for keyword in call.keywords:
        match keyword:
            case ast.keyword(arg="download", value=ast.Constant(value=True)):
                yield _DOWNLOADS
            case _:
                pass


_STARTING = {"mp", "multiprocessing"}


def _is_trainer(value: ast.expr) -> bool:
    """Whether it is a trainer by its name, and no model that is set to training."""
    return last_name(value).lower().endswith("trainer")


def _is_optimizer(value: ast.expr) -> bool:
    return re.search(r"opt(im|imizer)?$", last_name(value).lower()) is not None


def _is_given_arguments(call: ast.Call) -> bool:
    """Whether it parses arguments that are written there: ``parse_args([])``."""
    given = [*call.args, *(one.value for one in call.keywords if one.arg == "args")]
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    return name in ("parse_args", "parse_known_args") and any(
        isinstance(one, ast.List | ast.Tuple) for one in given
    )


def _reads_argument(node: ast.Subscript) -> bool:
    """Whether it is ``sys.argv`` from the first argument on."""
    match node:
        case ast.Subscript(slice=ast.Constant(value=0)):
            return False
        case ast.Subscript(value=ast.Attribute(attr="argv", value=ast.Name(id="sys"))):
            return isinstance(node.ctx, ast.Load)
        case _:
            return False


def _is_command(function: _Function) -> bool:
    """Whether a decorator lets a call read the command line, as click and hydra do."""
    for decorator in function.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if ast.unparse(called) in ("click.command", "hydra.main"):
            return True
    return False


def _is_function(node: ast.AST) -> TypeGuard[_Function]:
    return isinstance(node, _Function)
