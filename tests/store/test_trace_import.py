"""Logs of TORCH_TRACE become runs and listings: also torn ones, and anybody's."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fxls.graph_diff import call_text
from fxls.listing import Identity, Listing, Tensor
from fxls.record import Compilation, Made, Outcome, Remark, Truncated, decode
from fxls.record.printed_graph import printed_graph
from fxls.store import Store, StoreError
from fxls.store.runs import Runs
from fxls.store.trace_import import ImportedRun, logs_in, read_log, write_run

PREFIX = "V0102 03:04:05.000006 4711 /torch/_logging/_internal.py:99] "
GRAPH = """\
class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[s0, 4][4, 1]cpu", s0: "Sym(s0)"):
        l_x_ = L_x_

        # File: /home/ada/net.py:7 in forward, code: return self.lin(x)[0] + 1
        lin: "bf16[3, 4][4, 1]cuda:0" = self.lin(l_x_);  l_x_ = None
        getitem = lin[0];  lin = None
        add: "b8[]" = getitem + 1;  getitem = None
        return (
            add,  # PlainAOTOutput(idx=0)
        )
"""
METRICS = {"co_name": "forward", "co_filename": "/home/ada/net.py", "guard_count": 3}


def entry(table: dict[str, Any], text: str | None = None) -> str:
    if text is None:
        return f"{PREFIX}{json.dumps(table)}\n"
    digest = hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
    lines = "".join(f"\t{line}\n" for line in text.split("\n"))
    return f"{PREFIX}{json.dumps({**table, 'has_payload': digest})}\n{lines}"


def of_frame(number: int = 0, **table: Any) -> dict[str, Any]:
    return {**table, "frame_id": number, "frame_compile_id": 0, "attempt": 0}


STACK = [
    {"line": 20, "name": "<module>", "filename": 2},
    {"line": 6, "name": "forward", "filename": 1},
]
LOG = (
    entry({"chromium_event": {}}, '{"name": "dynamo", "ts": 1.7e15, "ph": "B"}'),
    entry({"artifact": {"name": "torch_version"}}, '{"pytorch_version": "2.9.1"}'),
    entry({"str": ["/home/ada/net.py", 1]}),
    entry({"str": ["/home/ada/train.py", 2]}),
    entry(of_frame(dynamo_start={"stack": STACK})),
    entry(of_frame(dynamo_output_graph={}), GRAPH),
    entry(of_frame(compilation_metrics={**METRICS, "duration_us": 2e6})),
)


def log(
    folder: Path, *entries: str, name: str = "dedicated_log_torch_trace_a.log"
) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text("".join(entries), "utf-8")
    return path


def imported(path: Path) -> ImportedRun:
    found = read_log(path)
    assert found is not None
    return found


def unwanted(error: StoreError) -> None:
    pytest.fail(str(error))


def test_a_printed_graph_is_a_listing() -> None:
    found = printed_graph(GRAPH, Identity("net", "forward"), "# Of a log.\n\n")
    assert found is not None
    rows = [
        (facts.name, facts.opcode, call_text(found, node), facts.users)
        for node, facts in enumerate(found.nodes)
    ]

    assert rows == [
        ("l_x_", "placeholder", "L_x_()", (2,)),
        ("s0", "placeholder", "s0()", ()),
        ("lin", "call_module", "lin(l_x_)", (3,)),
        ("getitem", "call_function", "operator.getitem(lin, 0)", (4,)),
        ("add", "call_function", "operator.add(getitem, 1)", (5,)),
        ("output", "output", "output((add,))", ()),
    ]
    assert found.nodes[2].value == Tensor((3, 4), "bfloat16", "cuda:0", (4, 1))
    assert found.nodes[4].value == Tensor((), "bool", "")
    origin = found.origin(2)
    assert origin is not None
    assert origin.places[0].path == "/home/ada/net.py"
    assert origin.places[0].span.start.line == 6
    assert marked(found) == [
        *(("L_x_", 0), ("s0", 1), ("l_x_", 0), ("L_x_", 0), ("lin", 2), ("l_x_", 0)),
        *(("l_x_", 0), ("getitem", 3), ("lin", 2), ("lin", 2), ("add", 4)),
        *(("getitem", 3), ("getitem", 3), ("add", 4)),
    ]


def marked(listing: Listing) -> list[tuple[str, int]]:
    lines = listing.text.split("\n")
    return [
        (lines[mark.line][mark.column : mark.column + mark.length], mark.node)
        for mark in listing.marks
    ]


def test_a_log_is_a_run_and_a_second_import_adds_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    (path,) = logs_in(log(tmp_path / "logs", *LOG).parent)
    found = imported(path)

    assert write_run(store, found)
    assert not write_run(store, imported(path))

    runs = Runs(store.root, unwanted)
    (run,) = runs.newest()
    assert (run.run.program, run.run.versions) == (
        "/home/ada/train.py",
        {"torch": "2.9.1"},
    )
    events = [one.event for one in runs.read(run.run.id).entries]
    made = [one.revision for one in events if isinstance(one, Made)]
    ended = [one for one in events if isinstance(one, Compilation)][-1]
    assert (ended.id, ended.function, ended.outcome, ended.seconds) == (
        *("0/0", "forward", Outcome.OK),
        2.0,
    )
    (name,) = made
    assert store.read_named(name) == found.listings[0]
    assert name.identity == Identity("net", "forward", "TORCH_TRACE", "graph 0")
    assert (found.unread, found.left_out) == (0, 0)


@pytest.mark.parametrize(
    "launch",
    ["/home/ada/lib/fxls/launching/here.py", r"C:\ada\Lib\fxls\launching\here.py"],
)
def test_in_a_log_from_elsewhere_the_program_is_what_fxls_run_called(
    tmp_path: Path, launch: str
) -> None:
    below = [
        {"line": 8, "name": "<module>", "filename": 3},
        {"line": 134, "name": "_run", "filename": 4},
    ]
    reason = (
        "Graph break in user code at /home/ada/net.py:7\nGraph Break Reason: no\n"
        '\nUser code traceback:\n  File "/home/ada/bin/fxls", line 8, in <module>\n'
        f'  File "{launch}", line 134, in _run\n'
        '  File "/home/ada/train.py", line 21, in <module>\n'
        '  File "/home/ada/net.py", line 7, in forward\n'
    )
    found = imported(
        log(
            tmp_path / "logs",
            *LOG[2:4],
            entry({"str": ["/home/ada/bin/fxls", 3]}),
            entry({"str": [launch, 4]}),
            entry(of_frame(dynamo_start={"stack": below + STACK})),
            entry(of_frame(artifact={"name": "dynamo_graph_break_reason"}), reason),
        )
    )
    assert found.run.program == "/home/ada/train.py"

    store = Store(tmp_path / "store")
    write_run(store, found)
    read = Runs(store.root, unwanted).read(found.run.id)
    (remark,) = [one.event for one in read.entries if isinstance(one.event, Remark)]
    assert [(at.place.path, at.place.span.start.line) for at in remark.places] == [
        ("/home/ada/net.py", 6),
        ("/home/ada/train.py", 20),
    ]


def test_a_log_that_grew_is_the_same_run(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    write_run(store, imported(log(tmp_path / "logs", *LOG[:5])))

    assert write_run(store, imported(log(tmp_path / "logs", *LOG)))
    (run,) = Runs(store.root, unwanted).newest()
    assert (run.summary.compilations, run.summary.running) == (1, 0)


@pytest.mark.parametrize("cut", [1, 30, 200, 700, 900, 1200])
def test_a_part_of_a_log_does_not_take_the_place_of_the_whole(
    tmp_path: Path, cut: int
) -> None:
    store = Store(tmp_path / "store")
    path = log(tmp_path / "logs", *LOG)
    write_run(store, imported(path))
    before = {one: one.read_bytes() for one in store.root.rglob("*") if one.is_file()}

    path.write_text("".join(LOG)[:-cut], "utf-8")

    assert not write_run(store, imported(path))
    after = {one: one.read_bytes() for one in store.root.rglob("*") if one.is_file()}
    assert after == before


def test_another_log_of_the_same_first_line_takes_the_place(tmp_path: Path) -> None:
    """As where an earlier fxls read it otherwise."""
    store = Store(tmp_path / "store")
    other = of_frame(1, compilation_metrics={**METRICS, "co_name": "other"})
    write_run(store, imported(log(tmp_path / "logs", LOG[0], entry(other), *LOG)))

    assert write_run(store, imported(log(tmp_path / "logs", *LOG)))
    (run,) = Runs(store.root, unwanted).newest()
    assert run.summary.compilations == 1


@pytest.mark.parametrize("cut", [1, 30, 200, 700, 900])
def test_of_a_torn_log_all_is_there_that_is_whole(tmp_path: Path, cut: int) -> None:
    whole = "".join(LOG)
    found = imported(log(tmp_path / "logs", whole[:-cut]))
    entries = sum(len("".join(LOG[: at + 1])) <= len(whole) - cut for at in range(7))

    # A graph whose text is not all there is none.
    assert len(found.listings) == (entries >= 6)
    assert found.unread <= 1
    write_run(Store(tmp_path / "store"), found)


def test_a_log_of_a_torch_that_says_less_has_what_it_says(tmp_path: Path) -> None:
    """Without versions and starts; graphs behind AOTAutograd have words of their own."""
    found = imported(
        log(
            tmp_path / "logs",
            entry(of_frame(aot_forward_graph={}), GRAPH),
            entry(of_frame(aot_backward_graph={}), GRAPH),
            entry(of_frame(inductor_post_grad_graph={}), GRAPH),
            entry(of_frame(artifact={"name": "inductor_post_grad_graph"}), GRAPH),
            name="dedicated_log_torch_trace_rank_3_b.log",
        )
    )

    assert [one.identity for one in found.listings] == [
        Identity("log", "frame 0", "TORCH_TRACE", f"graph 0, {stage}", 3)
        for stage in (
            *("forward", "backward", "forward, post-grad"),
            "backward, post-grad",
        )
    ]
    assert found.run.rank == 3


HOSTILE: tuple[str, ...] = (
    entry({"str": 3}),
    entry({"chromium_event": {}}, "[" * 100_000),
    entry({"chromium_event": {}}, '{"ts": "x"}'),
    entry(of_frame(dynamo_start={"stack": [7]})),
    entry(of_frame(dynamo_start=[])),
    entry(of_frame(dynamo_output_graph={}), "class A(B):\n    def forward(self):"),
    entry(of_frame(dynamo_output_graph={}), "x = " + "(" * 5000),
    entry(of_frame(compilation_metrics={"co_name": 7, "co_firstlineno": "x"})),
    entry(of_frame(compilation_metrics={"co_name": "f", "graph_node_count": -5})),
    entry(of_frame(compilation_metrics={"co_name": "f", "duration_us": "x"})),
    entry(of_frame(artifact={"name": "recompile_reasons"}), "[[[]]]"),
    entry(of_frame(artifact=4)),
    entry({"rank": -1}),
    f"{PREFIX}{{}}\n",
    f"{PREFIX}[]\n",
    f"{PREFIX}{{" + '"a":' * 100_000 + "\n",
    "\x00\x1b[2J\n",
)


def test_a_hostile_log_gives_what_is_sound_in_it(tmp_path: Path) -> None:
    path = log(tmp_path / "logs", LOG[0], *HOSTILE, *LOG[1:])
    store = Store(tmp_path / "store")
    found = imported(path)
    write_run(store, found)

    (run,) = Runs(store.root, unwanted).newest()
    part = Runs(store.root, unwanted).read(run.run.id)
    assert part.left_out == 0
    assert len(found.listings) == 1
    # What names no compilation, and what is no table, says nothing and is no damage.
    assert found.unread == 12


def test_what_does_not_fit_into_a_record_is_counted(tmp_path: Path) -> None:
    hints = "".join(f"  Hint: {'x' * 1_900}\n" for _ in range(8))
    reason = f"Graph Break Reason: no\n  Explanation: at all.\n{hints}"
    table = of_frame(artifact={"name": "dynamo_graph_break_reason"})
    breaks = 2_400
    found = imported(log(tmp_path / "logs", LOG[0], *[entry(table, reason)] * breaks))

    kept = [one for one in map(decode, found.lines[1:]) if one is not None]
    assert isinstance(kept.pop().event, Truncated)
    assert {type(one.event) for one in kept} == {Remark}
    assert found.summary.is_truncated
    assert 0 < found.summary.lost == breaks - len(kept)


def test_files_that_a_log_names_are_not_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret.py"
    secret.write_text("token = 'secret'\n", "utf-8")
    reason = (
        f"Graph break in user code at {secret}:1\nGraph Break Reason: no\n"
        f'\nUser code traceback:\n  File "{secret}", line 1, in f\n    token\n'
    )
    found = imported(
        log(
            tmp_path / "logs",
            entry({"str": [str(secret), 1]}),
            entry(of_frame(dynamo_start={"stack": STACK})),
            entry(of_frame(artifact={"name": "dynamo_graph_break_reason"}), reason),
            entry(
                of_frame(compilation_metrics={**METRICS, "co_filename": str(secret)})
            ),
        )
    )
    write_run(Store(tmp_path / "store"), found)

    read = Runs(tmp_path / "store", unwanted).read(found.run.id)
    (remark,) = [one.event for one in read.entries if isinstance(one.event, Remark)]
    assert remark.places[0].place.path == str(secret)
    content = (tmp_path / "store" / "runs" / f"{found.run.id}.jsonl").read_text()
    assert "token = " not in content


def test_links_and_other_files_are_no_logs(tmp_path: Path) -> None:
    path = log(tmp_path / "elsewhere", *LOG)
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "linked.log").symlink_to(path)
    (folder / "notes.txt").write_text("V is a letter\n", "utf-8")
    (folder / "sub").mkdir()

    assert [*logs_in(folder)] == []
    with pytest.raises(OSError, match="link"):
        read_log(folder / "linked.log")


def test_a_long_line_takes_time_in_proportion(tmp_path: Path) -> None:
    names = ", ".join(["x"] * 4_000)
    text = f"class A(B):\n    def forward(self, x):\n        return ({names})\n"
    read: Callable[[str], Listing | None] = lambda of: printed_graph(  # noqa: E731
        of, Identity("a", "b"), ""
    )
    found = read(text)

    assert found is not None
    assert len(found.nodes[-1].args[0]) == 8_001
    # Columns of other than ASCII are counted, so such a line has no facts.
    assert read(text.replace("(x,", "('ü', x,")) is None
