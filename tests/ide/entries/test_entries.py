"""What a source file is found to be traced with."""

from __future__ import annotations

from textwrap import dedent

import pytest

from fxls.entry import Entry, Kind, Producer
from fxls.ide.entries.entries import Project, entries, problems, project
from fxls.listing import Failure, Place, Reason
from fxls.text import Span
from tests.support.drawing import drawn

PATH = "/work/net.py"


def check(text: str, expected: str, *, given: tuple[Entry, ...] = ()) -> None:
    """The entries of `text`, drawn into it."""
    text = dedent(text)
    found = entries(text, PATH, given)
    assert all(entry.path == PATH for entry in found)
    marks = [(e.span, f"{e.kind.value} {e.expression}") for e in found if e.span]
    assert drawn(text, marks) == dedent(expected).strip("\n")


def check_problems(text: str, expected: str) -> None:
    """What is wrong with the entry comments of `text`, drawn into it."""
    text = dedent(text)
    found = problems(text, PATH)
    marks = [(failure.places[0].span, failure.message) for failure in found]
    assert drawn(text, marks) == dedent(expected).strip("\n")
    for failure in found:
        assert failure.reason is Reason.ENTRY
        assert failure.advice is not None


def test_a_comment_that_is_a_call_is_an_entry() -> None:
    check(
        """
        import torch
        # fxls: Net(3)(torch.ones(3))
        """,
        """
        # fxls: Net(3)(torch.ones(3))
                ^^^^^^^^^^^^^^^^^^^^^ comment Net(3)(torch.ones(3))
        """,
    )


def test_a_comment_may_stand_anywhere_and_several_may() -> None:
    check(
        """
        def f():
            x = 1  # fxls: Net()
            #fxls:   Net( 2 )\t
        ## fxls: Net(4)
        """,
        """
            x = 1  # fxls: Net()
                           ^^^^^ comment Net()
            #fxls:   Net( 2 )\t
                     ^^^^^^^^ comment Net( 2 )
        ## fxls: Net(4)
                 ^^^^^^ comment Net(4)
        """,
    )


def test_a_string_or_another_comment_is_no_entry() -> None:
    check(
        '''
        """
        # fxls: Net()
        """
        s = "# fxls: Net()"
        # see fxls: Net()
        # fxls is a tool
        ''',
        "",
    )


def test_a_file_that_is_broken_still_has_its_comments() -> None:
    check(
        """
        # fxls: First()
        def f(:
          return
         }
        # fxls: Second()
        x = '''
        # fxls: Third()
        """,
        """
        # fxls: First()
                ^^^^^^^ comment First()
        # fxls: Second()
                ^^^^^^^^ comment Second()
        # fxls: Third()
                ^^^^^^^ comment Third()
        """,
    )


def test_columns_are_code_points_and_carriage_returns_are_no_part() -> None:
    text = "s = '𝄞é'  # fxls: Net('𝄞')\r\nclass Net(nn.Module):\r\n    pass\r\n"

    assert entries(text, PATH) == (
        Entry(PATH, "Net('𝄞')", Kind.COMMENT, Span.of(0, 18, 0, 26)),
    )


def test_a_module_that_needs_no_arguments_is_an_entry() -> None:
    check(
        """
        import torch.nn as nn
        class Net(nn.Module):
            def forward(self, x): return x
        class Given(torch.nn.Module):
            def __init__(self, a=1, *rest, b=2, **more): ...
            def forward(self, x): return x
        class Lightning(LightningModule):
            def forward(self, x): return x
        """,
        """
        class Net(nn.Module):
              ^^^ class Net()
        class Given(torch.nn.Module):
              ^^^^^ class Given()
        class Lightning(LightningModule):
              ^^^^^^^^^ class Lightning()
        """,
    )


def test_a_module_that_needs_arguments_is_none() -> None:
    check(
        """
        class Positional(nn.Module):
            def __init__(self, a, b=1): ...
            def forward(self, x): return x
        class Keyword(nn.Module):
            def __init__(self, *, a): ...
            def forward(self, x): return x
        class Inherits(Keyword): ...
        """,
        "",
    )


def test_a_class_without_a_forward_of_its_own_is_none() -> None:
    check(
        """
        class Abstract(nn.Module): ...
        class Declared(nn.Module):
            @abc.abstractmethod
            def forward(self, x): ...
        class Plain:
            def forward(self, x): ...
        """,
        "",
    )


def test_bases_of_the_same_file_are_followed() -> None:
    check(
        """
        class Base(nn.Module):
            def __init__(self, a): ...
            def forward(self, x): ...
        class Ready(Base):
            def __init__(self): super().__init__(1)
        class Below(Ready): ...
        """,
        """
        class Ready(Base):
              ^^^^^ class Ready()
        class Below(Ready): ...
              ^^^^^ class Below()
        """,
    )


def test_fields_of_a_dataclass_are_arguments() -> None:
    check(
        """
        @dataclass(eq=False)
        class Needs(nn.Module):
            a: int
            def forward(self, x): ...
        @dataclass
        class Inherits(Needs):
            b: int = 2
        @dataclasses.dataclass
        class Ready(nn.Module):
            kind: ClassVar[str]
            a: int = 1
            b: list = field(default_factory=list)
            def forward(self, x): ...
        """,
        """
        class Ready(nn.Module):
              ^^^^^ class Ready()
        """,
    )


