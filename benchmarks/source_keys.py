"""What is asked of a long source after a key, beside parsing that source once.

Both sides take turns in one process. Whatever reads the whole text again, and not the
piece with the key, makes the ratio fall below two.
"""

from __future__ import annotations

import ast
import itertools
import statistics
import time

from benchmarks.server_answers import LONG_SOURCE
from fxls.ide.completion import doubts
from fxls.ide.entries.entries import entries
from fxls.ide.source.runs import definitions_of
from fxls.ide.syntax.module_classes import modules

__all__ = ["LEAST", "ratio"]

LEAST = 5.0
"""The least ratio; it is about 20 on a machine that does nothing else."""


def ratio(pairs: int) -> float:
    """How many times as long as a key it takes to parse the text."""
    before, after = LONG_SOURCE.split("return", 1)
    texts = (f"{before}{number};return{after}" for number in itertools.count())
    _ask(next(texts))
    found: list[float] = []
    for text in itertools.islice(texts, pairs):
        began = time.process_time()
        _ask(text)
        between = time.process_time()
        ast.parse(text)
        found.append((time.process_time() - between) / (between - began))
    return statistics.median(found)


def _ask(text: str) -> None:
    """What lenses, hints and the look at the comments need of it."""
    entries(text, "/long.py")
    modules(text)
    definitions_of(text)
    doubts(text, "/long.py")
