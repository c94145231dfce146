# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
"""What an earlier fxls wrote is read: modules, packages, a store, settings, launches."""

from __future__ import annotations

import importlib
import importlib.util
import json
import pickle
import shutil
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from fxls import engine as fx
from fxls.engine.graph import _PyTreeCodeGen  # pyright: ignore[reportPrivateUsage]  # FX's name of it
from fxls.ide.document_links import links
from fxls.ide.listing.document import Document
from fxls.ide.listing.parent import captured_path, parent_paths
from fxls.serving.settings import Settings, read_settings
from fxls.store import Revision, Store
from tests.saved import make

HERE = Path(__file__).parent
SAMPLES = HERE / "format_1"


@pytest.fixture(autouse=True)
def models(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The models by the name that the samples have for them."""
    monkeypatch.syspath_prepend(HERE)
    yield importlib.import_module("saved_models")
    sys.modules.pop("saved_models", None)


def loaded(name: str, protocol: int) -> fx.GraphModule:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's, of pickles of its specifications
        return pickle.loads((SAMPLES / f"{name}_{protocol}.pickle").read_bytes())


def _outline(store: Store, revision: Revision) -> str:
    """The text of a listing, its last node but the output, and where that came from."""
    listing = store.read_revision(revision)
    node = listing.nodes[-2]
    assert node.origin is not None
    frame = listing.frames[node.origin]
    span = frame.span
    source = listing.sources[frame.source].path
    at = f"{span.start.line}:{span.start.column}-{span.end.column}"
    return f"{revision.path.name} {node.name} {source}:{at}"


def same(one: Any, other: Any) -> None:
    torch.testing.assert_close(one, other, rtol=0, atol=0)


@pytest.mark.parametrize("protocol", [2, 5])
@pytest.mark.parametrize("name", make.MADE)
def test_a_pickle_is_the_module_that_it_was_made_of(
    name: str, protocol: int, models: Any
) -> None:
    module, made = loaded(name, protocol), make.MADE[name](models)

    assert type(module).__name__ == type(made).__name__
    assert str(module.graph) == str(made.graph)
    assert module.code == made.code
    inputs = make.called_with(make.MADE[name])
    with torch.no_grad():
        same(module(*inputs), made(*inputs))


def test_a_pickle_has_the_places_and_shapes_of_the_nodes() -> None:
    module = loaded("gate", 5)

    assert {
        node.name: (node.stack_trace or "").strip()
        for node in module.graph.nodes
        if node.name in ("sigmoid", "getitem")
    } == {
        "sigmoid": 'File "/models/saved_models.py", line 30, in forward',
        "getitem": 'File "/models/saved_models.py", line 31, in forward',
    }
    (output,) = module.graph.find_nodes(op="output")
    assert output.meta["tensor_meta"].shape == (2, 3)
    stack = next(n for n in module.graph.nodes if n.name == "project")
    assert list(stack.meta["nn_module_stack"].values())[-1][0] == "project"


def test_a_pickle_has_its_tracer_and_its_rules_of_code(models: Any) -> None:
    assert loaded("whole", 5).graph._tracer_cls is models.Whole  # pyright: ignore[reportPrivateUsage]  # as programs read it
    assert type(loaded("blend", 5).graph._codegen) is _PyTreeCodeGen  # pyright: ignore[reportPrivateUsage]  # as above


@pytest.mark.parametrize(("name", "kind"), [("gate", "Gate"), ("blend", "Blend")])
def test_a_package_computes_what_its_module_did(
    name: str, kind: str, models: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(SAMPLES / "package")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as above
        module = getattr(importlib.import_module(name), kind)().eval()
    for loaded_one in (name, f"{name}.module"):
        monkeypatch.delitem(sys.modules, loaded_one)

    inputs = make.called_with(make.MADE[name])
    with torch.no_grad():
        same(module(*inputs), make.MADE[name](models)(*inputs))


def test_a_store_has_its_identities_and_listings(tmp_path: Path) -> None:
    store = tmp_path / ".fxls"
    shutil.copytree(SAMPLES / "store", store)
    reader = Store(store)

    assert [
        [
            identity.qualname,
            *(_outline(reader, one) for one in reader.revisions(identity)),
        ]
        for identity in reader.identities()
    ] == [
        [
            "Blend",
            "Blend_51c0581f57eb.py amin /models/saved_models.py:44:48-60",
            "Blend_009bb1bfb60b.py amin /models/saved_models.py:44:48-60",
        ],
        ["Gate", "Gate_4032984d2079.py getitem /models/saved_models.py:30:15-57"],
    ]


def test_a_listing_that_names_no_parents_is_shown_without_them(
    tmp_path: Path,
) -> None:
    store = tmp_path / ".fxls"
    shutil.copytree(SAMPLES / "store", store)
    path = store / "Blend_51c0581f57eb.py"
    listing = Store(store).read(path)
    document = Document(str(path), listing)

    assert (listing.parents, listing.links) == ((), ())
    assert listing.computes_gradients is False
    assert [*links(document, lambda _: None)] == []
    assert [*parent_paths(document)] == []
    assert captured_path(document) is None


def test_the_code_of_a_listing_runs(tmp_path: Path, models: Any) -> None:
    (path,) = SAMPLES.glob("store/Blend_51c0581f57eb.py")
    names: dict[str, Any] = {"saved_models_clipped": models.clipped}
    exec(compile(path.read_text("utf-8"), str(tmp_path / path.name), "exec"), names)
    made = make.blend(models)
    inputs = make.called_with(make.blend)

    with torch.no_grad():
        flat = names["forward"](made, *inputs)
        same(flat, made(*inputs))


def test_the_settings_of_an_extension_are_read() -> None:
    sent = json.loads((SAMPLES / "settings.json").read_text("utf-8"))

    assert read_settings(sent, Settings()) == Settings(
        format=1,
        trusted=True,
        python="/models/.venv/bin/python",
        time_limit=60.0,
        store="/models/.fxls",
    )


@pytest.mark.parametrize(
    "name",
    # What documents, launch configurations and editors start by ``python -m``.
    ["fxls", "fxls.adapter", "fxls.debug_entry", "fxls.pdb", "fxls.worker"],
)
def test_a_program_that_configurations_name_is_there(name: str) -> None:
    found = importlib.util.find_spec(name)
    assert found is not None
    if found.submodule_search_locations:
        found = importlib.util.find_spec(f"{name}.__main__")
    assert found is not None
