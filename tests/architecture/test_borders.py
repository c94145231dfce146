"""What stands in few places: `torch.fx`, the environment, exceptions of every kind."""

import ast
from pathlib import Path

from tests.architecture.sources import MODULES, PROGRAMS, dotted, imported, name, parsed

MAY_CATCH_EVERYTHING = {
    "fxls/serving/faults.py",
    "fxls/worker/catching.py",
    "fxls/attempt.py",
}
"""The server's handler wrapper, the worker's request loop, what runs of the user's inside
the debugger, and what the runtime does while a program runs."""


MAY_READ_THE_ENVIRONMENT = {
    "fxls/adapter/__main__.py",
    # What `fxls run` tells the process that it becomes.
    "fxls/startup/sitecustomize.py",
    "fxls/cli/command.py",
    "fxls/cli/debug_command.py",
    "fxls/cli/run_command.py",
    "fxls/cli/serve_command.py",
    "fxls/worker/__main__.py",
    # `install()` takes its default store from FXLS_STORE, which editors pass.
    "fxls/runtime/installing.py",
}


def names_torch_fx(path: Path) -> bool:
    tree = parsed(path)
    spoken = {*imported(tree), *(dotted(node) for node in ast.walk(tree))}
    return any(f"{one}.".startswith("torch.fx.") for one in spoken)


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


def test_torch_fx_is_named_where_its_objects_are_made_or_asked() -> None:
    named = {name(path) for path in MODULES if names_torch_fx(path)}
    outside = {one for one in named if one.split("/")[1] != "runtime"}
    assert outside == {
        "fxls/engine/torch_fx/bridge.py",
        "fxls/engine/tracing/torch_wraps.py",
    }


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
