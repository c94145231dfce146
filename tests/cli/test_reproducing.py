"""Which script is written of several, and what its first lines say of it."""

from __future__ import annotations

import os
import runpy
from pathlib import Path

import pytest

from fxls.cli.reproducing import reproduce
from fxls.verdicts.comparison import Reproducer


def script(text: str, *, compiles: bool = True) -> Reproducer:
    how = "What it compiles is compared with the same function in eager mode."
    made = (1, compiles, "drawn from a seed", "2.13")
    return Reproducer("Relu is wrong.", text, *made, how)


RIGHT = script("print('right: off by 0')\n")
WRONG = script("import sys\nprint('wrong: off by 3')\nsys.exit(1)\n")
RAISES = script("raise ValueError('too bad')\n")
OTHER = script("import os, sys\nsys.exit('FXLS_RECORD' in os.environ)\n")


def head(path: Path) -> str:
    """What the first lines say, in one."""
    return " ".join(path.read_text("utf-8").split('"""')[1].split())


def test_the_first_script_that_fails_as_it_should_is_written(tmp_path: Path) -> None:
    path = tmp_path / "shown.py"

    done = reproduce([RIGHT, RAISES, WRONG, RIGHT], path, [], os.environ)

    assert (done.script, done.is_confirmed, done.said) == (
        WRONG,
        True,
        "wrong: off by 3",
    )
    assert done.compilations == 3
    assert head(path) == (
        "Relu is wrong. It needs torch alone; `fxls compare` wrote it under torch 2.13. "
        "Its inputs are drawn from a seed. What it compiles is compared with the same "
        "function in eager mode. It was run in a process of its own, and said there: "
        "wrong: off by 3"
    )
    with pytest.raises(SystemExit):
        runpy.run_path(str(path))


@pytest.mark.parametrize(
    ("last", "said"),
    [(RIGHT, "right: off by 0"), (RAISES, "it ended with 1: ValueError: too bad")],
)
def test_a_script_that_does_not_fail_as_it_should_says_so(
    last: Reproducer, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "shown.py"

    done = reproduce([RIGHT, last], path, [], os.environ)

    assert (done.script, done.is_confirmed, done.said) == (last, False, said)
    assert (
        "NOT CONFIRMED: it was run in a process of its own, and said there: "
        f"{said}. So the fault needs more than torch and these inputs"
    ) in head(path)


def test_nothing_of_fxls_is_on_where_a_script_is_run(
    tmp_path: Path,
) -> None:
    environ = {**os.environ, "FXLS_RECORD": "1"}

    done = reproduce([OTHER], tmp_path / "shown.py", [], environ)

    assert done.said == "it ended with 0: "


def test_a_file_that_is_there_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text("mine", encoding="utf-8")

    with pytest.raises(FileExistsError):
        reproduce([WRONG], path, [], os.environ)

    assert path.read_text("utf-8") == "mine"
