"""What programs do with graph modules gives what it gives without fxls."""

from __future__ import annotations

import copy
import cProfile
import inspect
import io
import pickle
import pstats
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from torch.profiler import profile

import fxls
from fxls import engine
from tests.runtime.producers.looking import forward_of, path_of
from tests.runtime.producers.torch_nets import Block, Net

fx: Any = torch.fx
untyped: Any = torch


def saved(module: Any, x: torch.Tensor) -> torch.Tensor:
    file = io.BytesIO()
    untyped.save(module, file)
    file.seek(0)
    return untyped.load(file, weights_only=False)(x)


def packed(module: Any, x: torch.Tensor) -> torch.Tensor:
    file = io.BytesIO()
    with untyped.package.PackageExporter(file) as exporter:
        exporter.extern(["torch.**", "tests.**"])
        exporter.save_pickle("model", "model.pkl", module)
    file.seek(0)
    importer = untyped.package.PackageImporter(file)
    return importer.load_pickle("model", "model.pkl")(x)


def profiled(module: Any, x: torch.Tensor) -> list[str]:
    with profile(with_stack=True) as watched:
        module(x)
    events: Any = watched.key_averages()
    return sorted({event.key for event in events if event.key.startswith("aten::")})


def rebound(module: Any, x: torch.Tensor) -> torch.Tensor:
    """A program may put a function of its own in the place of a forward."""
    forward = module.forward

    def and_one(x: torch.Tensor) -> torch.Tensor:
        return forward(x) + 1

    module.forward = and_one
    return module(x)


def split(module: Any, x: torch.Tensor) -> torch.Tensor:
    from torch.fx.passes.split_module import split_module  # noqa: PLC0415

    parts = iter(range(100))

    def part_of(_node: Any) -> int:
        return next(parts) // 3

    make: Any = split_module
    return make(module, None, part_of)(x)


def interpreted(module: Any, x: torch.Tensor) -> torch.Tensor:
    return fx.Interpreter(module).run(x)


def transformed(module: Any, x: torch.Tensor) -> torch.Tensor:
    return fx.Transformer(module).transform()(x)


def functional(module: Any, x: torch.Tensor) -> torch.Tensor:
    return untyped.func.functional_call(module, dict(module.named_parameters()), (x,))


def mapped(module: Any, x: torch.Tensor) -> torch.Tensor:
    return untyped.vmap(module)(x.reshape(2, 1, 4))


def scripted(module: Any, x: torch.Tensor) -> torch.Tensor:
    return untyped.jit.script(module)(x)


USES: list[Callable[[Any, torch.Tensor], Any]] = [
    lambda module, x: copy.copy(module)(x),
    lambda module, x: copy.deepcopy(module)(x),
    lambda module, x: pickle.loads(pickle.dumps(module))(x),
    lambda module, x: fx.GraphModule(module, module.graph)(x),
    lambda module, x: fx.symbolic_trace(module)(x),
    lambda module, _x: str(inspect.signature(module.forward)),
    lambda module, _x: module.code,
    lambda module, _x: module.print_readable(print_output=False),
    *(saved, packed, profiled, rebound, split, interpreted, transformed),
    *(functional, mapped, scripted),
]


@pytest.mark.filterwarnings("ignore:TypedStorage:UserWarning")  # torch's own
@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:The TorchScript type system:UserWarning")
@pytest.mark.parametrize("use", USES, ids=lambda use: cast("str", use.__name__))
def test_with_fxls_a_use_gives_what_it_gave(
    tmp_path: Path, use: Callable[[Any, torch.Tensor], Any]
) -> None:
    model = Net()
    x = torch.ones(2, 4)
    before = use(fx.symbolic_trace(model), x)
    fxls.install(tmp_path)
    module = fx.symbolic_trace(model)
    assert path_of(module).parent == tmp_path
    after = use(module, x)
    fxls.uninstall()
    assert torch.equal(before, after) if torch.is_tensor(before) else before == after


@pytest.mark.parametrize("trace", [fx.symbolic_trace, engine.symbolic_trace])
def test_running_a_module_changes_nothing_of_it(
    tmp_path: Path, trace: Callable[[Any], Any]
) -> None:
    """A CUDA graph that was captured runs what the module ran then."""
    fxls.install(tmp_path)
    module = trace(Block())
    module(torch.ones(3))
    had, forward = dict(module.__dict__), forward_of(module)
    module(torch.ones(3))
    fxls.uninstall()
    assert "forward" not in module.__dict__
    assert module.__dict__ == had
    assert forward_of(module) is forward


def test_profilers_name_the_listing(tmp_path: Path) -> None:
    fxls.install(tmp_path)
    module = fx.symbolic_trace(Block())
    fxls.uninstall()
    profiler = cProfile.Profile()
    profiler.runcall(module, torch.ones(3))
    calls: Any = pstats.Stats(profiler)
    assert str(path_of(module)) in {path for path, _, _ in calls.stats}


@pytest.mark.slow
def test_a_program_that_fails_says_what_it_said(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import sys, torch\n"
        "class Net(torch.nn.Module):\n"
        "    def forward(self, x):\n"
        "        return x if x.sum() > 0 else -x\n"
        "print('before', sys.argv[1:])\n"
        "torch.fx.symbolic_trace(Net())\n",
        "utf-8",
    )
    (tmp_path / "pyproject.toml").touch()
    plain, under = (
        subprocess.run(
            [sys.executable, *how, str(program), "an argument"],
            capture_output=True,
            text=True,
            check=False,
        )
        for how in ([], ["-m", "fxls", "run"])
    )
    assert (plain.returncode, plain.stdout) == (under.returncode, under.stdout)
    assert plain.stderr.splitlines()[-1] == under.stderr.splitlines()[-1]
