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
    # What `fxls run` tells the process that it becomes, which may make no graph and so
    # never come to `install()`.
    "fxls/launching/beginning.py",
    "fxls/launching/here.py",
    "fxls/cli/__init__.py",
    "fxls/cli/attach_command.py",
    "fxls/cli/bisect_command.py",
    "fxls/cli/check_command.py",
    "fxls/cli/command.py",
    "fxls/cli/compare_command.py",
    "fxls/cli/debug_command.py",
    "fxls/cli/doctor_command.py",
    "fxls/cli/followed_program.py",
    "fxls/cli/prune_command.py",
    "fxls/cli/run_command.py",
    "fxls/cli/serve_command.py",
    "fxls/worker/__main__.py",
    # `install()` takes its default store from FXLS_STORE, which editors pass.
    "fxls/runtime/installing.py",
}


TOUCHES_FILES = {
    *("open", "read_bytes", "read_text", "write_bytes", "write_text", "touch", "mkdir"),
    *("makedirs", "unlink", "rmdir", "rename", "renames", "symlink_to", "hardlink_to"),
    *("rmtree", "copyfile", "copytree", "chmod", "truncate", "utime"),
}
"""What a program calls to read a file, and to change what is on the disk."""


MAY_TOUCH_FILES = {
    "fxls/regular_file.py": "reads with a bound",
    "fxls/store/files.py": "writes below a store and follows no link",
    "fxls/store/other_end.py": "reads on another machine, a part with a bound",
    "fxls/code_cache.py": "reads and writes what this user alone can write",
    # What no folder of the user's brought:
    "fxls/serving/transport/quick_start.py": "compiled code, beside that of Python",
    "fxls/cli/check_command.py": "writes the baseline where a person asked for it",
    "fxls/cli/followed_program.py": "writes into a new folder of its own",
    "fxls/cli/report_command.py": "writes the page where a person asked for it",
    "fxls/cli/reproducing.py": "writes the script where a person asked for it",
    "fxls/runtime/numbers/elsewhere/values_file.py": "keeps values where a person asked",
    "fxls/cli/subcommands.py": "/dev/null",
    "fxls/worker/channel.py": "/dev/null",
    "fxls/machine.py": "/proc",
    "fxls/worker/limits.py": "/proc",
    "fxls/worker/processes.py": "/proc",
    "fxls/runtime/numbers/as_python/child.py": "/dev/null",
}
"""The engine writes where its caller says, as torch.fx does."""


READ_THROUGH_PYTHON = ("fxls/runtime/", "fxls/worker/", "fxls/engine/", "fxls/pdb.py")
"""Where the program's own code runs, `linecache` may be asked for its lines."""


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


def files_touched(path: Path) -> set[str]:
    """What a module calls of `TOUCHES_FILES`."""
    return {
        called
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call)
        and (called := dotted(node.func)).rpartition(".")[2] in TOUCHES_FILES
        and called not in ("self._store.write_text", "files.touch")
    } | {
        f"(...).{node.func.attr}"
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and not dotted(node.func.value)
        and node.func.attr in TOUCHES_FILES
    }


def test_files_are_read_with_a_bound_and_written_in_one_way() -> None:
    touching = {
        name(path): found
        for path in MODULES
        if not name(path).startswith("fxls/engine/") and (found := files_touched(path))
    }

    assert touching.keys() == MAY_TOUCH_FILES.keys(), touching


def test_the_server_asks_linecache_for_nothing() -> None:
    asking = {
        name(path) for path in MODULES if "linecache" in {*imported(parsed(path))}
    }

    assert {one for one in asking if not one.startswith(READ_THROUGH_PYTHON)} == set()


def test_behaviour_from_the_environment_enters_in_few_places() -> None:
    reading = {
        name(path)
        for path in MODULES
        if {"os.environ", "os.getenv"}
        & {dotted(node) for node in ast.walk(parsed(path))}
    }
    assert reading <= MAY_READ_THE_ENVIRONMENT
