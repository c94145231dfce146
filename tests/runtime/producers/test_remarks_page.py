"""docs/remarks-by-example.md is what torch.compile says of the functions of these tests.

``FXLS_UPDATE=1 pytest tests/runtime/producers/test_remarks_page.py`` writes it.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from fxls.ide.edits.fix import Fix, applied
from fxls.ide.edits.remark_repairs import remark_fixes
from fxls.record.remarks import SourceRemark
from fxls.serving.tried_repairs import Trial, comes_to
from fxls.text import Span
from fxls.wire import Tried
from tests.ide.edits.trial import tried
from tests.runtime.producers import graph_breaks, planted_fusions, planted_misses
from tests.runtime.producers.graph_breaks import BREAKS
from tests.runtime.producers.planted_sizes import PLANTED
from tests.runtime.producers.recording import loaded, recorded
from tests.runtime.producers.test_exports import ASKING

any_torch: Any = torch

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[3] / "docs" / "remarks-by-example.md"
CALL = "{}(torch.ones(4), torch.ones(4, requires_grad=True))"

HEAD = """\
# Remarks, by example

Tests make this page: `FXLS_UPDATE=1 pytest tests/runtime/producers/test_remarks_page.py`.
Each example is a function of a test, which asks that the remark is at the marked expression and says this; [remarks.md](remarks.md) says what remarks are.
It is what torch {} says; other versions have other numbers.

## Graph breaks

`x` and `w` are four ones, of which `w` asks for a gradient, and `y` is `x + 1`.
A repair *holds* where it was tried with these inputs: the problem is gone, no other one came, and outputs, mutations and prints are those of eager.
One that *does not hold* here changes what eager does, or the break stays; the others are *untried*.
"""


def test_the_page_is_what_torch_compile_says_of_the_functions_of_these_tests(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    page = PAGE.read_text("utf-8")
    is_update = bool(os.environ.get("FXLS_UPDATE"))
    if is_update or f"torch {version()} says" in page:
        with contextlib.redirect_stdout(io.StringIO()):
            breaks = "\n".join(break_section(name, tmp_path) for name in BREAKS)
        capfd.readouterr()
        text = "\n".join((HEAD.format(version()), breaks, *of_planted()))
        if is_update:
            PAGE.write_text(text, "utf-8")
        assert PAGE.read_text("utf-8") == text
    # What torch's numbers depend on is asserted by test_remarks.py with any version.
    assert re.findall(r"^### \[(GB\d+)", page, re.M) == [*BREAKS]


def version() -> str:
    return ".".join(torch.__version__.split(".")[:2])


def break_section(name: str, folder: Path) -> str:
    """A function, what is said of it, and what became of each repair."""
    text = graph_breaks.program([name])
    path = folder / f"repaired_{name}.py"
    path.write_text(text, "utf-8")
    module = loaded(path)
    with recorded(folder / name) as remarks:
        any_torch.compiler.reset()
        x, w = torch.ones(4), torch.ones(4, requires_grad=True)
        with contextlib.suppress(Exception):
            any_torch.compile(getattr(module, name), backend="eager")(x, w)
    found = next(one for one in remarks if one.id == name)
    lines = ["```python", *marked(BREAKS[name]), "```", ""]
    # The words of torch are on its own page.
    title = found.reason.partition(": ")[0].strip()
    repairs = [*repaired(found, path, text, name)]
    return "\n".join((f"### [{name}]({found.page}): {title}", "", *lines, *repairs))


def marked(text: str) -> Iterator[str]:
    """Lines with a mark below what stands between « and »."""
    for line in text.split("\n"):
        yield line.replace("«", "").replace("»", "")
        before, start, rest = line.partition("«")
        if start:
            yield " " * len(before) + "^".ljust(len(rest.partition("»")[0]), "~")


def repaired(remark: SourceRemark, path: Path, text: str, name: str) -> Iterator[str]:
    assert remark.place is not None
    found = remark_fixes(remark, remark.place.place.span, str(path), text)
    if not found:
        return
    call = CALL.format(name)
    before = None
    if any(one.can_be_tried for one in found):
        before = tried(path, call, text)
    for one in found:
        said = outcome(one, path, call, text, before, remark.place.place.span)
        yield f"- {said}: {one.title}"
    yield ""


def outcome(
    fix: Fix, path: Path, call: str, text: str, before: object, span: Span
) -> str:
    if not fix.can_be_tried or not isinstance(before, Tried):
        return "untried"
    assert comes_to(before, str(path), span)
    after = tried(path, call, applied(fix, text))
    holds = isinstance(after, Tried) and Trial(fix, text, span, before, after).holds
    return "holds" if holds else "does not hold"


def of_planted() -> Iterator[str]:
    """What other tests of this folder ask of each planted function."""
    yield "## What torch.export cannot know\n"
    yield "`x` is a tensor of 4 by 3, and `n` one of a whole number.\n"
    yield table(
        ("function", "not known"),
        ((code(text), f"`{asked}`") for text, asked in ASKING.items()),
    )
    yield "## Sizes that became constant\n"
    yield "`x` is a tensor of 7 by 3, and compiled for all sizes.\n"
    yield table(
        ("line", "constant"),
        (
            (
                code(text),
                ", ".join(f"{what} = {value}" for what, value in fixed.items()),
            )
            for text, fixed in PLANTED.items()
        ),
    )
    yield "## Fusions that inductor does not make\n"
    yield "`x` and `w` are tensors of 64 by 64.\n"
    yield table(
        ("function", "not fused"),
        (
            (code(text), "; ".join(sorted(f"{who}: {why}" for who, why in said)))
            for text, said in planted_fusions.PLANTED.items()
        ),
    )
    yield "## Near misses of patterns\n"
    yield table(
        ("function", "pattern", "what stood in the way"),
        (
            (code(text), *map(str, said))
            for text, said in planted_misses.PLANTED.items()
        ),
    )


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in lines) + "\n"


def code(text: str) -> str:
    """A function in a cell, with what the remark is at in bold."""
    cell = " ⏎ ".join(line.strip() for line in text.split("\n"))
    parts = re.split("[«»]", cell.replace("|", "\\|"))
    return " ".join(
        f"**`{part.strip()}`**" if number % 2 else f"`{part.strip()}`"
        for number, part in enumerate(parts)
        if part.strip()
    )
