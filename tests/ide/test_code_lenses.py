"""What stands above the code to be clicked, and the documents that it leads to."""

from __future__ import annotations

import re
from pathlib import PurePath

import pytest
from msgspec.structs import replace

from fxls.ide.code_lenses import (
    Debug,
    Lens,
    Open,
    Peek,
    Table,
    Trace,
    Write,
    lenses,
    node_lenses,
    source_lenses,
)
from fxls.ide.document_links import links
from fxls.ide.entries.entries import entries
from fxls.ide.listing.definitions import class_of_graph, class_of_scope, method_of_scope
from fxls.ide.listing.document import Destination, Document
from fxls.ide.listing.freshness import Standing
from fxls.ide.source.source_file import SourceFile
from fxls.ide.text_document_content import RevisionRow, revisions_sheet, table_sheet
from fxls.ide.workspace_symbols import found_listings, found_nodes
from fxls.listing import Identity, Scope
from fxls.text import LineTable, Span
from tests.ide.nets import (
    BLOCK,
    BLOCK_PATH,
    LISTING_PATH,
    NET,
    NET_LISTING,
    SOURCE,
    SOURCE_PATH,
    TEXT,
    source_text,
)
from tests.support.listings import listing_of, span_of

CLASS = Destination(SOURCE_PATH, Span.of(5, 0, 5, 27), Span.of(5, 6, 5, 9))
ENTRY = "Net()(torch.randn(1, 3, 8, 8))"
OLDER = Document("/work/.fxls/Net_aaaaaaaaaaaa.py", NET_LISTING)


def acts(found: tuple[Lens, ...]) -> list[tuple[str, object]]:
    return [(lens.title, lens.act) for lens in found]


def test_the_definition_of_a_listing_leads_to_its_table_and_class() -> None:
    found = lenses(NET, Standing(), source_text)

    assert {lens.span for lens in found} == {NET.start.focus}
    assert acts(found) == [("8 nodes", Table(LISTING_PATH)), ("from Net", Open(CLASS))]


def test_a_listing_of_the_past_leads_to_the_newest() -> None:
    (*_, last) = lenses(OLDER, Standing(NET), source_text)

    assert acts((last,)) == [("earlier revision: go to the newest", Open(NET.start))]


def test_a_stale_listing_can_be_traced_again() -> None:
    (*_, last) = lenses(NET, Standing(changed=(SOURCE_PATH,)), source_text)

    assert acts((last,)) == [("stale: trace again", Trace(SOURCE_PATH, ENTRY))]


def test_a_stale_listing_of_a_run_only_says_so() -> None:
    run = Document(LISTING_PATH, listing_of(TEXT))
    (*_, last) = lenses(run, Standing(changed=(SOURCE_PATH,)), source_text)

    assert acts((last,)) == [("stale", None)]


def test_a_node_says_who_reads_it_and_where_it_came_from() -> None:
    relu = [lens for lens in node_lenses(NET) if lens.span.start.line == 4]
    span = Span.of(4, 4, 4, 8)
    reads = [Span.of(5, 29, 5, 33), Span.of(7, 11, 7, 15)]
    origin = Span.of(7, 12, 7, 36)

    assert acts(tuple(relu)) == [
        (
            "2 users",
            Peek(span, tuple(Destination(LISTING_PATH, s, s) for s in reads)),
        ),
        ("net.py:8", Open(Destination(SOURCE_PATH, origin, origin))),
    ]


def source(path: str, text: str, *documents: Document) -> SourceFile:
    return SourceFile(path, LineTable(text), documents)


def test_an_entry_is_traced_shown_debugged_and_tabulated() -> None:
    found = source_lenses(
        source(SOURCE_PATH, SOURCE, NET), entries(SOURCE, SOURCE_PATH)
    )

    assert acts(tuple(found)) == [
        ("Trace", Trace(SOURCE_PATH, ENTRY)),
        ("Show generated code", Open(NET.start)),
        ("Debug generated code", Debug(SOURCE_PATH, ENTRY, LISTING_PATH)),
        ("Table (8 nodes)", Table(LISTING_PATH)),
        ("generated code of Net", Open(NET.start)),
    ]


def test_an_entry_leads_to_the_listing_of_its_own_producer() -> None:
    text = SOURCE.replace("# fxls:", f"# fxls[export]: {ENTRY}\n# fxls:")
    listing = replace(NET_LISTING, identity=Identity("net", "Net", "export"))
    exported = Document("/work/.fxls/Net_eeeeeeeeeeee.py", listing)
    asked = source(SOURCE_PATH, text, NET, exported)

    found = source_lenses(asked, entries(text, SOURCE_PATH))

    shown = [lens.act for lens in found if lens.title == "Show generated code"]
    assert shown == [Open(exported.start), Open(NET.start)]
    found = source_lenses(asked, entries(text, SOURCE_PATH))
    traces = [lens.act for lens in found if isinstance(lens.act, Trace)]
    assert [act.expression for act in traces] == [f"[export] {ENTRY}", ENTRY]


