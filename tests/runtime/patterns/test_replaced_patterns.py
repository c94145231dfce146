"""Patterns that `replace_pattern` looks for: what the record says of their searches."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest
import torch

import fxls
from fxls.record import Remark, Searched, Subject
from fxls.record.remark_wording import role_of
from fxls.record.remarks import RemarkKind
from fxls.store.runs import Runs
from tests.runtime.patterns import planted_replacements
from tests.runtime.patterns.planted_replacements import PATTERNS, PLANTED, shifted
from tests.runtime.producers.recording import loaded, quoted, recorded

any_torch: Any = torch

pytestmark = pytest.mark.slow

PACKAGES = ("torch.fx", "fxls.engine")


def rectified(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x)


def shifted_twice(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return shifted(shifted(x, w), w)


def shifted_by_three(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.relu(torch.mm(x, w) + 3.0)


def in_order(match: Any, _graph: Any, _pattern: Any) -> bool:
    """The check of the program."""
    return [str(one) for one in match.placeholder_nodes] != ["w", "x"]


@pytest.mark.parametrize("package", PACKAGES)
def test_each_near_miss_is_an_analysis_at_the_node_that_stood_in_the_way(
    tmp_path: Path, package: str
) -> None:
    path = tmp_path / "misses.py"
    path.write_text(planted_replacements.program(), "utf-8")
    module = loaded(path)
    fx: Any = importlib.import_module(package)
    rewriter: Any = importlib.import_module(f"{package}.subgraph_rewriter")

    with recorded(tmp_path / ".fxls") as remarks:
        for number, (name, _) in enumerate(PLANTED.values()):
            gm = fx.symbolic_trace(getattr(module, f"f{number}"))
            rewriter.replace_pattern_with_filters(gm, *PATTERNS[name], [in_order])

    found: dict[str, set[tuple[str, str, str]]] = {text: set() for text in PLANTED}
    missed = [one for one in remarks if one.subject is not Subject.SEARCHED]
    assert len(missed) < len(remarks), "each pattern says how often it was looked for"
    for one in missed:
        assert (one.kind, one.subject) == (RemarkKind.ANALYSIS, Subject.PATTERN)
        assert one.place is not None
        text = list(PLANTED)[int(one.place.place.function[1:])]
        pattern = one.about.partition(" at ")[0]
        found[text].add((quoted(one.place), pattern, one.reason))
        assert [role_of(frame, one) for frame in one.frames] == [
            f"the pattern is here, in {pattern}"
        ]
    wanted = {
        text: {(text.partition("«")[2].partition("»")[0], *said)}
        for text, said in PLANTED.items()
    }
    assert [
        (text, found[text]) for text in PLANTED if found[text] != wanted[text]
    ] == []
    assert len(PLANTED) >= 10


@pytest.mark.parametrize("package", PACKAGES)
def test_each_search_says_how_many_matches_it_had_also_none(
    tmp_path: Path, package: str
) -> None:
    fx: Any = importlib.import_module(package)
    rewriter: Any = importlib.import_module(f"{package}.subgraph_rewriter")
    replacement = PATTERNS["shifted"][1]
    fxls.install(tmp_path / ".fxls")
    try:
        for function in (shifted, rectified, shifted_twice):
            gm = fx.symbolic_trace(function)
            rewriter.replace_pattern(gm, shifted, replacement)
    finally:
        fxls.uninstall()
    found = searches(tmp_path / ".fxls")
    assert [(one.name, one.count, one.compilation) for one in found] == [
        ("shifted", 1, None),
        ("shifted", 0, None),
        ("shifted", 2, None),
    ]
    for one in found:
        (pattern,) = one.patterns
        assert (pattern.name, pattern.count) == ("shifted", one.count)
        assert pattern.place is not None
        assert pattern.place.line == "def shifted(x: Tensor, w: Tensor) -> Tensor:"


def searches(root: Path) -> list[Searched]:
    runs = Runs(root, lambda trouble: pytest.fail(str(trouble)))
    (name,) = runs.newest_launch()
    events = [one.event for one in runs.read(name).entries]
    return [one for one in events if isinstance(one, Searched)]


@pytest.mark.parametrize("package", PACKAGES)
def test_a_matcher_that_a_program_asks_itself_says_as_much(
    tmp_path: Path, package: str
) -> None:
    fx: Any = importlib.import_module(package)
    utils: Any = importlib.import_module(f"{package}.passes.utils.matcher_utils")
    with recorded(tmp_path / ".fxls") as remarks:
        gm = fx.symbolic_trace(shifted_by_three)
        pattern = fx.symbolic_trace(shifted)
        assert utils.SubgraphMatcher(pattern.graph).match(gm.graph) == []
    searched, one = sorted(remarks, key=lambda one: one.subject is Subject.PATTERN)
    assert (searched.kind, searched.subject) == (RemarkKind.ANALYSIS, Subject.SEARCHED)
    assert one.about == "shifted at relu"
    assert one.reason == "add has 3.0, and the pattern has 1.0 there"
    assert quoted(one.place) == "torch.mm(x, w) + 3.0"
    assert [found.count for found in searches(tmp_path / ".fxls")] == [0]


def test_what_torch_replaces_for_itself_is_no_business_of_the_program(
    tmp_path: Path,
) -> None:
    rewriter: Any = importlib.import_module("torch.fx.subgraph_rewriter")
    functional: Any = torch.nn.functional
    fxls.install(tmp_path / ".fxls")
    try:
        gm = any_torch.fx.symbolic_trace(shifted)
        # A function of torch's is the pattern.
        rewriter.replace_pattern(gm, functional.relu6, functional.relu6)
    finally:
        fxls.uninstall()
    runs = Runs(tmp_path / ".fxls", lambda trouble: pytest.fail(str(trouble)))
    events = [
        one.event for name in runs.newest_launch() for one in runs.read(name).entries
    ]
    assert [one for one in events if isinstance(one, Searched | Remark)] == []
