"""`fxls passes`: what passes did, and which of them was the first to do something."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fxls.cli.passes_command import _in_order  # pyright: ignore[reportPrivateUsage]  # the rule
from fxls.record import Made, Pass, RevisionName
from fxls.store import Store
from tests.cli.command import Command, Ended
from tests.support.listings import NET, listing_of
from tests.support.records import FIRST, SECOND, written

PROGRAM = """\
import torch
import fxls


class Net(torch.nn.Module):
    def forward(self, x, y):
        return (x.sin() + 1.5 - y.cos()).relu()


def removes(gm):
    node = next(node for node in gm.graph.nodes if node.name == "add")
    node.replace_all_uses_with(node.args[0])
    gm.graph.erase_node(node)
    gm.recompile()


def swaps(gm):
    node = next(node for node in gm.graph.nodes if node.name == "sub")
    node.args = node.args[::-1]
    gm.recompile()


def moves(gm):
    nodes = {node.name: node for node in gm.graph.nodes}
    nodes["sin"].prepend(nodes["cos"])
    gm.recompile()


def makes(gm):
    node = next(node for node in gm.graph.nodes if node.name == "relu")
    with gm.graph.inserting_after(node):
        new = gm.graph.call_function(torch.nn.functional.gelu, (node.args[0],))
    node.replace_all_uses_with(new)
    gm.graph.erase_node(node)
    gm.recompile()


def breaks(gm):
    nodes = {node.name: node for node in gm.graph.nodes}
    nodes["gelu"].append(nodes["sub"])
    gm.recompile()


gm = torch.fx.symbolic_trace(Net())
with fxls.passes(gm):
    for one in (removes, swaps, moves, makes, breaks):
        one(gm)
"""


PATTERNS = """\
import torch
from torch.fx import replace_pattern, symbolic_trace


def shifted(x):
    return torch.relu(x) + 1.0


def halved(x):
    return torch.exp(x) / 2.0


def same(x):
    return x


def model(x):
    return torch.relu(x) + 1.0


for pattern in (shifted, halved):
    for _ in range(2):
        replace_pattern(symbolic_trace(model), pattern, same)
"""


@pytest.mark.slow
def test_how_often_a_pattern_was_looked_for_and_how_many_matches_it_had(
    fxls: Command,
) -> None:
    fxls.file(PATTERNS, "prog.py")
    assert fxls.run("run", "prog.py").code == 0
    assert fxls.run("passes") == Ended(
        0,
        "pass                   change  revision\n"
        "model torch.fx\n"
        "  replace_pattern      -2 ~1   .fxls/model_<hash>.py\n"
        "  replace_pattern (2)  -2 ~1   .fxls/model_<hash>.py\n"
        "\n"
        "pass with patterns  ran      matched  pattern\n"
        "shifted             2 times  2        prog.py:5\n"
        "halved              2 times  0        prog.py:9\n",
        "",
    )
    place = {"path": "prog.py", "function": "halved", "line": 9, "column": 1}
    found = json.loads(fxls.run("passes", "halved", "--json").out)
    (one,) = found["patterns"]
    assert (one["name"], one["ran"], one["matched"]) == ("halved", 2, 0)
    (pattern,) = one["patterns"]
    assert (
        pattern["place"].items()
        >= {key: value for key, value in place.items() if key != "path"}.items()
    )
    assert (
        "  halved, prog.py:9:1: ran 2 times and matched 0\n"
        in fxls.run("runs", "-1").out
    )


SIMPLIFY = """\
import torch
from torch import fx, nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 8)
        self.act = nn.GELU()
        self.out = nn.Linear(8, 4)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        out = self.out(self.act(self.inner(x)))
        return x + self.drop(out)


def gelu_to_relu(module):
    for node in module.graph.nodes:
        if node.target == "act":
            with module.graph.inserting_after(node):
                relu = module.graph.call_function(torch.relu, node.args)
            node.replace_all_uses_with(relu)
            module.graph.erase_node(node)
    module.recompile()


def drop_dropout(module):
    for node in module.graph.nodes:
        if node.target == "drop":
            node.replace_all_uses_with(node.args[0])
            module.graph.erase_node(node)
    module.recompile()


def exchange(module):
    module.out = nn.Linear(8, 4, bias=False)
    module.recompile()


