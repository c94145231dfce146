"""What an expression stands for, and how the file around it is imported."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest
import torch

from fxls.listing import Listing
from fxls.store import Store
from fxls.wire import Traced
from tests.worker.asking import Asking
from tests.worker.test_faults import NET

FUNCTIONS = """\
def build(hidden):
    return Net(hidden)

def double(x, times=2):
    return x * times

net = Net()
"""


def listing(worker: Asking, expression: str, text: str = NET + FUNCTIONS) -> Listing:
    outcome = worker.outcome(text, expression)
    assert isinstance(outcome, Traced), outcome
    assert outcome.trouble is None
    return Store(worker.store).read(Path(outcome.path))


def shapes(found: Listing) -> list[tuple[str, tuple[int | str, ...] | None]]:
    return [(n.name, getattr(n.value, "shape", None)) for n in found.nodes]


@pytest.mark.parametrize("expression", ["Net", "Net()", "net", "build(3)", "(Net)()"])
def test_a_model_without_inputs_has_no_shapes(worker: Asking, expression: str) -> None:
    found = listing(worker, expression)
    assert found.entry == expression
    assert (found.identity.module, found.identity.qualname) == ("net", "Net")
    assert shapes(found) == [
        ("x", None),
        ("linear", None),
        ("relu", None),
        ("add", None),
        ("output", None),
    ]


@pytest.mark.parametrize(
    "expression",
    [
        "Net(3)(torch.randn(2, 3))",
        "net(torch.randn(2, 3))",
        "build(hidden=3)(x=torch.randn(2, 3))",
        "Net()(*[torch.randn(2, 3)])",
        "[Net()][0](torch.randn(2, 3))",
    ],
)
def test_a_model_called_with_inputs_has_shapes(worker: Asking, expression: str) -> None:
    assert shapes(listing(worker, expression)) == [
        ("x", (2, 3)),
        ("linear", (2, 4)),
        ("relu", (2, 4)),
        ("add", (2, 4)),
        ("output", (2, 4)),
    ]


@pytest.mark.parametrize(
    "expression", ["double(torch.ones(3))", "double(times=4, x=torch.ones(3))"]
)
def test_a_function_is_a_model_as_well(worker: Asking, expression: str) -> None:
    found = listing(worker, expression)
    assert (found.identity.module, found.identity.qualname) == ("net", "double")
    assert shapes(found)[0] == ("x", (3,))
    assert shapes(found)[2] == ("mul", (3,))


def test_inputs_go_by_name(worker: Asking) -> None:
    text = """\
        from torch import nn

        class Net(nn.Module):
            def forward(self, x, *rest, scale, bias=0, **more):
                return x * scale + bias
        """
    expression = "Net()(torch.ones(2), torch.ones(3), scale=torch.ones(5, 1), other=torch.ones(4))"
    found = listing(worker, expression, dedent(text))
    assert {name: shape for name, shape in shapes(found) if shape} == {
        "x": (2,),
        "scale": (5, 1),
        "mul": (5, 2),
        "add": (5, 2),
        "output": (5, 2),
    }


def test_torch_need_not_be_imported_by_the_file(worker: Asking) -> None:
    text = "from torch.nn import Linear\n"
    found = listing(worker, "Linear(2, 3)(torch.ones(1, 2))", text)
    assert (found.identity.module, found.identity.qualname) == (
        "torch.nn.modules.linear",
        "Linear",
    )


def test_random_numbers_are_the_same_each_time(worker: Asking) -> None:
    text = "import torch, random\nprint(random.random(), torch.rand(1).item())\n"
    for _ in range(2):
        worker.outcome(text + NET, "Net()")
    first, second = "".join(text for _, text in worker.printed).splitlines()
    assert first == second


def test_a_file_of_a_package_is_imported_by_its_full_name(worker: Asking) -> None:
    worker.file("", "pyproject.toml")
    worker.file("", "src/pkg/__init__.py")
    worker.file("", "src/pkg/models/__init__.py")
    worker.file("SIZE = 5\n", "src/pkg/sizes.py")
    path = worker.file(
        "from ..sizes import SIZE\nimport shared\n" + NET, "src/pkg/models/net.py"
    )
    worker.file("", "shared.py")
    outcome = worker.run(worker.ask(path, "Net(SIZE)"))
    assert isinstance(outcome, Traced)
    assert outcome.identity.module == "pkg.models.net"
    assert outcome.sources == tuple(
        str(worker.folder / name)
        for name in (
            "shared.py",
            "src/pkg/__init__.py",
            "src/pkg/models/__init__.py",
            "src/pkg/models/net.py",
            "src/pkg/sizes.py",
        )
    )


def test_a_file_may_be_called_like_a_module_of_python(worker: Asking) -> None:
    path = worker.file(NET, "types.py")
    outcome = worker.run(worker.ask(path, "Net()"))
    assert isinstance(outcome, Traced)
    assert outcome.sources == (str(path),)


def test_a_file_that_is_saved_again_is_imported_again(worker: Asking) -> None:
    # Within one second and of one length: what Python's own cache cannot tell apart.
    for size in (3, 5, 7):
        text = NET.replace("hidden=3", f"hidden={size}")
        found = listing(worker, "Net", text)
        assert found.parameters == 4 * size + 4


RUN = """\
class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(3)

    def forward(self, x, y):
        z = self.norm(x)
        return z @ y
