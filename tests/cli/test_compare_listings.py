"""`fxls compare A B`: what two listings compute of the same inputs."""

from __future__ import annotations

import json

import pytest

from fxls.store import Store
from tests.cli.command import Command

pytestmark = pytest.mark.slow

MODEL = """\
import torch


# fxls: f(torch.randn(2, 4), torch.randn(4, 4))
def f(x, w):
    hidden = x @ w
    active = torch.relu(hidden)
    return active * 2
"""


def revision(fxls: Command, text: str) -> str:
    """Trace a model; the path of its listing, in which a command's output has no hash."""
    fxls.file(text)
    assert fxls.run("trace", "net.py", "--show", "path").code == 0
    store = Store(fxls.folder / ".fxls")
    (identity,) = store.identities()
    newest = store.newest(identity)
    assert newest is not None
    return str(newest.path)


def test_the_first_node_that_is_another_one_is_named_with_its_line(
    fxls: Command,
) -> None:
    revision(fxls, MODEL)
    revision(fxls, MODEL.replace("relu", "tanh"))

    ended = fxls.run("compare", "net.f")

    lines = ended.out.splitlines()
    assert lines[0] == "error: tanh computes another value, in net.f engine"
    assert lines[2:5] == [
        "  tanh, torch.tanh, from net.py:7:14",
        " 7 |     active = torch.tanh(hidden)",
        "   |              ^^^^^^^^^^^^^^^^^^",
    ]
    assert lines[-3:] == [
        "  what it returns is otherwise: output 0",
        "",
        "1 difference (1 graph, 2 values of the same inputs from a seed)",
    ]
    assert ended.code == 1


def test_another_way_to_compute_the_same_is_no_difference(fxls: Command) -> None:
    old = revision(fxls, MODEL)
    new = revision(fxls, MODEL.replace("active * 2", "active + active"))
    revision(fxls, MODEL.replace("x @ w", "x.sin() @ w"))

    same = fxls.run("compare", old, new)
    printed = fxls.run("compare", "--json", "net.f@1", "net.f@-1")

    assert same.out == (
        "both compute the same (1 graph, 2 values of the same inputs from a seed)\n"
    )
    assert same.code == 0
    found = json.loads(printed.out)
    (graph,) = found["graphs"]
    assert (found["verdict"], [one["name"] for one in graph["nodes"]]) == (
        *("differs", ["sin"]),
    )


def test_what_cannot_be_compared_is_said(fxls: Command) -> None:
    old = revision(fxls, MODEL)
    new = revision(fxls, MODEL.replace("(2, 4)", "(3, 4)"))
    other = revision(fxls, MODEL.replace("x, w", "x, v").replace("@ w", "@ v"))

    inputs = fxls.run("compare", old, other)
    words = fxls.run("compare", "net.f", "nowhere.g")
    option = fxls.run("compare", "--keep", "there.pt", old, other)

    assert old == new, "the text is the same"
    assert inputs.out == (
        "not compared: net.f engine: they take other inputs\n"
        "nobody can say (0 graphs, 0 values of the same inputs from a seed)\n"
    )
    assert "no listing says 'nowhere.g'" in words.err
    assert "--keep needs a program, and" in option.err
    assert {inputs.code, words.code, option.code} == {2}
