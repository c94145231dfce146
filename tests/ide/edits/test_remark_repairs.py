"""Repairs of graph breaks: what they write, and that the break is gone when it runs."""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import io
import logging
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

from fxls.ide.edits.fix import Fix, applied
from fxls.ide.edits.remark_repairs import remark_fixes
from fxls.listing import Place
from fxls.record import QuotedPlace, Subject
from fxls.record.remarks import RemarkKind, SourceRemark
from fxls.testing import compiling
from fxls.text import LineTable, Span
from fxls.wire import Tried
from tests.ide.edits.repaired import REPAIRED
from tests.ide.edits.trial import changed_lines, tried

any_torch: Any = torch

SILENT = {
    "Leave print out where it is compiled": ("prints",),
    "Leave warnings.warn out where it is compiled": ("warnings",),
    "Leave said.error out where it is compiled": ("log messages",),
    "Leave each error() out where it is compiled: ignore_logging_functions.add(said.error)": (
        "log messages",
    ),
}
"""What these repairs leave out is left out."""


def first_problem(path: Path) -> SourceRemark:
    """What torch.compile says of the function of a file."""
    spec = importlib.util.spec_from_file_location("broken", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with (
        # torch imports again what a function of another module is in.
        pytest.MonkeyPatch.context() as patch,
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
        compiling() as compiled,
    ):
        patch.setitem(sys.modules, "broken", module)
        warnings.simplefilter("ignore")
        spec.loader.exec_module(module)
        any_torch.compile(module.step, backend="eager")(torch.arange(4.0))
    return compiled.remarks[0]


@pytest.mark.slow
def test_each_repair_of_a_break_lets_the_graph_go_on_with_the_results_of_eager(
    tmp_path: Path,
) -> None:
    kinds: set[str] = set()
    for number, (text, wanted) in enumerate(REPAIRED.items()):
        path = tmp_path / f"repaired_{number}.py"
        path.write_text(text, "utf-8")
        remark = first_problem(path)
        assert remark.place is not None
        found = remark_fixes(remark, remark.place.place.span, str(path), text)
        made = {one.title: applied(one, text) for one in found if one.can_be_tried}

        assert {
            title: changed_lines(text, after) for title, after in made.items()
        } == wanted
        as_it_is = tried(path, "step(torch.arange(4.0))", text)
        assert isinstance(as_it_is, Tried)
        # Of several tensors that are asked, each is a problem, and one repair is for all.
        problem = as_it_is.problems[0]
        assert problem.id == remark.id
        assert problem.place is not None
        assert problem.place.span == remark.place.place.span
        for title, after in made.items():
            outcome = tried(path, "step(torch.arange(4.0))", after)
            assert outcome == Tried(1, (), SILENT.get(title, ())), title
        kinds |= {title.partition(":")[0] for title in made}
    assert len(kinds) >= 10


LEARNING = """\
import json
import torch


class Net(torch.nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(width))

    def forward(self, x):
        names = json.loads('{}')
        names[len(names)] = x
        return x * self.scale * self.scale.sum().item() * len(names)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "after", "differences"),
    [
        (".item()", ".detach()", ()),
        (".item()", "", ("gradients",)),
        ("= json.loads('{}')", "= NAMES", ("outputs", "gradients")),
    ],
)
def test_a_trial_sees_gradients_and_what_one_call_leaves_to_the_next(
    tmp_path: Path, before: str, after: str, differences: tuple[str, ...]
) -> None:
    path = tmp_path / "repaired_net.py"
    path.write_text(LEARNING, "utf-8")
    text = LEARNING.replace("\n\nclass", "\nNAMES = {}\n\nclass")
    outcome = tried(path, "Net()(torch.ones(4))", text.replace(before, after))
    assert isinstance(outcome, Tried)
    assert (outcome.raised, outcome.differences) == (None, differences)


ASKING = """\
import torch


def step(x):
    n = x.sum().item()
    return x * 2 if n > 3 else x
"""


class Following(logging.Handler):
    """Writes where standard error is when something is said, as torch 2.14 does."""

    def emit(self, record: logging.LogRecord) -> None:
        sys.stderr.write(record.getMessage())


@pytest.mark.slow
def test_what_a_part_of_torch_logs_is_no_print_of_the_program(tmp_path: Path) -> None:
    path = tmp_path / "repaired_asking.py"
    path.write_text(ASKING, "utf-8")
    handler = Following()
    log = logging.getLogger("torch._dynamo")
    log.addHandler(handler)
    try:
        outcome = tried(path, "step(torch.arange(4.0))", ASKING)
    finally:
        log.removeHandler(handler)
    assert isinstance(outcome, Tried)
    assert (outcome.raised, outcome.differences) == (None, ())
    assert handler.level == logging.NOTSET


def remark(
    text: str, expression: str, subject: Subject = Subject.BREAK, about: str = ""
) -> tuple[SourceRemark, Span]:
    lines = LineTable(text)
    start = text.index(expression)
    span = Span(lines.point(start), lines.point(start + len(expression)))
    place = QuotedPlace(Place("/m.py", "step", span))
    return SourceRemark(
        RemarkKind.PROBLEM, subject, "", place, "GB0007", about=about
    ), span


def fixes(
    text: str, expression: str, subject: Subject = Subject.BREAK, about: str = ""
) -> list[Fix]:
    return [*remark_fixes(*remark(text, expression, subject, about), "/m.py", text)]


def changes(text: str, found: list[Fix]) -> dict[str, list[str]]:
    for one in found:
        ast.parse(applied(one, text))
    return {one.title: changed_lines(text, applied(one, text)) for one in found}


def test_a_function_is_left_to_python_where_nobody_asks_for_one_graph() -> None:
    text = "import torch as t\n\nclass A:\n    @t.no_grad()\n    def go(self):\n        x()\n"

    (one,) = fixes(text, "x()")

    assert not one.can_be_tried
    assert changes(text, [one]) == {
        "Leave go to Python: @t.compiler.disable": ["+     @t.compiler.disable"]
    }
    assert fixes(text + "t.compile(A().go, fullgraph=True)\n", "x()") == []
    assert len(fixes(text + "t.compile(A().go, fullgraph=False)\n", "x()")) == 1


@pytest.mark.parametrize(
    "body",
    [
        "y = time.time()",
        "y = random.random()",
        "from time import perf_counter; y = perf_counter()",
        "import numpy as np; y = np.random.rand()",
        "y = load(x)",
        "x = 1; y = load(later)",
        "y = [load(i) for i in x]",
        "load(3)",
        "import json; y = json.load(3)",
        "y = load(z := 3)",
    ],
)
def test_what_may_be_another_value_each_time_is_not_hoisted(body: str) -> None:
    text = f"import torch, time, random\nload = abs\n\ndef step(x):\n    {body}\n\nlater = 3\n"
    call = ast.unparse(
        next(
            one
            for one in ast.walk(
                ast.parse(text.partition("step(x):\n")[2].strip().split("\n")[0])
            )
            if isinstance(one, ast.Call)
        )
    )
    titles = [one.title for one in fixes(text, call.replace("(z := 3)", "z := 3"))]
    assert [one for one in titles if "once" in one] == []


def test_a_call_of_the_programs_own_is_hoisted_and_not_tried() -> None:
    text = """\
import json as js
import torch
from settings import loaded

def step(x):
    return x * loaded("a") + js.loads("3")
"""
    (own, _), (known, _) = fixes(text, 'loaded("a")'), fixes(text, 'js.loads("3")')
    assert (own.title, own.can_be_tried) == (
        "Make the call once, at the top: _LOADED",
        False,
    )
    assert (known.title, known.can_be_tried) == (
        "Make the call once, at the top: _LOADS",
        True,
    )


def test_a_size_that_changes_is_marked_where_the_function_is_called() -> None:
    text = """\
import torch


@torch.compile
def step(x, n):
    return x * n


for size in (2, 3):
    x = torch.ones(size)
    y = step(x, 1) + step(x, n=2)
    if step(x, 3).sum() > 0: print(size)
"""
    at = remark(text, "x, n):", Subject.RECOMPILATION, "x: size 0")
    span = Span(at[1].start, at[1].start)

    assert changes(text, [*remark_fixes(at[0], span, "/m.py", text)]) == {
        "Say that size 0 of x may be any: mark_dynamic": [
            "+     torch._dynamo.mark_dynamic(x, 0)"
        ],
        "Compile it for all sizes: dynamic=True": [
            "- @torch.compile",
            "+ @torch.compile(dynamic=True)",
        ],
    }


def test_a_model_that_is_compiled_by_a_call_is_compiled_for_all_sizes() -> None:
    text = """\
import torch


class Net(torch.nn.Module):
    def __init__(self):
        torch.nn.Module.__init__(self)
        self.count = 0

    def forward(self, x, n=1):
        self.count += 1
        return x * self.count * n


net = Net()
fast = torch.compile(net, mode="default")
"""
    at = remark(text, "n=1", Subject.RECOMPILATION, "n")
    found = [*remark_fixes(*at, "/m.py", text)]
    assert changes(text, found) == {
        "Compile it for all sizes: dynamic=True": [
            '- fast = torch.compile(net, mode="default")',
            '+ fast = torch.compile(net, mode="default", dynamic=True)',
        ]
    }
    found = fixes(text, "self.count * n", Subject.RECOMPILATION, "self.count")
    assert changes(text, found) == {
        "Make self.count a tensor": [
            "-         self.count = 0",
            "+         self.count = torch.tensor(0)",
        ]
    }


@pytest.mark.parametrize(
    "text",
    ["def step(x:\n  print(x)\n", "def step(x):\r  print(x)\r", "\fprint(x)\n"],
    ids=["faults", "old line ends", "a form feed"],
)
def test_a_text_that_is_not_read_line_by_line_is_not_edited(text: str) -> None:
    assert fixes(text, "print(x)") == []


def test_lines_keep_the_ends_that_the_file_has() -> None:
    text = "import torch\r\n\r\ndef step(x):\r\n    print(x)\r\n"
    for one in fixes(text, "print(x)"):
        after = applied(one, text)
        assert after.count("\n") == after.count("\r\n") > text.count("\n")
