"""The record of a run as values: what is written can be read, and what is not is said."""

import pytest

from fxls import record
from fxls.listing import Identity, Place
from fxls.record import (
    Cause,
    Compilation,
    Counts,
    End,
    Entry,
    Event,
    InBlob,
    Made,
    MatchedPattern,
    Names,
    Outcome,
    Pairs,
    Pass,
    QuotedPlace,
    RecordError,
    Remark,
    RevisionName,
    Run,
    Searched,
    Subject,
    Truncated,
)
from fxls.text import Span

PLACE = QuotedPlace(
    Place("/src/net.py", "forward", Span.of(4, 8, 4, 20)), "    x = x.relu()", "ab12"
)
REVISION = RevisionName(Identity("net", "Net", "torch.compile"), "Net_012.py", "345")

EVENTS: list[Event] = [
    Run(1, "r", "l", 7, 1.5, "p.py", ("-x",), "q", 0, 2, "b", "h", {"torch": "2"}),
    Compilation("1/0", "f", Outcome.RUNNING),
    Compilation(
        *("1/1", "f", Outcome.BREAK, Cause.RECOMPILATION, PLACE, ("size",), "why", 2),
        *(1.5, (("dynamo", 1.0),), ("fxgraph",), 3, 4),
    ),
    Pass("fuse"),
    Pass(
        *("fuse", 1, "1/0", "torch.compile", "joint", ("all",), "cond_0", 0.5, True),
        *("ValueError: no", REVISION, REVISION, Names(1, ("a",)), Names(1, ("b",))),
        *(Pairs(1, (("a", "b"),)), Names(1, ("c",))),
        *((MatchedPattern("addmm", 2, PLACE),), Names(1, ("d",)), Names(1, ("e",))),
        Pairs(1, (("d", "compute intensive op"),)),
    ),
    Remark(Subject.BREAK, "print", "1/0", "GB0059", (PLACE,), ("leave it out",)),
    Searched("fusions", 2, "0/0", (MatchedPattern("f", 0),)),
    Made(REVISION, "0/0"),
    InBlob("pass", "0" * 12, 70_000),
    Truncated(1 << 24),
    Counts({"pass": 4}, 1),
    End("KeyError: 'x'"),
]


@pytest.mark.parametrize("event", EVENTS, ids=record.kind_of)
def test_an_event_is_read_as_it_was_written(event: Event) -> None:
    entry = Entry(3, 4, 5.5, 6.5, event)
    line = record.encode(entry)

    assert b"\n" not in line
    assert record.decode(line) == entry


def test_half_of_a_surrogate_pair_is_written_as_an_escape() -> None:
    line = record.encode(Entry(0, 0, 0.0, 0.0, End("\ud800")))

    assert record.decode(line) == Entry(0, 0, 0.0, 0.0, End("\\ud800"))


def written(event: str) -> bytes:
    return b'{"number":1,"thread":2,"clock":3.0,"time":4.0,"event":%s}' % event.encode()


def test_fields_kinds_and_words_of_a_later_fxls_are_skipped() -> None:
    later = written('{"kind":"end","raised":"x","later":[{}]}')

    assert record.decode(later) == Entry(1, 2, 3.0, 4.0, End("x"))
    assert record.decode(written('{"kind":"later","a":1}')) is None
    found = record.decode(written('{"kind":"remark","subject":"later","reason":"r"}'))
    assert found is not None
    assert found.event == Remark(Subject.OTHER, "r")


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\xff\xfe\x00",
        b"[]",
        b"[" * 100_000,
        written('{"kind":"pass","name":3}'),
        written('{"kind":"pass","name":"x","ordinal":-1}'),
        written('{"kind":"pass","name":"x","seconds":NaN}'),
        written('{"kind":3}'),
        written("{}"),
    ],
    ids=lambda line: line[50:80] or line[:9],
)
def test_a_damaged_line_is_refused(line: bytes) -> None:
    with pytest.raises(RecordError, match=r"^it is damaged: "):
        record.decode(line)


def test_the_record_of_a_newer_fxls_is_refused() -> None:
    with pytest.raises(RecordError, match=r"^it has format 2, from a newer fxls"):
        record.decode_run(written('{"kind":"run","schema":2}'))
    with pytest.raises(RecordError, match=r"^it is no record of a run"):
        record.decode_run(written('{"kind":"end"}'))


def test_a_pass_names_some_nodes_and_counts_all() -> None:
    names = record.names(["n" * 1_000] * 1_000)
    pairs = record.pairs([("n" * 1_000, "m" * 1_000)] * 1_000)

    assert (names.count, len(names.first), len(names.first[0])) == (1000, 64, 200)
    assert (pairs.count, len(pairs.first), len(pairs.first[0][1])) == (1000, 64, 200)
