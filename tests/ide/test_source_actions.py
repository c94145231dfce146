"""In the user's source: shapes beside the code, entry comments, repairs."""

from __future__ import annotations

import pytest

from fxls.entry import Entry, Kind
from fxls.ide.code_actions import Fix, fixes
from fxls.ide.completion import completions, doubts
from fxls.ide.entries.entries import entries
from fxls.ide.entries.write_entry import entry_fixes, written_entry
from fxls.ide.inlay_hints import source_hints
from fxls.ide.listing.document import Document
from fxls.ide.source.source_file import SourceFile
from fxls.ide.syntax.edits import Moves
from fxls.listing import Failure, Place, Reason, Tensor
from fxls.text import LineTable, Point, Span
from tests.support.drawing import cursor, drawn
from tests.support.listings import listing_of, span_of

PATH = "/work/model.py"

MODEL = """\
import torch


class Net(torch.nn.Module):
    def __init__(self, hidden: int, layers: list[int], *, bias=True):
        super().__init__()

    def forward(self, x, flag: bool):
        h = self.part(x)
        y: torch.Tensor = self.part(h)
        y += h
        return y.view(
            -1
        )

    def part(self, é):
        b = torch.relu(é)
        return b + 1
"""

CALLS = ["self.part(x)", "self.part(h)"]


def traced() -> Document:
    text = """\
def forward(self, x, flag):
    relu = torch.relu(x)
    add = relu + 1
    relu_1 = torch.relu(add)
    add_1 = relu_1 + 1
    add_2 = add_1 + add
    view = add_2.view(-1)
    return view
"""
    first, second = ((PATH, call) for call in CALLS)
    relu, plus = (PATH, "torch.relu(é)"), (PATH, "b + 1")
    shape = Tensor((2, 3), "float32", "cpu")
    other = Tensor((4, 3), "float32", "cpu")
    view = (PATH, MODEL[MODEL.index("y.view") : MODEL.index("\n\n    def part")])
    return Document(
        "/work/.fxls/Net_0123456789ab.py",
        listing_of(
            text,
            sources={PATH: MODEL},
            origins={
                "relu": [relu, first],
                "add": [plus, first],
                "relu_1": [relu, second],
                "add_1": [plus, second],
                "add_2": [(PATH, "y += h")],
                "view": [view],
            },
            values={
                "relu": shape,
                "add": shape,
                "relu_1": other,
                "add_1": other,
                "add_2": shape,
                "view": Tensor((6,), "float32", "cpu"),
            },
        ),
    )


def hinted(text: str, *documents: Document, moves: Moves | None = None) -> list[str]:
    """The lines of a text that have hints, with the hints in them."""
    known = {d.path: moves for d in documents} if moves else {}
    source = SourceFile(PATH, LineTable(text), documents, moves=known)
    lines = text.split("\n")
    changed: set[int] = set()
    for hint in sorted(
        source_hints(source, 0, 99), key=lambda h: h.point, reverse=True
    ):
        line, column = hint.point.line, hint.point.column
        lines[line] = f"{lines[line][:column]}⟦{hint.text}⟧{lines[line][column:]}"
        changed.add(line)
    return [lines[line].strip() for line in sorted(changed)]


HINTED = [
    "h⟦: f32[2, 3]⟧ = self.part(x)",
    "y: torch.Tensor⟦: f32[4, 3]⟧ = self.part(h)",
    "y⟦: f32[2, 3]⟧ += h",
    ")⟦: f32[6]⟧",
    "b⟦: f32[2, 3] | f32[4, 3]⟧ = torch.relu(é)",
    "return b + 1⟦: f32[2, 3] | f32[4, 3]⟧",
]


def test_what_is_assigned_and_returned_says_its_shapes() -> None:
    assert hinted(MODEL, traced()) == HINTED


def test_hints_move_with_the_code_and_leave_what_was_edited() -> None:
    edited = "import os\n" + MODEL.replace("torch.relu(é)", "torch.tanh(é)")

    found = hinted(edited, traced(), moves=Moves(MODEL, edited))

    assert found == [line for line in HINTED if "relu" not in line]


def test_a_source_that_is_half_written_has_no_hints() -> None:
    assert hinted(MODEL + "\nx = (", traced()) == []
    assert hinted(MODEL) == []


def offered(marked: str) -> list[tuple[str, str]]:
    """What is offered at the ``$0`` of a line below the model, and what it replaces."""
    text, point = cursor(MODEL + marked)
    found = completions(text, PATH, point)
    return [(one.text, LineTable(text).slice(one.span)) for one in found]


COMMENT = "# fxls: Net(hidden=8, layers=[2, 2])(torch.randn(1, 8), True)"


@pytest.mark.parametrize("written", ["#", "# ", "# f", "# fxls", "#fx"])
def test_an_entry_is_offered_from_its_first_letter(written: str) -> None:
    assert offered(f"    {written}$0") == [(COMMENT, written)]


