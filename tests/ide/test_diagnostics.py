"""What a failure says, and where."""

from __future__ import annotations

from fxls.entry import Entry, Kind
from fxls.ide.diagnostics import Diagnostic, Related, Severity, diagnostics
from fxls.listing import Failure, Place, Reason
from fxls.text import Span

NET = "/work/net.py"
HELPER = "/work/helper.py"
LIBRARY = "/venv/site-packages/library.py"

ENTRY = Entry(NET, "Net()", Kind.COMMENT, Span.of(3, 8, 3, 13))
BRANCH = Place(NET, "Net.forward", Span.of(7, 11, 7, 20))
CALL = Place(NET, "Net.forward", Span.of(6, 4, 6, 12))
INSIDE = Place(HELPER, "gate", Span.of(1, 2, 1, 9))
INSTALLED = Place(LIBRARY, "mask", Span.of(40, 0, 40, 8))
WHILE = Related(NET, Span.of(3, 8, 3, 13), "while tracing Net()")


def is_own(path: str) -> bool:
    return path.startswith("/work/")


def failed(*places: Place, reason: Reason = Reason.TRACE) -> Failure:
    return Failure(reason, "bool() of a proxy", places, "Use torch.where.")


MESSAGE = "bool() of a proxy\nUse torch.where."


def test_a_failure_stands_on_the_line_that_made_it() -> None:
    assert diagnostics(failed(BRANCH), ENTRY, is_own) == (
        Diagnostic(NET, BRANCH.span, Severity.ERROR, Reason.TRACE, MESSAGE, (WHILE,)),
    )


def test_a_failure_in_another_file_of_the_user_is_said_in_both() -> None:
    assert diagnostics(failed(INSIDE, CALL), ENTRY, is_own) == (
        Diagnostic(
            HELPER,
            INSIDE.span,
            Severity.ERROR,
            Reason.TRACE,
            MESSAGE,
            (Related(NET, CALL.span, "called from Net.forward"), WHILE),
        ),
        Diagnostic(
            NET,
            CALL.span,
            Severity.ERROR,
            Reason.TRACE,
            MESSAGE,
            (Related(HELPER, INSIDE.span, "it happened in gate"), WHILE),
        ),
    )


def test_a_failure_in_an_installed_file_stands_on_the_line_that_called_it() -> None:
    assert diagnostics(failed(INSTALLED, CALL), ENTRY, is_own) == (
        Diagnostic(
            NET,
            CALL.span,
            Severity.ERROR,
            Reason.TRACE,
            MESSAGE,
            (Related(LIBRARY, INSTALLED.span, "it happened in mask"), WHILE),
        ),
    )


def test_a_failure_of_the_entry_itself_is_said_there_alone() -> None:
    inside = Place(NET, "<module>", Span.of(3, 8, 3, 11))

    assert diagnostics(failed(inside), ENTRY, is_own) == (
        Diagnostic(NET, inside.span, Severity.ERROR, Reason.TRACE, MESSAGE),
    )
    (below,) = diagnostics(failed(BRANCH, inside), ENTRY, is_own)
    assert below.related == (WHILE,)


def test_a_failure_without_a_place_stands_on_the_entry() -> None:
    assert ENTRY.span is not None
    assert diagnostics(failed(reason=Reason.TIME), ENTRY, is_own) == (
        Diagnostic(NET, ENTRY.span, Severity.ERROR, Reason.TIME, MESSAGE),
    )


def test_a_failure_of_an_entry_that_is_not_in_the_file_stands_on_its_first_line() -> (
    None
):
    entry = Entry(NET, "Net()", Kind.PROJECT)

    assert diagnostics(failed(INSTALLED), entry, is_own) == (
        Diagnostic(
            NET,
            Span.of(0, 0, 0, 0),
            Severity.ERROR,
            Reason.TRACE,
            MESSAGE,
            (Related(LIBRARY, INSTALLED.span, "it happened in mask"),),
        ),
    )


def test_a_class_that_nobody_asked_for_does_not_make_a_file_red() -> None:
    entry = Entry(NET, "Net()", Kind.CLASS, Span.of(5, 6, 5, 9))

    (found,) = diagnostics(failed(BRANCH), entry, is_own)

    assert found.severity is Severity.NOTE


def test_a_listing_without_shapes_is_a_warning() -> None:
    (found,) = diagnostics(failed(BRANCH, reason=Reason.RUN), ENTRY, is_own)

    assert found.severity is Severity.WARNING


def test_a_failure_without_advice_says_its_message_alone() -> None:
    (found,) = diagnostics(Failure(Reason.EXITED, "it exited"), ENTRY, is_own)

    assert found.message == "it exited"
