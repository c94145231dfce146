"""The two example models are models that FX traces, and the demo of them works."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch
import torch.fx
from torch import nn

from fxls import engine
from fxls.runtime import listing_of

ROOT = Path(__file__).parent.parent
ENTRY = re.compile(r"# fxls: (?P<model>.+\))\((?P<inputs>torch\.\w+\(.+\))\)$", re.M)


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        name, ROOT / "examples" / f"{name}.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["resnet", "gpt"])
def test_an_example_is_traced_as_torch_fx_traces_it(name: str) -> None:
    module = load(name)
    entry = ENTRY.search((ROOT / "examples" / f"{name}.py").read_text())
    assert entry is not None
    torch.manual_seed(0)  # pyright: ignore[reportUnknownMemberType]  # untyped in torch
    model = eval(entry["model"], vars(module))
    inputs = eval(entry["inputs"], vars(module))
    assert isinstance(model, nn.Module)
    model.eval()

    ours = engine.symbolic_trace(model)

    theirs = torch.fx.symbolic_trace(model)
    assert str(ours.graph) == str(theirs.graph)
    assert ours.code == theirs.code
    assert torch.equal(ours(inputs), model(inputs))


@pytest.mark.slow
def test_the_demo_shows_what_it_says() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "tools.demo"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stderr == ""


def test_the_readme_shows_a_listing_as_it_is() -> None:
    block = load("resnet").BasicBlock(64, 128, 2)
    assert isinstance(block, nn.Module)

    listing = listing_of(engine.symbolic_trace(block))

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"```python\n{listing.text.strip()}\n```" in readme
