"""The code of documents is found, gets its indentation back, and runs under two engines."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from tools.documents.blocks import Block, blocks
from tools.documents.comparison import compared, without_a_name
from tools.documents.execution import ErrorText, Outcome, outcomes
from tools.documents.indentation import restored, statements

PROGRAMS = Path(__file__).parents[1] / "engine" / "programs"

PAGE = """\
Mixing
======

Levels are mixed by a module::

    import torch.fx

    class Mixer(torch.nn.Module):
        def forward(self, left, right):
            return torch.lerp(left, right, 0.25)

    mixer = torch.fx.symbolic_trace(Mixer())
    print(mixer.code)

The result is a module. It can be changed, see :func:`other`.

::

    for node in mixer.graph.find_nodes(op="call_function", target=torch.lerp):
        node.target = torch.dist

    mixer.recompile()

What a filter does is up to you::

    def filtered(module):
        gain = ...
        return module

```
$ pip install mixer
```

```python
    mixer.graph.lint()
```
"""


def written(text: str) -> str:
    return textwrap.dedent(text).lstrip("\n")


class TestBlocks:
    def test_code_stands_between_fences_and_behind_two_colons(self) -> None:
        found = blocks(PAGE)

        assert [(block.line, block.refused) for block in found] == [
            (6, ""),
            (19, ""),
            (26, "it is left incomplete: `gain = ...`"),
            (31, "it is not Python: invalid syntax"),
            (35, ""),
        ]
        assert found[1].source == written("""
            for node in mixer.graph.find_nodes(op="call_function", target=torch.lerp):
                node.target = torch.dist

            mixer.recompile()
            """)
        assert found[4].source == "mixer.graph.lint()\n"

    def test_a_page_without_indentation_has_the_same_blocks(self) -> None:
        flat = "\n".join(line.strip() for line in PAGE.splitlines())

        assert blocks(flat) == blocks(PAGE)

    def test_lines_that_draw_a_table_around_the_text_are_left_out(self) -> None:
        # Each line of the text is a cell of its own; one that is blank is not there.
        drawn = PAGE.replace("\n", "\n|\n||\n").replace("\n\n", "\n")

        found = blocks(drawn)

        assert [block.source for block in found] == [
            block.source for block in blocks(PAGE)
        ]

    def test_without_any_mark_each_run_of_python_is_a_block(self) -> None:
        page = written("""
            Introduction
            A graph is made by hand, with values for `a`.
            from torch import fx
            graph = fx.Graph()
            a = graph.placeholder("a")
            note
            It is shown.
            print(graph)
            graph():
            %a : [num_users=0] = placeholder[target=a]
            return a
            """)

        assert blocks(page) == [
            Block(
                3,
                'from torch import fx\ngraph = fx.Graph()\na = graph.placeholder("a")\n',
            ),
            Block(8, "print(graph)\n"),
        ]


class TestIndentation:
    @pytest.mark.parametrize(
        "name",
        [
            *("annotated_signature", "condition_on_a_setting", "inputs_in_one_list"),
            *(
                "interpreter_by_hand",
                "leaf_modules",
                "made_while_tracing",
                "own_tracer",
            ),
            *(
                "nodes_and_their_users",
                "pasted_forward",
                "proxies_as_rules",
                "stepping",
            ),
            *("swapped_in_passing", "table_of_nodes", "three_parts", "transforms"),
        ],
    )
    def test_a_program_gets_back_what_was_taken_from_it(self, name: str) -> None:
        program = (PROGRAMS / f"{name}.py").read_text("utf-8")
        lines = [line.strip() for line in program.splitlines()]

        found = list(statements(lines))

        assert flat_brackets(restored(found)) == flat_brackets(program)

    def test_bodies_are_closed_as_people_close_them(self) -> None:
        program = written("""
            class Meter:
                unit = "dB"

                @property
                def level(self):
                    def squared(value):
                        return value * value

                    total = 0
                    for sample in self.samples:
                        if sample is None: continue
                        if sample < 0:
                            sign = -1
                        elif sample:
                            sign = 1
                        else:
                            raise ValueError(
                                sample
                            )

                        # Behind a blank line, but with what the loop binds.
                        total += squared(sample * sign)
                    return total

                def reset(self):
                    try:
                        self.samples.clear()
                    except AttributeError:
                        self.samples = []

            meter = Meter()
            with meter:
                seen = meter.level

                print(seen)

            # Nothing of the block is used here.
            meter.reset()
            """)

        found = list(statements([line.strip() for line in program.splitlines()]))

        assert flat_brackets(restored(found)) == flat_brackets(program)

    def test_prose_ends_the_code(self) -> None:
        lines = ["x = 1", "", "y = x", "", "Now `y` is known (see", "above).", "z = 2"]

        assert restored(list(statements(lines))) == "x = 1\n\ny = x\n"


def flat_brackets(program: str) -> list[str]:
    """The lines of a program; those inside of brackets may be anywhere."""
    lines: list[str] = []
    depth = 0
    for line in program.splitlines():
        lines.append(line.strip() if depth else line)
        depth += sum(line.count(each) for each in "([{")
        depth -= sum(line.count(each) for each in ")]}")
    # One blank line says as much as two.
    return [
        line
        for line, before in zip(lines, ["", *lines], strict=False)
        if line or before
    ]


class TestExecution:
    def test_statements_print_make_and_raise_under_either_engine(
        self, tmp_path: Path
    ) -> None:
        block = Block(
            3,
            written("""
                from torch import fx, nn
                class Gain(nn.Module):
                    def forward(self, x):
                        return x * 6
                gain = torch.fx.symbolic_trace(Gain())
                print(type(gain.graph).__module__); gain.graph
                fx.symbolic_trace(lambda x: 1 if x else 2)
                unknown + 1
                """),
        )

        theirs = outcomes("torch.fx", [block], tmp_path)
        ours = outcomes("fxls.engine", [block], tmp_path)

        graph = (
            "graph():\n    %x : [num_users=1] = placeholder[target=x]\n"
            "    %mul : [num_users=1] = call_function[target=operator.mul]"
            "(args = (%x, 6), kwargs = {})\n    return mul"
        )
        code = (
            "\n\n\n\ndef forward(self, x):\n    mul = x * 6;  x = None\n"
            "    return mul\n    "
        )
        assert [(each.ran, each.printed, each.made) for each in ours] == [
            ("from torch import fx, nn", "", ()),
            ("class Gain(nn.Module):", "", ("type",)),
            (
                "gain = torch.fx.symbolic_trace(Gain())",
                "",
                (f"Gain\n{graph}{code[1:]}",),
            ),
            (
                "print(type(gain.graph).__module__); gain.graph",
                "torch.fx.graph\n",
                (graph,),
            ),
            ("fx.symbolic_trace(lambda x: 1 if x else 2)", "", ()),
            ("unknown + 1", "", ()),
            # It is defined, and traced once more by the tool.
            ("symbolic_trace(Gain())", "", (f"Gain\n{graph}{code[1:]}",)),
        ]
        assert raised(ours)[4:6] == ["ControlFlowError", "NameError"]
        assert raised(theirs)[4:6] == ["TraceError", "NameError"]
        assert compared(theirs, ours, "") == []
        assert [each.ran for each in without_a_name(ours)] == ["unknown + 1"]

    def test_blocks_share_their_names_and_what_they_write(self, tmp_path: Path) -> None:
        first = Block(1, 'traced.to_folder("written", "Written")\n')
        second = Block(5, "from written import Written\nagain = Written()\n")

        for engine in ("torch.fx", "fxls.engine"):
            folder = tmp_path / engine
            folder.mkdir()
            ran = outcomes(engine, [first, second], folder)

            assert raised(ran) == [None, None, None]
            assert [each.made for each in ran] == [(), ("type",), ("Written",)]

    def test_functions_that_take_a_module_are_given_one(self, tmp_path: Path) -> None:
        block = Block(
            1,
            written("""
                def doubled(model: nn.Module) -> nn.Module:
                    graph = fx.Tracer().trace(model)
                    for node in graph.find_nodes(op="call_method"):
                        node.target = "square"
                    return fx.GraphModule(model, graph)
                """),
        )

        ran = outcomes("fxls.engine", [block], tmp_path)

        assert [each.ran for each in ran] == [
            "def doubled(model: nn.Module) -> nn.Module:",
            "doubled(Sample())",
        ]
        assert "neg = relu.square()" in ran[1].made[0]


def raised(found: list[Outcome]) -> list[str | None]:
    return [each.raised and each.raised.kinds[0] for each in found]


class TestComparison:
    def test_a_message_may_go_on_and_a_class_may_be_more_special(self) -> None:
        theirs = outcome(
            raised=ErrorText(("TypeError", "Exception"), "No len. Use size")
        )
        longer = ErrorText(
            ("LengthError", "TypeError", "Exception"), "No len: not known"
        )
        other = ErrorText(("ValueError", "Exception"), "No len. Use size")

        assert compared([theirs], [outcome(raised=longer)], "") == []
        for each in (outcome(raised=other), outcome(), None):
            ours = [] if each is None else [each]
            (difference,) = compared([theirs], ours, "")
            assert (difference.torch_fx, difference.other) == (theirs, each)
            assert not difference.shown

    def test_what_the_document_shows_counts_for_the_engine_that_gives_it(self) -> None:
        page = "print(code)\n```\ndef forward(rows):\n    a = rows\n```\n"
        old = outcome(printed="def forward(rows):\n  a = rows\n")
        new = outcome(printed="def forward(a):\n")

        assert [each.shown for each in compared([new], [old], page)] == [True]
        assert [each.shown for each in compared([old], [new], page)] == [False]


def outcome(printed: str = "", raised: ErrorText | None = None) -> Outcome:
    return Outcome(1, "run()", printed, (), raised)


@pytest.mark.slow
class TestCommand:
    def test_it_says_what_ran_and_ends_well(self, tmp_path: Path) -> None:
        (tmp_path / "mixing.txt").write_text(PAGE)

        ran = run(tmp_path)

        assert ran.stdout == written("""
            mixing.txt: 5 blocks, 8 statements
              line 26 is not run: it is left incomplete: `gain = ...`
              line 31 is not run: it is not Python: invalid syntax
            1 documents, 5 blocks: 3 run under both engines, 2 not run; 0 of 8 statements differ
            """)
        assert ran.returncode == 0

    def test_a_difference_is_shown_and_fails(self, tmp_path: Path) -> None:
        (tmp_path / "name.txt").write_text("::\n\n  print(len(torch.fx.__name__))\n")

        ran = run(tmp_path)

        assert ran.stdout == written("""
            name.txt: 1 blocks, 1 statements
              line 3, `print(len(torch.fx.__name__))` differs:
                torch.fx:
                  8
                fxls.engine:
                  11
            1 documents, 1 blocks: 1 run under both engines, 0 not run; 1 of 1 statements differ
            """)
        assert ran.returncode == 1

    def test_a_folder_without_code_is_no_success(self, tmp_path: Path) -> None:
        ran = run(tmp_path)

        assert ran.stdout.startswith("0 documents, 0 blocks")
        assert ran.returncode == 2


def run(folder: Path) -> Any:
    command = [sys.executable, "-m", "tools.documents", str(folder)]
    root = Path(__file__).parents[2]
    return subprocess.run(command, cwd=root, capture_output=True, text=True)
