"""Runs the scripts that may show a fault, and writes the first of them that does."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fxls.verdicts.comparison import Reproducer

__all__ = ["Reproduced", "reproduce"]

_SECONDS = 600.0
"""So long a script may take: it imports torch, and compiles a few nodes."""


@dataclass(frozen=True, slots=True)
class Reproduced:
    """What came of the scripts."""

    path: Path
    script: Reproducer
    is_confirmed: bool
    """Whether it failed, in a process of its own, as it should."""
    said: str
    """What it printed last; why nothing is known, where it printed something else."""
    compilations: int
    """How many scripts were run that compile."""


def reproduce(
    scripts: Sequence[Reproducer],
    path: Path,
    flags: Sequence[str],
    environ: Mapping[str, str],
) -> Reproduced:
    """Run one script after the other until one fails as it should, and write that one.

    The last is written where none does, and says so. Raises OSError where the file is
    there already, or cannot be written.
    """
    compilations = 0
    said = ""
    chosen, is_confirmed = scripts[-1], False
    with tempfile.TemporaryDirectory(prefix="fxls-reproduce-") as folder:
        for one in scripts:
            compilations += one.compiles
            said = _run(one, Path(folder), flags, _without_ours(environ))
            if said.startswith("wrong: "):
                chosen, is_confirmed = one, True
                break
    done = Reproduced(path, chosen, is_confirmed, said, compilations)
    with path.open("x", encoding="utf-8") as file:
        file.write(_text(done))
    return done


def _run(
    script: Reproducer, folder: Path, flags: Sequence[str], environ: Mapping[str, str]
) -> str:
    """What a script says: a line that begins with ``wrong: `` or ``right: ``, or else."""
    file = folder / "reproducer.py"
    file.write_text(script.text, encoding="utf-8")
    try:
        ended = subprocess.run(
            [sys.executable, *flags, file.name],
            cwd=folder,
            env=environ,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"it took more than {_SECONDS:.0f} seconds"
    lines = ended.stdout.strip().splitlines()
    last = lines[-1] if lines else ""
    if (ended.returncode, last[:7]) in ((1, "wrong: "), (0, "right: ")):
        return last
    errors = ended.stderr.strip().splitlines()
    return f"it ended with {ended.returncode}: {errors[-1][:200] if errors else last}"


def _without_ours(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of a process in which fxls does nothing."""
    return {
        name: value for name, value in environ.items() if not name.startswith("FXLS_")
    }


def _text(done: Reproduced) -> str:
    script = done.script
    made = f"`fxls compare` wrote it under torch {script.torch}"
    inputs = f"Its inputs are {script.inputs}."
    if done.is_confirmed:
        sure = f"It was run in a process of its own, and said there: {done.said}"
        inputs += f" {script.shows}"
    else:
        sure = (
            "NOT CONFIRMED: it was run in a process of its own, and said there: "
            f"{done.said}. So the fault needs more than torch and these inputs, perhaps"
            " what the program changes in torch."
        )
    said = (f"{script.claim}", f"It needs torch alone; {made}. {inputs}", sure)
    paragraphs = [textwrap.fill(one, 88, break_long_words=False) for one in said]
    head = "\n\n".join(paragraphs).replace("\\", "\\\\").replace('"""', "'''")
    return f'"""{head}\n"""\n\n{script.text}'
