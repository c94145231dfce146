"""Example tensors are read from an entry, and others are written in their places."""

from __future__ import annotations

from fxls.worker.fitting.written_inputs import Example, WrittenInputs


def test_all_tensors_of_the_call_are_found_and_nothing_else() -> None:
    written = WrittenInputs(
        "Net('é', scale=torch.randn(8))(torch.randn(1, 3), [torch.ones(2)], "
        "ids=torch.zeros(1, 8, dtype=torch.long), m=torch.ones(4, dtype=torch.bool), "
        "other=torch.zeros(3), free=torch.randn(n, 3), eye=torch.eye(8))"
    )

    assert written.examples == (
        Example("randn", (1, 3)),
        Example("ones", (2,)),
        Example("indices", (1, 8)),
        Example("mask", (4,)),
    )


def test_others_are_written_in_their_places() -> None:
    written = WrittenInputs("Net('é')(torch.randn(1, 3), y=[torch.ones(1, 3)])")

    changed = written.with_examples(
        (Example("indices", (1, 8)), Example("mask", (1, 3, 4)))
    )

    assert changed == (
        "Net('é')(torch.zeros(1, 8, dtype=torch.long), "
        "y=[torch.ones(1, 3, 4, dtype=torch.bool)])"
    )


def test_what_stays_keeps_its_spelling() -> None:
    expression = "net( torch.randn( 1,3 ), torch.rand(2))"
    written = WrittenInputs(expression)

    assert written.with_examples(written.examples) == expression


def test_an_expression_without_a_call_has_none() -> None:
    assert WrittenInputs("net").examples == ()
