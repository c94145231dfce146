"""An entry's graph is that of the call it makes, with the inputs that it leaves out."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from fxls.store import Store
from fxls.wire import Traced
from tests.worker.asking import Asking

MODEL = """\
    import torch
    from torch import nn

    class Model(nn.Module):
        def forward(self, x, targets=None, mask=None, *, half=False, by=2.0):
            if half:
                x = x / 2
            if targets is not None:
                return (x * by - targets).abs()
            return x * by
    """

NONE = "{} has been specialized to have value None but got another value"


@pytest.mark.parametrize(
    ("text", "call", "forward"),
    [
        pytest.param(
            MODEL.replace("half:", "False:"),
            "Model()(torch.ones(3), torch.ones(3))",
            """\
            def forward(self, x, targets = None, mask = None, half = False, by = 2.0):
                mul = x * by;  x = by = None
                sub = mul - targets;  mul = targets = None
                abs_1 = sub.abs();  sub = None
                return abs_1
            """,
            id="it has them all",
        ),
        pytest.param(
            MODEL.replace("half:", "False:").replace("targets is not None", "False"),
            "Model()(torch.ones(3))",
            """\
            def forward(self, x, targets = None, mask = None, half = False, by = 2.0):
                mul = x * by;  x = by = None
                return mul
            """,
            id="it computes with none of them",
        ),
        pytest.param(
            MODEL.replace("half:", "False:").replace("(x * by - targets).abs()", "x"),
            "Model()(torch.ones(3))",
            f"""\
            def forward(self, x, targets = None, mask = None, half = False, by = 2.0):
                _assert_is_none = fxls_engine__symbolic_trace__assert_is_none(targets, \
'{NONE.format("targets")}');  targets = _assert_is_none = None
                mul = x * by;  x = by = None
                return mul
            """,
            id="it would take a branch that does not compute with it",
        ),
        pytest.param(
            MODEL.replace("half:", "False:").replace(" mask=None,", ""),
            "Model()(torch.ones(3))",
            f"""\
            def forward(self, x, targets = None, half = False, by = 2.0):
                _assert_is_none = fxls_engine__symbolic_trace__assert_is_none(targets, \
'{NONE.format("targets")}');  targets = _assert_is_none = None
                mul = x * by;  x = by = None
                return mul
            """,
            id="it would compute with one that is None",
        ),
    ],
)
def test_the_graph_is_that_of_the_call(
    worker: Asking, text: str, call: str, forward: str
) -> None:
    assert forward_of(worker, text, call) == dedent(forward)


def test_a_branch_on_a_default_is_taken(worker: Asking) -> None:
    text = MODEL.replace(" targets=None, mask=None,", "").replace("targets", "x")
    assert forward_of(worker, text, "Model()(torch.ones(3), by=3.0)") == dedent("""\
        def forward(self, x, half = False, by = 2.0):
            eq = half == False;  half = None
            _assert = torch._assert(eq, 'half has been specialized to have value False \
but got another value');  eq = _assert = None
            mul = x * by;  by = None
            sub = mul - x;  mul = x = None
            abs_1 = sub.abs();  sub = None
            return abs_1
        """)


def test_a_branch_on_what_is_given_is_taken(worker: Asking) -> None:
    assert forward_of(worker, MODEL, "Model()(torch.ones(3), half=True)") == dedent(f"""\
        def forward(self, x, targets = None, mask = None, half = False, by = 2.0):
            _assert_is_none = fxls_engine__symbolic_trace__assert_is_none(targets, \
'{NONE.format("targets")}');  targets = _assert_is_none = None
            eq = half == True;  half = None
            _assert = torch._assert(eq, 'half has been specialized to have value True \
but got another value');  eq = _assert = None
            truediv = x / 2;  x = None
            mul = truediv * by;  truediv = by = None
            return mul
        """)


def test_what_cannot_be_traced_with_the_constants_of_the_call_is_said(
    worker: Asking,
) -> None:
    text = """\
        from torch import nn

        class Model(nn.Module):
            def forward(self, x, check=None):
                if check is not None:
                    return x * 2
                if x.sum() > 0:
                    return x
                return -x
        """

    assert worker.said_by_engine(text, "Model()(torch.ones(3))") == dedent("""\
        [trace]
        net.py:7:12: error: the listing leaves check=None open and may take other \
