"""What stands above the code to be clicked."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fxls.ide.code_lenses import (
    DebugEntry,
    Lens,
    OpenPlace,
    PeekPlaces,
    ShowTable,
    TraceEntry,
    WriteEntry,
    lenses,
    node_lenses,
    source_lenses,
)
from fxls.ide.entries.entries import entries
from fxls.ide.listing.document import Destination, Document
from fxls.ide.listing.freshness import Freshness
from fxls.ide.source.source_file import SourceFile
from fxls.listing import Identity
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
    found = lenses(NET, Freshness(), source_text)

    assert {lens.span for lens in found} == {NET.start.focus}
    assert acts(found) == [
        ("8 nodes", ShowTable(LISTING_PATH)),
        ("from Net", OpenPlace(CLASS)),
    ]


def test_a_listing_of_the_past_leads_to_the_newest() -> None:
    (*_, last) = lenses(OLDER, Freshness(NET), source_text)

    assert acts((last,)) == [
        ("earlier revision: go to the newest", OpenPlace(NET.start))
    ]


def test_a_stale_listing_can_be_traced_again() -> None:
    (*_, last) = lenses(NET, Freshness(changed=(SOURCE_PATH,)), source_text)

    assert acts((last,)) == [("stale: trace again", TraceEntry(SOURCE_PATH, ENTRY))]


def test_a_stale_listing_of_a_run_only_says_so() -> None:
    run = Document(LISTING_PATH, listing_of(TEXT))
    (*_, last) = lenses(run, Freshness(changed=(SOURCE_PATH,)), source_text)

    assert acts((last,)) == [("stale", None)]


def test_a_node_says_who_reads_it_and_where_it_came_from() -> None:
    relu = [lens for lens in node_lenses(NET) if lens.span.start.line == 4]
    span = Span.of(4, 4, 4, 8)
    reads = [Span.of(5, 29, 5, 33), Span.of(7, 11, 7, 15)]
    origin = Span.of(7, 12, 7, 36)

    assert acts(tuple(relu)) == [
        (
            "2 users",
            PeekPlaces(span, tuple(Destination(LISTING_PATH, s, s) for s in reads)),
        ),
        ("net.py:8", OpenPlace(Destination(SOURCE_PATH, origin, origin))),
    ]


def source(path: str, text: str, *documents: Document) -> SourceFile:
    return SourceFile(path, LineTable(text), documents)


def test_an_entry_is_traced_shown_debugged_and_tabulated() -> None:
    found = source_lenses(
        source(SOURCE_PATH, SOURCE, NET), entries(SOURCE, SOURCE_PATH)
    )

    assert acts(tuple(found)) == [
        ("Trace", TraceEntry(SOURCE_PATH, ENTRY)),
        ("Show generated code", OpenPlace(NET.start)),
        ("Debug generated code", DebugEntry(SOURCE_PATH, ENTRY, LISTING_PATH)),
        ("Table (8 nodes)", ShowTable(LISTING_PATH)),
        ("generated code of Net", OpenPlace(NET.start)),
    ]


def test_an_entry_leads_to_the_listing_of_its_own_producer() -> None:
    text = SOURCE.replace("# fxls:", f"# fxls[export]: {ENTRY}\n# fxls:")
    listing = replace(NET_LISTING, identity=Identity("net", "Net", "torch.export"))
    exported = Document("/work/.fxls/Net_eeeeeeeeeeee.py", listing)
    asked = source(SOURCE_PATH, text, NET, exported)

    found = source_lenses(asked, entries(text, SOURCE_PATH))

    shown = [lens.act for lens in found if lens.title == "Show generated code"]
    assert shown == [OpenPlace(exported.start), OpenPlace(NET.start)]
    found = source_lenses(asked, entries(text, SOURCE_PATH))
    traces = [lens.act for lens in found if isinstance(lens.act, TraceEntry)]
    assert [act.expression for act in traces] == [f"[export] {ENTRY}", ENTRY]


def test_a_class_that_was_not_traced_offers_to_trace_it() -> None:
    found = source_lenses(source(BLOCK_PATH, BLOCK), entries(BLOCK, BLOCK_PATH))

    assert acts(tuple(found)) == [
        ("Trace Block()", TraceEntry(BLOCK_PATH, "Block()")),
        ("Debug generated code", DebugEntry(BLOCK_PATH, "Block()", None)),
        ("Write an example call to see shapes", WriteEntry(BLOCK_PATH, "Block")),
    ]


def test_where_a_package_is_installed_the_same_class_offers_to_write_an_example() -> (
    None
):
    assert acts(tuple(source_lenses(source(BLOCK_PATH, BLOCK), ()))) == [
        ("Write an example call to trace", WriteEntry(BLOCK_PATH, "Block")),
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
        ("Write an example call to trace", WriteEntry(SOURCE_PATH, "Given"))
    ]
    document = Document(
        LISTING_PATH,
        replace(NET_LISTING, identity=Identity("net", "Given", "engine")),
    )
    assert offers(GIVEN, document) == [
        ("Write an example call to trace", WriteEntry(SOURCE_PATH, "Given")),
        ("generated code of Given", OpenPlace(document.start)),
    ]


def test_a_class_of_many_stages_leads_to_the_first_and_to_all_the_others() -> None:
    stages = (
        *(
            "graph 0, backward",
            "graph 0, forward, kernels",
            "graph 0",
            "graph 0, joint",
        ),
        "graph 0, forward",
    )
    made = {
        stage: Document(
            f"/work/.fxls/Given_{number}.py",
            replace(
                NET_LISTING,
                identity=Identity("net", "Given", "torch.compile", stage=stage),
            ),
        )
        for number, stage in enumerate(stages)
    }

    found = offers(GIVEN, *made.values())

    shown = ("graph 0", "graph 0, backward", "graph 0, joint")
    rest = (made["graph 0, forward"].start, made["graph 0, forward, kernels"].start)
    assert found[1:] == [
        *(
            (
                f"generated code of Given, torch.compile, {stage}",
                OpenPlace(made[stage].start),
            )
            for stage in shown
        ),
        ("2 more listings", PeekPlaces(span_of(GIVEN, "Given"), rest)),
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

    assert offers(GIVEN, inner) == [
        ("2 calls in Outer", OpenPlace(inner.destination(1)))
    ]
    assert offers(GIVEN, document("/work/other.py")) == [
        ("Write an example call to trace", WriteEntry(SOURCE_PATH, "Given"))
    ]


@pytest.mark.parametrize("entry", ["Given(3)(torch.randn(1))", "Given(kind=...)(x)"])
def test_a_class_that_an_entry_names_offers_no_other(entry: str) -> None:
    found = [title for title, _ in offers(f"{GIVEN}# fxls: {entry}\n")]

    assert "Write an example call to trace" not in found
    assert found == ([] if "..." in entry else ["Trace", "Debug generated code"])
