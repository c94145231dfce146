"""Graph modules of torch's own FX are listings, and run from their files."""

from __future__ import annotations

import copy
import inspect
import logging
import operator
import pickle
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
import torch

import fxls
from fxls import engine
from fxls.listing import Identity, Mark, Origin, Place, Role
from fxls.runtime import finish, listing_of
from fxls.store import Store
from fxls.text import Span
from tests.runtime.producers.looking import (
    MODULE,
    forward_of,
    listing_in,
    origins,
    path_of,
)
from tests.runtime.producers.torch_nets import Block, Net, doubled

fx: Any = torch.fx
compiled_by_torch: Any = cast("Any", torch).compile


def test_a_trace_of_torchs_is_the_listing_that_the_engine_makes(store: Store) -> None:
    module = fx.symbolic_trace(Net())
    theirs, ours = listing_in(store, module), listing_of(engine.symbolic_trace(Net()))
    assert theirs.identity == Identity(MODULE, "Net", "torch.fx")
    assert theirs.text.splitlines()[1:] == ours.text.splitlines()[1:]
    assert theirs == msgspec.structs.replace(
        ours, identity=theirs.identity, text=theirs.text
    )


def test_code_file_and_python_agree(store: Store) -> None:
    module = fx.symbolic_trace(Net())
    text = path_of(module).read_text("utf-8")
    assert module.code.strip() + "\n" == text[text.index("def forward") :]
    assert inspect.getsource(forward_of(module)) == text[text.index("def forward") :]
    x = torch.ones(2, 4)
    assert torch.equal(module(x), module.forward(x))


def test_a_changed_graph_is_another_revision(store: Store) -> None:
    module = fx.symbolic_trace(Net())
    before = path_of(module)
    for node in module.graph.nodes:
        if node.target is torch.relu:
            node.target = torch.tanh
    module.recompile()
    after = path_of(module)
    finish()
    identity = store.read(after).identity
    assert [one.path for one in store.revisions(identity)] == [before, after]


def made_again(module: Any) -> Any:
    return fx.GraphModule(module, module.graph)


@pytest.mark.parametrize("copied", [copy.deepcopy, made_again])
def test_a_copy_knows_where_it_came_from(
    store: Store, copied: Callable[[Any], Any]
) -> None:
    module = fx.symbolic_trace(Net())
    listing = listing_in(store, module)
    again = copied(module)
    assert path_of(again) == path_of(module) or type(again).__name__ == "GraphModule"
    assert origins(listing_in(store, again)) == origins(listing)


def test_what_is_unpickled_runs_from_a_file_of_the_store(store: Store) -> None:
    module = fx.symbolic_trace(Net())
    again = pickle.loads(pickle.dumps(module))
    assert path_of(again).parent == store.root
    assert torch.equal(again(torch.ones(2, 4)), module(torch.ones(2, 4)))
    # torch writes no origins into a pickle, and those of the first module stay.
    assert path_of(again) == path_of(module)
    assert listing_in(store, again) == listing_in(store, module)
    assert origins(listing_in(store, again))


def test_a_trace_of_a_graph_module_knows_the_source_of_that(store: Store) -> None:
    module = fx.symbolic_trace(Net())
    again = fx.symbolic_trace(module)
    assert path_of(again).read_text("utf-8") == path_of(module).read_text("utf-8")
    assert path_of(again) == path_of(module)
    listing = listing_in(store, again)
    assert {source.path for source in listing.sources} == {inspect.getfile(Net)}
    fx.symbolic_trace(module)
    assert listing_in(store, again) == listing


def test_stack_traces_that_a_tracer_notes_are_origins(store: Store) -> None:
    fxls.uninstall()  # so that the trace itself is torch's alone
    tracer = fx.Tracer()
    tracer.record_stack_traces = True
    graph = tracer.trace(Block())
    fxls.install(store.root)
    listing = listing_in(store, fx.GraphModule({}, graph))
    assert listing.identity == Identity(MODULE, "Block", "torch.fx")
    path = inspect.getfile(Block)
    source = "return torch.relu(x) * 2 + x"
    lines = Path(path).read_text("utf-8").splitlines()
    line = next(i for i, text in enumerate(lines) if text.strip() == source)
    span = Span.of(line, 8, line, 8 + len(source))
    expected = Origin((Place(path, "Block.forward", span),))
    assert origins(listing) == dict.fromkeys(["relu", "mul", "add"], expected)


