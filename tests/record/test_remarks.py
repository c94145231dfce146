"""The remarks that are made of a record: one for each place and reason."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from itertools import starmap

from msgspec.structs import replace

from fxls.listing import Place
from fxls.record import (
    Cause,
    Compilation,
    Entry,
    Event,
    MatchedPattern,
    Outcome,
    QuotedPlace,
    Remark,
    Searched,
    Subject,
    pairs,
)
from fxls.record.remark_wording import costs_of, role_of, title_of
from fxls.record.remarks import (
    RemarkKind,
    SourceRemark,
    at_each_place,
    merged,
    remarks_of,
)
from fxls.text import Span


def at(line: int, path: str = "/p/net.py", function: str = "forward") -> QuotedPlace:
    place = Place(path, function, Span.of(line, 4, line, 9))
    return QuotedPlace(place, f"    line {line}", "ab")


def made(events: Iterable[Event]) -> tuple[SourceRemark, ...]:
    entries = (Entry(at, 1, 1.0, 2.0, one) for at, one in enumerate(events))
    return remarks_of(entries, lambda path: "site-packages" not in path)


def broken(name: str, *places: QuotedPlace, reason: str = "print") -> Remark:
    return Remark(Subject.BREAK, reason, name, "GB0059", places, ("leave it out",))


def test_a_break_is_one_remark_however_often_with_what_came_of_it() -> None:
    assert made(
        [
            broken("0/0", at(3), at(9)),
            Compilation("0/0", "forward", Outcome.BREAK),
            Compilation("1/0", "forward", Outcome.OK, Cause.CONTINUATION, at(3)),
            Compilation("2/0", "other", Outcome.OK, Cause.CONTINUATION, at(5)),
            broken("0/1", at(3), at(9)),
            Compilation("0/1", "forward", Outcome.SKIPPED, Cause.RECOMPILATION),
            broken("0/1", at(4)),
        ]
    ) == (
        SourceRemark(
            RemarkKind.PROBLEM,
            Subject.BREAK,
            "print",
            at(3),
            "GB0059",
            (at(3), at(9)),
            ("leave it out",),
            ("0/0", "0/1"),
            without_graph=("0/1",),
            rest=("1/0",),
        ),
        SourceRemark(
            RemarkKind.PROBLEM,
            Subject.BREAK,
            "print",
            at(4),
            "GB0059",
            (at(4),),
            ("leave it out",),
            ("0/1",),
            without_graph=("0/1",),
        ),
    )


def rest(name: str, place: QuotedPlace) -> Compilation:
    return Compilation(name, "forward", Outcome.RUNNING, Cause.CONTINUATION, place)


def test_of_two_breaks_on_a_line_each_has_the_rest_behind_itself() -> None:
    first, second = made(
        [
            broken("0/0", at(3), reason="bincount"),
            Compilation("0/0", "forward", Outcome.BREAK),
            rest("1/0", at(3)),
            broken("1/0", at(3), reason="tolist"),
            replace(rest("1/0", at(3)), outcome=Outcome.BREAK),
            rest("2/0", at(3)),
            replace(rest("2/0", at(3)), outcome=Outcome.OK),
        ]
    )
    assert (first.rest, second.rest) == (("1/0",), ("2/0",))


def test_a_break_that_is_met_again_in_the_rest_behind_it_is_not_its_own_rest() -> None:
    (one,) = made(
        [
            broken("0/0", at(3)),
            rest("1/0", at(3)),
            broken("1/0", at(3)),
            rest("2/0", at(3)),
        ]
    )
    assert (one.compilations, one.rest) == (("0/0", "1/0"), ("2/0",))


def test_the_rest_behind_a_break_is_of_the_function_that_was_compiled() -> None:
    """And not of the one that it called, in which the break is."""
    inner, outer = at(3, function="inner"), at(9, function="outer")
    followed = replace(broken("0/0", inner, outer, at(20)), followed=2)
    other = replace(broken("1/0", inner, outer, reason="tolist"), followed=1)

    first, second = made([followed, other, rest("2/0", inner), rest("3/0", outer)])

    assert (first.rest, second.rest) == (("3/0",), ("2/0",))


def test_a_break_without_a_graph_says_what_kept_torch_from_one() -> None:
    in_loop = replace(broken("0/0", at(3)), why_no_graph="graph break in loop")
    skipped = Compilation("0/0", "forward", Outcome.SKIPPED)
    (one,) = made([in_loop, skipped])
    assert [*costs_of(one)] == [
        "in 1 compilation: 0/0",
        "no graph: 0/0 runs as it was written: graph break in loop",
    ]
    assert (
        next(iter(merged([with_graph(one), one]))).why_no_graph == "graph break in loop"
    )


def with_graph(one: SourceRemark) -> SourceRemark:
    """The same remark of a rank that had a graph."""
    return dataclasses.replace(one, without_graph=(), why_no_graph="")


def test_a_pattern_says_how_often_it_was_looked_for_and_found() -> None:
    here, there = (
        at(2, "/p/passes.py", "mine"),
        at(4, "/v/site-packages/p.py", "theirs"),
    )

    def looked(name: str, *counts: int) -> Searched:
        patterns = zip(("mine", "theirs"), counts, (here, there), strict=False)
        return Searched(
            name, sum(counts), "0/0", tuple(starmap(MatchedPattern, patterns))
        )

    found = made([looked("fusions", 1, 5), looked("fusions", 1, 0), looked("mine", 0)])

    assert [(one.kind, one.place, title_of(one)) for one in found] == [
        (RemarkKind.ANALYSIS, here, said)
        for said in (
            "The pattern mine: looked for 2 times, 2 matches, by fusions",
            "The pattern mine: looked for 1 time, 0 matches",
        )
    ]
    assert merged([*found, *found]) == found


def test_a_break_in_installed_code_is_shown_where_a_person_led_there() -> None:
    library = at(7, "/v/site-packages/lib.py", "helper")
    between = at(8, "/v/site-packages/torch/nn/module.py", "_call_impl")
    (one,) = made([broken("0/0", library, between, at(3))])
    assert (one.place, one.frames) == (at(3), (library, at(3)))
    (other,) = made([broken("0/0", library, between)])
    assert (other.place, other.frames) == (library, (library,))


def test_a_guard_that_fails_again_and_again_is_one_remark_with_its_values() -> None:
    def failed(name: str, was: str, became: str = "") -> Remark:
        reason = f"0/0: x size {was}"
        return Remark(
            *(Subject.RECOMPILATION, reason, name, "", (at(1),)),
            about="x: size 0",
            was=was,
            became=became,
        )

    one, other = made(
        [
            failed("0/1", "2", "3"),
            failed("0/2", "3", "4"),
            failed("0/2", "2", "4"),
            Remark(Subject.RECOMPILATION, "0/0: MODES", "0/3", "", (at(1),)),
            Remark(Subject.RECOMPILATION, "0/1: MODES", "0/3", "", (at(1),)),
            Remark(Subject.RECOMPILATION, "0/2: MODES", "0/3", "", (at(1),)),
        ]
    )
    assert (one.about, one.values) == ("x: size 0", ("2", "3", "4"))
    assert one.compilations == ("0/1", "0/2")
    assert title_of(one) == "Recompiled because of x: size 0, which was 2, then 3, 4"
    assert title_of(other) == "Recompiled because a guard failed: MODES"
    assert other.compilations == ("0/3",)


def test_what_torchs_state_compiles_again_is_read_nowhere() -> None:
    library = at(7, "/v/site-packages/lib.py", "helper")
    (one,) = made(
        [
            Remark(
                *(Subject.RECOMPILATION, "0/0: GLOBAL_STATE", "0/1", "", (library,)),
                about="torch's global state: grad_mode",
                callers=(at(3),),
            )
        ]
    )
    assert title_of(one) == "Recompiled because of torch's global state: grad_mode"
    assert [role_of(frame, one) for frame in one.frames] == [
        "this is compiled again, helper",
        "called here, in forward",
    ]


def test_a_condition_that_fails_is_said_not_to_hold_any_more() -> None:
    (one,) = made(
        [
            Remark(
                *(Subject.RECOMPILATION, "0/0: 2 <= x", "0/1", "", (at(1),)),
                about="2 <= x.size(0)",
            )
        ]
    )
    assert title_of(one) == (
        "Recompiled because it does not hold any more: 2 <= x.size(0)"
    )


def test_a_function_in_which_there_is_nothing_to_compile_is_no_problem() -> None:
    nothing = Remark(Subject.SKIPPED, "nothing to compile", "0/0", "", (at(1),))
    refused = Remark(Subject.SKIPPED, "a generator", "1/0", "GB0003", (at(2),))
    limit = Remark(Subject.LIMIT, "the limit", "2/8", "GB0039", (at(3),))
    nowhere = Remark(Subject.ERROR, "it failed", "3/0")
    found = made([nothing, refused, limit, nowhere])
    assert [(one.kind, one.page, title_of(one)) for one in found] == [
        (RemarkKind.ANALYSIS, None, "Not compiled: nothing to compile"),
        (RemarkKind.PROBLEM, page("0003"), "Not compiled: a generator"),
        (RemarkKind.PROBLEM, page("0039"), "Not compiled any more: the limit"),
        (RemarkKind.PROBLEM, None, "An error in torch.compile: it failed"),
    ]


def page(number: str) -> str:
    site = "https://meta-pytorch.github.io/compile-graph-break-site"
    return f"{site}/gb/gb{number}.html"


def test_fusions_with_one_place_and_reason_are_one_remark_behind_all_others() -> None:
    def apart(compilation: str, first: str, second: str, reason: str = "why") -> Remark:
        return Remark(
            *(Subject.FUSION, reason, compilation, "", (at(3), at(9))),
            about="sum and mul",
            others=(at(7, "/v/site-packages/lib.py", "helper"), at(2)),
            nodes=pairs([(first, second)]),
        )

    found = made(
        [
            apart("0/0", "sum_1", "mul"),
            apart("0/1", "sum_1", "mul"),
            apart("0/1", "sum_2", "mul_1"),
            apart("0/1", "sum_3", "mul_2", "will create cycle"),
            broken("0/1", at(4)),
        ]
    )
    assert [one.subject for one in found] == [
        Subject.BREAK,
        Subject.FUSION,
        Subject.FUSION,
    ]
    _, one, other = found
    assert one == SourceRemark(
        *(RemarkKind.ANALYSIS, Subject.FUSION, "why", at(3), "", (at(2),)),
        compilations=("0/0", "0/1"),
        about="sum and mul",
        nodes=(("sum_1", "mul"), ("sum_2", "mul_1")),
    )
    assert [*costs_of(other)] == [
        (
            "this means: as one kernel they would have to run both before and after"
            " another one"
        ),
        "nodes: sum_3 and mul_2",
        "in 1 compilation: 0/1",
    ]
    first, second = at_each_place(one)
    assert (first.place, first.frames) == (at(3), (at(2),))
    assert (second.place, second.frames) == (at(2), (at(3),))
    assert merged((one, one)) == (one,)


def test_the_runs_of_a_program_share_their_remarks() -> None:
    first = made([broken("0/0", at(3)), Compilation("0/0", "f", Outcome.BREAK)])
    second = made([broken("4/0", at(3)), broken("4/0", at(6))])
    both = merged((*first, *second))
    assert [(one.place, one.compilations) for one in both] == [
        (at(3), ("0/0", "4/0")),
        (at(6), ("4/0",)),
    ]


def test_what_is_in_an_installed_file_alone_is_where_the_program_called_it() -> None:
    inside = at(7, "/v/site-packages/lib.py", "wrapper")
    between = at(2, "/v/site-packages/lib.py", "outer")
    calls = (between, at(3, function="train"), at(9, function="<module>"))

    def again(line: int) -> Remark:
        where = at(line, "/v/site-packages/lib.py", "wrapper")
        return Remark(
            *(Subject.RECOMPILATION, "x == 1", "0/1", "", (where,)),
            about="x",
            callers=calls,
        )

    one, other = made([again(7), again(8), again(7)])
    assert (one.place, other.place) == (calls[1], calls[1])
    assert one.frames == (inside, *calls[1:])
    assert [role_of(frame, one) for frame in one.frames] == [
        "it is read here",
        "called here, in train",
        "called here, in <module>",
    ]
    assert merged([one, other, one]) == (one, other)
    # Nobody's file called it, or it is in a file of the person's.
    (alone,) = made([replace(again(7), callers=(between,))])
    assert (alone.place, alone.frames) == (inside, (inside,))
    (own,) = made([replace(again(7), places=(at(1),))])
    assert (own.place, own.frames, own.callers) == (at(1), (at(1),), ())


def test_thousands_of_recompilations_are_one_remark_of_a_few_lines() -> None:
    (one,) = made(
        Remark(
            *(Subject.RECOMPILATION, f"n == {n}", f"0/{n}", "", (at(1),)),
            about="n",
            was=str(n),
        )
        for n in range(1, 6_001)
    )
    assert len(one.compilations) == 6_000
    first = ", ".join(map(str, range(2, 17)))
    assert title_of(one) == (
        f"Recompiled because of n, which was 1, then {first} and others"
    )
    names = ", ".join(f"0/{n}" for n in range(1, 17))
    assert [*costs_of(one)] == [f"in 6000 compilations: {names} and 5984 more"]


LOGGING = "/usr/lib/python3.11/logging/__init__.py"


def where_logging_is_installed(events: Iterable[Event]) -> tuple[SourceRemark, ...]:
    entries = (Entry(at, 1, 1.0, 2.0, one) for at, one in enumerate(events))
    return remarks_of(entries, lambda path: path.startswith("/p/"))


def of_function(subject: Subject, name: str, *places: QuotedPlace) -> Remark:
    return Remark(subject, "x", name, places=places, about="args[0]: size 0")


def test_what_breaks_inside_of_pythons_own_functions_is_of_the_break_that_ran_them() -> (
    None
):
    polyfill = at(513, "/v/site-packages/torch/_dynamo/polyfills/__init__.py")
    logged, call = at(10), at(65, function="<module>")
    record = replace(
        broken("4/0", at(297, LOGGING), polyfill, at(1601, LOGGING), logged, call),
        followed=3,
        id="GB0007",
    )
    again = replace(
        of_function(Subject.RECOMPILATION, "4/1", at(1595, LOGGING)),
        # torch does not know each frame that led to a compilation.
        callers=(call,),
    )
    events = [
        replace(broken("0/0", logged, call), followed=1, id="GB0291"),
        record,
        again,
        replace(
            of_function(Subject.LIMIT, "4/8", at(1595, LOGGING)), callers=(logged,)
        ),
    ]
    (one,) = where_logging_is_installed(events)

    assert (one.id, one.compilations) == ("GB0291", ("0/0",))
    assert one.inside == ("4/0", "4/1", "4/8")
    assert [*costs_of(one)] == [
        "in 1 compilation: 0/0",
        "3 compilations of Python's own functions inside of it: 4/0, 4/1, 4/8",
    ]
    assert merged([one, dataclasses.replace(one, inside=("7/0",))]) == (
        dataclasses.replace(one, inside=("4/0", "4/1", "4/8", "7/0")),
    )


def test_what_breaks_inside_of_an_installed_package_is_said_by_itself() -> None:
    package = at(5, "/v/site-packages/lib.py")
    first, second = where_logging_is_installed(
        [
            replace(broken("0/0", at(10)), followed=1),
            replace(broken("1/0", package, at(10), reason="other"), followed=1),
        ]
    )
    assert (first.inside, second.frames[0], second.place) == ((), package, at(10))


def test_what_breaks_in_a_function_of_python_that_was_followed_is_of_who_calls_it() -> (
    None
):
    """No break led to it: it is the break."""
    again = replace(broken("0/0", at(2146, LOGGING), at(10)), followed=2)
    (one,) = where_logging_is_installed([again, replace(again, compilation="0/1")])
    assert (one.inside, one.place) == ((), at(10))
    assert one.compilations == ("0/0", "0/1")
