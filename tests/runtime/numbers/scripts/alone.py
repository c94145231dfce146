"""Runs scripts in a process in which there is no fxls."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

__all__ = ["RIGHT", "WRONG", "said"]

ALONE = "import runpy, sys; sys.modules['fxls'] = None; runpy.run_path(sys.argv[1])"


def said(text: str, folder: Path) -> tuple[int, str]:
    """What a script ends with, and the word that its last line begins with."""
    script = folder / "script.py"
    script.write_text(text, encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, "-c", ALONE, str(script)],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    lines = ended.stdout.splitlines() or [ended.stderr]
    return ended.returncode, lines[-1].partition(":")[0]


WRONG, RIGHT = (1, "wrong"), (0, "right")
