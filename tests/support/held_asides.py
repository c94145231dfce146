"""A server whose long answers wait until a test lets them go.

How long an answer takes depends on the machine, so a test that asks what is answered
meanwhile cannot rely on it.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.support.lsp_client import SERVE, LspClient, started

__all__ = ["started_with_held_asides"]

_HELD = """\
import os, time
from fxls.serving.asides import Asides

run = Asides.run

def held(asides, function, *args, **kwargs):
    def later():
        while not os.path.exists({gate!r}):
            time.sleep(0.01)
        return function(*args, **kwargs)
    return run(asides, later)

Asides.run = held
"""


@contextmanager
def started_with_held_asides(gate: Path) -> Generator[LspClient]:
    """A server that computes nothing aside before there is a file of this name."""
    with started(_HELD.format(gate=str(gate)) + SERVE) as client:
        yield client
