"""Who names what torch and debugpy may change at any time."""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.architecture.sources import (
    MODULES,
    ROOT,
    dotted,
    imported,
    name,
    parsed,
)

MAY_NAME_THE_DEBUGGER = {
    # They start debugpy as a program, or are what one starts in its place.
    "fxls/adapter/configuration.py",
    "fxls/adapter/debugpy_adapter.py",
    "fxls/launching/attach.py",
    "fxls/launching/listening.py",
    # It says which version is installed.
    "fxls/health.py",
    # It waits until somebody imports pydevd.
    "fxls/first_graph.py",
}
"""Outside of `runtime/debugging`, which knows pydevd's insides."""


PRIVATE_OF_OTHERS = {
    "_frames": "fxls.engine.node.Node",
    "_scope": "fxls.engine.node.Node",
    "_name": "typing",
    "_fields": "a named tuple",
    "_exit": "os",
}
"""Private names in the runtime that are not torch's, and whose they are."""

ROOMS_OF_TORCH = tuple(
    f"fxls/runtime/{room}/" for room in ("producers", "patterns", "inductor")
)
"""What hooks into torch, and names its private parts."""


NAMES_PRIVATE_PARTS_OF_TORCH = {
    "engine": (
        "fxls/engine/torch_private.py",
        "fxls/engine/torch_fx/",
        "fxls/engine/tracing/torch_wraps.py",
    ),
}
"""Per package, the files and folders that name what torch may change at any time."""


PRIVATE_TO_TORCH = re.compile(r"\btorch[.:](?!ops\.|_assert\b)(\w+[.:])*_(?!_)\w+")
"""A path with an underscore in front of a part. In ``torch.ops`` are operators' names,
and ``torch._assert`` is on torch's page of functions for everybody."""


def spoken(tree: ast.AST) -> Iterator[str]:
    """What could name a module: imports, dotted expressions, and strings of that form."""
    yield from imported(tree)
    for node in ast.walk(tree):
        match node:
            case ast.Constant(str(text)) if re.fullmatch(r"\w+([.:]\w+)*", text):
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
        ("t: Any = torch\nt._hidden(1)", {"torch._hidden"}),
        ("private('torch.autograd:_count')", {"torch.autograd:_count"}),
        ("cast('Any', torch.autograd)._count()", {"torch.autograd._count"}),
        ("sys.modules.get('torch._inductor.config')", {"torch._inductor"}),
        ('"""What torch._dynamo does."""', set[str]()),
        ("torch.ops.aten._assert_async.msg", set[str]()),
        ("torch.Tensor.__module__", set[str]()),
    ],
)
def test_a_private_part_of_torch_is_found(code: str, found: set[str]) -> None:
    assert private_parts_of_torch(ast.parse(code)) == found


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


def test_the_runtime_names_private_parts_of_torch_in_few_places() -> None:
    private = re.compile(r"torch([.:]\w+)*[.:]_(?!_)\w+")
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
    modes = "torch._C:_len_torch_dispatch_stack"
    assert modes in found["fxls/runtime/torch_private.py"]
    outside = {
        file: named
        for file, named in found.items()
        if not file.startswith(ROOMS_OF_TORCH)
        and file != "fxls/runtime/torch_private.py"
    }
    assert outside == {}
