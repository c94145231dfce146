"""`fxls list`: the graphs of real runs, in the order in which compilers make them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fxls.listing import About, Facts, Identity, Listing, Remark
from fxls.store import Store
from tests.cli.command import Command, Ended


def materialized(
    root: Path, identity: Identity, text: str, *remarks: Remark, program: str = ""
) -> None:
    nodes = (Facts("x", "placeholder", "x", 0), Facts("output", "output", "output", 1))
    listing = Listing(identity, text, 0, (), nodes, entry="N()", remarks=remarks)
    Store(root, program=program or None).materialize(listing)


def stages(fxls: Command, *names: str, rank: int | None = None) -> None:
    """A run of train.py that made the graphs of these stages, in this order."""
    for name in names:
        identity = Identity("net", "Net", "torch.compile", name, rank)
        program = str(fxls.folder / "train.py")
        materialized(fxls.folder / ".fxls", identity, f"# {name}\n", program=program)


def test_each_graph_stands_under_its_program_and_class(fxls: Command) -> None:
    root = fxls.folder / ".fxls"
    net = Identity("pkg.net", "Net")
    materialized(root, net, "def forward(self, x):\n    return x\n")
    materialized(root, net, "def forward(self, x):\n    return x + 1\n")
    block = Identity("pkg.net", "Block", "torch.fx")
    materialized(root, block, "a\n", program=str(fxls.folder / "train.py"))
    stages(fxls, "graph 0")
    assert fxls.run("list") == Ended(
        0,
        "graph                      nodes  age  newest revision\n"
        "(entries)\n"
        "  pkg.net.Net  engine      2      now  .fxls/Net_<hash>.py\n"
        "train.py\n"
        "  net.Net  torch.compile\n"
        "    graph 0                2      now  .fxls/Net_<hash>.py\n"
        "  pkg.net.Block  torch.fx  2      now  .fxls/Block_<hash>.py\n",
        "",
    )


def test_graphs_are_in_the_order_of_the_pipeline_and_of_numbers(fxls: Command) -> None:
    stages(
        fxls,
        "graph 10",
        "graph 2, compilation 10",
        "graph 2, compilation 9, backward",
        "graph 2, compilation 9",
        "graph 2, backward, post-grad",
        "graph 2, backward",
        "graph 2, forward, post-grad",
        "graph 2, forward",
        "graph 2, joint",
        "graph 2, pre-grad",
        "graph 2, cond_true_0",
        "graph 2",
    )
    lines = fxls.run("list").out.splitlines()
    assert [line[: lines[0].index("nodes")].rstrip() for line in lines] == [
        "graph",
        "train.py",
        "  net.Net  torch.compile",
        "    graph 2",
        "      cond_true_0",
        "      pre-grad",
        "      joint",
        "      forward",
        "      forward, post-grad",
        "      backward",
        "      backward, post-grad",
        "    graph 2, compilation 9",
        "      backward",
        "    graph 2, compilation 10",
        "    graph 10",
    ]


def test_words_leave_those_that_say_all_of_them(fxls: Command) -> None:
    stages(fxls, *(f"graph {n}, {d}" for n in (1, 10) for d in ("forward", "backward")))

    def listed(*words: str) -> list[str]:
        out = fxls.run("list", *words, "--json").out
        return [row["identity"]["stage"] for row in json.loads(out)["listings"]]

    assert listed("NET", "back") == ["graph 1, backward", "graph 10, backward"]
    assert listed("train.py", "graph", "1") == ["graph 1, forward", "graph 1, backward"]
    assert fxls.run("list", "net", "sideways") == Ended(
        0,
        "",
        "fxls: none of 4 listings says 'net' and 'sideways'\n"
        "help: `fxls list` without words shows them all.\n",
    )


def test_one_line_is_for_all_ranks(fxls: Command) -> None:
    for rank in (0, 1, 2, 5, 10):
        stages(fxls, "graph 0", rank=rank)
        stages(fxls, f"graph 1{', of the backend' * (rank == 5)}", rank=rank)
    assert fxls.run("list").out == (
        "graph                     nodes  ranks     age  newest revision\n"
        "train.py\n"
        "  net.Net  torch.compile\n"
        "    graph 0               2      0-2,5,10  now  .fxls/Net_<hash>.py\n"
        "    graph 1               2      0-2,10    now  .fxls/Net_<hash>.py\n"
        "      of the backend      2      5         now  .fxls/Net_<hash>.py\n"
    )
    assert fxls.run("list", "rank", "5").out.splitlines()[3:] == [
        "    graph 0                  2      5      now  .fxls/Net_<hash>.py",
        "    graph 1, of the backend  2      5      now  .fxls/Net_<hash>.py",
    ]


def test_ranks_that_made_other_code_are_counted(fxls: Command) -> None:
    for rank in range(3):
        identity = Identity("net", "Net", rank=rank)
        materialized(fxls.folder / ".fxls", identity, f"# {rank % 2}\n")
    assert fxls.run("list").out.splitlines()[2] == (
        "  net.Net  engine  2      0-2    now  .fxls/Net_<hash>.py and 1 more"
    )


def test_one_column_says_why(fxls: Command) -> None:
    broken = Remark(About.BREAK, "net.py:9: print")
    again = Remark(About.RECOMPILATION, "size mismatch at index 0 " * 3)
    root = fxls.folder / ".fxls"
    for number, remarks in enumerate(((broken,), (again, broken), (again,), ())):
        materialized(root, Identity("n", "N", stage=f"{number}"), f"{number}", *remarks)
    lines = fxls.run("list").out.splitlines()
    start, end = lines[0].index("why"), lines[0].index("age")
    assert [line[start:end].rstrip() for line in lines[3:]] == [
        "break: net.py:9: print",
        "recompilation: size mismatch at index...; break: net.py:9: print",
        "recompilation: size mismatch at index 0 size mismatch at index 0 size mismatc...",
        "",
    ]


@pytest.mark.slow
def test_a_compiled_run_says_what_broke_and_what_was_compiled_again(
    fxls: Command,
) -> None:
    fxls.file(
        """\
        import torch

        @torch.compile(backend="aot_eager", dynamic=False)
        def loss(x):
            y = x * 2
            torch._dynamo.graph_break()
            return y.sum()

        for size in (2, 3):
            loss(torch.ones(size, requires_grad=True)).backward()
        """,
        "train.py",
    )
    assert fxls.run("run", "train.py") == Ended(0, "", "")
    lines = fxls.run("list").out.splitlines()
    columns = [lines[0].index(name) for name in ("nodes", "why", "age")]
    assert [
        (line[: columns[0]].rstrip(), line[columns[1] : columns[2]].rstrip())
        for line in lines[1:]
    ] == [
        ("train.py", ""),
        ("  train.loss  torch.compile", ""),
        ("    graph 0", f"break: train.py:6: {BROKEN}"),
        ("      traced", ""),
        ("      forward", ""),
        ("      backward", ""),
        (
            "    graph 0, compilation 1",
            "recompilation: tensor 'x' size mismat...; break: train.py:6: Call to `torch._dy...",
        ),
        ("      traced", ""),
        ("      forward", ""),
        ("      backward", ""),
        ("    graph 1", ""),
        ("      traced", ""),
        ("      forward", ""),
        ("      backward", ""),
        (
            "    graph 1, compilation 1",
            "recompilation: tensor 'y' size mismatch at index 0. expected 2, actual 3",
        ),
        ("      traced", ""),
        ("      forward", ""),
        ("      backward", ""),
    ]


BROKEN = "Call to `torch._dynamo.graph_break()`"
