"""A node that computes something else in another place is named, and no other one.

The other place is this process, with an operator that computes something else there.
"""

from __future__ import annotations

import io
import pickle
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from fxls.runtime import installing
from fxls.runtime.numbers.elsewhere.agreeing import agreement
from fxls.runtime.numbers.elsewhere.keeping_values import keep
from fxls.runtime.numbers.elsewhere.values_file import read, write
from fxls.runtime.numbers.keeping import Keeping
from fxls.verdicts.agreement import Agreement, Side
from tests.runtime.numbers.looking import (
    COMPILING,
    Attention,
    Normed,
    Numbers,
    any_torch,
)

pytestmark = COMPILING

Model = Callable[..., Any]


def right(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def wrong(x: torch.Tensor) -> torch.Tensor:
    # In float64 it is right, as a kernel for float32 alone would be.
    return x * 2 if x.dtype == torch.float64 else x * 2.01


_computes: list[Model] = [right]


def _twice(x: torch.Tensor) -> torch.Tensor:
    return _computes[0](x)


@pytest.fixture(scope="module", autouse=True)
def operator() -> Iterator[None]:
    library = any_torch.library.Library("fxls_elsewhere", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", _twice, "CPU")
    library.impl("twice", torch.empty_like, "Meta")
    yield
    library._destroy()


class Doubling(nn.Module):
    """Calls an operator that may be wrong, and computes on with what it gives."""

    def __init__(self, *, prepares: bool = False) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)
        self.prepares = prepares

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.prepares:
            x = functional.relu(x) + 1
        hidden = functional.relu(self.first(x))
        twice = any_torch.ops.fxls_elsewhere.twice(hidden) + 1
        return functional.softmax(self.second(twice), -1) + 1


def keeping() -> Keeping:
    installation = installing.current()
    assert installation is not None
    assert installation.numbers is not None
    return installation.numbers


class Places:
    """Two places in which a model runs, one after the other."""

    def __init__(self, numbers: Numbers, folder: Path) -> None:
        self.numbers = numbers
        self.path = folder / "there.pt"

    def there(
        self, model: Model, x: torch.Tensor, computes: Model = right
    ) -> Agreement:
        self._run(model, x, computes)
        return keep(keeping().compilations, keeping().copies, self.path, None)

    def here(self, model: Model, x: torch.Tensor, computes: Model = right) -> Agreement:
        self._run(model, x, computes)
        return agreement(keeping().compilations, keeping().copies, self.path, None)

    def alter(self, node: str, value: Any) -> None:
        """Let the file say another value of a node; without one it has none."""
        kept = read(self.path, 1 << 20)
        (graph,) = kept.graphs
        values = {name: one for name, one in graph.values.items() if name != node}
        if value is not None:
            values[node] = value
        self.path.unlink()
        write(replace(kept, graphs=[replace(graph, values=values)]), self.path)

    def _run(self, model: Model, x: torch.Tensor, computes: Model) -> None:
        self.numbers.forget()
        _computes[:] = [computes]
        self.numbers.run(model, x, backend="eager", backward=False)
        for one in keeping().compilations:
            one.name, one.stage = "0/0", "graph 0"  # as in a process of its own


@pytest.fixture
def places(numbers: Numbers, tmp_path: Path) -> Places:
    any_torch.manual_seed(0)
    return Places(numbers, tmp_path)


def named(found: Agreement) -> list[tuple[str, Side | None]]:
    return [(one.where.node, one.side) for one in found.differences]


@pytest.mark.parametrize("model", [Normed, Attention, Doubling])
def test_what_computes_the_same_agrees_and_each_node_is_judged(
    model: Callable[[], nn.Module], places: Places
) -> None:
    net, x = model(), torch.randn(4, 8)

    kept, found = places.there(net, x), places.here(net, x)

    assert kept.graphs == found.graphs == 1
    assert kept.values == found.values > 5
    assert (found.differences, found.inputs, found.unseen) == ((), (), ())
    assert found.there == kept.here


@pytest.mark.parametrize(
    ("there", "here", "side"), [(wrong, right, Side.THERE), (right, wrong, Side.HERE)]
)
def test_the_one_node_that_differs_is_named_and_float64_tells_who_is_wrong(
    there: Model, here: Model, side: Side, places: Places
) -> None:
    net, x = Doubling(), torch.randn(4, 8)
    places.there(net, x, there)

    found = places.here(net, x, here)

    assert named(found) == [("twice", side)]
    (one,) = found.differences
    assert one.where.target == "torch.ops.fxls_elsewhere.twice"
    (place,) = [at for at in one.where.places if at.path == __file__]
    assert (
        "fxls_elsewhere.twice(hidden)"
        in Path(__file__).read_text("utf-8").split("\n")[place.span.start.line]
    )
    assert one.evidence.error > one.evidence.allowed > one.evidence.usual


def test_other_inputs_are_said_and_make_no_node_differ(places: Places) -> None:
    net, x = Doubling(), torch.randn(4, 8)
    places.there(net, x)

    found = places.here(net, x + 0.5)

    assert named(found) == []
    (other,) = found.inputs
    assert other.name.lower().strip("_") == "l_x"
    assert other.off == pytest.approx(0.5, abs=1e-6)


def test_nodes_behind_one_that_is_there_alone_are_known_under_their_other_names(
    places: Places,
) -> None:
    x = torch.randn(4, 8)
    longer, shorter = Doubling(prepares=True), Doubling()
    shorter.load_state_dict(longer.state_dict())
    places.there(longer, x, wrong)

    found = places.here(shorter, x)

    # What reads x there is another node, as is what reads that one.
    assert named(found) == [("twice", Side.THERE)]
    assert [(one.what, one.why) for one in found.unseen] == [
        ("linear", "it is another node there"),
        ("hidden", "it reads what another node computes there"),
    ]


def test_values_that_are_drawn_are_given_on_and_not_judged(places: Places) -> None:
    class Dropping(Doubling):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(functional.dropout(x, 0.5))

    net, x = Dropping(), torch.randn(4, 8)
    places.there(net, x, wrong)

    found = places.here(net, x)

    assert named(found) == [("twice", Side.THERE)]
    (unseen,) = found.unseen
    assert unseen.why == "it draws random numbers"


@pytest.mark.parametrize(("computes", "count"), [(right, 0), (wrong, 1)])
def test_of_a_graph_that_changes_values_what_it_returns_is_judged(
    computes: Model, count: int, places: Places
) -> None:
    class Counting(Doubling):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.BatchNorm1d(8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(self.norm(x)).log()

    net, x = Counting(), torch.randn(4, 8)
    state = {name: value.clone() for name, value in net.state_dict().items()}
    places.there(net, x, computes)
    net.load_state_dict(state)

    found = places.here(net, x)

    assert found.values == 1
    assert len(found.differences) == count
    (unseen,) = found.unseen
    assert unseen.why == "the graph changes values in place"
    assert unseen.what == "add_, batch_norm, linear, hidden and 5 more"
    assert found.inputs == ()


@pytest.mark.parametrize(
    ("kept", "reason"),
    [
        (torch.ones(4, 9), "it is float32[4, 8] here and float32[4, 9] there"),
        (
            torch.ones(4, 8, dtype=torch.float64),
            "it is float32[4, 8] here and float64[4, 8] there",
        ),
    ],
)
def test_a_value_of_another_form_differs_and_nobody_is_said_to_be_wrong(
    kept: torch.Tensor, reason: str, places: Places
) -> None:
    net, x = Doubling(), torch.randn(4, 8)
    places.there(net, x)
    places.alter("twice", kept)

    found = places.here(net, x)

    (first, *_) = found.differences
    assert (first.where.node, first.side) == ("twice", None)
    assert first.evidence.reason == reason


@pytest.mark.parametrize(
    ("kept", "why"),
    [
        (2.5, "it is float32[4, 8] here and 2.5 there"),
        ([torch.ones(4, 8)] * 2, "it has another number of values there"),
        (None, "its value there is no tensor, number or list of these"),
    ],
)
def test_a_value_that_cannot_be_judged_is_named_and_not_counted(
    kept: Any, why: str, places: Places
) -> None:
    net, x = Normed(), torch.randn(4, 8)
    count = places.there(net, x).values
    places.alter("gate", kept)

    found = places.here(net, x)

    assert [(one.what, one.why) for one in found.unseen if one.what == "gate"] == [
        ("gate", why)
    ]
    assert found.values < count
    assert [node for node, _ in named(found) if node == "gate"] == []


def test_a_file_that_cannot_be_written_is_said(places: Places) -> None:
    places.path = places.path.parent / "nowhere" / "there.pt"

    kept = places.there(Doubling(), torch.randn(4, 8))

    assert kept.refused.startswith("it cannot be written: FileNotFoundError: ")


def test_a_graph_that_is_in_one_place_alone_is_said(places: Places) -> None:
    net, x = Doubling(), torch.randn(4, 8)
    places.there(net, x)
    keeping().compilations[0].name = "1/0"

    found = agreement(keeping().compilations, keeping().copies, places.path, None)

    assert [(one.compilation, one.why) for one in found.unseen] == [
        ("1/0", "the program has it here alone"),
        ("0/0", "the program has it there alone"),
    ]
    assert (found.graphs, found.values) == (0, 0)


class _Runs:
    """What runs when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, ("raise SystemExit('it ran')",)


def _zipped(pickled: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as written:
        written.writestr("archive/data.pkl", pickled)
        written.writestr("archive/version", "3\n")
    return file.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"a text",
        _zipped(b"no pickle"),
        _zipped(pickle.dumps(_Runs(), 2)),
        _zipped(pickle.dumps({"fxls": 99}, 2)),
        _zipped(pickle.dumps([1, 2], 2)),
        _zipped(pickle.dumps({"fxls": 1, "environment": {}, "graphs": []}, 2)),
    ],
)
def test_a_file_that_is_none_of_ours_is_refused_and_runs_nothing(
    data: bytes, places: Places
) -> None:
    places.path.write_bytes(data)

    found = places.here(Doubling(), torch.randn(4, 8))

    assert found.refused == "it is no file that --keep wrote"
    assert found.there is None


def test_a_file_that_needs_more_memory_than_allowed_is_not_read(places: Places) -> None:
    places.there(Doubling(), torch.randn(4, 8))
    copies = keeping().copies
    copies.most_bytes = 1000

    found = agreement(keeping().compilations, copies, places.path, None)

    assert found.refused == "its values need 1 MB, and --memory allows 0 MB"