def test_a_graph_made_by_hand_is_a_listing_without_origins(store: Store) -> None:
    listing = listing_in(store, fx.GraphModule({}, added(3), "Added"))
    assert listing.identity.qualname == "Added"
    assert [facts.name for facts in listing.nodes] == [
        *("x", "add", "add_1", "add_2", "output"),
    ]
    assert origins(listing) == {}


def test_names_are_found_in_a_text_that_somebody_changed(store: Store) -> None:
    graph = added(1)
    module = fx.GraphModule({}, graph)
    plain = listing_in(store, module)

    class Logging(fx.graph.CodeGen):
        def gen_fn_def(self, *args: Any, **kwargs: Any) -> str:
            head: str = fx.graph.CodeGen.gen_fn_def(self, *args, **kwargs)
            return head + "\n    seen = 'é', self"

    graph.set_codegen(Logging())
    module.recompile()
    listing = listing_in(store, module)
    assert "seen = 'é', self" in listing.text
    moved = {facts.line: facts.line + 1 for facts in plain.nodes[1:]}
    expected = [
        Mark(moved.get(m.line, m.line), m.column, m.length, m.node, m.role)
        for m in plain.marks
    ]
    assert listing.marks == tuple(expected)
    assert [m.role for m in listing.marks].count(Role.FREES) == 1


def test_an_error_in_generated_code_is_shown_as_torch_shows_it(
    store: Store, capfd: pytest.CaptureFixture[str]
) -> None:
    def product(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.matmul(x, y)

    arguments = (torch.ones(2, 3), torch.ones(2, 3))
    module = fx.symbolic_trace(product)
    with pytest.raises(RuntimeError) as raised:
        module(*arguments)
    frames = traceback.extract_tb(raised.value.__traceback__)
    assert frames[-1].filename == str(path_of(module))
    shown = context_shown(capfd)

    fxls.uninstall()
    plain = fx.symbolic_trace(product)
    with pytest.raises(RuntimeError):
        plain(*arguments)
    assert shown == context_shown(capfd)
    assert shown[0] == "generated forward function:"


def test_equal_modules_are_compiled_apart_by_torch_compile(store: Store) -> None:
    one, other = (fx.symbolic_trace(doubled) for _ in range(2))
    assert one.forward.__code__ is not other.forward.__code__
    compiled = compiled_by_torch(one, backend="eager", fullgraph=True)
    assert torch.equal(compiled(torch.ones(3)), torch.full((3,), 2.0))


def test_the_profilers_names_stay(store: Store) -> None:
    with fx.experimental._config.patch(enrich_profiler_metadata=True):
        module = fx.symbolic_trace(doubled)
    assert path_of(module).name.startswith("fx_generated_")
    assert torch.equal(module(torch.ones(3)), torch.full((3,), 2.0))


def test_without_a_store_modules_run_from_memory_and_it_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    fxls.install(tmp_path / "file" / ".fxls")
    with caplog.at_level(logging.WARNING, "fxls"):
        modules = [fx.symbolic_trace(doubled) for _ in range(2)]
    fxls.uninstall()
    assert all(str(path_of(m)).startswith("<eval_with_key>") for m in modules)
    assert torch.equal(modules[0](torch.ones(3)), torch.full((3,), 2.0))
    assert [r.getMessage().partition(": ")[0] for r in caplog.records] == [
        "a graph module of torch.fx runs from memory"
    ]


class Shapeless(torch.Tensor):
    """A tensor whose author did not think of everything."""

    @property
    def shape(self) -> torch.Size:  # pyright: ignore[reportIncompatibleVariableOverride]  # the mistake
        raise EOFError("no shape")


def test_whatever_goes_wrong_is_said_once_and_the_program_goes_on(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    graph = added(2)
    for node in graph.nodes:
        node.meta["val"] = torch.ones(2).as_subclass(Shapeless)
    with caplog.at_level(logging.WARNING, "fxls"):
        modules = [fx.GraphModule({}, graph) for _ in range(2)]
        finish()
    module = modules[1]
    module.recompile()
    finish()
    assert module(1) == 3
    assert path_of(module).parent == store.root
    (record,) = caplog.records
    assert record.getMessage() == "a listing has no facts: EOFError('no shape')"
    assert record.exc_info is not None


def added(count: int) -> Any:
    graph = fx.Graph()
    x = graph.placeholder("x")
    for _ in range(count):
        x = graph.call_function(operator.add, (x, 1))
    graph.output(x)
    return graph


def context_shown(capfd: pytest.CaptureFixture[str]) -> list[str]:
    """What torch prints of the generated code, without the number of the line."""
    text = capfd.readouterr().err
    start = text.index("generated forward function:")
    return text[start:].rstrip().splitlines()