"""


def test_inputs_that_do_not_fit_leave_a_listing(worker: Asking) -> None:
    said = worker.said(NET + RUN, "Two()(torch.ones(2, 3), torch.ones(4, 2))")
    with pytest.raises(RuntimeError) as words:
        torch.matmul(torch.ones(2, 3), torch.ones(4, 2))
    assert said == dedent(f"""\
        [run]
        net.py:18:16: error: RuntimeError: {words.value}
         18 |         return z @ y
            |                ^^^^^
        note: the entry is Two()(torch.ones(2, 3), torch.ones(4, 2))
        help: There is a listing, with shapes as far as it ran: check the example inputs.
        """)
    assert len(Store(worker.store).identities()) == 1
    assert worker.printed == []


def test_too_few_inputs(worker: Asking) -> None:
    assert worker.said(NET + RUN, "Two()(torch.ones(2, 3))") == dedent("""\
        [run]
        net.py: error: TypeError: missing a required argument: 'y'
        note: the entry is Two()(torch.ones(2, 3))
        help: There is a listing, with shapes as far as it ran: check the example inputs.
        """)


def test_a_batch_too_small_for_training(worker: Asking) -> None:
    said = worker.said(NET + RUN, "Two()(torch.ones(1, 3), torch.ones(3, 2))")
    assert said == dedent("""\
        [run]
        net.py:17:13: error: ValueError: Expected more than 1 value per channel when \
training, got input size torch.Size([1, 3])
         17 |         z = self.norm(x)
            |             ^^^^^^^^^^^^
        note: the entry is Two()(torch.ones(1, 3), torch.ones(3, 2))
        help: Give it a larger batch, or trace it for evaluation: \
`Net().eval()(...)`.
        """)


def test_a_forward_that_cannot_be_traced(worker: Asking) -> None:
    text = """\
        from torch import nn

        class Net(nn.Module):
            def forward(self, x):
                return self.pick(x + 1)

            def pick(self, y):
                if y.sum() > 0:
                    return y
                return -y
        """
    assert worker.said(text, "Net()") == dedent("""\
        [trace]
        net.py:8:12: error: symbolically traced variables cannot be used as inputs to \
control flow
         8 |         if y.sum() > 0:
           |            ^^^^^^^^^^^
        net.py:5:16: note: called here, in Net.forward
         5 |         return self.pick(x + 1)
           |                ^^^^^^^^^^^^^^^^
        note: the entry is Net()
        help: Use torch.where for a choice between tensors, concrete_args for an \
argument that never changes, or wrap() to record the function as one call.
        """)


def test_a_forward_that_raises(worker: Asking) -> None:
    text = NET.replace("self.linear(x)", "self.missing(x)")
    assert worker.said(text, "Net()") == dedent("""\
        [trace]
        net.py:10:27: error: AttributeError: 'Net' object has no attribute 'missing'
         10 |         return torch.relu(self.missing(x)) + 1
            |                           ^^^^^^^^^^^^
        note: the entry is Net()
        """)
