"""The rules of docs/ARCHITECTURE.md that a program can check."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
MODULES = sorted((ROOT / "fxls").rglob("*.py"))
PROGRAMS = [*MODULES, *sorted((ROOT / "tools").rglob("*.py"))]

MAY_CATCH_EVERYTHING = {
    "fxls/serving/faults.py",
    "fxls/worker/catching.py",
    "fxls/attempt.py",
}
"""The server's handler wrapper, the worker's request loop, what runs of the user's inside
the debugger, and what the runtime does while a program runs."""

MAY_READ_THE_ENVIRONMENT = {
    "fxls/adapter/__main__.py",
    "fxls/cli/command.py",
    "fxls/cli/debug_command.py",
    "fxls/cli/run_command.py",
    "fxls/cli/serve_command.py",
    "fxls/worker/__main__.py",
    # `install()` takes its default store from FXLS_STORE, which editors pass.
    "fxls/runtime/installing.py",
}

MAY_NAME_THE_DEBUGGER = {
    # They start debugpy as a program, or are what one starts in its place.
    "fxls/adapter/configuration.py",
    "fxls/adapter/debugpy_adapter.py",
    "fxls/launching/attach.py",
    "fxls/launching/listening.py",
    # It waits until somebody imports pydevd.
    "fxls/first_graph.py",
}
"""Outside of `runtime/debugging`, which knows pydevd's insides."""

PRIVATE_OF_OTHERS = {
    "_frames": "fxls.engine.node.Node",
    "_scope": "fxls.engine.node.Node",
    "_name": "typing",
    "_fields": "a named tuple",
}
"""Private names in the runtime that are not torch's, and whose they are."""

MOST_TYPE_IGNORES = 60
"""A ceiling that only goes down: torch's untyped API forces each of them."""

MOST_LINES = 500
LONGER = {
    "fxls/engine/graph.py": 600,
    "fxls/engine/ir/node.py": 570,
    "fxls/engine/tracing/proxy.py": 550,
}
"""Files that may be longer: FX's API puts all of a graph, or a node, into one class, and
a proxy and the tracer that it reports to into one module."""

PAGES_OF_PLACES = [ROOT / "docs" / "ARCHITECTURE.md", ROOT / "docs" / "developing.md"]
"""The pages that say where things are."""

ROOMS_IN = ("engine", "runtime", "ide", "serving")
"""The packages whose own packages and modules are rooms; others are one room each."""

TIED_BY_TYPES = {
    ("engine.ir", "engine.graph"): "`Node.graph` is the graph, which has the nodes",
    (
        "engine.code",
        "engine.graph",
    ): "`Graph.python_code` asks a CodeGen, given a graph",
    ("engine.graph", "engine.graph_module"): "`Graph.owning_module` is the module",
    ("engine.graph", "engine.tracing"): "`Graph(tracer_cls=...)` keeps what traced it",
    ("engine.module", "engine.graph_module"): "what makes a module run is given one",
}
"""The rooms that name, for their types alone, a room that imports them: FX's API has
values that know each other. The list only becomes shorter."""

NAMES_PRIVATE_PARTS_OF_TORCH = {
    "engine": (
        "fxls/engine/torch_private.py",
        "fxls/engine/torch_fx/",
        "fxls/engine/tracing/torch_wraps.py",
    ),
}
"""Per package, the files and folders that name what torch may change at any time."""
PRIVATE_TO_TORCH = re.compile(r"\btorch\.(?!ops\.)(\w+\.)*_(?!_)\w+")
"""A path with an underscore in front of a part; in ``torch.ops`` are operators' names."""

BANNED = re.compile(
    r"(?<![a-z])(Manager|Helper|Util|Utils|Base|Data|Info|Handler|Common)$"
)
NAMED_BY_FX = {"PHBase"}
"""Public names of torch.fx, which the engine has to keep."""
BANNED_FILES = {"utils", "util", "common", "helpers", "helper", "base", "misc"}
FILES_NAMED_BY_FX = {"fxls/engine/passes/utils/common.py"}


IDE_MAY_IMPORT = {
    *("__future__", "ast", "bisect", "builtins", "collections", "dataclasses"),
    *("datetime", "difflib", "enum", "functools", "fxls", "itertools", "math"),
    *("msgspec", "re", "tokenize", "tomllib", "typing", "warnings"),
    # Of what reads files the parts that read none.
    *("io.StringIO", "os.path.normpath", "pathlib.PurePath"),
}
"""What a package needs that is given values and answers with values."""

