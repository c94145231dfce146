"""Each pass names the facts that its own compilation wrote of the graphs around it."""

from __future__ import annotations

from fxls.listing import Identity
from fxls.record import Made, Pass, RevisionName
from fxls.record.pass_facts import with_facts

NET = Identity("net", "Net", "torch.compile", "graph 0")


def name(text: str, facts: str = "") -> RevisionName:
    return RevisionName(NET, f"{text}.py", facts)


def ran(compilation: str | None, before: str, after: str) -> Pass:
    return Pass(
        "fuse", 1, compilation, changed=True, before=name(before), after=name(after)
    )


def named(one: object) -> tuple[str, str]:
    assert isinstance(one, Pass)
    assert one.before is not None
    assert one.after is not None
    return one.before.facts, one.after.facts


def test_the_facts_are_those_of_the_compilation_of_the_pass() -> None:
    events = (
        ran("0/0", "a", "b"),
        Made(name("a", "two"), "0/0"),
        Made(name("b", "four"), "0/0"),
        ran("0/0 (2)", "a", "b"),
        Made(name("a", "six"), "0/0 (2)"),
        Made(name("b", "eight"), "0/0 (2)"),
    )

    found = with_facts(events)

    assert (named(found[0]), named(found[3])) == (("two", "four"), ("six", "eight"))


def test_what_a_compilation_learnt_later_is_what_it_says() -> None:
    events = (
        Made(name("a", "early"), "0/0"),
        Made(name("a", "late"), "0/0"),
        ran("0/0", "a", "a"),
    )

    assert named(with_facts(events)[2]) == ("late", "late")


def test_a_graph_that_another_one_wrote_has_the_last_facts_of_the_run() -> None:
    events = (
        Made(name("a", "first"), "0/0"),
        Made(name("a", "last")),
        ran("1/0", "a", "nobody"),
    )

    assert named(with_facts(events)[2]) == ("last", "")