branches than the call, because the model cannot be traced with that: symbolically \
traced variables cannot be used as inputs to control flow
         7 |         if x.sum() > 0:
           |            ^^^^^^^^^^^
        note: the entry is Model()(torch.ones(3))
        help: Use torch.where for a choice between tensors, concrete_args for an \
argument that never changes, or wrap() to record the function as one call.
        """)
    outcome = worker.outcome(text, "Model()(torch.ones(3))")
    assert isinstance(outcome, Traced), outcome
    assert outcome.identity.producer == "torch.compile"


def forward_of(worker: Asking, text: str, call: str) -> str:
    """The function in the listing of an entry, whose example inputs could be run."""
    outcome = worker.outcome(text, call)
    assert isinstance(outcome, Traced), outcome
    assert outcome.trouble is None
    found = Store(worker.store).read(Path(outcome.path))
    return found.text[found.text.index("def forward") :]


WINDOW = """\
    import torch
    from torch import nn

    class Window(nn.Module):
        def __init__(self):
            super().__init__()
            self.longest = 8
            self.register_buffer("mask", torch.tril(torch.ones(8, 8)))

        def forward(self, x):
            n = x.size(0)
            assert n <= self.longest
            return x.masked_fill(self.mask[:n, :n] == 0, 0.0)
    """


def test_buffers_and_assertions_are_nodes_where_nothing_else_can_be_traced(
    worker: Asking,
) -> None:
    assert forward_of(worker, WINDOW, "Window()(torch.ones(3, 3))") == dedent("""\
        def forward(self, x):
            size = x.size(0)
            le = size <= 8
            assert_fn = fxls_engine_proxy_assert_fn(le);  le = assert_fn = None
            mask = self.mask
            getitem = mask[(slice(None, size, None), slice(None, size, None))];  \
mask = size = None
            eq = getitem == 0;  getitem = None
            masked_fill = x.masked_fill(eq, 0.0);  x = eq = None
            return masked_fill
        """)


def test_a_failure_is_that_of_the_trace_that_came_furthest(worker: Asking) -> None:
    text = WINDOW.replace("return x", "return x if x.sum() > 0 else x")

    said = worker.said_by_engine(dedent(text), "Window()(torch.ones(3, 3))")
    assert said.startswith(
        dedent("""\
        [trace]
        net.py:13:21: error: symbolically traced variables cannot be used as inputs \
to control flow
         13 |         return x if x.sum() > 0 else x.masked_fill(self.mask[:n, :n] == \
0, 0.0)
            |                     ^^^^^^^^^^^
        """)
    )


def test_an_input_that_is_given_as_none_is_none(worker: Asking) -> None:
    text = MODEL.replace("targets=None, mask=None,", "targets,")
    text = text.replace("half:", "False:")

    assert forward_of(worker, text, "Model()(torch.ones(3), None)") == dedent(f"""\
        def forward(self, x, targets, half = False, by = 2.0):
            _assert_is_none = fxls_engine__symbolic_trace__assert_is_none(targets, \
'{NONE.format("targets")}');  targets = _assert_is_none = None
            mul = x * by;  x = by = None
            return mul
        """)


def test_an_assertion_that_the_example_breaks_is_the_users(worker: Asking) -> None:
    assert worker.said(dedent(WINDOW), "Window()(torch.ones(9, 9))") == dedent("""\
        [run]
        net.py:12:16: error: AssertionError: Assertion failed
         12 |         assert n <= self.longest
            |                ^^^^^^^^^^^^^^^^^
        note: the entry is Window()(torch.ones(9, 9))
        help: There is a listing, with shapes as far as it ran: check the example \
inputs.
        """)