REMEMBERED = {
    "fxls/ide/entries/entries.py: _comment_tokens": "of the latest eight texts",
    "fxls/ide/syntax/module_classes.py: modules": "of the latest eight texts",
    "fxls/ide/listing/value_text.py: _short_dtype": "of the latest 64 dtypes",
    **dict.fromkeys(
        (
            f"fxls/ide/listing/document.py: Document.{table}"
            for table in (
                *("lines", "groups", "names", "calls"),
                *("_marks", "_statements", "_frames", "_callees", "_made_in"),
            )
        ),
        "a table of the listing, which never changes; serving says which documents stay",
    ),
    "fxls/ide/samples/first_layer.py: FirstLayer._asked": "for one question",
    "fxls/ide/samples/first_layer.py: FirstLayer._left": "for one question",
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


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=name(path))


def imported(tree: ast.AST) -> Iterator[str]:
    """The dotted names that a file imports, wherever the import stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from imported_by(node)


def imported_by(statement: ast.Import | ast.ImportFrom) -> Iterator[str]:
    if isinstance(statement, ast.Import):
        yield from (alias.name for alias in statement.names)
    else:
        assert statement.module is not None
        yield from (f"{statement.module}.{alias.name}" for alias in statement.names)


class Import(NamedTuple):
    """That one module of fxls imports another, wherever the import stands."""

    of: str
    what: str
    is_for_types: bool


def names_of_modules() -> dict[str, Path]:
    found: dict[str, Path] = {}
    for path in MODULES:
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_for_types(tree: ast.Module) -> set[ast.AST]:
    """What stands under ``if TYPE_CHECKING:``."""
    return {
        inside
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and dotted(node.test) == "TYPE_CHECKING"
        for statement in node.body
        for inside in ast.walk(statement)
    }


@cache
def imports_inside() -> frozenset[Import]:
    """All imports between the modules of fxls.

    The package `fxls` itself is left out: it holds the version, and functions that import
    what they start, and everybody may import it.
    """
    modules = names_of_modules()
    found: set[Import] = set()
    for of, path in modules.items():
        tree = parsed(path)
        for_types = imports_for_types(tree)
        for node in ast.walk(tree):
            if not isinstance(node, ast.Import | ast.ImportFrom):
                continue
            for what in imported_by(node):
                while what and what not in modules:
                    what = what.rpartition(".")[0]
                if what not in ("", "fxls", of) and of != "fxls":
                    found.add(Import(of, what, node in for_types))
    return frozenset(found)


def room(module: str) -> str:
    """The room of a module: ``engine.ir``, ``runtime.install``, ``store``."""
    _, top, *inside = module.split(".")
    return f"{top}.{inside[0]}" if top in ROOMS_IN and inside else top


def between_rooms(imports: Iterable[Import]) -> set[tuple[str, str]]:
    pairs = {(room(one.of), room(one.what)) for one in imports}
    return {(one, other) for one, other in pairs if one != other}


def circles(pairs: Iterable[tuple[str, str]]) -> list[list[str]]:
    """The groups of names that lead to each other, each as a sorted list."""
    leads = reached(pairs)
    groups = {
        tuple(sorted(other for other in leads[one] if one in leads.get(other, ())))
        for one in leads
        if one in leads[one]
    }
    return sorted(map(list, groups))


def reached(pairs: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    """For each name all that it leads to, at once or by way of others."""
    direct: dict[str, set[str]] = {}
    for one, other in pairs:
        direct.setdefault(one, set()).add(other)
    leads: dict[str, set[str]] = {}
    for one in direct:
        seen: set[str] = set()
        left = [one]
        while left:
            further = direct.get(left.pop(), set()) - seen
            seen |= further
            left += further
        leads[one] = seen
    return leads


def dotted(node: ast.AST) -> str:
    """``torch.fx`` of the expression ``torch.fx``; empty for any other expression."""
    match node:
        case ast.Name():
            return node.id
        case ast.Attribute():
            return f"{dotted(node.value)}.{node.attr}"
        case _:
            return ""


def spoken(tree: ast.AST) -> Iterator[str]:
    """What could name a module: imports, dotted expressions, and strings of that form."""
    yield from imported(tree)
    for node in ast.walk(tree):
        match node:
            case ast.Constant(str(text)) if re.fullmatch(r"\w+(\.\w+)*", text):
                yield text
            case _:
                yield dotted(node)


def private_names(tree: ast.AST) -> Iterator[str]:
    """The private attributes that a file uses, and which are not made there."""
    own: set[str] = set()
    used: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.ClassDef():
                own.add(node.name)
            case ast.Attribute(ctx=ast.Store()):
                own.add(node.attr)
            case ast.Attribute():
                used.add(node.attr)
            case ast.Call(
                func=ast.Name("getattr" | "hasattr"),
                args=[_, ast.Constant(str(text)), *_],
            ):
                used.add(text)
            case _:
                pass
    yield from (one for one in used - own if re.match("_[^_]", one))


def bound(package: Path) -> dict[str, str]:
    """The names that the ``__init__`` of a package binds, and what each is bound to."""
    found: dict[str, str] = {}
    for node in parsed(package).body:
        match node:
            case ast.ImportFrom():
                for alias in node.names:
                    found[alias.asname or alias.name] = f"{node.module}.{alias.name}"
            case ast.FunctionDef() | ast.ClassDef():
                found[node.name] = node.name
            case ast.Assign():
                for target in node.targets:
                    found |= {one: one for one in [dotted(target)] if one}
            case _:
                pass
    return found


def names_torch_fx(path: Path) -> bool:
    tree = parsed(path)
    spoken = {*imported(tree), *(dotted(node) for node in ast.walk(tree))}
    return any(f"{one}.".startswith("torch.fx.") for one in spoken)


def paths_in_torch(tree: ast.Module) -> dict[str, str]:
    """What the names of a file lead to in torch: ``pytree`` to ``torch.utils._pytree``."""
    paths = {"torch": "torch"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            named = {alias.asname or "": alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            named = {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
        else:
            continue
        paths |= {
            name: path
            for name, path in named.items()
            if name and path.partition(".")[0] == "torch"
        }
    for node in ast.walk(tree):
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ) if path := path_in_torch(value, paths):
                paths[name] = path
            case _:
                pass
    return paths


def path_in_torch(node: ast.expr, paths: dict[str, str]) -> str:
    """Where an expression leads in torch; empty for any other."""
    match node:
        case ast.Name():
            return paths.get(node.id, "")
        case ast.Attribute():
            holder = path_in_torch(node.value, paths)
            return f"{holder}.{node.attr}" if holder else ""
        case ast.Call(func=ast.Name(id="cast"), args=[_, value]):
            return path_in_torch(value, paths)
        case _:
            return ""


def private_parts_of_torch(tree: ast.Module) -> set[str]:
    """The private modules and attributes of torch that a file names, in texts as well.

    Those of torch's objects are not found: no syntax says whose a private name is.
    """
    paths = paths_in_torch(tree)
    documents = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    spoken = {*imported(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            spoken.add(path_in_torch(node, paths))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            spoken |= set() if node in documents else {node.value}
    return {found[0] for one in spoken for found in PRIVATE_TO_TORCH.finditer(one)}


def catches_everything(path: Path) -> bool:
    """Whether a file has an ``except`` that takes every exception and goes on."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.ExceptHandler):
            kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
            everything = any(
                kind is None or dotted(kind) in ("Exception", "BaseException")
                for kind in kinds
            )
            if everything and not isinstance(node.body[-1], ast.Raise):
                return True
    return False


