"""What is asked and sent after a key in a long source, beside parsing that once.

Both sides take turns in one process. Whatever reads the whole text again, and not the
piece with the key, makes the ratio fall below two.
"""

from __future__ import annotations

import ast
import itertools
import statistics
import time

import msgspec

from benchmarks.server_answers import LONG_SOURCE
from fxls.ide.code_lenses import source_lenses
from fxls.ide.completion import doubts
from fxls.ide.entries.entries import entries
from fxls.ide.source.runs import definitions_of
from fxls.ide.source.source_file import SourceFile
from fxls.lsp.abilities import Abilities
from fxls.lsp.client import Client
from fxls.lsp.code_lenses import lens_items
from fxls.text import line_table

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
    """The lenses as they are sent, and what hints and a look at the comments need."""
    path = "/long.py"
    source = SourceFile(path, line_table(text), ())
    lenses = source_lenses(source, entries(text, path))
    msgspec.json.encode(lens_items(_CLIENT, lenses, source.lines, lambda _: None))
    definitions_of(text)
    doubts(text, path)


_CLIENT = Client(Abilities(shows_documents=True, applies_edits=True))