@pytest.mark.parametrize(
    ("comment", "texts"),
    [
        ("# fxls: N$0", [(COMMENT.removeprefix("# fxls: "), "N")]),
        ("# fxls: Net(hid$0", [("hidden=", "hid")]),
        ("# fxls: Net(hidden=3, $0)", [("layers=", ""), ("bias=", "")]),
        ("# fxls: Net(3)(torch.randn$0)", [("torch.randn", "torch.randn")]),
        ("# fxls: Net(3)(tor$0)", [("torch", "tor")]),
        ("# fxls: other.$0", []),
        ("# a comment N$0", []),
        ("Net(h$0", []),
    ],
)
def test_inside_an_entry_the_names_of_the_file_are_offered(
    comment: str, texts: list[tuple[str, str]]
) -> None:
    found = offered(comment)

    everywhere = {("torch", ""), ("fxls", "")}
    assert [one for one in found if one not in everywhere] == texts


def doubted(comment: str) -> str:
    """What is doubtful about an entry comment, under it."""
    text = MODEL + comment
    marks = [
        (failure.places[0].span, failure.message) for failure, _ in doubts(text, PATH)
    ]
    return drawn(text, marks)


def test_names_that_the_file_does_not_have_are_doubtful() -> None:
    assert doubted("# fxls: Nte(é)(torch.randn(1), len([x for x in 'é']))") == (
        "# fxls: Nte(é)(torch.randn(1), len([x for x in 'é']))\n"
        "        ^^^ this file does not define Nte\n"
        "            ^ this file does not define é"
    )
    assert doubted("# fxls: Net(3, layers=[2])(torch.randn(1), True)") == ""


def test_arguments_that_a_class_does_not_take_are_doubtful() -> None:
    assert doubted("# fxls: Net(lay=[2])(torch.randn(1), True)") == (
        "# fxls: Net(lay=[2])(torch.randn(1), True)\n"
        "        ^^^ Net needs hidden, layers\n"
        "            ^^^^^^^ Net takes no lay"
    )
    assert doubted("# fxls: Net(*sizes)(x)") == (
        "# fxls: Net(*sizes)(x)\n"
        "             ^^^^^ this file does not define sizes\n"
        "                    ^ this file does not define x"
    )


def test_a_file_with_a_star_import_may_define_anything() -> None:
    assert doubts("from net import *\n# fxls: Net()\n", PATH) == ()


def applied(fix: Fix, text: str) -> str:
    lines = LineTable(text)
    for edit in sorted(fix.edits, key=lambda e: e.span, reverse=True):
        start, end = lines.offset(edit.span.start), lines.offset(edit.span.end)
        text = text[:start] + edit.text + text[end:]
    return text


def repaired(failure: Failure, text: str) -> dict[str, str]:
    """What each repair makes of a text, by its title."""
    (entry,) = (e for e in entries(text, PATH) if e.kind is Kind.COMMENT)
    return {fix.title: applied(fix, text) for fix in fixes(failure, entry, PATH, text)}


def test_an_entry_comment_is_written_above_the_class() -> None:
    text = "import torch\n\n@final\nclass Net(torch.nn.Module):\n    def forward(self, ids): ...\n"
    point = span_of(text, "Net").start

    (fix,) = entry_fixes(text, PATH, point)

    assert fix.title == "Write an entry comment for Net"
    assert applied(fix, text) == text.replace(
        "@final", "# fxls: Net()(torch.zeros(1, 8, dtype=torch.long))\n@final"
    )
    assert entry_fixes(text, PATH, Point(0, 0)) == ()


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ("self, width, act: str", "Net(width=8, act=[...])(torch.randn(1, 8))"),
        ("self, é, width", "Net(é=[8], width=8)(torch.randn(1, 8))"),
        ("self", "Net()([torch.randn(1, 8)])"),
    ],
)
def test_an_entry_that_is_written_says_where_to_look(
    parameters: str, expected: str
) -> None:
    text = "import torch\r\nif 1: pass\r\nclass Net(torch.nn.Module):\r\n"
    text += (
        f"    def __init__({parameters}): pass\r\n    def forward(self, x): pass\r\n"
    )

    written = written_entry(text, PATH, "Net")

    assert written is not None
    assert written.text == applied(written.fix, text)
    line = written.text.split("\r\n")[2]
    start, end = written.focus.start.column, written.focus.end.column
    shown = f"{line[:start]}[{line[start:end]}]{line[end:]}"
    assert (written.focus.start.line, shown) == (2, f"# fxls: {expected}")
    assert written_entry(text, PATH, "Gone") is None


GATED = """\
# fxls: Net()(torch.randn(2), True)
from __future__ import annotations

import torch


def gate(x):
    return x if x.sum() > 0 else -x


class Net(torch.nn.Module):
    def forward(self, x, flag):
        if flag:
            x = x + 1
        return gate(x)
"""


def place(text: str, expression: str, function: str) -> Place:
    return Place(PATH, function, span_of(text, expression))