def test_the_import_contract_holds() -> None:
    run = subprocess.run(
        [
            sys.executable,
            "-c",
            "from importlinter.cli import lint_imports_command as c; c()",
            "--no-cache",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_no_two_modules_need_each_other_when_they_run() -> None:
    run = [one for one in imports_inside() if not one.is_for_types]

    assert circles((one.of, one.what) for one in run) == []


def test_no_two_rooms_need_each_other_when_they_run() -> None:
    run = [one for one in imports_inside() if not one.is_for_types]

    assert circles(between_rooms(run)) == []


def test_few_rooms_are_tied_by_their_types() -> None:
    imports = imports_inside()
    run = between_rooms(one for one in imports if not one.is_for_types)
    for_types = between_rooms(one for one in imports if one.is_for_types)
    leads = reached(run)
    tied = {(one, other) for one, other in for_types if one in leads.get(other, ())}

    assert tied == TIED_BY_TYPES.keys()
    assert circles(run | for_types - tied) == []


def test_a_circle_is_found_however_long_it_is() -> None:
    pairs = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("e", "f"), ("f", "e")]

    assert circles(pairs) == [["a", "b", "c"], ["e", "f"]]


def test_torch_fx_is_named_where_its_objects_are_made_or_asked() -> None:
    named = {name(path) for path in MODULES if names_torch_fx(path)}
    outside = {one for one in named if one.split("/")[1] != "runtime"}
    assert outside == {
        "fxls/engine/torch_fx/bridge.py",
        "fxls/engine/tracing/torch_wraps.py",
    }


@pytest.mark.parametrize("package", NAMES_PRIVATE_PARTS_OF_TORCH)
def test_private_parts_of_torch_are_named_in_one_place(package: str) -> None:
    places = NAMES_PRIVATE_PARTS_OF_TORCH[package]
    naming = {
        name(path): found
        for path in (ROOT / "fxls" / package).rglob("*.py")
        if not name(path).startswith(places)
        and (found := private_parts_of_torch(parsed(path)))
    }

    assert naming == {}


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import torch._dynamo.utils", {"torch._dynamo"}),
        ("def f():\n    from torch.utils import _pytree", {"torch.utils._pytree"}),
        ("import torch.amp as amp\namp._enter()", {"torch.amp._enter"}),
        ("t: Any = torch\nt._assert(1)", {"torch._assert"}),
        ("cast('Any', torch.autograd)._count()", {"torch.autograd._count"}),
        ("sys.modules.get('torch._inductor.config')", {"torch._inductor"}),
        ('"""What torch._dynamo does."""', set[str]()),
        ("torch.ops.aten._assert_async.msg", set[str]()),
        ("torch.Tensor.__module__", set[str]()),
    ],
)
def test_a_private_part_of_torch_is_found(code: str, found: set[str]) -> None:
    assert private_parts_of_torch(ast.parse(code)) == found


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("fxls", {"torch", "lsprotocol", "pygls", "msgspec"}),
        ("fxls.ide", {"torch", "lsprotocol", "pygls"}),
        ("fxls.server", {"torch"}),
        ("fxls.cli", {"torch", "lsprotocol", "pygls"}),
        ("fxls.adapter.__main__", {"torch", "debugpy", "lsprotocol", "pygls"}),
        pytest.param(
            "fxls.engine",
            {"lsprotocol", "pygls", "fxls.store", "fxls.ide"},
            marks=pytest.mark.slow,  # it imports torch
        ),
    ],
)
def test_an_import_does_not_load(module: str, absent: set[str]) -> None:
    code = f"import sys, {module}; print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert absent & set(run.stdout.split()) == set()