def test_a_class_that_a_comment_names_is_not_found_twice() -> None:
    check(
        """
        # fxls: Net()(torch.ones(1))
        class Net(nn.Module):
            def forward(self, x): ...
        """,
        """
        # fxls: Net()(torch.ones(1))
                ^^^^^^^^^^^^^^^^^^^^ comment Net()(torch.ones(1))
        """,
    )


def test_entries_of_the_project_come_before_classes_and_only_for_their_file() -> None:
    text = "class Net(nn.Module):\n    def forward(self, x): ...\n"
    ours = Entry(PATH, "Net()(1)", Kind.PROJECT)
    other = Entry("/work/other.py", "Other()", Kind.PROJECT)

    assert entries(text, PATH, (ours, other)) == (ours,)


def test_a_syntax_error_is_shown_where_python_sees_it() -> None:
    check_problems(
        """
        # fxls: Net(3))(x)
        # fxls: Net(
        # fxls: 3 = Net()
        # fxls:
        # fxls: Net()
        """,
        """
        # fxls: Net(3))(x)
                      ^ this entry is not an expression: unmatched ')'
        # fxls: Net(
                   ^ this entry is not an expression: '(' was never closed
        # fxls: 3 = Net()
                  ^ this entry is not an expression: invalid syntax
        # fxls:
               | this entry is empty
        """,
    )


def test_what_is_left_to_fill_in_is_said_and_not_traced() -> None:
    text = """
    class Net(nn.Module):
        def __init__(self, é, act: str, *more):
            pass
        def forward(self, x, mask: Tensor):
            return x[..., 0]
    # fxls: Net('é', act=..., more=...)(x[..., 0], ...)
    # fxls: make(..., size=...)
    """

    check_problems(
        text,
        """
        # fxls: Net('é', act=..., more=...)(x[..., 0], ...)
                             ^^^ Net needs act (str): write it in place of `...`
                                       ^^^ Net needs more: write it in place of `...`
                                                       ^^^ the forward of Net needs mask (Tensor): write it in place of `...`
        # fxls: make(..., size=...)
                     ^^^ make needs an argument: write it in place of `...`
                               ^^^ make needs size: write it in place of `...`
        """,
    )
    check(text, "")


def test_an_expression_that_is_no_entry_stops_no_other() -> None:
    check(
        """
        # fxls: Net(
        # fxls: Net()
        """,
        """
        # fxls: Net()
                ^^^^^ comment Net()
        """,
    )


def test_the_project_lists_entries_by_file() -> None:
    toml = '[tool.fxls]\nentries = ["src/net.py:Net()(x)", "a.py: A[1:2]()"]\n'

    assert project(toml, "/work", "/work/pyproject.toml") == Project(
        entries=(
            Entry("/work/src/net.py", "Net()(x)", Kind.PROJECT),
            Entry("/work/a.py", "A[1:2]()", Kind.PROJECT),
        )
    )


@pytest.mark.parametrize("toml", ["", "[tool]\n", "[tool.fxls]\n", "tool = 3\n"])
def test_a_project_need_not_list_any(toml: str) -> None:
    assert project(toml, "/work", "/work/pyproject.toml") == Project()


@pytest.mark.parametrize(
    ("line", "reason", "message", "span"),
    [
        (
            'entries = ["net.py"]',
            Reason.ENTRY,
            "an entry must be FILE.py:EXPRESSION, not 'net.py'",
            Span.of(1, 12, 1, 18),
        ),
        (
            "entries = [3]",
            Reason.ENTRY,
            "an entry must be a string, not 3",
            Span.of(1, 0, 1, 13),
        ),
        (
            "entries = 'net.py:Net()'",
            Reason.ENTRY,
            "[tool.fxls] entries is not a list",
            Span.of(0, 0, 0, 0),
        ),
        (
            'entries = ["net.py:Net("]',
            Reason.ENTRY,
            "'Net(' is not an expression: '(' was never closed",
            Span.of(1, 12, 1, 23),
        ),
        (
            "entries = [",
            Reason.SYNTAX,
            "not TOML: Invalid value (at end of document)",
            Span.of(0, 0, 0, 0),
        ),
    ],
)
def test_a_wrong_project_entry_is_said(
    line: str, reason: Reason, message: str, span: Span
) -> None:
    found = project(f"[tool.fxls]\n{line}\n", "/work", "/work/pyproject.toml")

    assert found.entries == ()
    (failure,) = found.problems
    advice = failure.advice
    place = Place("/work/pyproject.toml", "<module>", span)
    assert failure == Failure(reason, message, (place,), advice)


def test_a_comment_may_choose_who_makes_the_graph() -> None:
    asked = ("", "[export]", "[compile]", "[engine]", "[other]")
    text = "".join(f"# fxls{who}: A()({at})\n" for at, who in enumerate(asked))
    found = entries(text, "/net.py")
    assert [(entry.expression, entry.producer) for entry in found] == [
        ("A()(0)", None),
        ("A()(1)", Producer.EXPORT),
        ("A()(2)", Producer.COMPILE),
        ("A()(3)", Producer.ENGINE),
    ]
    assert [(f.message, f.places[0].span) for f in problems(text, "/net.py")] == [
        (
            (
                "fxls knows no such producer; it knows fxls[engine], fxls[export] and"
                " fxls[compile]"
            ),
            Span.of(4, 15, 4, 21),
        )
    ]
