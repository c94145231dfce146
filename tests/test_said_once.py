"""What was said is not said again, until it is forgotten."""

from fxls.said_once import SaidOnce


def test_each_thing_is_said_the_first_time_alone() -> None:
    said = SaidOnce()
    things = [("slow", 1), ("slow", 2), ("slow", 1), ("slow",), ("slow",), ()]
    assert [thing for thing in things if said.is_first(*thing)] == [
        ("slow", 1),
        ("slow", 2),
        ("slow",),
        (),
    ]


def test_what_is_forgotten_is_said_once_more() -> None:
    said = SaidOnce()
    said.forget("slow")
    assert said.is_first("slow")
    said.forget("slow")
    assert [said.is_first("slow"), said.is_first("slow")] == [True, False]


def test_who_says_things_apart_knows_nothing_of_the_other() -> None:
    here, there = SaidOnce(), SaidOnce()
    assert here.is_first("slow")
    assert there.is_first("slow")
