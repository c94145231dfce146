"""Repairs of the source."""

from __future__ import annotations

import pytest

from fxls.entry import Entry, Kind
from fxls.ide.code_actions import fixes
from fxls.ide.completion import doubts
from fxls.ide.entries.entries import entries
from fxls.listing import Failure, Place, Reason
from fxls.repairs import Capture, Evaluate, GiveArguments, Wrap
from fxls.text import Span
from tests.ide.model import MODEL, PATH, applied
from tests.support.listings import span_of


def repaired(failure: Failure, text: str) -> dict[str, str]:
    """What each repair makes of a text, by its title."""
    (entry,) = (e for e in entries(text, PATH) if e.kind is Kind.COMMENT)
    return {fix.title: applied(fix, text) for fix in fixes(failure, entry, PATH, text)}


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
        repairs=(Wrap("len"),),
    )

    assert repaired(failure, text) == {
        'Record len as one node: fx_.wrap("len")': text.replace(
            "import fx as fx_\n", 'import fx as fx_\n\nfx_.wrap("len")\n'
        )
    }


def test_a_value_that_the_call_gives_is_no_repair() -> None:
    """The worker has traced with it."""
    asked = Span.of(12, 11, 12, 15)
    failure = Failure(Reason.TRACE, "a branch", (Place(PATH, "Net.forward", asked),))

    assert repaired(failure, GATED) == {}


def test_another_tool_captures_what_cannot_be_traced() -> None:
    failure = Failure(Reason.TRACE, "a branch", repairs=(Capture("export"),))

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
    failure = Failure(Reason.RUN, "more than 1 value", repairs=(Evaluate(),))

    assert repaired(failure, GATED) == {
        "Trace it for evaluation": GATED.replace("Net()(", "Net().eval()(")
    }


def test_a_class_is_given_what_it_needs() -> None:
    text = MODEL + "# fxls: Net(3)(torch.randn(1), True)\n"
    ((failure, _),) = doubts(text, PATH)
    repairs = (GiveArguments("Net"),)
    raised = Failure(Reason.ENTRY, "TypeError: missing", repairs=repairs)

    for one in (failure, raised):
        assert repaired(one, text) == {
            "Give Net layers": text.replace("Net(3)", "Net(3, layers=[2, 2])")
        }


def test_a_name_that_was_meant_is_written() -> None:
    text = MODEL + "# fxls: Nte(3, [2])(torch.randn(1), True)\n"
    ((failure, _),) = doubts(text, PATH)

    assert repaired(failure, text) == {"Change it to Net": text.replace("Nte", "Net")}


def test_an_entry_of_the_project_file_is_not_repaired_in_the_source() -> None:
    failure = Failure(Reason.RUN, "more than 1 value", repairs=(Evaluate(),))
    entry = Entry(PATH, "Net()(torch.randn(1))", Kind.PROJECT)

    assert fixes(failure, entry, PATH, GATED) == ()


def test_what_a_person_reads_is_no_repair() -> None:
    message = "name 'gate' is not defined; Net needs flag"
    advice = (
        "Did you mean `Net`? Say wrap('gate'), write `# fxls: Net(flag=...)`, "
        "`# fxls[export]: Net()` or `Net().eval()(...)`."
    )
    failure = Failure(
        Reason.ENTRY, message, (place(GATED, "gate(x)\n", "Net.forward"),), advice
    )

    assert repaired(failure, GATED) == {}
