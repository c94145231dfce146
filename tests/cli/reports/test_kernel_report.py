"""The kernels of a run: those that it made, and those that it measured."""

from __future__ import annotations

from fxls.cli.report import Sources
from fxls.cli.reports.kernel_report import kernels_as_json, kernels_text
from fxls.listing import Facts, Identity, Listing
from fxls.record import Made, RevisionName, Spent

NAME = RevisionName(Identity("net", "Net", stage="graph 0, kernels"), "Net_1.py")
CODE = Listing(
    identity=NAME.identity,
    text="\n\n\nkernel(x)\n",
    definition=2,
    nodes=(
        Facts("kernel:1", "call_kernel", "kernel", line=3, made_from=("relu", "add")),
    ),
)


def test_code_that_a_run_before_made_is_there_when_it_was_measured() -> None:
    measured = Spent(NAME, 4, 0.02, ((3, 0.015),))

    found = kernels_as_json([measured], {NAME: CODE}.get)
    printed = kernels_text([measured], {NAME: CODE}.get, Sources())

    assert found["kernels"] == [
        {
            "listing": "Net_1.py",
            "stage": "graph 0, kernels",
            "call": "kernel:1",
            "kernel": "kernel",
            "line": 4,
            "nodes": ("relu", "add"),
            "places": [],
            "calls": 4,
            "seconds": 0.015,
            "of_seconds": 0.02,
        }
    ]
    assert printed == [
        "",
        "Net graph 0, kernels  Net_1.py",
        "  5.000 ms each in 4 calls",
        "   75% kernel:1, line 4: relu, add",
        "   25% all that is no kernel",
        "",
        "time in kernels, by the lines of the program",
        "  100% no line of the program",
    ]


def test_code_that_was_made_is_there_once_with_the_facts_it_has_last() -> None:
    last = RevisionName(NAME.identity, NAME.text, "2")
    events = [Made(NAME), Made(last), Spent(NAME, 1, 0.5, ())]

    found = kernels_as_json(events, {last: CODE}.get)

    assert [one["calls"] for one in found["kernels"]] == [1]
