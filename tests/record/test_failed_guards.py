"""What guards that failed were about, and where that is in a source."""

from __future__ import annotations

import pytest

from fxls.record.failed_guards import (
    FailedGuard,
    KnownFailures,
    expression_span,
    failed_guard,
    head_span,
    in_the_programs_words,
    input_span,
    is_condition,
)
from fxls.text import LineTable, Span

SAID = {
    "0/0: tensor 'x' size mismatch at index 1. expected 2, actual 3": FailedGuard(
        "x: size 1", "x", "2", "3"
    ),
    "tensor 'x' dtype mismatch. expected Float, actual Double": FailedGuard(
        "x: dtype", "x", "Float", "Double"
    ),
    "tensor 'L['x']' rank mismatch. expected 1, actual 2": FailedGuard(
        "x: rank", "x", "1", "2"
    ),
    "tensor 'x' requires_grad mismatch. expected requires_grad=0": FailedGuard(
        "x: requires_grad", "x", "0"
    ),
    "expected type of 'xs[0]' to be a tensor type, ' but found <class 'int'>": (
        FailedGuard("xs[0]: type", "xs", "", "int")
    ),
    "___check_type_id(xs, 140454303986496), type=<class 'list'>": FailedGuard(
        "xs: type", "xs", "list"
    ),
    "5/0: ___check_obj_id(f.__code__, 139936919339264), type=<class 'code'>": (
        FailedGuard("f: which function it is", "f")
    ),
    "___check_obj_id(L['self'].act, 1399)": FailedGuard(
        "self.act: which object it is", "self.act"
    ),
    "0/1: self.flag == 1": FailedGuard("self.flag", "self.flag", "1"),
    "!0/3/1: L['n'] == 2": FailedGuard("n", "n", "2"),
    "G['G'] == 3": FailedGuard("G", "G", "3"),
    "o is None": FailedGuard("o", "o", "None"),
    "1/1: tensor '___stack0' rank mismatch. expected 1, actual 2": FailedGuard(
        "a value from before the graph break: rank", "", "1", "2"
    ),
    "L['___stack12'] == 3": FailedGuard("a value from before the graph break", "", "3"),
    "len(xs) == 1": FailedGuard("len(xs)", "xs", "1"),
    "5 <= L['x'].size()[0]": FailedGuard("5 <= x.size(0)", "x"),
    "1/0: 2 <= L['self'].of.a.storage_offset()": FailedGuard(
        "2 <= self.of.a.storage_offset()", "self.of.a"
    ),
    "1/1: tensor 'kw['a'][0]' size mismatch at index 1. expected 2, actual 3": FailedGuard(
        "kw['a'][0]: size 1", "kw", "2", "3"
    ),
    "tensor '___stack0[0]' size mismatch at index 1. expected 2, actual 3": FailedGuard(
        "[0] of a value from before the graph break: size 1", "", "2", "3"
    ),
    "tensor 'dict.__getitem__(___stack0, list(dict.keys(___stack0))[1])' size mismatch"
    " at index 0. expected 2, actual 3": FailedGuard(
        "[its key 1] of a value from before the graph break: size 0", "", "2", "3"
    ),
    "tensor '___from_numpy(L['rows'])' size mismatch at index 0. expected 2, actual 3": (
        FailedGuard("rows: size 0", "rows", "2", "3")
    ),
    "1/2: GLOBAL_STATE changed: grad_mode": FailedGuard(
        "torch's global state: grad_mode", ""
    ),
    "GLOBAL_STATE changed: autocast(cpu)_enabled num_threads": FailedGuard(
        "torch's global state: autocast(cpu)_enabled num_threads", ""
    ),
    "3/1: torch_function mode stack changed": FailedGuard("", ""),
    "": FailedGuard("", ""),
    "(" * 500: FailedGuard("", ""),
}


@pytest.mark.parametrize("text", SAID)
def test_the_words_of_a_guard_say_what_it_is_about_and_its_values(text: str) -> None:
    assert failed_guard(text) == SAID[text]