def paths_named(page: Path) -> set[str]:
    """The files and folders that a page names, as ``tests/support`` or ``fxls/text``."""
    tops = "fxls|tests|tools|docs|examples|benchmarks|vscode-extension|pydevd_plugins"
    return set(re.findall(rf"`((?:{tops})(?:/[\w.-]+)*)/?`", page.read_text("utf-8")))


@pytest.mark.parametrize("page", PAGES_OF_PLACES, ids=name)
def test_a_page_names_files_and_folders_that_are_there(page: Path) -> None:
    named = paths_named(page)
    assert named
    absent = {
        one
        for one in named
        if not (ROOT / one).exists() and not (ROOT / f"{one}.py").exists()
    }
    assert absent == set()


def test_the_architecture_page_names_every_room() -> None:
    rooms = {name(path.parent) for path in MODULES if path.name == "__init__.py"}
    assert rooms - paths_named(ROOT / "docs" / "ARCHITECTURE.md") == set()


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
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    module = tmp_path / "module.py"
    module.write_text(code)

    assert [*remembered(module)] == held


def test_everything_is_caught_in_two_places_alone() -> None:
    found = {name(path) for path in PROGRAMS if catches_everything(path)}
    assert found == MAY_CATCH_EVERYTHING


def test_behaviour_from_the_environment_enters_in_few_places() -> None:
    reading = {
        name(path)
        for path in MODULES
        if {"os.environ", "os.getenv"}
        & {dotted(node) for node in ast.walk(parsed(path))}
    }
    assert reading <= MAY_READ_THE_ENVIRONMENT


