"""Whatever the user's code does, the worker says what happened, where and what to do."""

from __future__ import annotations

import abc
import sys
from textwrap import dedent
from typing import Any, cast

import pytest

from fxls.repairs import Evaluate, GiveArguments, Rename, Repair, Wrap
from fxls.wire import Failed, Traced
from tests.worker.asking import Asking

NET = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, hidden=3, *, depth=1):
        super().__init__()
        self.linear = nn.Linear(hidden, 4)

    def forward(self, x):
        return torch.relu(self.linear(x)) + 1
"""


def test_a_file_that_raises_when_it_is_imported(worker: Asking) -> None:
    text = """\
        def ratio(a, b):
            return a / b

        HALF = ratio(1, 0)
        """
    assert worker.said(text, "Net()") == dedent("""\
        [import]
        net.py:2:12: error: ZeroDivisionError: division by zero
         2 |     return a / b
           |            ^^^^^
        net.py:4:8: note: called here, in <module>
         4 | HALF = ratio(1, 0)
           |        ^^^^^^^^^^^
        note: the entry is Net()
        """)


def test_a_message_that_is_no_utf_8_is_said_with_escapes(worker: Asking) -> None:
    text = 'Bad = OSError\nraise Bad("\\ud83d")\n'
    assert worker.said(text, "Net()") == dedent("""\
        [import]
        net.py:2:1: error: OSError: \\ud83d
         2 | raise Bad("\\ud83d")
           | ^^^^^^^^^^^^^^^^^^^
        note: the entry is Net()
        """)


def test_columns_count_characters_not_bytes(worker: Asking) -> None:
    assert worker.said('x = ("größe", "\U0001f600", 1 / 0)\n', "Net()") == dedent("""\
        [import]
        net.py:1:20: error: ZeroDivisionError: division by zero
         1 | x = ("größe", "\U0001f600", 1 / 0)
           |                     ^^^^^
        note: the entry is Net()
        """)


def test_a_syntax_error(worker: Asking) -> None:
    assert worker.said("import torch\nx = (1 +\n", "Net()") == dedent("""\
        [syntax]
        net.py:2:5: error: SyntaxError: '(' was never closed
         2 | x = (1 +
           |     ^
        note: the entry is Net()
        """)


def test_a_syntax_error_in_an_imported_file(worker: Asking) -> None:
    worker.file("def f(:\n    pass\n", "layers.py")
    assert worker.said("import layers\n", "Net()") == dedent("""\
        [syntax]
        layers.py:1:7: error: SyntaxError: invalid syntax
         1 | def f(:
           |       ^
        net.py:1:1: note: called here, in <module>
         1 | import layers
           | ^^^^^^^^^^^^^
        note: the entry is Net()
        """)


def test_a_module_that_is_not_installed(worker: Asking) -> None:
    assert worker.said("import timmmm.models\n", "Net()") == dedent(f"""\
        [import]
        net.py:1:1: error: ModuleNotFoundError: No module named 'timmmm'
         1 | import timmmm.models
           | ^^^^^^^^^^^^^^^^^^^^
        note: the entry is Net()
        help: Install `timmmm` into {sys.executable}, or choose the interpreter that \
has it.
        """)


def test_a_file_that_is_not_there(worker: Asking) -> None:
    outcome = worker.run(worker.ask(worker.folder / "net.py", "Net()"))
    assert worker.told(outcome, "Net()") == dedent("""\
        [not-found]
        net.py: error: FOLDER/net.py cannot be read: No such file or directory
        help: Save the file, or correct its path in the entry.
        """)


def test_sys_exit_at_import(worker: Asking) -> None:
    assert worker.said("import sys\nsys.exit('done')\n", "Net()") == dedent("""\
        [exited]
        net.py:2:1: error: the code called sys.exit('done')
         2 | sys.exit('done')
           | ^^^^^^^^^^^^^^^^
        note: the entry is Net()
        help: Put the code that runs the program under `if __name__ == "__main__":`, \
so that the file can be imported.
        """)


def test_os_exit_at_import(worker: Asking) -> None:
    assert worker.said("import os\nos._exit(7)\n", "Net()") == dedent("""\
        [exited]
        net.py: error: the code ended its process with status 7 (os._exit?)
        note: the entry is Net()
        help: fxls has to build the model to trace it: raise an exception there.
        """)


@pytest.mark.parametrize("folder", [".", "a größe 🙂.d", "a\\x41"])
def test_a_crash_in_c(worker: Asking, folder: str) -> None:
    worker.folder /= folder
    text = "import ctypes\n\ndef crash():\n    ctypes.string_at(0)\n\ncrash()\n"
    assert worker.said(text, "Net()") == dedent("""\
        [exited]
        net.py:4:5: error: the code crashed its process (SIGSEGV)
         4 |     ctypes.string_at(0)
           |     ^^^^^^^^^^^^^^^^^^^
        net.py:6:1: note: called here, in <module>
         6 | crash()
           | ^^^^^^^
        note: the entry is Net()
        help: Run the file with `python -X faulthandler` to see the crash in full.
        """)


def test_a_process_that_is_killed(worker: Asking) -> None:
    text = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n"
    assert worker.said(text, "Net()") == dedent("""\
        [exited]
        net.py: error: the process was killed (SIGKILL)
        note: the entry is Net()
        help: The system may have run out of memory: build a smaller model for the \
entry.
        """)


def test_a_process_that_closes_every_file(worker: Asking) -> None:
    text = "import os, time\nos.closerange(0, 1000)\ntime.sleep(60)\n"
    assert worker.said(text, "Net()") == dedent("""\
        [exited]
        net.py: error: the code of net.py closed the files of its process
        note: the entry is Net()
        help: It closed a file descriptor that it had not opened (os.closerange?).
        """)


SHORT = 1.0
"""A time limit that is waited for, and far more than it takes to get to the wait."""

ENDLESS = """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        while True:
            try:
                self.wait()
            except BaseException:
                pass

    def wait(self):
        {wait}
"""


def test_a_constructor_that_never_ends(worker: Asking) -> None:
    text = ENDLESS.format(wait="while True: pass")
    outcome = worker.outcome(text, "Net()", SHORT)
    assert isinstance(outcome, Failed)
    assert outcome.failure.message == "it took longer than the time limit of 1 s"
    assert [(p.function, p.span.start.line + 1) for p in outcome.failure.places] == [
        ("Net.wait", 13),
        ("Net.__init__", 8),
    ]


def test_a_sleep_is_interrupted_at_the_time_limit(worker: Asking) -> None:
    text = ENDLESS.format(wait="import time; time.sleep(1000)")
    assert worker.said(text, "Net()", SHORT) == dedent("""\
        [time]
        net.py:13:22: error: it took longer than the time limit of 1 s
         13 |         import time; time.sleep(1000)
            |                      ^^^^^^^^^^^^^^^^
        net.py:8:17: note: called here, in Net.__init__
         8 |                 self.wait()
           |                 ^^^^^^^^^^^
        note: the entry is Net()
        help: Keep long work out of the import and the constructor, or raise the time \
limit.
        """)


@pytest.mark.slow
def test_code_that_is_stuck_in_c_is_killed(worker: Asking) -> None:
    # A lock that libc holds: no Python runs, so no handler of a signal does.
    text = ENDLESS.format(wait="stop() or self.wait()").replace(
        "import nn",
        "import nn\nimport ctypes, signal; signal.pthread_sigmask(0, [14])\n"
        "stop = ctypes.PyDLL(None).pause",
    )
    assert worker.said(text, "Net()", SHORT) == dedent("""\
        [time]
        net.py:15:9: error: it took longer than the time limit of 1 s
         15 |         stop() or self.wait()
            |         ^^^^^^^^^^^^^^^^^^^^^
        net.py:10:17: note: called here, in __init__
         10 |                 self.wait()
            |                 ^^^^^^^^^^^
        note: the entry is Net()
        help: Keep long work out of the import and the constructor, or raise the time \
limit.
        """)


def test_recursion_without_end_shows_its_ends(worker: Asking) -> None:
    text = "def f(n):\n    return f(n + 1)\n\nf(0)\n"
    outcome = worker.outcome(text, "Net()")
    assert isinstance(outcome, Failed)
    failure = outcome.failure
    assert failure.message == ("RecursionError: maximum recursion depth exceeded")
    assert [place.span.start.line + 1 for place in failure.places] == [2] * 31 + [4]


def test_more_memory_than_the_limit(worker: Asking) -> None:
    text = "hog = []\nwhile True:\n    hog.append(bytearray(1 << 25))\n"
    assert worker.said(text, "Net()") == dedent("""\
        [memory]
        net.py:3:16: error: MemoryError
         3 |     hog.append(bytearray(1 << 25))
           |                ^^^^^^^^^^^^^^^^^^
        note: the entry is Net()
        help: Build a smaller model for the entry.
        """)


def test_a_tensor_larger_than_the_limit(worker: Asking) -> None:
    text = "import torch\nx = torch.ones(1 << 42)\n"
    outcome = worker.outcome(text, "Net()")
    assert isinstance(outcome, Failed)
    assert outcome.failure.reason.value == "memory"
    assert [p.span.start.line + 1 for p in outcome.failure.places] == [2]


def test_an_exception_whose_text_raises(worker: Asking) -> None:
    text = """\
        class Odd(Exception):
            def __str__(self):
                raise ValueError

        raise Odd
        """
    assert worker.said(text, "Net()") == dedent("""\
        [import]
        net.py:5:1: error: net.Odd: <exception str() failed>
         5 | raise Odd
           | ^^^^^^^^^
        note: the entry is Net()
        """)


def test_a_fork_does_not_answer_twice(worker: Asking) -> None:
    outcome = worker.outcome("import os\nos.fork()\n" + NET, "Net()")
    assert isinstance(outcome, Traced)


def test_an_expression_that_is_none(worker: Asking) -> None:
    assert worker.said(NET, "Net(3") == dedent("""\
        [entry]
        net.py: error: `Net(3` is not an expression: '(' was never closed
        note: the entry is Net(3
        help: An entry builds a module and calls it with example inputs: \
`Net(3)(torch.randn(1, 3))`.
        """)


def test_a_comment_that_is_no_expression(worker: Asking) -> None:
    assert worker.said_of_comment("# fxls: Net(3) Net(4)\n" + NET) == dedent("""\
        [entry]
        net.py:1:16: error: `Net(3) Net(4)` is not an expression: invalid syntax
         1 | # fxls: Net(3) Net(4)
           |                ^^^
        help: An entry builds a module and calls it with example inputs: \
`Net(3)(torch.randn(1, 3))`.
        """)


def test_a_name_that_is_not_there(worker: Asking) -> None:
    assert worker.said_of_comment("# é fxls: (1, Nett(3))\n" + NET) == dedent("""\
        [entry]
        net.py:1:15: error: NameError: name 'Nett' is not defined
         1 | # é fxls: (1, Nett(3))
           |               ^^^^
        help: Did you mean `Net`?
        """)


@pytest.mark.parametrize(
    ("name", "help_"),
    [("hiden", "help: Did you mean `hidden`?\n"), ("quux", "")],
)
def test_a_name_that_a_constructor_does_not_have(
    worker: Asking, name: str, help_: str
) -> None:
    text = NET.replace("nn.Linear(hidden, 4)", f"nn.Linear({name}, 4)")
    code = f"self.linear = nn.Linear({name}, 4)"

    assert worker.said(text, "Net(3)") == (
        "[entry]\n"
        f"net.py:7:33: error: NameError: name '{name}' is not defined\n"
        f" 7 |         {code}\n"
        f"   |                                 {'^' * len(name)}\n"
        f"note: the entry is Net(3)\n{help_}"
    )


def test_a_model_that_needs_arguments(worker: Asking) -> None:
    text = NET.replace("hidden=3", "hidden").replace("depth=1", "depth")
    assert worker.said(text, "Net(depth=1)") == dedent("""\
        [entry]
        net.py: error: TypeError: Net.__init__() missing 1 required positional \
argument: 'hidden'
        note: the entry is Net(depth=1)
        help: Write an entry comment that gives them: \
`# fxls: Net(hidden=..., depth=...)(torch.randn(...))`.
        """)


REPAIRED = (
    NET
    + """
class Counting(nn.Module):
    def forward(self, x):
        return x / len(x)

class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.BatchNorm1d(width)

    def forward(self, x):
        return self.norm(x)
"""
)


@pytest.mark.parametrize(
    ("expression", "repair"),
    [
        ("Counting()", Wrap("len")),
        ("Norm()", GiveArguments("Norm")),
        ("Norm(3)(torch.ones(1, 3))", Evaluate()),
        ("Nrom(3)", Rename("Nrom", "Norm")),
    ],
)
def test_what_an_editor_can_repair_is_said_as_a_value(
    worker: Asking, expression: str, repair: Repair
) -> None:
    outcome = worker.outcome(REPAIRED, expression)

    failure = outcome.failure if isinstance(outcome, Failed) else outcome.trouble
    assert failure is not None
    assert failure.repairs == (repair,)


@pytest.mark.parametrize("expression", ["quux(3)", "Norm(-1)(torch.ones(1, 3))"])
def test_what_no_editor_can_repair_has_no_repair(
    worker: Asking, expression: str
) -> None:
    outcome = worker.outcome(REPAIRED, expression)

    assert isinstance(outcome, Failed)
    assert outcome.failure.repairs == ()


def test_a_comment_whose_constructor_raises(worker: Asking) -> None:
    assert worker.said_of_comment("# fxls: Net(-1)(torch.ones(1))\n" + NET) == dedent(
        """\
        [entry]
        net.py:8:23: error: RuntimeError: Trying to create tensor with negative \
dimension -1: [4, -1]
         8 |         self.linear = nn.Linear(hidden, 4)
           |                       ^^^^^^^^^^^^^^^^^^^^
        net.py:1:9: note: called here, in <module>
         1 | # fxls: Net(-1)(torch.ones(1))
           |         ^^^^^^^
        """
    )


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("[Net()]", "list"),
        ("torch.ones(2)", "Tensor"),
        ("len", "builtin_function_or_method"),
    ],
)
def test_something_that_is_no_module(
    worker: Asking, expression: str, kind: str
) -> None:
    assert worker.said(NET, expression) == dedent(f"""\
        [not-a-module]
        net.py: error: `{expression}` is a {kind}, not a torch.nn.Module
        note: the entry is {expression}
        help: Write an expression that builds a module, then call it with example \
inputs: `Net()(torch.randn(1, 3))`.
        """)


def test_an_abstract_class(worker: Asking) -> None:
    text = NET.replace("import torch\n", "import abc, torch\n", 1)
    text = text.replace("(nn.Module)", "(nn.Module, abc.ABC)")
    text += "    @abc.abstractmethod\n    def decode(self): ...\n"

    class Net(abc.ABC):
        @abc.abstractmethod
        def decode(self) -> None: ...

    with pytest.raises(TypeError) as words:
        cast("Any", Net)()
    assert worker.said(text, "Net()") == dedent(f"""\
        [entry]
        net.py: error: TypeError: {words.value}
        note: the entry is Net()
        help: Write the entry for a class below it, which has those methods.
        """)
