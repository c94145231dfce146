"""Several writers at once, and writers that are killed."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fxls.listing import Identity
from fxls.store import Store
from tests.store.made import NET, Listening, made, names_below

TEXTS = 40


def start(program: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> str:
    out, _ = process.communicate()
    assert process.returncode == 0
    return out


WRITER = """
import sys
from pathlib import Path
from fxls.store import Store
from tests.store.made import made
store = Store(Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
for at in range(int(sys.argv[2])):
    listing = made(f"relu{at}")
    assert store.read(store.materialize(listing)) == listing
"""


def test_two_processes_may_write_the_same_listings_at_once(tmp_path: Path) -> None:
    root = tmp_path / ".fxls"
    writers = [start(WRITER, str(root), str(TEXTS)) for _ in range(2)]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()

    assert [finish(writer) for writer in writers] == ["", ""]
    it = Listening(root)
    expected = [made(f"relu{at}") for at in range(TEXTS)]
    paths = [it.store.path_of("Net", listing.text) for listing in expected]
    assert [it.store.read(path) for path in paths] == expected
    assert it.reports == []
    assert {one.path for one in it.store.revisions(NET)} == set(paths)
    assert sorted(path.name for path in root.iterdir() if path.is_file()) == sorted(
        [".gitignore", *(path.name for path in paths)]
    )
    assert names_below(root / "tmp") == []


def test_threads_may_share_a_store(tmp_path: Path) -> None:
    it = Listening(tmp_path / ".fxls")

    def write(rank: int) -> Sequence[str]:
        said: list[str] = []
        for at in range(10):
            identity = Identity("net", "Net", rank=rank)
            listing = made(f"relu{at}", identity=identity)
            path = it.store.materialize(listing)
            said.append(it.store.read(path).text)
        return said

    with ThreadPoolExecutor(4) as threads:
        texts = list(threads.map(write, range(4)))

    assert texts == [[made(f"relu{at}").text for at in range(10)]] * 4
    assert it.reports == []
    assert it.store.identities() == tuple(
        Identity("net", "Net", rank=rank) for rank in range(4)
    )


def die_before(step: int, root: Path) -> None:
    """Kill this process before it touches the folder for the nth time."""
    steps = itertools.count()

    def count(event: str, arguments: tuple[object, ...]) -> None:
        touches = event in ("open", "os.mkdir", "os.rename", "os.utime", "os.scandir")
        if touches and str(arguments[0]).startswith(str(root)) and next(steps) == step:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)


def test_a_writer_may_be_killed_before_any_of_its_steps(tmp_path: Path) -> None:
    wanted = (made("relu"), made("tanh"))
    whole = Store(tmp_path / "whole" / ".fxls")
    paths = [whole.materialize(listing).name for listing in wanted]
    step, status = 0, -1
    while status != 0:
        root = tmp_path / str(step) / ".fxls"
        child = os.fork()
        if child == 0:
            die_before(step, root)
            for listing in wanted:
                Store(root).materialize(listing)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        assert status == 0 or os.WTERMSIG(status) == signal.SIGKILL

        it = Listening(root)
        there = [path for path in paths if (root / path).exists()]
        assert there == paths[: len(there)]
        assert [it.store.read(root / path) for path in there] == list(
            wanted[: len(there)]
        )
        known = [one.path.name for one in it.store.revisions(NET)]
        assert known == there[: len(known)]

        for listing in wanted:
            it.store.materialize(listing)
        assert kept_in(root) == kept_in(whole.root)
        newest = it.store.newest(NET)
        assert newest is not None
        assert it.store.read_revision(newest) == wanted[-1]
        assert it.reports == []
        step += 1
    assert step > 30, "the steps were counted"


def kept_in(root: Path) -> list[str]:
    """Every file of a store but the temporary ones."""
    return [name for name in names_below(root) if not name.startswith("tmp/")]


ENDLESS = """
import itertools, sys
from pathlib import Path
from fxls.store import Store
from tests.store.made import made
store = Store(Path(sys.argv[1]))
for at in itertools.count(int(sys.argv[2])):
    # Long, so that a kill often lands in the middle of a write.
    print(store.materialize(made(f"r{at}_" + "x" * 500_000)), flush=True)
"""


def test_a_store_survives_writers_that_are_killed(tmp_path: Path) -> None:
    root = tmp_path / ".fxls"
    promised: list[Path] = []
    for at in range(6):
        writer = start(ENDLESS, str(root), str(1000 * at))
        assert writer.stdout is not None
        for _ in range(1 + at):
            promised.append(Path(writer.stdout.readline().strip()))
        while not names_below(root / "tmp"):
            assert writer.poll() is None
        writer.kill()
        promised += [Path(line) for line in writer.stdout.read().splitlines()]
        writer.wait()
        writer.stdout.close()
        assert writer.stdin is not None
        writer.stdin.close()

        it = Listening(root)
        texts = {path for path in root.iterdir() if path.suffix == ".py"}
        revisions = it.store.revisions(NET)
        assert set(promised) <= {one.path for one in revisions} <= texts
        assert {it.store.read(path).text for path in texts} == {
            path.read_text() for path in texts
        }
        assert [it.store.read_revision(one).identity for one in revisions] == (
            [NET] * len(revisions)
        )
        assert it.reports == []


def test_a_forked_child_writes_like_any_other(tmp_path: Path) -> None:
    it = Listening(tmp_path / ".fxls")
    path = it.store.materialize(made("relu"))
    assert it.store.newest(NET) is not None
    child = os.fork()
    if child == 0:
        it.store.materialize(made("tanh"))
        os._exit(0)
    assert os.waitpid(child, 0) == (child, 0)

    tanh = it.store.path_of("Net", made("tanh").text)
    assert [(one.path, one.pid) for one in it.store.revisions(NET)] == [
        (path, os.getpid()),
        (tanh, child),
    ]
    assert it.store.read(tanh) == made("tanh")
