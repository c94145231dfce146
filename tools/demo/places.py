"""The files that the demo is about, and how it names them."""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = ["COMPILED", "EXAMPLES", "GPT", "PROGRAM", "RESNET", "ROOT", "STORE", "short"]

ROOT = Path(__file__).resolve().parent.parent.parent
STORE = ROOT / ".fxls"
EXAMPLES = ROOT / "examples"
RESNET = EXAMPLES / "resnet.py"
GPT = EXAMPLES / "gpt.py"
PROGRAM = EXAMPLES / "run_gpt.py"
COMPILED = EXAMPLES / "compile_gpt.py"


def short(path: Path | str) -> str:
    """A path as a person would say it: from the project, or from site-packages."""
    path = Path(path)
    for folder in sorted(map(Path, sys.path), key=lambda p: -len(p.parts)):
        if folder.name == "site-packages" and path.is_relative_to(folder):
            return str(path.relative_to(folder))
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