def test_type_ignores_only_become_fewer() -> None:
    lines = [
        (name(path), line)
        for path in [*PROGRAMS, *(ROOT / "tests").rglob("*.py")]
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(r"#\s*(pyright|type):\s*ignore", line) and "re.search" not in line
    ]
    bare = [
        where
        for where, line in lines
        if not re.search(r"# pyright: ignore\[\w+(, ?\w+)*\]  # \S", line)
    ]
    assert bare == []
    assert len([w for w, _ in lines if w.startswith("fxls/")]) <= MOST_TYPE_IGNORES


@pytest.mark.parametrize("path", PROGRAMS, ids=name)
def test_a_module_says_what_it_holds_in_reasonable_length(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert ast.get_docstring(parsed(path)), "a module opens with a sentence"
    assert text.count("\n") <= LONGER.get(name(path), MOST_LINES)
    assert path.stem not in BANNED_FILES or name(path) in FILES_NAMED_BY_FX


def test_names_say_what_a_thing_is() -> None:
    classes = [
        node.name
        for path in PROGRAMS
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.ClassDef) and BANNED.search(node.name)
    ]
    assert set(classes) <= NAMED_BY_FX


def test_nothing_needs_the_machine_it_was_written_on() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    elsewhere = re.compile(
        rf"/work/shared|{re.escape(str(ROOT))}/|(--index-url|--find-links|--registry)\b"
    )
    mine = Path(__file__).resolve()
    for path in (ROOT / file for file in listed.stdout.split("\0") if file):
        if path != mine and path.is_file():
            found = elsewhere.search(path.read_text(encoding="utf-8", errors="replace"))
            assert found is None, f"{name(path)} says {found and found[0]}"


def test_the_name_of_a_module_is_bound_to_nothing_else() -> None:
    for package in (path for path in MODULES if path.name == "__init__.py"):
        prefix = name(package.parent).replace("/", ".")
        names = bound(package)
        modules = {
            path.stem if path.is_file() else path.name
            for path in package.parent.iterdir()
            if path.suffix == ".py" or (path / "__init__.py").exists()
        }
        others = {
            one: names[one]
            for one in modules & set(names)
            if names[one] != f"{prefix}.{one}"
        }
        assert others == {}, prefix


def test_a_module_is_not_made_an_object_of_another_class() -> None:
    exchanged = re.compile(r"sys\.modules\[.*\]\.__class__\s*=")
    assert [name(path) for path in MODULES if exchanged.search(path.read_text())] == []


def test_the_debugger_is_named_where_its_insides_are_known_or_it_is_started() -> None:
    debugger = re.compile(r"(.+\.)?(_?pydevd(_bundle)?|debugpy|\w*pydev_\w+)(\.|$)")
    ours = "fxls.runtime.debugging.pydevd"
    naming: set[str] = set()
    for path in MODULES:
        if not re.search("pydev|debugpy", path.read_text(encoding="utf-8")):
            continue  # most have no such word at all
        tree = parsed(path)
        bound_to_ours = {"pydevd"} if ours in imported(tree) else set[str]()
        for one in spoken(tree):
            if debugger.match(one.replace(ours, "")):
                top = one.partition(".")[0]
                if top not in bound_to_ours:
                    naming.add(name(path))
    inside = {one for one in naming if one.startswith("fxls/runtime/debugging/")}
    assert naming - inside == MAY_NAME_THE_DEBUGGER
    assert "fxls/runtime/debugging/pydevd.py" in inside


def test_the_runtime_names_private_parts_of_torch_in_two_places() -> None:
    private = re.compile(r"torch(\.\w+)*\._(?!_)\w+")
    found: dict[str, set[str]] = {}
    for path in sorted((ROOT / "fxls/runtime").rglob("*.py")):
        tree = parsed(path)
        named = {one for one in spoken(tree) if private.match(one)}
        # What else is private in there is pydevd's.
        if path.parent.name != "debugging":
            named |= set(private_names(tree)) - set(PRIVATE_OF_OTHERS)
        if named:
            found[name(path)] = named
    assert "torch._inductor.compile_fx" in found["fxls/runtime/producers/dynamo.py"]
    assert "_C" in found["fxls/runtime/torch_private.py"]
    outside = {
        file: named
        for file, named in found.items()
        if not file.startswith("fxls/runtime/producers/")
        and file != "fxls/runtime/torch_private.py"
    }
    assert outside == {}
