"""A program that is killed leaves a store that is whole, whatever was still to be written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from fxls.store import Damaged, Store

PROGRAM = """\
    import itertools, operator, os, signal, sys
    import torch
    import fxls

    fx = torch.fx

    def made(number):
        graph = fx.Graph()
        x = graph.placeholder("x")
        for _ in range(40):
            x = graph.call_function(operator.add, (x, number))
        graph.output(x)
        return fx.GraphModule({}, graph, f"Adding{number % 3}")

    fxls.install(sys.argv[1])
    made(0)
    for kill in range(int(sys.argv[2])):
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            for number in itertools.count(1000 * kill):
                module = made(number)
                assert module(1) == 1 + 40 * number
                if number % 5 == 4:
                    fxls.runtime.finish()
                os.write(writing, b".")
        # Some after the first text, some while facts are written, some far behind.
        for _ in range(1 + 3 * kill % 40):
            os.read(reading, 1)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(reading), os.close(writing)
    """

REMADE = """\

    for number in sys.argv[2:]:
        made(int(number))
    """

KILLS = 30


@pytest.mark.slow
def test_texts_are_whole_and_listings_have_their_facts(tmp_path: Path) -> None:
    root = tmp_path / ".fxls"
    run(PROGRAM, str(root), str(KILLS))
    store = Store(root, report=lambda trouble: pytest.fail(str(trouble)))
    texts = sorted(root.glob("*.py"))
    assert len(texts) > KILLS
    revisions = [r for i in store.identities() for r in store.revisions(i)]
    for revision in revisions:
        listing = store.read_revision(revision)
        assert len(listing.nodes) == 42
        assert listing.text == revision.path.read_text("utf-8")
    known = {revision.path for revision in revisions}
    waiting = [path for path in texts if path not in known]
    assert known
    # Some kills may come between the facts and the note that they are there.
    assert not all(has_facts(path, store) for path in waiting), "no kill came early"

    # The next run that makes such a graph writes what the kill kept from being written.
    run(
        PROGRAM.replace("range(int(sys.argv[2]))", "()") + REMADE,
        str(root),
        *(str(number_in(path)) for path in waiting),
    )
    assert all(has_facts(path, store) for path in waiting)
    assert {r.path for i in store.identities() for r in store.revisions(i)} == {*texts}


def has_facts(path: Path, store: Store) -> bool:
    """Whether a listing can be read; it is whole if so, and else lacks all its facts."""
    try:
        listing = store.read(path)
    except Damaged as damaged:
        if "its facts are missing" not in str(damaged):
            raise
        return False
    assert len(listing.nodes) == 42
    return True


def number_in(path: Path) -> int:
    """Which of its graphs the program wrote there."""
    return int(path.read_text("utf-8").partition("add = x + ")[2].partition(";")[0])


def run(program: str, *arguments: str) -> None:
    subprocess.run([sys.executable, "-c", dedent(program), *arguments], check=True)
