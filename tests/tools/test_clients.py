"""What clients import is read as the engine's, and what became of tests is counted."""

from __future__ import annotations

import ast
import json
from pathlib import Path

from tools.clients import page, records, table
from tools.clients.page import Result
from tools.clients.records import Outcome
from tools.clients.redirect import redirected
from tools.clients.running import Run


def test_imports_of_torch_fx_are_those_of_the_engine() -> None:
    source = (
        "from __future__ import annotations\n"
        "import torch.fx as fx\n"
        "import torch.fx.passes.shape_prop\n"
        "from torch.fx.node import Node\n"
        "from torch import fx as other, nn\n"
        "kind = torch.fx.GraphModule\n"
    )

    assert ast.unparse(redirected(source, "client.py")).splitlines() == [
        "from __future__ import annotations",
        "import fxls.engine as __fxls_engine__",
        "import fxls.engine as fx",
        "import fxls.engine.passes.shape_prop as __fxls_engine_module__",
        "import torch",
        "from fxls.engine.node import Node",
        "import fxls.engine as other",
        "from torch import nn",
        "kind = __fxls_engine__.GraphModule",
    ]


def test_a_module_that_the_engine_leaves_out_stays_that_of_torch_fx() -> None:
    source = "from torch.fx.experimental.unification import core"

    assert ast.unparse(redirected(source, "client.py")) == source


def test_the_worst_of_what_a_test_became_counts(tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    for name, outcome in [
        ("a", "died"),
        ("a", "passed"),
        ("a", "failed"),
        ("b", "died"),
        ("c", "skipped"),
        ("c", "died"),
        (records.ENDED, "passed"),
    ]:
        records.add(record, name, outcome, "why")

    assert json.loads(record.read_text("utf-8").splitlines()[0]) == ["a", "died", "why"]
    assert records.outcomes(record.read_text("utf-8").splitlines()) == {
        "a": Outcome("failed", "why"),
        "b": Outcome("died", "why"),
        "c": Outcome("skipped", "why"),
    }


def test_what_did_not_pass_runs_again_when_a_run_goes_on(tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    for name, outcome in [
        *(("a", "died"), ("a", "passed"), ("b", "died"), ("b", "failed")),
        *(("c", "skipped"), ("d", "died")),
    ]:
        records.add(record, name, outcome)
    lines = record.read_text("utf-8").splitlines()

    assert not records.is_whole(lines)
    assert records.is_whole([*lines, json.dumps([records.ENDED, "passed", ""])])
    assert records.passing(lines).splitlines() == [
        '["a", "passed", ""]',
        '["c", "skipped", ""]',
    ]


def test_a_test_that_passes_under_torch_fx_alone_has_a_line() -> None:
    good, bad = Outcome("passed"), Outcome("failed", "no")
    theirs = Run({"a": good, "b": good, "c": bad, "d": good})
    ours = Run({"a": good, "b": bad, "c": good})
    result = Result(table.CLIENTS[0], theirs, ours)

    assert page.row(result).endswith("| 4 | 3, 1, 0 | 2, 1, 0 | 2 |")
    assert page.differences([result]).splitlines() == [
        "- opt_einsum_fx: `b` passes under torch.fx alone (failed: no).",
        "- opt_einsum_fx: `d` passes under torch.fx alone (it did not run).",
        "- opt_einsum_fx: 1 under fxls.engine alone: `c`.",
    ]


def test_of_a_run_that_was_cut_short_the_rest_is_no_difference() -> None:
    good = Outcome("passed")
    result = Result(
        table.CLIENTS[0],
        Run({"a": good, "b": good, "c": Outcome("died")}, is_whole=False),
        Run({"a": good, "b": Outcome("died"), "c": good}, is_whole=False),
    )

    assert page.unexplained(result) == set()
    assert page.differences([result]).splitlines() == [
        "- opt_einsum_fx: the run under torch.fx was cut short by its limit.",
        "- opt_einsum_fx: the run under fxls.engine was cut short by its limit.",
    ]
