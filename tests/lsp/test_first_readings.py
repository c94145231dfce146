"""A long listing that is read for the first time keeps no other file waiting."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from fxls.listing import Identity, Listing, Source, Tensor
from fxls.lsp import custom
from fxls.store import Store, identity_uri
from tests.support.held_asides import started_with_held_asides
from tests.support.listings import NET, listing_of
from tests.support.lsp_client import SERVE, Json, started
from tests.support.projects import EDITOR, SOURCE, net_listing

COUNT = 20_000
IDENTITY = Identity("net", "Large")
BODY = "".join(
    f"    r{n} = relu(r{n - 1});  r{n - 1} = None\n" for n in range(1, COUNT)
)
TEXT = f"def forward(self, unread, r0):\n{BODY}    return r{COUNT - 1}\n"
EDITED = (
    "This is not the text that was generated.\n"
    "The file is never read back: close it without saving."
)
START = {"line": 0, "character": 0}
UNREAD = {"line": 0, "character": 19}


@pytest.fixture(scope="module")
def anywhere() -> Listing:
    """A long listing of a model that lies nowhere."""
    vector = Tensor((2,), "torch.float32", "cpu")
    return listing_of(
        TEXT,
        identity=IDENTITY,
        sources={"net.py": SOURCE},
        origins={"r1": [("net.py", "torch.relu(x) + '𝄞'.count(x)")]},
        values={"r1": vector},
    )


@pytest.fixture
def large(project: Path, anywhere: Listing) -> Listing:
    """The same of the model in the project."""
    (source,) = anywhere.sources
    return replace(
        anywhere, sources=(Source(str(project / source.path), source.digest),)
    )


def with_width(listing: Listing, width: int) -> Listing:
    """A listing whose first input is a vector."""
    first, *others = listing.nodes
    value = Tensor((width,), "torch.float32", "cpu")
    return replace(listing, nodes=(replace(first, value=value), *others))


def at(path: Path, place: Json) -> Json:
    return {"textDocument": {"uri": path.as_uri()}, "position": place}


def on_screen(path: Path) -> Json:
    screen = {"start": START, "end": {"line": 60, "character": 0}}
    return {"textDocument": {"uri": path.as_uri()}, "range": screen}


RELU = {"line": 6, "character": 22}
REQUESTS: dict[str, tuple[str, Callable[[Path, Path], Json]]] = {
    "lenses of its source": (
        "textDocument/codeLens",
        lambda net, large: {"textDocument": {"uri": net.as_uri()}},
    ),
    "implementation in its source": (
        "textDocument/implementation",
        lambda net, large: at(net, RELU),
    ),
    "hover of its source": ("textDocument/hover", lambda net, large: at(net, RELU)),
    "listings of its source": (
        custom.LISTINGS,
        lambda net, large: {"textDocument": {"uri": net.as_uri()}},
    ),
    "hover": ("textDocument/hover", lambda net, large: at(large, UNREAD)),
    "hints": ("textDocument/inlayHint", lambda net, large: on_screen(large)),
    "graph": (custom.GRAPH, lambda net, large: {"uri": large.as_uri()}),
    "table": (custom.ROWS, lambda net, large: {"uri": large.as_uri(), "count": 3}),
    "revisions": (custom.REVISIONS, lambda net, large: {"uri": large.as_uri()}),
    "virtual document": (
        "textDocument/hover",
        lambda net, large: {
            "textDocument": {"uri": identity_uri(IDENTITY)},
            "position": UNREAD,
        },
    ),
}
"""What makes the server read a long listing."""


@pytest.mark.parametrize("what", REQUESTS)
def test_another_listing_is_answered_while_a_long_one_is_read(
    project: Path, listing: Path, large: Listing, what: str
) -> None:
    path, gate = Store(project / ".fxls").materialize(large), project / "let.go"
    method, params = REQUESTS[what]
    asked = params(project / "net.py", path)
    with started_with_held_asides(gate) as client:
        client.initialize(project)
        hover = client.ask("hover", listing, 5, 4)

        late = client.send(method, asked)
        assert client.ask("hover", listing, 5, 4) == hover
        came = [message.get("id") for message in client.came()]
        gate.touch()
        found = client.answer(late)["result"]
        again = client.request(method, asked)

        errors = client.end()

    assert hover is not None
    assert late not in came
    assert found
    assert found == again
    assert errors == ""


def test_what_is_said_of_a_listing_that_is_opened_is_heard_in_its_order(
    project: Path, listing: Path, large: Listing
) -> None:
    path, gate = Store(project / ".fxls").materialize(large), project / "let.go"
    with started_with_held_asides(gate) as client:
        client.initialize(project)

        client.open(path)
        changed = {
            "textDocument": {"uri": path.as_uri(), "version": 2},
            "contentChanges": [{"range": {"start": START, "end": START}, "text": "x"}],
        }
        early = client.send("textDocument/hover", at(path, UNREAD))
        given_up = client.send("textDocument/hover", at(path, UNREAD))
        client.notify("$/cancelRequest", {"id": given_up})
        client.notify("textDocument/didChange", changed)
        late = client.send("textDocument/hover", at(path, UNREAD))
        assert client.ask("hover", listing, 5, 4) is not None
        came = client.came()
        gate.touch()
        said = [client.diagnostics(path), client.diagnostics(path)]
        hovers = [client.answer(early)["result"], client.answer(late)["result"]]
        error = client.answer(given_up)["error"]
        errors = client.end()

    assert came == []
    assert [[one["message"] for one in each] for each in said] == [
        ["nothing reads the input unread"],
        [EDITED],
    ]
    assert "unread" in hovers[0]["contents"]["value"]
    assert hovers[1] is None
    assert error["message"] == "the request was cancelled"
    assert errors == ""


def test_a_request_without_a_document_is_given_up_while_a_listing_is_read(
    project: Path, listing: Path, large: Listing
) -> None:
    path, gate = Store(project / ".fxls").materialize(large), project / "let.go"
    with started_with_held_asides(gate) as client:
        client.initialize(project)

        numbers = [
            client.send(method, {"uri": path.as_uri()})
            for method in (custom.REVISIONS, custom.GRAPH)
        ]
        for number in numbers:
            client.notify("$/cancelRequest", {"id": number})
        assert client.ask("hover", listing, 5, 4) is not None
        gate.touch()
        errors = [client.answer(number)["error"] for number in numbers]
        client.end()

    assert [error["code"] for error in errors] == [-32800, -32800]


def test_facts_that_are_written_meanwhile_are_seen(
    project: Path, listing: Path, large: Listing
) -> None:
    store, gate = Store(project / ".fxls"), project / "let.go"
    path = store.materialize(with_width(large, 3))
    with started_with_held_asides(gate) as client:
        client.initialize(project)

        late = client.send("textDocument/hover", at(path, UNREAD))
        assert client.ask("hover", listing, 5, 4) is not None
        assert store.materialize(with_width(large, 5)) == path
        gate.touch()
        hover = client.answer(late)["result"]
        client.end()

    assert "[5]" in hover["contents"]["value"]


def test_damage_is_said_of_a_long_listing_as_of_a_short_one(
    project: Path, listing: Path, large: Listing
) -> None:
    store, said = Store(project / ".fxls"), list[list[str]]()
    paths = [listing, store.materialize(large)]
    for path in paths:
        (facts,) = (project / ".fxls" / "facts" / path.stem).iterdir()
        facts.write_bytes(facts.read_bytes()[:-1] + b"\xc1")
    with started() as client:
        client.initialize(project)
        for path in paths:
            client.open(path)
            (one,) = client.diagnostics(path)
            (facts,) = (project / ".fxls" / "facts" / path.stem).iterdir()
            said.append(one["message"].replace(facts.name, "FACTS").split("\n"))
        hovers = [client.ask("hover", path, 0, 19) for path in paths]
        errors = client.end()

    problem = "Its facts FACTS are damaged."
    advice = "Run your program or `fxls trace` again to write it again."
    assert said == [[problem, advice], [problem, advice]]
    assert hovers == [None, None]
    assert errors == ""


_READ_ASIDE = """\
import threading
from fxls.store import instances