def test_a_class_that_was_not_traced_offers_to_trace_it() -> None:
    found = source_lenses(source(BLOCK_PATH, BLOCK), entries(BLOCK, BLOCK_PATH))

    assert acts(tuple(found)) == [
        ("Trace Block()", Trace(BLOCK_PATH, "Block()")),
        ("Debug generated code", Debug(BLOCK_PATH, "Block()", None)),
        ("Write an example call to see shapes", Write(BLOCK_PATH, "Block")),
    ]


GIVEN = """\
import torch

class Given(torch.nn.Module):
    def __init__(self, width, kind: str):
        super().__init__()

    def forward(self, x):
        return x

"""


def offers(text: str, *documents: Document) -> list[tuple[str, object]]:
    asked = source(SOURCE_PATH, text, *documents)
    return acts(tuple(source_lenses(asked, entries(text, SOURCE_PATH))))


def test_a_class_that_needs_arguments_offers_to_write_an_example() -> None:
    (write,) = source_lenses(source(SOURCE_PATH, GIVEN), entries(GIVEN, SOURCE_PATH))

    assert write.span == span_of(GIVEN, "Given")
    assert acts((write,)) == [
        ("Write an example call to trace", Write(SOURCE_PATH, "Given"))
    ]
    document = Document(
        LISTING_PATH,
        replace(NET_LISTING, identity=Identity("net", "Given", "engine")),
    )
    assert offers(GIVEN, document) == [
        ("Write an example call to trace", Write(SOURCE_PATH, "Given")),
        ("generated code of Given", Open(document.start)),
    ]


def test_a_class_leads_to_its_calls_in_what_was_traced() -> None:
    text = "def forward(self, x):\n    a = f(x)\n    b = f(a)\n    c = f(b)\n    return c\n"

    def document(path: str) -> Document:
        scopes = {
            name: [(f"parts.{number}", "net.Given")]
            for number, name in enumerate(("a", "c"))
        }
        listing = listing_of(text, scopes=scopes)
        found = [replace(scope, file=path) for scope in listing.scopes]
        identity = Identity("net", "Outer", "engine")
        listing = replace(listing, identity=identity, scopes=tuple(found))
        return Document(LISTING_PATH, listing)

    inner = document(SOURCE_PATH)

    assert offers(GIVEN, inner) == [("2 calls in Outer", Open(inner.destination(1)))]
    assert offers(GIVEN, document("/work/other.py")) == [
        ("Write an example call to trace", Write(SOURCE_PATH, "Given"))
    ]


@pytest.mark.parametrize("entry", ["Given(3)(torch.randn(1))", "Given(kind=...)(x)"])
def test_a_class_that_an_entry_names_offers_no_other(entry: str) -> None:
    found = [title for title, _ in offers(f"{GIVEN}# fxls: {entry}\n")]

    assert "Write an example call to trace" not in found
    assert found == ([] if "..." in entry else ["Trace", "Debug generated code"])


def test_the_class_in_the_head_of_a_listing_is_a_link() -> None:
    text = "# The code of Net's graph.\n" + TEXT
    listing = listing_of(
        text,
        sources={SOURCE_PATH: SOURCE},
        origins={"conv": [(SOURCE_PATH, "self.conv(x)")]},
    )

    (link,) = links(Document(LISTING_PATH, listing), source_text)

    assert (link.span, link.there) == (Span.of(0, 14, 0, 17), CLASS)
    assert links(NET, source_text) == ()


def test_other_graphs_and_lines_in_the_head_are_links() -> None:
    head = [
        "# The code of Net's graph, made by torch.compile and written by fxls.",
        "# It was made from Net_0123456789ab.py.",
        "# It ends in a graph break: Call to print",
        f"#   At {PurePath(SOURCE_PATH).name}, line 3, in forward, and other.py, line 1.",
    ]
    text = "\n".join([*head, TEXT, "# Net_0123456789ab.py"])
    listing = listing_of(text, sources={SOURCE_PATH: SOURCE})

    parent, end = links(Document(LISTING_PATH, listing), lambda _: None)

    assert (head[1][parent.span.start.column : parent.span.end.column], parent.tip) == (
        *("Net_0123456789ab.py", "the graph it was made from"),
    )
    folder = PurePath(LISTING_PATH).parent
    assert parent.there.path == str(folder / "Net_0123456789ab.py")
    assert (end.there.path, end.there.focus) == (SOURCE_PATH, Span.of(2, 0, 2, 0))
    assert end.tip == "where the graph ends"
    virtual = Document("fxls:/net.Net-torch.compile-0/forward.py", listing)
    assert [link.tip for link in links(virtual, lambda _: None)] == [end.tip]