@pytest.mark.parametrize("reason", [Reason.TRACE, Reason.ENTRY])
def test_a_function_that_looks_at_values_is_recorded_as_one_node(
    reason: Reason,
) -> None:
    places = (
        place(GATED, "x.sum() > 0", "gate"),
        place(GATED, "gate(x)\n", "Net.forward"),
    )
    failure = Failure(reason, "a branch", places)

    made = repaired(failure, GATED)

    title = 'Record gate as one node: fx.wrap("gate")'
    assert list(made) == [title]
    assert made[title] == GATED.replace(
        "import torch\n", "from torch import fx\nimport torch\n", 1
    ).replace("else -x\n", 'else -x\n\nfx.wrap("gate")\n')
    compile(made[title], PATH, "exec")


def test_a_function_of_python_is_recorded_behind_the_imports() -> None:
    text = GATED.replace(
        "import torch\n", "import torch\nfrom torch import fx as fx_\n", 1
    )
    failure = Failure(
        Reason.TRACE,
        "len() of a traced value",
        (place(text, "gate(x)\n", "Net.forward"),),
        "Use x.size(0), or say wrap('len') at the top level of the module.",
    )

    assert repaired(failure, text) == {
        'Record len as one node: fx_.wrap("len")': text.replace(
            "import fx as fx_\n", 'import fx as fx_\n\nfx_.wrap("len")\n'
        )
    }


def test_an_argument_that_a_branch_asks_about_is_bound() -> None:
    asked = Span.of(12, 11, 12, 15)
    failure = Failure(Reason.TRACE, "a branch", (Place(PATH, "Net.forward", asked),))

    assert repaired(failure, GATED) == {
        "Trace it with flag=True": GATED.replace(
            "Net()(torch", 'fxls.engine.symbolic_trace(Net(), {"flag": True})(torch'
        )
    }


def test_another_tool_captures_what_cannot_be_traced() -> None:
    advice = "torch.export captures it: write `# fxls[export]: Net()(torch.randn(2))`."
    failure = Failure(Reason.TRACE, "a branch", (), advice)

    assert repaired(failure, GATED) == {
        "Capture it with torch.export": GATED.replace("# fxls:", "# fxls[export]:")
    }


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("Net()(x)", 'fxls.engine.trace_around(Net(), "Gate")(x)'),
        ("Net()", 'fxls.engine.trace_around(Net(), "Gate")'),
        (
            "m.Net(é=1).eval()(x)",
            'fxls.engine.trace_around(m.Net(é=1).eval(), "Gate")(x)',
        ),
        ("net(x)", 'fxls.engine.trace_around(net, "Gate")(x)'),
        (
            'fxls.engine.trace_around(Net(), "Other")(x)',
            'fxls.engine.trace_around(Net(), "Other", "Gate")(x)',
        ),
    ],
)
def test_the_submodule_that_cannot_be_traced_is_called_as_a_whole(
    entry: str, expected: str
) -> None:
    text = f"net = Net()\n# fxls: {entry}\n"
    places = tuple(
        Place("/work/block.py", function, Span.of(0, 0, 0, 1))
        for function in ("branch", "Gate.choose", "Gate.forward", "Net.forward")
    )
    failure = Failure(Reason.TRACE, "a branch", places)

    assert repaired(failure, text) == {
        "Call Gate as a whole: mark it as a leaf": text.replace(
            f"# fxls: {entry}", f"# fxls: {expected}"
        )
    }


def test_the_model_itself_is_no_leaf() -> None:
    text = "# fxls: Net()(x)\n"
    places = (Place(PATH, "Net.forward", Span.of(0, 0, 0, 1)),)

    assert repaired(Failure(Reason.TRACE, "a branch", places), text) == {}


def test_a_model_that_needs_evaluation_is_put_into_it() -> None:
    advice = "Give it a larger batch, or trace it for evaluation: `Net().eval()(...)`."
    failure = Failure(Reason.RUN, "ValueError: more than 1 value", (), advice)

    assert repaired(failure, GATED) == {
        "Trace it for evaluation": GATED.replace("Net()(", "Net().eval()(")
    }


def test_a_class_is_given_what_it_needs() -> None:
    text = MODEL + "# fxls: Net(3)(torch.randn(1), True)\n"
    ((failure, _),) = doubts(text, PATH)
    advice = "Write an entry comment that gives them: `# fxls: Net(layers=...)(...)`."
    raised = Failure(Reason.ENTRY, "TypeError: missing", (), advice)

    for one in (failure, raised):
        assert repaired(one, text) == {
            "Give Net layers": text.replace("Net(3)", "Net(3, layers=[2, 2])")
        }


def test_a_name_that_was_meant_is_written() -> None:
    text = MODEL + "# fxls: Nte(3, [2])(torch.randn(1), True)\n"
    ((failure, _),) = doubts(text, PATH)

    assert repaired(failure, text) == {"Change it to Net": text.replace("Nte", "Net")}


def test_an_entry_of_the_project_file_is_not_repaired_in_the_source() -> None:
    advice = "Give it a larger batch, or trace it for evaluation: `Net().eval()(...)`."
    entry = Entry(PATH, "Net()(torch.randn(1))", Kind.PROJECT)

    assert fixes(Failure(Reason.RUN, "m", (), advice), entry, PATH, GATED) == ()
