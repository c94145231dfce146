"""What is wrong in a graph."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec
import pytest

from fxls.ide.diagnostics import Related, Severity, listing_diagnostics
from fxls.ide.listing.defects import MOST, defects
from fxls.ide.listing.document import Document
from fxls.ide.listing.freshness import Freshness
from fxls.listing import Role, Tensor, Value
from fxls.text import Span
from tests.ide.nets import LISTING_PATH, NET, SOURCE_PATH
from tests.support.drawing import drawn
from tests.support.listings import listing_of


def document(
    body: str,
    values: Mapping[str, Value] | None = None,
    layers: Mapping[str, tuple[str, int]] | None = None,
) -> Document:
    """`layers` are the classes of submodules of torch, and how wide their results are."""
    text = f"def forward(self, x, y):\n{body}    return x\n"
    calls = re.findall(r"(\w+) = self\.(\w+)\(", body)
    kinds = {name: kind for name, (kind, _) in (layers or {}).items()}
    scopes = {
        name: [(path, f"torch.nn.modules.{kinds.get(name, '')}")]
        for name, path in calls
    }
    widths = {name: width for name, (_, width) in (layers or {}).items() if width}
    listing = listing_of(text, values=values, widths=widths, scopes=scopes)
    return Document(LISTING_PATH, listing)


def said(document: Document) -> str:
    """The defects under their lines."""
    found = defects(document)
    marks = [(f.span, f"{f.kind.value}: {f.message}") for f in found]
    return drawn(document.listing.text, marks)


def test_a_good_graph_has_no_defect() -> None:
    assert defects(NET) == ()


def test_of_code_that_a_compiler_wrote_nothing_is_said() -> None:
    listing = document("    buf0 = empty(x)\n").listing
    code = msgspec.structs.replace(
        listing,
        identity=msgspec.structs.replace(listing.identity, stage="graph 0, kernels"),
    )

    assert [one.message for one in defects(Document(LISTING_PATH, listing))] == [
        "nothing reads the input y",
        "nothing reads buf0: it is dead code",
    ]
    assert defects(Document(LISTING_PATH, code)) == ()


def test_what_nobody_reads_is_dead_code() -> None:
    body = "    relu = torch.relu(y)\n    add_ = x.add_(y)\n    a = operator.setitem(x, 0)\n"
    body += (
        "    b = fxls.engine.tracing.concrete_args._assert_is_none(x, 'x is given')\n"
    )
    body += "    c = fxls.engine.proxy.assert_fn(x)\n"

    assert said(document(body)) == (
        "    relu = torch.relu(y)\n"
        "    ^^^^^^^^^^^^^^^^^^^^ dead-code: nothing reads relu: it is dead code"
    )


def test_an_input_that_nobody_reads_is_said() -> None:
    assert said(document("")) == (
        "def forward(self, x, y):\n"
        "                     ^ unread-input: nothing reads the input y"
    )


def test_a_name_is_bound_before_it_is_read_and_not_freed() -> None:
    body = "    a = torch.add(x, y);  y = None\n    b = torch.add(a, y)\n"
    text = f"def forward(self, x, y):\n{body}    return b\n"
    listing = listing_of(text)
    first, second = (line.index("= torch") for line in body.split("\n")[:2])
    assert first == second

    assert said(Document(LISTING_PATH, listing)) == (
        "    b = torch.add(a, y)\n"
        "                     ^ read-after-free: y is read after it was set to None"
    )
    (defect,) = defects(Document(LISTING_PATH, listing))
    assert defect.cause is not None
    assert defect.cause.span == Span.of(1, 26, 1, 27)


def test_a_name_that_is_read_above_its_definition_is_an_error() -> None:
    listing = listing_of("def forward(self, x):\n    a = torch.relu(x)\n    return a\n")
    a = 1
    marks = tuple(
        msgspec.structs.replace(mark, node=a) if mark.role is Role.READS else mark
        for mark in listing.marks
    )

    early = Document(LISTING_PATH, msgspec.structs.replace(listing, marks=marks))

    (defect,) = defects(early)
    assert early.lines.slice(defect.span) == "x"
    assert defect.message == "a is read before it is defined"
    assert defect.cause is not None
    assert defect.cause.span == Span.of(1, 4, 1, 5)


def f32(*shape: int | str) -> Tensor:
    return Tensor(shape, "float32", "cpu")


X = {"x": f32(2, 3), "y": f32(3, 4)}


@pytest.mark.parametrize(
    ("statement", "value", "message"),
    [
        ("torch.relu(x)", f32(2, 4), "relu of f32[2, 3] gives [2, 3], not f32[2, 4]"),
        ("torch.relu(x)", f32(2, 3), None),
        ("x.sigmoid()", f32(3, 3), "sigmoid of f32[2, 3] gives [2, 3], not f32[3, 3]"),
        ("x * 2", f32(2), "mul of f32[2, 3] gives [2, 3], not f32[2]"),
        ("x + x", f32(2, 3), None),
        (
            "torch.matmul(x, y)",
            f32(2, 3),
            "matmul of f32[2, 3], f32[3, 4] gives [2, 4], not f32[2, 3]",
        ),
        ("x.view(-1)", f32(6), None),
        ("x.view(-1)", f32(7), "view of f32[2, 3] gives [2, 3], not f32[7]"),
        (
            "x.float()",
            Tensor((2, 3), "float16", "cpu"),
            "float gives float32, not f16[2, 3]",
        ),
        ("x.float()", Tensor((2, 3), "torch.float32", "cpu"), None),
        ("torch.eq(x, x)", f32(2, 3), "eq gives bool, not f32[2, 3]"),
        # What is not certain is not said.
        ("torch.relu(x)", f32("s0", 3), None),
        ("torch.relu(x, inplace=True)", f32(9), None),
        ("mine.relu(x)", f32(9), None),
        ("torch.conv2d(x, y)", f32(9), None),
        ("x + unknown", f32(9), None),
    ],
)
def test_a_shape_is_what_the_target_can_give(
    statement: str, value: Tensor, message: str | None
) -> None:
    found = defects(
        document(f"    a = {statement}\n    b = a.b_()\n", {**X, "a": value})
    )

    shapes = [f.message for f in found if f.kind.value == "shape"]
    assert shapes == ([] if message is None else [message])


@pytest.mark.parametrize(
    ("layer", "value", "message"),
    [
        (("Linear", 5), f32(2, 5), None),
        (
            ("Linear", 5),
            f32(2, 3),
            "Linear of f32[2, 3] gives [2, 5], not f32[2, 3]",
        ),
        (("Linear", 0), f32(2, 3), None),
        (("ReLU", 0), f32(2), "ReLU of f32[2, 3] gives [2, 3], not f32[2]"),
        (("Conv1d", 7), f32(2, 9), None),
        (("Mine", 0), f32(9), None),
    ],
)
def test_a_submodule_of_torch_gives_its_shape(
    layer: tuple[str, int], value: Tensor, message: str | None
) -> None:
    body = "    a = self.fc(x)\n    b = a.b_()\n"
    found = defects(document(body, {**X, "a": value}, {"a": layer}))

    shapes = [f.message for f in found if f.kind.value == "shape"]
    assert shapes == ([] if message is None else [message])


def test_a_convolution_gives_its_channels() -> None:
    values = {"x": f32(1, 3, 8, 8), "a": f32(1, 8, 4, 4)}
    layers = {"a": ("Conv2d", 16)}
    found = defects(document("    a = self.fc(x)\n    b = a.b_()\n", values, layers))

    assert found[-1].message == (
        "Conv2d of f32[1, 3, 8, 8] gives [1, 16, 4, 4], not f32[1, 8, 4, 4]"
    )


def test_there_are_not_more_defects_than_somebody_reads() -> None:
    body = "".join(f"    a{n} = torch.relu(y)\n" for n in range(MOST + 9))

    assert len(defects(document(body))) == MOST


def test_defects_are_hints_warnings_and_errors() -> None:
    body = "    a = torch.relu(x);  y = None\n    b = torch.add(a, y)\n"
    net = document(body, {**X, "a": f32(1)})
    found = listing_diagnostics(net, Freshness(), defects(net))

    assert [(d.severity, d.reason.value, d.unnecessary, d.related) for d in found] == [
        (Severity.WARNING, "shape", False, ()),
        (Severity.HINT, "dead-code", True, ()),
        (
            Severity.ERROR,
            "read-after-free",
            False,
            (Related(LISTING_PATH, Span.of(1, 24, 1, 25), "it is set to None here"),),
        ),
    ]


def test_an_earlier_revision_says_where_the_newest_is() -> None:
    newest = Document("/work/.fxls/Net_ffffffffffff.py", NET.listing)

    (said,) = listing_diagnostics(NET, Freshness(newest), ())

    assert (said.span, said.severity) == (NET.start.focus, Severity.NOTE)
    assert said.message == "This is an earlier revision."
    assert [(r.path, r.message) for r in said.related] == [
        (newest.path, "the newest revision")
    ]


def test_a_stale_listing_says_what_changed() -> None:
    one = Freshness(changed=(SOURCE_PATH,))
    two = Freshness(changed=(SOURCE_PATH, "/work/block.py"))

    messages = [
        listing_diagnostics(NET, freshness, ())[0].message for freshness in (one, two)
    ]

    assert messages == [
        "net.py has changed since this was traced.",
        "block.py and net.py have changed since this was traced.",
    ]
