"""The runs of the stores, and what each did, as a view of them asks."""

from __future__ import annotations

from pathlib import Path

from fxls.listing import Identity, Place
from fxls.record import (
    Cause,
    Compilation,
    End,
    Event,
    Guard,
    Guards,
    Made,
    MatchedPattern,
    Names,
    Outcome,
    Pass,
    QuotedPlace,
    Remark,
    RevisionName,
    Searched,
    Subject,
)
from fxls.store import Store
from fxls.store.runs import record_path
from fxls.text import Span
from tests.support.listings import NET, listing_of
from tests.support.lsp_client import started
from tests.support.records import FIRST, SECOND, written

CODE = Identity("net", "Net", "torch.compile", "graph 0, forward, kernels")
OTHER = Identity("net", "Net", "torch.compile", "graph 0, backward, kernels")


def recompiled(count: int) -> list[Event]:
    """A function that is compiled once, and again so many times."""
    again = [
        Compilation(f"1/{at}", "g", Outcome.OK, Cause.RECOMPILATION, seconds=0.5)
        for at in range(1, count + 1)
    ]
    failed = Remark(Subject.RECOMPILATION, "1/0: n == 0", "1/1")
    return [Compilation("1/0", "g", Outcome.OK), failed, *again]


def test_runs_are_listed_the_newest_first_with_what_is_counted(project: Path) -> None:
    root = project / ".fxls"
    written(root, FIRST, *recompiled(2))
    broken = Compilation("0/0", "f", Outcome.BREAK, seconds=1.5)
    written(
        root, SECOND, broken, Remark(Subject.BREAK, "print", "0/0"), End("KeyError")
    )
    (root / "runs" / f"{SECOND[:-1]}f.jsonl").write_bytes(b"no record\n")
    with started() as client:
        client.initialize(project)
        found = client.request("fxls/runs", {})
        client.unread()
        client.end()
    of_all = {
        "start": 1.0,
        "program": str(project / "train.py"),
        "arguments": ["--fast"],
    }
    assert sorted(found, key=lambda one: one["id"]) == [
        {
            **of_all,
            "id": FIRST,
            "state": "killed",
            "seconds": 1.0,
            "compilations": 3,
            "recompilations": 2,
        },
        {
            **of_all,
            "id": SECOND,
            "state": "raised",
            "raised": "KeyError",
            "seconds": 1.5,
            "compilations": 1,
            "breaks": 1,
        },
    ]


def test_a_run_has_its_compilations_with_what_leads_on_from_each(
    project: Path, listing: Path
) -> None:
    root, source = project / ".fxls", project / "net.py"
    place = QuotedPlace(Place(str(source), "forward", Span.of(3, 4, 3, 14)), "x")
    there = RevisionName(NET, listing.name)
    events: tuple[Event, ...] = (
        Compilation("0/0", "forward", Outcome.RUNNING),
        Pass("fuse", 2, "0/0", "torch.compile", "graph 0, joint", changed=False),
        Pass(
            *("fuse", 3, "0/0", "torch.compile", "graph 0, joint"),
            changed=True,
            after=there,
            created=Names(2, ("a", "b")),
            erased=Names(1, ("c",)),
        ),
        # Neither is led to: one is gone, one was never in the store.
        Pass(
            "gone", changed=True, compilation="0/0", after=RevisionName(NET, "G_0.py")
        ),
        Pass(
            "odd", changed=True, compilation="0/0", after=RevisionName(NET, "../net.py")
        ),
        Remark(Subject.BREAK, "print", "0/0", "GB0059", (place,), ("leave it out",)),
        Made(RevisionName(NET, listing.name)),
        Made(RevisionName(CODE, listing.name), "0/0"),
        Made(RevisionName(CODE, listing.name), "0/0"),
        Made(RevisionName(CODE, "../net.py"), "0/0"),
        Made(RevisionName(OTHER, listing.name)),
        Guards("0/0", 7, (Guard("TENSOR_MATCH", "x"),)),
        Compilation(
            *("0/0", "forward", Outcome.BREAK, Cause.FIRST, place, (), "print", 2),
            *(1.5, (("backend", 1.0), ("frame", 1.25)), ("fx_graph",), 3, 7),
        ),
        *recompiled(8),
        Remark(Subject.ERROR, "of no compilation"),
        *2 * (Searched("fusions", 1, "0/0", (MatchedPattern("shifted", 0, place),)),),
        Searched("halved", 3, None, (MatchedPattern("halved", 3),)),
        Searched("torch's own", 5, "0/0"),
    )
    written(root, FIRST, *events)
    with started() as client:
        client.initialize(project)
        found = client.request("fxls/run", {"run": FIRST})
        assert client.request("fxls/run", {"run": SECOND}) is None
        assert client.request("fxls/run", {"run": f"../../{FIRST}"}) is None
        client.unread()
        client.end()
    at = {
        "uri": source.as_uri(),
        "function": "forward",
        "line": 3,
        "character": 4,
        "endLine": 3,
        "endCharacter": 14,
    }
    first, once, again = found["rows"]
    stage = "graph 0, joint"
    assert first == [
        {
            "id": "0/0",
            "function": "forward",
            "outcome": "break",
            "cause": "first",
            "attempts": 2,
            "seconds": 1.5,
            "nodes": 3,
            "cached": ["fx_graph"],
            "place": at,
            "remarks": [
                {
                    "subject": "break",
                    "title": "graph break",
                    "number": "GB0059",
                    "reason": "print",
                    "hints": ["leave it out"],
                    "place": at,
                }
            ],
            "changes": [
                {
                    "name": "fuse",
                    "ordinal": 3,
                    "stage": stage,
                    "change": "+2 -1",
                    "uri": listing.as_uri(),
                },
                {"name": "gone", "stage": ""},
                {"name": "odd", "stage": ""},
            ],
            "guards": 7,
            "document": f"fxls:/runs/{FIRST}/0-0/guards.txt",
            "code": [{"uri": listing.as_uri(), "qualname": "Net", "stage": CODE.stage}],
        }
    ]
    of_g = {"function": "g", "outcome": "ok"}
    assert once == [{**of_g, "id": "1/0", "cause": "first"}]
    plain = {**of_g, "cause": "recompilation", "seconds": 0.5}
    failed = {
        "subject": "recompilation",
        "title": "guard failed",
        "reason": "1/0: n == 0",
    }
    assert again == [
        {**plain, "id": "1/1", "remarks": [failed]},
        *({**plain, "id": f"1/{at}"} for at in range(2, 9)),
    ]
    assert {**found, "rows": ()} == {
        "rows": (),
        "phases": [
            {"name": "frame", "seconds": 1.25},
            {"name": "backend", "seconds": 1.0},
        ],
        "remarks": [
            {"subject": "error", "title": "error", "reason": "of no compilation"}
        ],
        "code": [{"uri": listing.as_uri(), "qualname": "Net", "stage": OTHER.stage}],
        "patterns": [
            {"name": "shifted", "of": "fusions", "ran": 2, "matched": 0, "place": at},
            {"name": "halved", "ran": 1, "matched": 3},
        ],
    }


