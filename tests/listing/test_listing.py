"""The values of a listing, and their encoding."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from fxls.listing import (
    Facts,
    Failure,
    HeadLink,
    How,
    Identity,
    Listing,
    Mark,
    Parent,
    Reason,
    Role,
    ToClass,
    ToLine,
    ToParent,
)
from fxls.listing.sidecar import SidecarError, decode, encode
from fxls.repairs import Evaluate, Wrap
from fxls.text import Span

CAPTURED = Identity("net", "Net", "torch.compile", "graph 0", 1)
TEXT = "# The code of Net's graph.\n# It was made from Net_0123456789ab.py.\n"
DERIVED = Listing(
    replace(CAPTURED, stage="graph 0, backward"),
    TEXT,
    3,
    (),
    (),
    parents=(
        Parent(replace(CAPTURED, stage="graph 0, joint"), "Net_bbbbbbbbbbbb.py"),
        Parent(CAPTURED, "Net_0123456789ab.py", How.CALLED),
    ),
    links=(
        HeadLink(0, 14, 3, ToClass()),
        HeadLink(1, 19, 19, ToParent("Net_0123456789ab.py")),
        HeadLink(1, 2, 2, ToLine("/work/net.py", 7)),
    ),
    computes_gradients=True,
)


def test_parents_and_links_are_read_as_they_were_written() -> None:
    assert decode(encode(DERIVED), TEXT) == DERIVED


def test_a_link_has_the_span_of_its_words() -> None:
    _, parent, _ = DERIVED.links

    assert parent.span == Span.of(1, 19, 1, 38)


def test_a_sidecar_without_parents_and_links_says_nothing_of_them() -> None:
    sidecar: Any = msgspec.msgpack.decode(encode(DERIVED))
    for name in ("parents", "links", "computes_gradients"):
        del sidecar["listing"][name]

    listing = decode(msgspec.msgpack.encode(sidecar), TEXT)

    assert listing == replace(DERIVED, parents=(), links=(), computes_gradients=False)


def test_a_parent_that_says_more_than_is_known_here_is_read() -> None:
    sidecar: Any = msgspec.msgpack.decode(encode(DERIVED))
    sidecar["listing"]["parents"][0].append("of a later version")

    assert decode(msgspec.msgpack.encode(sidecar), TEXT) == DERIVED


@pytest.mark.parametrize("parent", [["Net"], [{"module": "net"}, "Net_0.py"], 7])
def test_a_parent_that_is_none_damages_the_sidecar(parent: Any) -> None:
    sidecar: Any = msgspec.msgpack.decode(encode(DERIVED))
    sidecar["listing"]["parents"][0] = parent

    with pytest.raises(SidecarError, match="sidecar is damaged: "):
        decode(msgspec.msgpack.encode(sidecar), TEXT)


def sidecar_of(node: Any) -> bytes:
    """A sidecar with one node, of which this is said besides the rest."""
    sidecar: Any = msgspec.msgpack.decode(encode(DERIVED))
    facts = {"name": "x", "opcode": "placeholder", "target": "x", "line": 0, **node}
    sidecar["listing"]["nodes"] = [facts]
    return msgspec.msgpack.encode(sidecar)


@pytest.mark.parametrize(
    ("node", "missing"),
    [
        ({"origin": 0}, "frame 0"),
        ({"more_origins": [0]}, "frame 0"),
        ({"scope": 0}, "module 0"),
        ({"call": 0}, "target 0"),
        ({"users": [1]}, "node 1"),
        ({"args": [["x", 1]]}, "node 1"),
        ({"kwargs": [["dim", [7]]]}, "node 7"),
    ],
)
def test_a_node_that_names_a_row_that_there_is_not_damages_the_sidecar(
    node: Any, missing: str
) -> None:
    with pytest.raises(SidecarError) as raised:
        decode(sidecar_of(node), TEXT)
    assert str(raised.value) == f"sidecar is damaged: there is no {missing}"


@pytest.mark.parametrize(
    ("node", "where"),
    [
        ({"origin": -1}, "origin"),
        ({"users": [-1]}, "users[0]"),
        ({"args": [["x", -1]]}, "args[0][1]"),
        ({"kwargs": [["dim", [-7]]]}, "kwargs[0][1][0]"),
    ],
)
def test_a_row_below_zero_damages_the_sidecar(node: Any, where: str) -> None:
    with pytest.raises(SidecarError) as raised:
        decode(sidecar_of(node), TEXT)
    assert str(raised.value) == (
        f"sidecar is damaged: Expected `int` >= 0 - at `$.listing.nodes[0].{where}`"
    )


def is_right(listing: Listing) -> None:
    """Says nothing of any listing."""


@pytest.mark.parametrize("kind", ["marks", "nodes"])
def test_other_threads_run_while_a_long_sidecar_is_decoded(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 200_000 if kind == "marks" else 1
    long = Listing(
        CAPTURED,
        TEXT,
        3,
        tuple(Mark(line, 4, 1, 0, Role.BINDS) for line in range(count)),
        tuple(Facts("x", "placeholder", "x", 3) for _ in range(200_001 - count)),
    )
    sidecar, found, turns = encode(long), list[Listing](), 0
    monkeypatch.setattr("fxls.listing.sidecar._refuse_wrong_rows", is_right)
    reader = threading.Thread(target=lambda: found.append(decode(sidecar, TEXT)))
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        reader.start()
        while reader.is_alive():
            time.sleep(1e-5)
            turns += 1
    finally:
        sys.setswitchinterval(before)

    assert found == [long]
    assert turns > 5


def test_a_failure_without_repairs_is_read() -> None:
    failure = Failure(
        Reason.TRACE, "a branch", advice="Wrap it.", repairs=(Wrap("f"), Evaluate())
    )
    sent: Any = msgspec.msgpack.decode(msgspec.msgpack.encode(failure))

    def read(sent: Any) -> Failure:
        return msgspec.msgpack.decode(msgspec.msgpack.encode(sent), type=Failure)

    assert read(sent) == failure
    del sent["repairs"]
    assert read(sent) == replace(failure, repairs=())


@pytest.mark.parametrize(
    ("stage", "graph", "steps"),
    [
        ("", "", ()),
        ("graph 0", "graph 0", ()),
        ("graph 0, compilation 1", "graph 0, compilation 1", ()),
        ("graph 0, forward, post-grad", "graph 0", ("forward", "post-grad")),
        ("graph 2, compilation 1, joint", "graph 2, compilation 1", ("joint",)),
    ],
)
def test_a_stage_is_of_a_graph_and_recompilations_make_others(
    stage: str, graph: str, steps: tuple[str, ...]
) -> None:
    identity = Identity("net", "Net", stage=stage)
    assert (identity.graph, identity.steps) == (graph, steps)