TEXT = """\
@decorated
@torch.compile(
    dynamic=False)
async def f(é, n: int = 1, *rest, key=None, **others):
    return self.layer.scale * n + self.scale

pair = lambda a: a, lambda b: b
alone = lambda c: c + G
def count(self): self.n += self.m[0]
"""
LINES = tuple(TEXT.split("\n"))


def text_at(span: Span | None) -> str | None:
    return span and LineTable(TEXT).slice(span)


def test_an_input_is_found_in_the_function_that_begins_on_a_line() -> None:
    names = ("é", "n", "rest", "key", "others")
    assert [text_at(input_span(LINES, 1, name)) for name in names] == [*names]
    assert text_at(input_span(LINES, 8, "c")) == "c"
    assert input_span(LINES, 1, "self") is None
    assert input_span(LINES, 5, "n") is None
    assert input_span(LINES, 7, "a") is None  # which lambda is not known
    assert input_span(("def f(:",), 1, "x") is None


def test_the_head_of_a_function_is_its_name() -> None:
    assert head_span(LINES, 1) == Span.of(3, 10, 3, 11)
    assert text_at(head_span(LINES, 8)) == "lambda c: c + G"
    assert head_span(LINES, 7) is None
    assert head_span(LINES, 5) is None


def test_an_expression_is_found_as_it_is_written_or_by_the_only_same_end() -> None:
    assert text_at(expression_span(LINES, 5, "self.scale")) == "self.scale"
    assert text_at(expression_span(LINES, 5, "n")) == "n"
    assert text_at(expression_span(LINES, 5, "root.layer")) == "self.layer"
    assert expression_span(LINES, 5, "root.scale") is None  # there are two
    assert expression_span(LINES, 5, "m") is None
    assert expression_span(LINES, 5, "") is None
    assert text_at(expression_span(LINES, 8, "G")) == "G"
    assert text_at(expression_span(LINES, 9, "self.n")) == "self.n"


def test_what_must_hold_is_told_from_what_has_a_value() -> None:
    conditions = ["2 <= x.size(0)", "x.size(0) != 1 and n < 3", "not self.flag"]
    others = ["x: size 0", "self.flag", "len(xs)", "f: which function it is", "("]
    assert [is_condition(one) for one in conditions] == [True] * len(conditions)
    assert [is_condition(one) for one in others] == [False] * len(others)


def test_a_thousand_recompilations_say_each_value_once_and_each_what_it_was() -> None:
    known, values = KnownFailures(), list[str]()
    for number in range(1, 1_100):
        # torch asks what was compiled last first, and names sixteen.
        before = range(number - 1, max(-1, number - 17), -1)
        said = known.news("0", [f"0/{one}: self.n == {one}" for one in before])
        named = [one for one in said if one is not None]
        assert named[0] == FailedGuard("self.n", "self.n", str(number - 1))
        values += [one.was for one in named]
    assert values == [str(one) for one in range(1_099)]


def test_what_fails_besides_and_in_another_function_is_said() -> None:
    known = KnownFailures()
    grad, one, two = "GLOBAL_STATE changed: grad_mode", "n == 1", "m == 1"
    both = [f"0/1: {grad}", f"0/0: {one}", f"0/0: {grad}"]
    assert known.news("0", both) == [failed_guard(grad), failed_guard(one), None]
    assert known.news("0", [one, two]) == [failed_guard(one), failed_guard(two)]
    assert known.news("1", [one]) == [failed_guard(one)]


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (
            "Cache line invalidated because L['___stack1'] got deallocated",
            (
                "Cache line invalidated because a value from before the graph break"
                " got deallocated"
            ),
        ),
        (
            "L['___stack0'].size()[1] is odd",
            ".size(1) of a value from before the graph break is odd",
        ),
    ],
)
def test_a_reason_has_no_names_of_torchs_for_values_on_the_stack(
    said: str, shown: str
) -> None:
    assert in_the_programs_words(said) == shown