decode = instances.decode

def decode_aside(data, text):
    is_here = threading.current_thread() is threading.main_thread()
    assert not is_here or len(data) < 1_000_000, "read on the event loop"
    return decode(data, text)

instances.decode = decode_aside
"""


def test_a_long_revision_that_a_program_writes_is_read_aside(
    project: Path, large: Listing
) -> None:
    store = Store(project / ".fxls")
    old = store.materialize(net_listing(project))
    with started(_READ_ASIDE + SERVE) as client:
        client.initialize(project, capabilities=EDITOR)
        client.open(old)
        assert client.ask("hover", old, 5, 4) is not None

        new = store.materialize(
            replace(large, identity=NET, entry=net_listing(project).entry)
        )
        revised = client.notification(custom.REVISED)
        said = [one["message"] for one in client.diagnostics(old)]
        client.unread()
        errors = client.end()

    assert (revised["old"], revised["new"]) == (old.as_uri(), new.as_uri())
    assert said == ["This is an earlier revision."]
    assert errors == ""


def test_a_server_that_reads_a_listing_ends_when_it_is_told(
    project: Path, large: Listing
) -> None:
    path = Store(project / ".fxls").materialize(large)
    with started() as client:
        client.initialize(project)
        client.open(path)
        late = client.send("textDocument/hover", at(path, UNREAD))

        client.unread()
        assert client.end() == ""
        assert late
