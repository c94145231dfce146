"""Under `fxls run` the runtime is loaded with the first graph, whoever makes it."""

from __future__ import annotations

import pytest

from fxls.store import Store
from tests.cli.command import Command, Ended

pytestmark = pytest.mark.slow

WAYS = """\
import os, pickle, sys
import torch

class Net(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)

def hooks():
    fx, export = torch.fx, torch.export.exported_program
    return (
        fx.GraphModule.__dict__["recompile"],
        fx.Tracer.__dict__["trace"],
        export.ExportedProgram.__dict__["__init__"],
    )

def traced():
    return torch.fx.symbolic_trace(Net())

def built():
    graph = torch.fx.Graph()
    graph.output(graph.call_function(torch.relu, (graph.placeholder("x"),)))
    return torch.fx.GraphModule(Net(), graph)

def compiled():
    torch.compile(Net(), backend="eager")(torch.ones(2))

def exported():
    program = torch.export.export(Net(), (torch.ones(2),))
    torch.export.save(program, "program.pt2")

def loaded():
    torch.export.load("program.pt2")

def pickled():
    with open("module.pickle", "wb") as file:
        pickle.dump(traced(), file)

def unpickled():
    with open("module.pickle", "rb") as file:
        pickle.load(file)

def of_the_engine():
    from fxls import engine
    engine.symbolic_trace(Net())

def in_two_threads():
    from concurrent.futures import ThreadPoolExecutor
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda make: make(), [built, traced]))

def none():
    import torchgen, torch.utils.data
    list(torch.utils.data.DataLoader([torch.ones(2)], num_workers=1))
    assert "fxls.runtime" not in sys.modules

def installed_and_uninstalled():
    import fxls
    fxls.install()
    fxls.uninstall()
    traced()
    ours = os.path.join(os.path.dirname(fxls.__file__), "")
    files = [hook.__code__.co_filename for hook in hooks()]
    assert [file for file in files if file.startswith(ours)] == []

def debugged():
    import debugpy._vendored.force_pydevd, pydevd
    assert "fxls.runtime.debugging.pydevd" in sys.modules

if __name__ == "__main__":
    for way in sys.argv[1:]:
        child = os.fork()
        if not child:
            os.environ["FXLS_STORE"] = way
            globals()[way]()
            if runtime := sys.modules.get("fxls.runtime"):
                runtime.finish()
            os._exit(0)
        if os.waitpid(child, 0)[1]:
            sys.exit(way)
"""

MADE = {
    "traced": "Net by torch.fx",
    "built": "GraphModule by torch.fx",
    "compiled": "Net by torch.compile",
    "exported": "Net by torch.export",
    "loaded": "Net by torch.export",
    "pickled": "Net by torch.fx",
    "unpickled": "Net by torch.fx",
    "of_the_engine": "Net by engine",
    "in_two_threads": "GraphModule by torch.fx, Net by torch.fx",
    "none": "",
    "installed_and_uninstalled": "",
    "debugged": "",
}


def test_the_first_graph_is_a_listing_whoever_makes_it(fxls: Command) -> None:
    fxls.file(WAYS, "ways.py")
    # So that debugpy, of which one of them imports a part, prints no warning.
    silent = {"PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    assert fxls.run("run", "ways.py", *MADE, env=silent) == Ended(0, "", "")
    assert {way: _made(fxls, way) for way in MADE} == MADE


def test_the_engine_may_be_imported_before_torch(fxls: Command) -> None:
    fxls.file(
        """\
        from fxls import engine
        import torch
        engine.symbolic_trace(torch.nn.Sequential(torch.nn.ReLU()))
        """,
        "program.py",
    )
    assert fxls.run("run", "program.py") == Ended(0, "", "")
    assert _made(fxls, ".fxls") == "Sequential by engine"


def _made(fxls: Command, store: str) -> str:
    """Each graph that there is a listing of."""
    made = Store(fxls.folder / store).identities()
    return ", ".join(sorted(f"{one.class_name} by {one.producer}" for one in made))
