"""What an extension asks for pictures, tables, lists and comparisons of graphs."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fxls.graph_diff import as_json, graph_diff
from fxls.listing import Identity, Listing, Parent, Scope
from fxls.store import Store, identity_uri
from tests.support.listings import NET, listing_of
from tests.support.lsp_client import LspClient, started
from tests.support.projects import SOURCE, TEXT, net_listing

Json = Any

GRAPHS: Json = {
    "workspace": {"textDocumentContent": {}},
    "experimental": {"fxlsChanges": True},
}

FUSED = Identity("net", "Net", stage="fuse")

LATER = """\
import torch

def forward(self, x):
    tanh = torch.tanh(x)
    relu_1 = torch.relu(tanh);  tanh = None
    count = '𝄞'.count(x);  x = None
    add = relu_1 + count;  relu_1 = None;  count = None
    return add
"""


@pytest.fixture
def store(project: Path) -> Store:
    return Store(project / ".fxls")


@pytest.fixture
def client(project: Path, listing: Path) -> Generator[LspClient]:
    """A client that shows graphs; at its end no message may be left."""
    with started() as client:
        client.initialize(project, capabilities=GRAPHS)
        yield client
        client.end()


def later(project: Path, identity: Identity = NET) -> Listing:
    """The listing after a pass, or an edit."""
    source = str(project / "net.py")
    entry = "Net()(torch.randn(2))"
    return listing_of(LATER, identity=identity, entry=entry, sources={source: SOURCE})


def forward(project: Path) -> str:
    return identity_uri(net_listing(project).identity)


def changed(client: LspClient, *documents: str) -> None:
    """Wait until the server said of each of these that it is another.

    Each once: what is written while the server looks is said by itself.
    """
    left = [*documents]
    while left:
        for said in client.notification("fxls/changed")["documents"]:
            left.remove(said)


def test_a_graph_is_nodes_edges_calls_and_places(
    client: LspClient, project: Path, listing: Path
) -> None:
    net = project / "net.py"
    graph = client.request("fxls/graph", {"uri": listing.as_uri()})

    functions = {"opcode": "call_function", "character": 4}
    assert graph == {
        "uri": listing.as_uri(),
        "document": forward(project),
        "module": "net",
        "qualname": "Net",
        "producer": "engine",
        "scopes": [],
        "places": [place(net, 6, 15, 28), place(net, 6, 31, 44), place(net, 6, 15, 44)],
        "nodes": [
            {
                "name": "x",
                "opcode": "placeholder",
                "target": "x",
                "line": 2,
                "character": 18,
                "reads": [],
            },
            {
                **functions,
                "name": "relu",
                "target": "torch.relu",
                "line": 3,
                "reads": [0],
                "value": "f32[2]",
                "dtype": "float32",
                "device": "cpu",
                "origin": 0,
            },
            {
                **functions,
                "name": "count",
                "target": "'𝄞'.count",
                "line": 4,
                "reads": [0],
                "origin": 1,
            },
            {
                **functions,
                "name": "add",
                "target": "operator.add",
                "line": 5,
                "reads": [1, 2],
                "origin": 2,
            },
            {
                "name": "output",
                "opcode": "output",
                "target": "output",
                "line": 6,
                "character": 4,
                "reads": [3],
            },
        ],
    }
    assert client.request("fxls/graph", {"uri": net.as_uri()}) is None
    virtual = client.request("fxls/graph", {"uri": forward(project)})
    assert virtual == {**graph, "uri": forward(project)}


def place(path: Path, line: int, start: int, end: int) -> Json:
    return {
        "uri": path.as_uri(),
        "line": line,
        "character": start,
        "endLine": line,
        "endCharacter": end,
        "function": "Net.forward",
    }


def test_a_submodule_that_is_called_twice_is_two_calls(
    client: LspClient, project: Path, store: Store
) -> None:
    made = net_listing(project)
    scopes = (Scope("", "net.Net"), Scope("act", "net.Act", 0, parameters=3))
    within: dict[int, int] = dict(zip((1, 2, 3), (1, 0, 1), strict=True))
    nodes = tuple(
        replace(facts, scope=within.get(node)) for node, facts in enumerate(made.nodes)
    )
    path = store.materialize(replace(made, scopes=scopes, nodes=nodes))
    graph = client.request("fxls/graph", {"uri": path.as_uri()})
    client.notification("fxls/changed")

    call = {"path": "act", "type": "net.Act", "parameters": 3}
    assert graph["scopes"] == [
        {**call, "first": 1, "last": 1},
        {**call, "first": 3, "last": 3},
    ]
    assert [node.get("scope") for node in graph["nodes"]] == [None, 0, None, 1, None]


def test_a_graph_names_the_one_that_it_was_made_from(
    client: LspClient, project: Path, store: Store
) -> None:
    joint = replace(NET, producer="torch.compile", stage="graph 0, joint")
    backward = replace(joint, stage="graph 0, backward")
    captured = net_listing(project)
    first = store.materialize(captured)
    parents = (Parent(joint, "Net_cccccccccccc.py"), Parent(NET, first.name))
    listing = replace(
        later(project, backward), parents=parents, computes_gradients=True
    )
    path = store.materialize(listing)

    def named(path: Path) -> Json:
        graph = client.request("fxls/graph", {"uri": path.as_uri()})
        return {name: graph.get(name) for name in ("parent", "computesGradients")}

    # The joint graph was deleted.
    assert named(path) == {"parent": first.as_uri(), "computesGradients": True}
    assert named(first) == {"parent": None, "computesGradients": None}
    nearest = store.materialize(
        replace(captured, identity=joint, text=f"# {joint.stage}\n{captured.text}")
    )
    again = replace(listing, parents=(Parent(joint, nearest.name), *parents))
    assert named(store.materialize(again))["parent"] == nearest.as_uri()


def test_a_table_comes_in_windows_sorted_and_searched(
    client: LspClient, project: Path, listing: Path
) -> None:
    uri = listing.as_uri()
    whole = client.request("fxls/table", {"uri": uri})
    window = client.request(
        "fxls/table",
        {"uri": uri, "sort": "users", "descending": True, "first": 1, "count": 2},
    )
    searched = client.request("fxls/table", {"uri": uri, "search": "f32 RELU"})
    found = client.request("fxls/table", {"uri": uri, "search": "float32 RELU"})

    assert (whole["nodes"], whole["found"]) == (5, 5)
    assert [row["name"] for row in whole["rows"]] == [
        "x",
        "relu",
        "count",
        "add",
        "output",
    ]
    assert whole["rows"][3] == {
        "node": 3,
        "name": "add",
        "opcode": "call_function",
        "target": "operator.add",
        "args": "relu, count",
        "kwargs": "",
        "users": 1,
        "line": 5,
        "character": 4,
        "origin": place(project / "net.py", 6, 15, 44),
    }
    assert [row["name"] for row in window["rows"]] == ["relu", "count"]
    assert (window["nodes"], window["found"]) == (5, 5)
    assert searched == {"nodes": 5, "found": 0, "rows": []}
    assert [(row["name"], row["shape"]) for row in found["rows"]] == [("relu", "(2,)")]
    assert client.request("fxls/table", {"uri": "untitled:1"}) is None


def test_what_the_stores_hold_is_listed_with_its_passes(
    client: LspClient, project: Path, store: Store, listing: Path
) -> None:
    fused = store.materialize(later(project, FUSED))
    second = store.materialize(later(project))
    changed(client, identity_uri(FUSED), forward(project))
    found = client.request("fxls/identities", {})
    revisions = client.request("fxls/revisions", {"uri": forward(project)})

    net, pass_ = found
    source = (project / "net.py").as_uri()
    assert fused == second
    assert net == {
        "document": forward(project),
        "uri": second.as_uri(),
        "path": str(second),
        "module": "net",
        "qualname": "Net",
        "producer": "engine",
        "time": net["time"],
        "revisions": 2,
        "sources": [source],
        "nodes": 6,
        "entry": "Net()(torch.randn(2))",
    }
    assert pass_ == {
        **net,
        "document": identity_uri(FUSED),
        "stage": "fuse",
        "time": pass_["time"],
        "revisions": 1,
    }
    head = forward(project).removesuffix("forward.py")
    assert revisions == [
        {
            "uri": path.as_uri(),
            "path": str(path),
            "document": head + path.name,
            "time": one.time,
            "nodes": nodes,
            "entry": "Net()(torch.randn(2))",
        }
        for path, nodes, one in zip(
            (second, listing), (6, 5), reversed(store.revisions(NET)), strict=True
        )
    ]
    content = client.request("fxls/content", {"uri": revisions[1]["document"]})
    assert content == {"text": TEXT}
    assert client.request("fxls/revisions", {"uri": listing.as_uri()}) == revisions
    assert client.request("fxls/revisions", {"uri": source}) == []


def test_an_identity_whose_source_was_saved_since_is_stale_until_that_is_gone(
    client: LspClient, project: Path, listing: Path
) -> None:
    net = project / "net.py"
    tomorrow = net.stat().st_mtime + 86_400
    os.utime(net, (tomorrow, tomorrow))
    (touched,) = client.request("fxls/identities", {})
    net.write_text(SOURCE + "# more\n")
    os.utime(net, (tomorrow + 1, tomorrow + 1))
    (edited,) = client.request("fxls/identities", {})
    net.unlink()
    gone = client.request("fxls/identities", {})
    graph = client.request("fxls/graph", {"uri": listing.as_uri()})

    assert "stale" not in touched
    assert edited == {**touched, "stale": True}
    assert gone == []
    assert graph["stale"] is True


def test_two_listings_are_compared_without_what_is_of_no_matter(
    client: LspClient, project: Path, store: Store, listing: Path
) -> None:
    new = store.materialize(later(project))
    client.notification("fxls/changed")
    old = client.request("fxls/normalized", {"uri": listing.as_uri()})
    like = {"uri": new.as_uri(), "like": listing.as_uri()}
    compared = client.request("fxls/normalized", like)
    nothing = client.request("fxls/normalized", {**like, "like": "file:///nowhere.py"})

    before, after = old["text"].split("\n"), compared["text"].split("\n")
    assert [line for line in before if line not in after] == [
        "    relu = torch.relu(x)",
    ]
    assert [line for line in after if line not in before] == [
        "    tanh = torch.tanh(x)",
        "    relu = torch.relu(tanh)",
    ]
    assert nothing is None


@pytest.mark.slow
def test_a_listing_is_deleted_and_who_shows_it_is_told(
    client: LspClient, project: Path, store: Store, listing: Path
) -> None:
    new = store.materialize(later(project))
    client.notification("fxls/changed")
    told = {"documents": [forward(project)]}

    assert client.request("fxls/delete", {"uri": new.as_uri()}) == {
        "deleted": [new.as_uri()]
    }
    assert client.notification("fxls/changed") == told
    assert [one.path for one in store.revisions(NET)] == [listing]
    head = forward(project).removesuffix("forward.py")
    table = client.request("fxls/delete", {"uri": head + "table.txt"})
    source = client.request("fxls/delete", {"uri": (project / "net.py").as_uri()})
    assert table == source == {"deleted": []}
    assert (project / "net.py").exists()

    store.materialize(later(project))
    client.notification("fxls/changed")
    assert client.request("fxls/delete", {"uri": forward(project)}) == {
        "deleted": [listing.as_uri(), new.as_uri()]
    }
    assert client.notification("fxls/changed") == told
    assert client.request("fxls/identities", {}) == []
    assert client.request("fxls/graph", {"uri": listing.as_uri()}) is None


def test_a_request_with_other_parameters_is_answered_with_what_is_wrong(
    client: LspClient,
) -> None:
    def error(method: str, params: Json) -> Json:
        return client.answer(client.send(method, params))["error"]

    missing = error("fxls/graph", {})
    column = error("fxls/table", {"uri": "file:///x.py", "sort": "colour"})

    assert missing == {
        "code": -32602,
        "message": "Object missing required field `uri`",
    }
    assert column == {
        "code": -32602,
        "message": "Invalid enum value 'colour' - at `$.sort`",
    }


def test_the_diff_of_two_listings_is_that_of_the_command_line(
    client: LspClient, project: Path, store: Store, listing: Path
) -> None:
    new = store.materialize(later(project))
    client.notification("fxls/changed")
    asked = {"old": listing.as_uri(), "new": new.as_uri()}
    found = client.request("fxls/diff", asked)
    same = client.request("fxls/diff", {**asked, "new": listing.as_uri()})
    nothing = client.request("fxls/diff", {**asked, "new": "file:///nowhere.py"})

    assert found == as_json(graph_diff(store.read(listing), store.read(new)))
    assert [one["name"] for one in found["created"]] == ["tanh"]
    assert (found["same"], same["same"], nothing) == (False, True, None)
