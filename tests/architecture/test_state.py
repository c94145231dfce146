"""What may be held between two calls, and where."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.sources import MODULES, dotted, imported, name, parsed

IDE_MAY_IMPORT = {
    *("__future__", "ast", "bisect", "builtins", "collections", "copy", "dataclasses"),
    *("contextlib", "datetime", "difflib", "enum", "functools", "fxls", "itertools"),
    *("keyword", "math", "msgspec", "re", "tokenize", "tomllib", "typing", "warnings"),
    # A long source is read in a thread, and Python's warnings are those of the process.
    *("threading.Lock",),
    # Of what reads files the parts that read none.
    *("hashlib.blake2b", "io.StringIO", "os.path.normpath", "pathlib.PurePath"),
}
"""What a package needs that is given values and answers with values."""


REMEMBERED = {
    "fxls/ide/document_symbols.py: _Outline._details": "for one outline",
    "fxls/ide/entries/entries.py: _comment_tokens": "of the latest eight texts",
    "fxls/ide/edits/python_source.py: source_of": "of the latest four texts",
    "fxls/ide/syntax/module_classes.py: modules": "of the latest eight texts",
    "fxls/ide/entries/entries.py: names_of": "of the latest 4,096 entries",
    "fxls/ide/syntax/module_classes.py: _module": "of the latest 4,096 classes",
    "fxls/ide/syntax/pieces.py: _pieces": "of the latest four texts",
    "fxls/ide/syntax/pieces.py: _kept_tree": "of the latest four pieces",
    "fxls/ide/syntax/pieces.py: _known": "of the latest 16,384 pieces, by their hashes",
    "fxls/ide/syntax/pieces.py: _Piece.known.said": "with that",
    "fxls/ide/syntax/pieces.py: _Piece.known.comments": "with that",
    "fxls/ide/source/runs.py: definitions_of": "of the latest 16 texts",
    "fxls/ide/source/gone.py: _bound": "of the latest 16 texts",
    "fxls/ide/source/gone.py: _used": "of the latest 64 entries",
    **dict.fromkeys(
        (
            f"fxls/ide/listing/document.py: Document.{table}"
            for table in (
                *("lines", "groups", "names", "calls"),
                *("_marks", "_statements", "_frames", "_callees", "_made_in"),
                "_kernels",
            )
        ),
        "a table of the listing, which never changes; serving says which documents stay",
    ),
    "fxls/ide/samples/first_layer.py: FirstLayer._asked": "for one question",
    "fxls/ide/samples/first_layer.py: FirstLayer._left": "for one question",
    "fxls/ide/syntax/import_work.py: import_work": "of the latest 16 texts",
    "fxls/ide/syntax/import_work.py: _Functions._known": "for one text",
    "fxls/ide/syntax/quoted_places.py: PlacesNow._found": "for one text",
    "fxls/ide/syntax/quoted_places.py: PlacesNow._moves": "for one text",
    "fxls/ide/text_document_content.py: _Writer._lines": "for one text",
    "fxls/ide/text_document_content.py: _Writer._links": "for one text",
}
"""What is remembered outside of `serving`, and how long. Nothing of it can be out of date:
a function remembers what follows from its arguments, an object what follows from the
values that it was made of."""


CHANGING = {
    *("add", "append", "clear", "discard", "extend", "insert", "pop", "popitem"),
    *("remove", "setdefault", "sort", "update"),
}


def whole_of(target: ast.expr) -> ast.expr:
    """``table`` of ``table[1][2]``."""
    return whole_of(target.value) if isinstance(target, ast.Subscript) else target


def changed(node: ast.AST) -> Iterator[str]:
    """The names and attributes that a statement binds anew, or changes in place."""
    targets: list[ast.expr] = []
    match node:
        case ast.Assign():
            targets = node.targets
        case ast.AugAssign() | ast.AnnAssign(value=ast.expr()):
            targets = [node.target]
        case ast.Delete():
            targets = node.targets
        case ast.Call(func=ast.Attribute(owner, method)) if method in CHANGING:
            targets = [owner]
        case _:
            return
    for target in targets:
        yield dotted(whole_of(target))


def remembered(path: Path) -> Iterator[str]:
    """What a module or its objects may hold from one call to the next."""
    tree = parsed(path)
    functions = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    owners = {
        id(function): f"{node.name}."
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for function in node.body
    }
    bound = {one for node in tree.body for one in changed(node)}
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            called = {dotted(n.func) for n in ast.walk(node) if isinstance(n, ast.Call)}
            if any(one.rpartition(".")[2] in ("cache", "lru_cache") for one in called):
                yield from changed(node)
    for function in functions:
        owner = owners.get(id(function), "")
        local = {
            node.id
            for node in ast.walk(function)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        for decorator in function.decorator_list:
            made = decorator.func if isinstance(decorator, ast.Call) else decorator
            if "cache" in dotted(made):
                yield f"{owner}{function.name}"
        for node in ast.walk(function):
            if isinstance(node, ast.Global):
                yield from node.names
            for one in changed(node):
                head, _, attribute = one.partition(".")
                if head == "self" and function.name != "__init__":
                    yield f"{owner}{attribute}"
                elif head in bound - local:
                    yield one


def test_ide_is_given_values_and_reads_nothing() -> None:
    modules = [path for path in MODULES if name(path).startswith("fxls/ide/")]
    needed = {one for path in modules for one in imported(parsed(path))}
    called = {
        dotted(node.func)
        for path in modules
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call)
    }

    assert {
        one
        for one in needed
        if one.partition(".")[0] not in IDE_MAY_IMPORT and one not in IDE_MAY_IMPORT
    } == set()
    assert called & {"open", "tokenize.open", "exec", "eval", "__import__"} == set()


def test_the_server_keeps_state_in_serving_alone() -> None:
    outside = [
        path
        for path in MODULES
        if name(path).startswith(("fxls/ide/", "fxls/lsp/", "fxls/server.py"))
    ]
    found = {f"{name(path)}: {one}" for path in outside for one in remembered(path)}

    assert found == {*REMEMBERED}


@pytest.mark.parametrize(
    ("code", "held"),
    [
        ("_seen = set()\ndef ask(x): _seen.add(x)", ["_seen"]),
        ("_last = {}\ndef ask(x): _last[0][x] = 1", ["_last"]),
        ("_count = 0\ndef ask():\n global _count\n _count += 1", ["_count"]),
        ("from functools import cache\n@cache\ndef ask(): ...", ["ask"]),
        ("import functools\nask = functools.lru_cache(4)(len)", ["ask"]),
        ("class A:\n def ask(self): self.last = 1", ["A.last"]),
        ("class A:\n def __init__(self): self.last = 1", []),
        ("_TABLE = {1: 2}\ndef ask(x):\n y = {}\n y[x] = _TABLE[x]\n return y", []),
    ],
)
def test_what_a_module_holds_between_calls_is_found(
    code: str, held: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.architecture.sources.ROOT", tmp_path)
    module = tmp_path / "module.py"
    module.write_text(code)

    assert [*remembered(module)] == held
