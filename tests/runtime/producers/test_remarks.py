"""Remarks of what torch.compile really does: breaks on small functions, and clean models."""

from __future__ import annotations

import contextlib
import dis
import importlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
import torch

from fxls.record import Subject
from fxls.record.remark_wording import role_of, title_of
from fxls.record.remarks import RemarkKind, SourceRemark
from fxls.text import LineTable, Span
from tests.runtime.passes.watching import Gpt, passes_alone
from tests.runtime.producers import (
    graph_breaks,
    planted_fusions,
    planted_misses,
    planted_sizes,
)
from tests.runtime.producers.clean_models import clean_models
from tests.runtime.producers.graph_breaks import BREAKS
from tests.runtime.producers.planted_sizes import PLANTED
from tests.runtime.producers.recording import loaded, marked, quoted, recorded
from tests.runtime.producers.scheduling import written_alone

any_torch: Any = torch

pytestmark = pytest.mark.slow


def test_each_kind_of_break_is_on_the_expression_that_the_bytecode_breaks_at(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "my breaks.py"
    text = graph_breaks.program()
    path.write_text(text, "utf-8")
    module = loaded(path)

    with recorded(tmp_path / ".fxls") as remarks:
        for name in BREAKS:
            any_torch.compiler.reset()
            x, w = torch.ones(4), torch.ones(4, requires_grad=True)
            # Most of them do what nobody may do, once they run as they are written.
            with contextlib.suppress(Exception):
                any_torch.compile(getattr(module, name), backend="eager")(x, w)
    capfd.readouterr()

    lines = LineTable(text)
    known = graph_breaks.numbers(torch.__version__)
    found: dict[str, set[tuple[str, bool]]] = {name: set() for name in known}
    for one in remarks:
        if one.place is None or one.place.place.path != str(path):
            continue
        span, function = one.place.place.span, one.place.place.function
        if one.id == known.get(function, "none"):
            is_known = span in set(spans(getattr(module, function).__code__, lines))
            found[function].add((lines.slice(span), is_known))
    wanted = {
        name: {(BREAKS[name].partition("«")[2].partition("»")[0], True)}
        for name in known
    }
    assert [(name, found[name]) for name in known if found[name] != wanted[name]] == []
    assert len(wanted) >= 60


def spans(code: CodeType, lines: LineTable) -> Iterator[Span]:
    """The places of all instructions of a function, which count bytes."""
    for one in dis.get_instructions(code):
        at = one.positions
        if at is None:
            continue
        line, end_line, start, end = at
        if line and end_line and start is not None and end is not None:
            yield Span.of(
                *(line - 1, points(lines.line(line - 1), start)),
                *(end_line - 1, points(lines.line(end_line - 1), end)),
            )


ODD = """\
import functools
import torch

def logged(f):
    @functools.wraps(f)
    def inner(*args):
        return f(*args)
    return inner

in_lambda = lambda x: (print("a"), x + 1)[1]

def in_comprehension(x):
    return sum([(print(i), x + i)[1] for i in range(2)])

@logged
@logged
def decorated(x):
    print("b")
    return x + 1

@torch.compiler.disable
def plain(x):
    return x

def two_on_a_line(x):
    print("c"), plain(x); return x + 1

def several_parts(x, y=None):
    n = 3
    if x is not None and n == 3 and torch.isnan(x).any():
        return x
    return x + 1

def calls_what_has_several_parts(x):
    return torch.ones(2), several_parts(x), x

def over_lines(x):
    if (
        x is not None
        and x.isnan().any()
    ):
        x = x * 2
    return x + 1

def over_parts(x):
    for one in torch.chunk(x, 2)[0].nonzero() if not x.any() else []:
        pass
    while x.all():
        break
    return x + 1

namespace = {}
exec("def made(x):\\n    print('made')\\n    return x + 1\\n", namespace)

def calls_what_was_generated(x):
    return namespace["made"](x) * 2
"""


def test_breaks_in_odd_places_are_on_the_expression_that_a_person_can_change(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "odd.py"
    path.write_text(ODD, "utf-8")
    module = loaded(path)
    names = [
        *("in_lambda", "in_comprehension", "decorated", "two_on_a_line"),
        *("several_parts", "calls_what_has_several_parts", "over_lines", "over_parts"),
        "calls_what_was_generated",
    ]
    found: list[tuple[str, list[str]]] = []
    for name in names:
        with recorded(tmp_path / name) as remarks:
            any_torch.compile(getattr(module, name), backend="eager")(torch.ones(2))
        breaks = [one for one in remarks if one.subject is Subject.BREAK]
        assert [one.place and one.place.place.path for one in breaks] == [
            str(path)
        ] * len(breaks)
        found.append((name, [quoted(one.place) for one in breaks]))
    capfd.readouterr()
    assert found == [
        ("in_lambda", ['print("a")']),
        ("in_comprehension", ["print(i)"]),
        ("decorated", ['print("b")']),
        ("two_on_a_line", ['print("c")', "plain(x)"]),
        ("several_parts", ["torch.isnan(x).any()"]),
        ("calls_what_has_several_parts", ["torch.isnan(x).any()"]),
        ("over_lines", ["x.isnan().any()"]),
        ("over_parts", ["x.any()", "x.all()"]),
        # The generated function is compiled with its caller, and then by itself.
        ("calls_what_was_generated", ['namespace["made"](x)']),
    ]


IN_FRAMES = """\
import torch

class Block(torch.nn.Module):
    def forward(self, x):
        if «x.isnan().any()»:
            return x.sin()
        return x.cos()

class Net(torch.nn.Module):
    def __init__(self, is_loop):
        super().__init__()
        self.block, self.is_loop = Block(), is_loop

    def forward(self, x):
        if not self.is_loop:
            return self.block(x) + 1
        for _ in range(2):
            x = self.block(x)
        return x

def called(net, x):
    return torch.compile(net, backend="eager")(x)
"""


@pytest.mark.parametrize("is_loop", [False, True])
def test_a_break_has_each_frame_also_of_functions_of_one_name_and_in_loops(
    tmp_path: Path, *, is_loop: bool
) -> None:
    """What a `forward` is that another one calls, torch takes for the rest of that one;
    of a function that breaks in a loop it has no graph.
    """
    path = tmp_path / "frames.py"
    path.write_text(re.sub("[«»]", "", IN_FRAMES), "utf-8")
    module = loaded(path)
    with recorded(tmp_path / ".fxls") as remarks:
        module.called(module.Net(is_loop), torch.ones(2))

    (one,) = remarks_of_subject(remarks, Subject.BREAK)
    frames = [each for each in one.frames if each.place.path == str(path)]
    assert [(quoted(each), each.place.function) for each in frames] == [
        ("x.isnan().any()", "forward"),
        ("self.block(x)", "forward"),
        ('torch.compile(net, backend="eager")(x)', "called"),
    ]
    assert one.why_no_graph == ("graph break in loop" if is_loop else "")
    assert bool(one.without_graph) is is_loop
    # What is behind the call of the block, and behind the branch in it.
    assert len(one.rest) == (1 if is_loop else 2)


CHOICE = """\
def chosen(x, flag):
    return (x.sum().item() if flag else x.mean().item()) * x
"""


def test_of_two_breaks_on_a_line_each_has_its_own_rest(tmp_path: Path) -> None:
    path = tmp_path / "choice.py"
    path.write_text(CHOICE, "utf-8")
    compiled = any_torch.compile(loaded(path).chosen, backend="eager")
    with recorded(tmp_path / ".fxls") as remarks:
        compiled(torch.ones(2), True)
        compiled(torch.ones(2), False)

    breaks = remarks_of_subject(remarks, Subject.BREAK)
    assert [(quoted(one.place), one.rest) for one in breaks] == [
        ("x.sum().item()", ("1/0",)),
        # Python goes on as behind the other one: what is behind both is compiled again.
        ("x.mean().item()", ()),
    ]


def remarks_of_subject(
    remarks: Iterable[SourceRemark], subject: Subject
) -> list[SourceRemark]:
    return [one for one in remarks if one.subject is subject]


def points(line: str, column: int) -> int:
    return len(line.encode()[:column].decode())


def test_nothing_is_a_problem_in_clean_models(tmp_path: Path) -> None:
    models = clean_models()
    with recorded(tmp_path / ".fxls") as remarks:
        for model, arguments in models.values():
            any_torch.compiler.reset()
            any_torch.compile(model, backend="eager")(*arguments)
            any_torch.compile(model, backend="eager")(*arguments)
    assert [one for one in remarks if one.kind is RemarkKind.PROBLEM] == []
    assert len(models) >= 20


def test_each_fusion_that_inductor_leaves_out_is_an_analysis_at_its_two_places(
    tmp_path: Path,
) -> None:
    path = tmp_path / "fusions.py"
    path.write_text(planted_fusions.program(), "utf-8")
    module = loaded(path)
    planted = planted_fusions.PLANTED
    with recorded(tmp_path / ".fxls") as remarks:
        for number in range(len(planted)):
            any_torch.compiler.reset()
            x, w = torch.rand(64, 64), torch.rand(64, 64)
            function = getattr(module, f"f{number}")
            any_torch.compile(function, backend=written_alone)(x, w)

    found: dict[str, set[tuple[str, str]]] = {text: set() for text in planted}
    for one in remarks:
        if one.subject is Subject.COST:  # a copy for a library, of which others ask
            continue
        assert (one.kind, one.subject) == (RemarkKind.ANALYSIS, Subject.FUSION)
        text = list(planted)[int(one.place.place.function[1:])] if one.place else ""
        found[text].add((one.about, one.reason))
        assert [quoted(each) for each in (*one.frames, one.place)] == marked(text)
    assert [
        (text, found[text]) for text in planted if found[text] != planted[text]
    ] == []
    assert len(planted) >= 10


def test_fusions_of_equal_layers_are_one_remark_with_the_nodes_of_each(
    tmp_path: Path,
) -> None:
    with recorded(tmp_path / ".fxls") as remarks:
        model = Gpt()
        words = torch.zeros(2, 8, dtype=torch.long)
        any_torch.compile(model, backend=written_alone)(words).backward()
    assert {one.kind for one in remarks} == {RemarkKind.ANALYSIS}
    keys = [(one.about, one.reason, one.place) for one in remarks]
    assert len(keys) == len(set(keys))
    (one,) = (one for one in remarks if one.about == "addmm and mul")
    assert len(one.nodes) == 2
    assert any(one.about.endswith(", in the backward") for one in remarks)


def test_each_near_miss_of_a_pattern_is_an_analysis_at_what_stood_in_the_way(
    tmp_path: Path,
) -> None:
    path = tmp_path / "misses.py"
    path.write_text(planted_misses.program(), "utf-8")
    module = loaded(path)
    planted = planted_misses.PLANTED
    settings: Any = importlib.import_module("torch._inductor.config")
    own, counts = planted_misses.own_pass(), list[int]()

    def custom_pass(graph: Any) -> None:
        counts.append(own.apply(graph))

    with (
        recorded(tmp_path / ".fxls") as remarks,
        settings.patch(post_grad_custom_post_pass=custom_pass),
    ):
        for number in range(len(planted)):
            any_torch.compiler.reset()
            x, w = torch.rand(4, 4), torch.rand(4, 4)
            any_torch.compile(getattr(module, f"f{number}"), backend=passes_alone)(x, w)
    assert counts == [0] * len(planted)

    found: dict[str, set[tuple[str, str, str]]] = {text: set() for text in planted}
    searched = remarks_of_subject(remarks, Subject.SEARCHED)
    often = f"looked for {len(planted)} times, 0 matches"
    assert {one.reason.partition(", by ")[0] for one in searched} == {often}
    assert len(searched) == len({one.place for one in searched}) > 1
    for one in remarks:
        if one in searched:
            continue
        assert (one.kind, one.subject) == (RemarkKind.ANALYSIS, Subject.PATTERN)
        assert one.place is not None
        text = list(planted)[int(one.place.place.function[1:])]
        found[text].add((quoted(one.place), one.about.partition(" at ")[0], one.reason))
        assert [role_of(frame, one) for frame in one.frames] == [
            f"the pattern is here, in {one.about.partition(' at ')[0]}"
        ]
    wanted = {text: {(marked(text)[0], *said)} for text, said in planted.items()}
    assert [
        (text, found[text]) for text in planted if found[text] != wanted[text]
    ] == []
    assert len(planted) >= 10


def test_a_cuda_graph_that_was_skipped_is_a_cost_at_the_line_that_torch_blames(
    tmp_path: Path,
) -> None:
    path = tmp_path / "skipped.py"
    text = "import torch\n\ndef f(x):\n    y = x + 1\n    return y.sin()\n"
    path.write_text(text, "utf-8")
    module = loaded(path)
    with recorded(tmp_path / ".fxls") as remarks:
        # It asks for a device of CUDA's, and runs as it is without one.
        any_torch.compile(module.f, backend="cudagraphs")(torch.ones(2))
    (one,) = remarks
    assert (one.kind, one.subject) == (RemarkKind.COST, Subject.CUDA_GRAPH)
    assert title_of(one) == "No CUDA graph: cpu device (arg0_1)"
    assert quoted(one.place) == "y = x + 1"


NO_CODE = "inductor has no code of its own for aten.{}.default, and calls torch's"
COPY = "inductor copies a tensor of {} for {}, whose kernel needs it in another layout"
COSTS = {
    "h = «torch.cumsum(x, 0)»; return h + 1.0": {NO_CODE.format("cumsum")},
    "return «x.histc()» * 2.0": {NO_CODE.format("histc")},
    "return «torch.mm(x[::2, ::2], x[1::2, ::2])».relu()": {
        COPY.format("8 x 8", "mm"),
    },
    "h = x.sin()[::2]; return h + «x.sort()».values[::2]": {
        NO_CODE.format("sort").replace("default", "stable"),
    },
    # What is not computed yet is written as the kernel needs it, which is no copy.
    "return (x + 1.0)[::2, ::2].relu() @ x[:8]": set[str](),
}
"""Lines, and what they cost at the expression in ``«…»``."""


def test_what_inductor_calls_or_copies_is_a_cost_at_the_expression_that_needs_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "costs.py"
    functions = (
        f"def f{number}(x, w):\n    {text.replace('«', '').replace('»', '')}\n"
        for number, text in enumerate(COSTS)
    )
    path.write_text("\n\n".join(("import torch", *functions)), "utf-8")
    module = loaded(path)
    with recorded(tmp_path / ".fxls") as remarks:
        for number in range(len(COSTS)):
            any_torch.compiler.reset()
            function = getattr(module, f"f{number}")
            x, w = torch.rand(16, 16), torch.rand(16, 16)
            any_torch.compile(function, backend=written_alone)(x, w)

    found: dict[str, set[str]] = {text: set() for text in COSTS}
    for one in remarks:
        if one.kind is RemarkKind.COST:
            assert one.subject is Subject.COST
            text = list(COSTS)[int(one.place.place.function[1:])] if one.place else ""
            found[text].add(title_of(one))
            assert [quoted(one.place)] == marked(text)
    assert found == COSTS


def test_each_line_that_fixes_a_size_is_the_line_that_is_named(tmp_path: Path) -> None:
    path = tmp_path / "sizes.py"
    path.write_text(planted_sizes.program(), "utf-8")
    module = loaded(path)
    with recorded(tmp_path / ".fxls") as remarks:
        for number in range(len(PLANTED)):
            any_torch.compiler.reset()
            function = getattr(module, f"f{number}")
            any_torch.compile(function, backend="eager", dynamic=True)(torch.ones(7, 3))

    found: dict[str, dict[str, str]] = {line: {} for line in PLANTED}
    for one in remarks:
        assert one.subject is Subject.SPECIALIZED
        assert one.place is not None
        found[one.place.line.strip()][one.about] = one.values[0]
    assert [
        (line, found[line]) for line in PLANTED if found[line] != PLANTED[line]
    ] == []
    assert len(PLANTED) >= 25