def test_classes_are_found_where_they_are_defined() -> None:
    text = "if True:\n    class Net:\n        class Part:\n            def forward(self):\n"
    text += "                pass\n\ndef part(x):\n    class Net:\n        pass\n"

    def read(path: str) -> str | None:
        return text if path == "/work/net.py" else None

    def line(there: Destination | None) -> tuple[int, str] | None:
        if there is None:
            return None
        return there.focus.start.line, LineTable(text).slice(there.focus)

    part = Scope("part", "net.Part", None, "/work/net.py")
    gone = Scope("part", "net.Part", None, "/work/gone.py")
    inherits = Scope("net", "net.Net", None, "/work/net.py")

    assert line(class_of_graph(NET, read)) == (1, "Net")
    assert line(class_of_scope(NET, part, read)) == (2, "Part")
    assert line(method_of_scope(NET, inherits, read)) == (1, "Net")
    assert class_of_scope(NET, gone, read) is None
    assert class_of_scope(NET, Scope("fc", "torch.nn.Linear"), source_text) is None


def test_a_table_is_a_text_whose_names_are_links() -> None:
    sheet = table_sheet(NET)
    lines = LineTable(sheet.text)

    title, _, header, x, conv, *_ = sheet.text.split("\n")
    opcodes = "1 placeholder, 2 call_module, 3 call_function, 1 call_method, 1 output"
    assert title == f"Net: 8 nodes ({opcodes}), 1 KiB of activations"
    columns = "name op target args kwargs users shape dtype source"
    assert header.split() == columns.split()
    assert x == "x".ljust(10) + "placeholder    x" + " " * 34 + (
        "1      (1, 3, 8, 8)  float32"
    )
    assert re.split("  +", conv) == [
        "conv",
        "call_module",
        "conv",
        "x",
        "1",
        "(1, 4, 8, 8)",
        "float32",
        "net.py:8",
    ]
    shown = [(lines.slice(link.span), link.there.path) for link in sheet.links[:4]]
    assert shown == [
        ("x", LISTING_PATH),
        ("conv", LISTING_PATH),
        ("x", LISTING_PATH),
        ("net.py:8", SOURCE_PATH),
    ]
    for link in sheet.links:
        assert lines.slice(link.span) == link.tip


def test_a_long_cell_is_cut_and_its_link_stays_on_it() -> None:
    name = "n" * 80
    listing = listing_of(f"def forward(self, {name}):\n    return {name}\n")

    sheet = table_sheet(Document(LISTING_PATH, listing))

    cell = LineTable(sheet.text).slice(sheet.links[0].span)
    assert cell == "n" * 59 + "…"


def test_revisions_are_listed_with_links() -> None:
    rows = [
        RevisionRow("/s/Net_bbbbbbbbbbbb.py", 0.0, ENTRY, 8),
        RevisionRow("/s/Net_aaaaaaaaaaaa.py", 0.0, None, None),
    ]
    sheet = revisions_sheet(Identity("net", "Net", stage="fuse"), rows)
    lines = sheet.text.split("\n")

    assert lines[0] == "net.Net engine fuse"
    assert lines[2].split() == ["revision", "made", "nodes", "entry"]
    assert lines[3].split(maxsplit=3)[::3] == ["Net_bbbbbbbbbbbb.py", f"8      {ENTRY}"]
    assert lines[4].split()[0] == "Net_aaaaaaaaaaaa.py"
    assert [link.there.path for link in sheet.links] == [row.path for row in rows]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("rn18", ["ResNet18"]),
        ("NET", ["ResNet18", "Net"]),
        ("81", []),
        ("", ["ResNet18", "Net", "Block"]),
        ("net .", ["ResNet18", "Net"]),
    ],
)
def test_a_query_names_what_has_its_letters_in_their_order(
    query: str, found: list[str]
) -> None:
    names = ["ResNet18", "Net", "Block"]
    newest = [(Identity("m", name), "/a") for name in names]

    assert [one.name for one in found_listings(query, newest)] == [
        f"{name}.forward" for name in found
    ]


def test_listings_and_nodes_are_found_by_their_names() -> None:
    newest = [(Identity("net", "Net", rank=1), "/a"), (Identity("gpt", "Block"), "/b")]

    listings = list(found_listings("net", newest))
    nodes = list(found_nodes("blo", [NET]))

    assert [(f.name, f.container, f.path, f.there) for f in listings] == [
        ("Net.forward", "net engine rank 1", "/a", None)
    ]
    assert [(f.name, f.kind, f.there) for f in nodes] == [
        ("block_fc", "call_module", NET.destination(3))
    ]
    assert list(found_nodes("bl", [NET])) == []
    for query in ("out", "con", "add", "operator", "ret"):
        one_by_one = [
            facts.name
            for facts in NET_LISTING.nodes
            if re.search(".*".join(query), f"{facts.name} {facts.target}")
        ]
        assert [found.name for found in found_nodes(query, [NET])] == one_by_one