def test_of_a_run_that_goes_on_what_is_new_is_there_at_the_next_question(
    project: Path,
) -> None:
    root = project / ".fxls"
    written(root, FIRST, Compilation("0/0", "f", Outcome.RUNNING))
    with started() as client:
        client.initialize(project)

        def outcomes() -> list[str]:
            rows = client.request("fxls/run", {"run": FIRST})["rows"]
            return [one["outcome"] for row in rows for one in row]

        assert outcomes() == ["running"]
        before = record_path(root, FIRST).read_bytes()
        written(root, FIRST, Compilation("0/0", "f", Outcome.RUNNING), *recompiled(1))
        assert record_path(root, FIRST).read_bytes().startswith(before)
        assert outcomes() == ["running", "ok", "ok"]
        client.unread()
        client.end()


def test_of_many_thousand_compilations_the_rest_is_counted(project: Path) -> None:
    events = (Compilation(f"{at}/0", "f", Outcome.OK) for at in range(2_100))
    written(project / ".fxls", FIRST, *events)
    with started() as client:
        client.initialize(project)
        found = client.request("fxls/run", {"run": FIRST})
        client.unread()
        client.end()
    assert (len(found["rows"]), found["leftOut"]) == (2_000, 100)


def test_ranks_stand_side_by_side_each_with_the_first_node_that_differs(
    project: Path,
) -> None:
    root = project / ".fxls"
    names = [f"20260102T03040{rank}Z-host-7-0123abcd" for rank in range(4)]
    bodies = ["y = x + 1", "y = x + 1\n    z = y * 2", "y_1 = x + 1"]
    paths: list[Path] = []
    for rank, name in enumerate(names):
        events: list[Event] = [Compilation("0/0", "f", Outcome.OK, seconds=1.5)]
        for body in bodies[rank : rank + 1]:
            identity = Identity("net", "Net", "torch.compile", "graph 0", rank)
            text = f"def forward(self, x):\n    {body}\n"
            path = Store(root).materialize(listing_of(text, identity=identity))
            events.append(Made(RevisionName(identity, path.name)))
            paths.append(path)
        written(root, name, *events, launch=names[0], rank=rank)
    # Of another launch.
    written(root, SECOND, Compilation("0/0", "f", Outcome.OK))
    with started() as client:
        client.initialize(project)
        found = client.request("fxls/run", {"run": names[2]})["ranks"]
        again = client.request("fxls/run", {"run": names[0]})["ranks"]
        alone = client.request("fxls/run", {"run": SECOND})
        client.unread()
        client.end()
    runs = [one.pop("run") for one in found]

    assert [{**one, "run": run} for one, run in zip(found, runs, strict=True)] == again
    assert "ranks" not in alone
    assert [(run["id"], run["rank"], run["seconds"]) for run in runs] == [
        (name, rank, 1.5) for rank, name in enumerate(names)
    ]
    differs = {"graph": "Net, graph 0"}
    assert found == [
        {"rank": 0},
        {
            **differs,
            "rank": 1,
            "summary": "+1 node",
            "node": "z",
            "uri": paths[1].as_uri(),
            "line": 2,
        },
        # Another name is no difference.
        {"rank": 2},
        {**differs, "rank": 3, "summary": "rank 3 has no such graph"},
    ]
