"""Generated code runs from files of a store, from `install` to `uninstall`."""

from __future__ import annotations

import copy
import gc
import inspect
import linecache
import pickle
import sys
import traceback
import warnings
from pathlib import Path
from types import CodeType, FunctionType

import pytest
import torch

import fxls
from fxls.engine import GraphModule, symbolic_trace
from fxls.runtime import installed, installing, listing_of
from fxls.store import Store
from tests.runtime import nets


def test_the_function_is_compiled_under_the_path_of_its_listing(store: Store) -> None:
    module = symbolic_trace(nets.Net())
    path = path_of(module)
    assert path == store.path_of("Net", listing_of(module).text)
    assert store.read(path) == listing_of(module)
    assert path.read_text("utf-8") == listing_of(module).text
    assert first_line(module) == listing_of(module).definition + 1


def test_the_same_graph_has_the_same_path_however_it_was_made(store: Store) -> None:
    module = symbolic_trace(nets.Net())
    others = [
        symbolic_trace(nets.Net()),
        copy.deepcopy(module),
        pickle.loads(pickle.dumps(module)),
    ]
    assert {path_of(other) for other in others} == {path_of(module)}


def test_a_changed_graph_is_another_file_and_the_first_stays(store: Store) -> None:
    module = symbolic_trace(nets.Block())
    before = path_of(module)
    for node in module.graph.nodes:
        if node.target is torch.relu:
            node.target = torch.tanh
    module.recompile()
    after = path_of(module)
    assert "torch.tanh(x)" in after.read_text("utf-8")
    assert "torch.relu(x)" in before.read_text("utf-8")
    listing = store.read(after)
    assert [r.path for r in store.revisions(listing.identity)] == [before, after]


def test_another_store_takes_over_and_uninstall_ends_both(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    fxls.install(one)
    fxls.install(one)
    assert path_of(symbolic_trace(nets.Block())).parent == one
    fxls.install(other)
    module = symbolic_trace(nets.Block())
    assert path_of(module).parent == other
    fxls.uninstall()
    fxls.uninstall()
    assert installed() is None
    assert path_of(module).parent == other
    assert code_of(symbolic_trace(nets.Block())).co_filename.startswith("<fxls ")


def test_the_folder_is_that_of_the_environment_or_of_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FXLS_STORE", str(tmp_path / "chosen"))
    assert fxls.install() == tmp_path / "chosen"
    monkeypatch.delenv("FXLS_STORE")
    (tmp_path / "pyproject.toml").touch()
    program = tmp_path / "folder" / "program.py"
    main = sys.modules["__main__"]  # which has no file in a worker of pytest
    monkeypatch.setattr(main, "__file__", str(program), raising=False)
    assert fxls.install() == tmp_path / ".fxls"
    fxls.uninstall()


def test_without_install_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    symbolic_trace(nets.Net())(torch.ones(2, 4))
    assert list(tmp_path.iterdir()) == []


def test_python_shows_the_lines_of_the_listing(store: Store) -> None:
    module = symbolic_trace(nets.Net())
    shown_by_python(module, path_of(module).read_text("utf-8"))


def test_python_shows_the_lines_of_code_in_memory() -> None:
    module = symbolic_trace(nets.Net())
    shown_by_python(module, module.code.strip("\n ") + "\n")


@pytest.mark.parametrize("damage", ["edited", "deleted"])
def test_what_is_shown_is_what_runs_whatever_becomes_of_the_file(
    store: Store, damage: str
) -> None:
    module = symbolic_trace(nets.Net())
    path = path_of(module)
    text = path.read_text("utf-8")
    if damage == "edited":
        path.write_text("# edited\n" * 3 + text, "utf-8")
    else:
        path.unlink()
    linecache.checkcache()
    shown_by_python(module, text)
    assert path_of(symbolic_trace(nets.Net())) == path
    assert path.read_text("utf-8") == text


def shown_by_python(module: GraphModule, text: str) -> None:
    """Whether everything of Python's own shows the text that a module runs."""
    forward = type(module).forward
    lines = text.splitlines(keepends=True)
    start = next(i for i, line in enumerate(lines) if line.startswith("def forward"))
    assert inspect.getsource(forward) == "".join(lines[start:])
    assert inspect.getsourcelines(forward) == (lines[start:], first_line(module))

    with pytest.raises(RuntimeError, match="shapes") as raised:
        module(torch.ones(2, 5))
    assert [
        frame.line
        for frame in traceback.extract_tb(raised.tb)
        if frame.filename == code_of(module).co_filename
    ] == ["linear = self.linear(x);  x = None"]

    with pytest.warns(UserWarning, match="an empty batch") as warned:
        module(torch.ones(0, 4))
    assert warned[0].filename == code_of(module).co_filename
    assert warnings.formatwarning(
        *(warned[0].message, UserWarning, warned[0].filename, warned[0].lineno)
    ).endswith("  halved = tests_runtime_nets_halved(sum_1, by = 4);  sum_1 = None\n")


def path_of(module: GraphModule) -> Path:
    return Path(code_of(module).co_filename)


def code_of(module: GraphModule) -> CodeType:
    forward = type(module).forward
    assert isinstance(forward, FunctionType)
    return forward.__code__


def first_line(module: GraphModule) -> int:
    return code_of(module).co_firstlineno


def test_code_that_runs_stays_while_a_graph_is_compiled_anew(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The record of a run that lives keeps what it names, which each recompilation is.
    installation = installing.current()
    assert installation is not None
    monkeypatch.setattr(installation.recorder, "_writer", None)
    writing = installed()
    assert writing is not None
    writing.bound.megabytes = 0.1
    module = symbolic_trace(nets.Net())
    path = path_of(module)
    changing = symbolic_trace(torch.nn.ReLU())
    made: list[Path] = []
    for _ in range(40):
        changing.graph.call_function(torch.relu, (next(iter(changing.graph.nodes)),))
        changing.recompile()
        made.append(path_of(changing))
        if len(made) % 10 == 0:
            gc.collect()  # Python 3.14 keeps what is in a circle for longer
    left = [at.exists() for at in made]
    assert left[-5:] == [True] * 5
    assert not any(left[:5])
    assert store.read(path) == listing_of(module)
