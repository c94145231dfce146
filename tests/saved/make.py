"""Writes the samples of one format into a folder: ``python make.py FOLDER``.

Run it once for a new format, from a folder `/models` that holds copies of this file and
of `saved_models.py`, so that the places in the samples name no machine. What older
formats have stays as it is.
"""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any, cast

import torch

import fxls
from fxls import engine as fx
from fxls.engine.passes.shape_prop import ShapeProp


def inputs() -> dict[str, torch.Tensor]:
    """What the models are called with."""
    left = torch.linspace(-1, 1, 12).reshape(2, 6)
    return {"left": left, "right": torch.full((2, 3), 0.5)}


def seeded(kind: type[torch.nn.Module]) -> torch.nn.Module:
    """A model whose numbers are the same in every run."""
    cast("Any", torch).manual_seed(0)
    return kind().eval()


def gate(models: Any) -> fx.GraphModule:
    """A graph with shapes."""
    module = fx.symbolic_trace(seeded(models.Gate))
    ShapeProp(module).propagate(inputs()["left"])
    return module


def blend(models: Any) -> fx.GraphModule:
    """A graph whose inputs and results are nested, and two of them are fixed."""
    return fx.symbolic_trace(
        seeded(models.Blend),
        {"parts": {"left": fx.PH, "right": fx.PH}, "mask": None, "power": 3},
    )


def whole(models: Any) -> fx.GraphModule:
    """A graph of a tracer of the user's."""
    tracer = models.Whole()
    graph = tracer.trace(
        seeded(models.Blend), {"parts": {"left": fx.PH, "right": fx.PH}}
    )
    return fx.GraphModule(tracer.root, graph, "Whole")


MADE = {"gate": gate, "blend": blend, "whole": whole}
"""How the module of each sample is made, by the name of the sample."""


def called_with(make: Any) -> tuple[Any, ...]:
    """The arguments that the module of a sample takes."""
    if make is gate:
        return (inputs()["left"],)
    return (inputs(), None, 3) if make is blend else (inputs(), torch.ones(2, 3), 2)


def main(folder: Path) -> None:
    """Write every sample."""
    import saved_models as models  # noqa: PLC0415 - beside this file, or in /models

    folder.mkdir()
    for name, make in MADE.items():
        for protocol in (2, 5):
            data = pickle.dumps(make(models), protocol)
            (folder / f"{name}_{protocol}.pickle").write_bytes(data)
    make_package(models, folder / "package")
    fxls.install(folder / "store")
    for make in MADE.values():
        make(models)(*called_with(make))


def make_package(models: Any, folder: Path) -> None:
    """Write the packages of two modules, of plain and of nested inputs."""
    folder.mkdir()
    gate(models).to_folder(folder / "gate", "Gate")
    blend(models).to_folder(folder / "blend", "Blend")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