module = fx.symbolic_trace(Block())
gelu_to_relu(module)
drop_dropout(module)
exchange(module)
"""


@pytest.mark.slow
def test_functions_that_recompile_a_module_are_passes(fxls: Command) -> None:
    fxls.file(SIMPLIFY, "simplify.py")
    assert fxls.run("run", "simplify.py").code == 0
    assert fxls.run("passes") == Ended(
        0,
        "pass            change    revision\n"
        "Block torch.fx\n"
        "  gelu_to_relu  +1 -1 ~1  .fxls/Block_<hash>.py\n"
        "  drop_dropout  -1 ~1     .fxls/Block_<hash>.py\n"
        "  exchange      ~1        .fxls/Block_<hash>.py\n",
        "",
    )
    assert fxls.run("diff", "pass:gelu_to_relu").out == (
        "--- .fxls/Block_<hash>.py  simplify.Block torch.fx\n"
        "+++ .fxls/Block_<hash>.py  simplify.Block torch.fx\n"
        "+1 -1 ~1 nodes\n"
        "- act   act(inner)  simplify.py:14:24\n"
        "+ relu  torch.relu(inner)  simplify.py:14:24\n"
        "~ out   arguments act -> relu\n"
    )
    assert fxls.run("diff", "pass:exchange") == Ended(
        2,
        "",
        "fxls: error: the pass 'exchange' left every node as it was\n"
        "help: It put another member of the module in the place of out.\n",
    )


@pytest.mark.slow
def test_the_passes_of_a_run_and_the_first_that_did_something(fxls: Command) -> None:
    fxls.file(PROGRAM, "prog.py")
    assert fxls.run("run", "prog.py").code == 0
    assert fxls.run("passes") == Ended(
        0,
        "pass          change    revision\n"
        "Net torch.fx\n"
        "  removes     -1 ~1     .fxls/Net_<hash>.py\n"
        "  swaps       ~1        .fxls/Net_<hash>.py\n"
        "  moves       ~1        .fxls/Net_<hash>.py\n"
        "  makes       +1 -1 ~1  .fxls/Net_<hash>.py\n"
        "  breaks      ~1        .fxls/Net_<hash>.py\n",
        "",
    )
    # What changed a graph is in bold, on a terminal.
    colored = fxls.run("passes", "--all", env={"FORCE_COLOR": "1"}).out.split("\n")
    bold = [line for line in colored if line.startswith("\x1b[1m  ")]
    assert [line.split()[1] for line in bold] == [
        *("removes", "swaps", "moves", "makes", "breaks")
    ]
    assert len(colored) > 2 + len(bold)
    assert fxls.run("passes", "--first-gone", "add") == Ended(
        0,
        "removes (1), in Net torch.fx: add is replaced by sin\n"
        "  from    prog.py:7:17: return (x.sin() + 1.5 - y.cos()).relu()\n"
        "  before  .fxls/Net_<hash>.py\n"
        "  after   .fxls/Net_<hash>.py\n",
        "",
    )
    first = {
        (
            "--first-altered",
            "sub",
        ): "removes (1), in Net torch.fx: sub has (sin, cos) and not (add, cos)",
        ("--first-moved", "cos"): "moves (1), in Net torch.fx: cos stands before sin",
        ("--first-made", "gelu"): "makes (1), in Net torch.fx: gelu is made from relu",
        ("--first-with", "gelu"): "makes (1), in Net torch.fx: gelu calls it",
        ("--first-without", "relu"): "makes (1), in Net torch.fx: relu was the first of"
        " them",
        ("--first-broken",): "breaks (1), in Net torch.fx: gelu uses sub before that is"
        " made",
        ("swaps", "--first-altered", "sub"): "swaps (1), in Net torch.fx: sub has (cos,"
        " sin) and not (sin, cos)",
    }
    found = {asked: fxls.run("passes", *asked).out.split("\n")[0] for asked in first}
    assert found == first

    said: dict[str, Any] = json.loads(fxls.run("passes", "--json").out)
    assert [one["name"] for one in said["passes"]] == [
        *("removes", "swaps", "moves", "makes", "breaks")
    ]
    assert said["schema"] == 1
    answer = json.loads(fxls.run("passes", "--first-gone", "add", "--json").out)
    (only,) = answer["found"]
    assert only["pass"] == said["passes"][0]
    assert only["place"] == {
        "path": "FOLDER/prog.py",
        "function": "Net.forward",
        "line": 7,
        "column": 17,
        "end_line": 7,
        "end_column": 30,
    }

    # From the line to the nodes: an expression, and all that a line computes.
    assert fxls.run("passes", "--became", "prog.py:7:27") == Ended(
        0,
        "prog.py:7:17: x.sin() + 1.5\n"
        "torch.fx  .fxls/Net_<hash>.py\n"
        "  removes: erased add\n"
        "  nothing is left of it\n",
        "",
    )
    became = json.loads(fxls.run("passes", "--became", "prog.py:7", "--json").out)
    (stage,) = became["stages"]
    assert {node["name"]: node["target"] for node in stage["nodes"]} == {
        "sin": "sin",
        "cos": "cos",
        "sub": "operator.sub",
        "gelu": "torch._C._nn.gelu",
        "output": "output",
    }
    assert [
        (one["pass"]["name"], one["gone"], one["made"], one["altered"])
        for one in stage["passes"]
    ] == [
        ("removes", ["add"], [], ["sub"]),
        ("swaps", [], [], ["sub"]),
        ("makes", ["relu"], ["gelu"], ["output"]),
    ]
    assert fxls.run("passes", "--became", "prog.py:1") == Ended(
        0,
        "",
        "fxls: no graph of this run has a node of prog.py:1\n"
        "help: `fxls list` shows the graphs; a source that changed since the run has "
        "other lines.\n",
    )
    assert fxls.run("passes", "--became", "prog.py") == Ended(
        2,
        "",
        "fxls: error: 'prog.py' is no place\n"
        "help: FILE:LINE means all that a line computes, and FILE:LINE:COLUMN the "
        "expression there; both count from 1.\n",
    )
    assert fxls.run("passes", "--first-gone", "nope") == Ended(
        0,
        "",
        "fxls: no graph of this run has 'nope'\n"
        "help: `fxls passes` shows the revisions, whose nodes have the names.\n",
    )
    assert fxls.run("passes", "--run", "nobody") == Ended(
        2,
        "",
        "fxls: error: there is no run 'nobody'\nhelp: `fxls runs` shows them all.\n",
    )
    for text in (fxls.folder / ".fxls").glob("Net_*.py"):
        text.unlink()
    assert fxls.run("passes", "--first-gone", "add").err == (
        "fxls: no graph of this run has 'add'\n"
        "help: `fxls passes` shows the revisions, whose nodes have the names.\n"
        "fxls: warning: 5 passes changed a graph that is not in the store any more\n"
    )


def test_a_pass_stands_above_its_parts_which_end_first() -> None:
    ended = [
        Pass("part", under=("first", "middle")),
        Pass("middle", under=("first",)),
        Pass("other part", under=("first",)),
        Pass("first"),
        Pass("part", 2, under=("second",)),
        Pass("second"),
        Pass("alone"),
    ]

    assert [one.name for one in _in_order(ended)] == [
        *("first", "middle", "part", "other part", "second", "part", "alone")
    ]


def test_without_a_run_it_says_how_to_make_one(fxls: Command) -> None:
    (fxls.folder / ".fxls").mkdir()
    assert fxls.run("passes") == Ended(
        0,
        "",
        "fxls: no run in this store has passes\n"
        "help: `fxls run FILE` records a program; inductor has passes, pass managers "
        "have, and functions that recompile a graph module are some, also those of a "
        "backend of yours; torch's other backends have none; --store or FXLS_STORE "
        "names another folder.\n",
    )


@pytest.mark.slow
def test_what_became_of_a_line_is_read_as_the_run_had_it(fxls: Command) -> None:
    root = fxls.folder / ".fxls"
    earlier = "def f(x):\n    return x.sin()\n"
    later = f"import torch\n\n\n{earlier}"
    source = str(fxls.file(later, "net.py"))
    for run, text in ((FIRST, earlier), (SECOND, later)):
        listing = listing_of(
            "def forward(self, x):\n    sin = x.sin()\n    return sin\n",
            sources={source: text},
            origins={"sin": [(source, "x.sin()")]},
        )
        store = Store(root)
        path = store.materialize(listing)
        revision = store.newest(NET)
        assert revision is not None
        written(root, run, Made(RevisionName(NET, path.name, revision.facts)))

    def first_line(run: str, line: int) -> str:
        return fxls.run("passes", "--run", run, "--became", f"net.py:{line}").out.split(
            "\n"
        )[0]

    assert first_line(FIRST, 2) == "net.py:2:12: (the source is not as it was)"
    assert first_line(SECOND, 5) == "net.py:5:12: x.sin()"

    def became(run: str, line: int) -> list[str]:
        words = ("--run", run, "--became", f"net.py:{line}", "--json")
        stages = json.loads(fxls.run("passes", *words).out)["stages"]
        return [node["name"] for stage in stages for node in stage["nodes"]]

    assert (became(FIRST, 2), became(FIRST, 5)) == (["sin"], [])
    assert (became(SECOND, 2), became(SECOND, 5)) == ([], ["sin"])


def test_the_first_pass_is_of_the_lines_that_the_source_had_in_its_run(
    fxls: Command,
) -> None:
    root = fxls.folder / ".fxls"
    store = Store(root)
    earlier = "def f(x):\n    return x.sin().cos()\n"
    later = f"import torch\n\n\n{earlier}"
    source = str(fxls.file(later, "net.py"))
    texts = (
        "def forward(self, x):\n    sin = x.sin()\n    cos = sin.cos()\n    return cos\n",
        "def forward(self, x):\n    cos = x.cos()\n    return cos\n",
    )
    spots = {"sin": [(source, "x.sin()")], "cos": [(source, "x.sin().cos()")]}
    for run, text in ((FIRST, earlier), (SECOND, later)):
        noted: list[Made] = []
        for code in texts:
            origins = {name: spots[name] for name in spots if f"{name} =" in code}
            listing = listing_of(code, sources={source: text}, origins=origins)
            path = store.materialize(listing)
            revision = store.newest(NET)
            assert revision is not None
            noted.append(Made(RevisionName(NET, path.name, revision.facts)))
        before, after = (RevisionName(NET, one.revision.text) for one in noted)
        ran = Pass("removes", changed=True, before=before, after=after)
        # Facts are written when the pass is noted already, and some were before.
        written(root, run, noted[0], ran, noted[1])

    def said(run: str) -> str:
        asked = ("passes", "--run", run, "--first-gone", "sin")
        return fxls.run(*asked).out.splitlines()[1]

    assert said(FIRST) == "  from    net.py:2:12: (the source is not as it was)"
    assert said(SECOND) == "  from    net.py:5:12: return x.sin().cos()"
