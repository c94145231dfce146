"""A store is kept small by age and by size, and what is in use stays."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from fxls.listing import Identity
from fxls.store import Pruned, Store, prune, prune_seldom
from tests.store.made import NET, made, names_below

DAY = 86400


def aged(store: Store, body: str, days: float) -> Path:
    """A listing that was wanted so many days ago for the last time."""
    path = store.materialize(made(body))
    stamp = time.time() - days * DAY
    facts = store.root / "facts" / path.stem
    for file in (path, *facts.iterdir(), facts):
        os.utime(file, (stamp, stamp))
    return path


def size_of(store: Store, path: Path) -> int:
    folder = store.root / "facts" / path.stem
    return sum(file.stat().st_size for file in (path, *folder.iterdir()))


def test_what_is_too_old_goes(tmp_path: Path) -> None:
    store = Store(tmp_path / ".fxls")
    old, recent = aged(store, "relu", 31), aged(store, "tanh", 29)
    freed, left = size_of(store, old), size_of(store, recent)
    assert prune(store.root) == Pruned((old.name,), freed, left)
    assert [one.path for one in store.revisions(NET)] == [recent]
    assert sorted(path.name for path in (store.root / "facts").iterdir()) == [
        recent.stem
    ]
    assert prune(store.root) == Pruned((), 0, left)


def test_what_is_too_much_goes_oldest_first_and_nothing_of_today(
    tmp_path: Path,
) -> None:
    store = Store(tmp_path / ".fxls")
    ages = {"relu": 3, "tanh": 2, "gelu": 0.5}
    relu, tanh, gelu = (aged(store, body, days) for body, days in ages.items())
    sizes = [size_of(store, path) for path in (relu, tanh, gelu)]
    bound = (sizes[1] + sizes[2]) / 1e6
    assert prune(store.root, megabytes=bound) == Pruned(
        (relu.name,), sizes[0], sizes[1] + sizes[2]
    )
    assert prune(store.root, megabytes=0) == Pruned((tanh.name,), sizes[1], sizes[2])
    assert store.read(gelu) == made("gelu")


def test_what_was_wanted_again_is_young(tmp_path: Path) -> None:
    store = Store(tmp_path / ".fxls")
    path = aged(store, "relu", 40)
    assert store.materialize(made("relu")) == path
    assert prune(store.root).deleted == ()


def test_what_was_deleted_can_be_written_again(tmp_path: Path) -> None:
    store = Store(tmp_path / ".fxls")
    path = aged(store, "relu", 40)
    prune(store.root)
    assert not path.exists()
    assert store.materialize(made("relu")) == path
    assert store.read(path) == made("relu")


def by_another_process(store: Store, *bodies: str) -> None:
    """Let the logs say that a process wrote these, which has ended since."""
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pid = ended.pid
    for log in (store.root / "log").iterdir():
        lines = log.read_bytes().splitlines(keepends=True)
        wrote = [
            line.replace(b'"pid":%d' % os.getpid(), b'"pid":%d' % pid) for line in lines
        ]
        names = [store.path_of("Net", made(body).text).name.encode() for body in bodies]
        log.write_bytes(
            b"".join(
                new if any(name in new for name in names) else old
                for new, old in zip(wrote, lines, strict=True)
            )
        )


def test_of_today_goes_what_nobody_needs(tmp_path: Path) -> None:
    store = Store(tmp_path / ".fxls")
    names = ("relu", "tanh", "gelu", "silu", "celu")
    paths = {name: store.materialize(made(name)) for name in names}
    of_entry = store.materialize(made("selu", entry="Net()"))
    facts_to_come = store.write_text("Net", "def forward(self): ...\n")
    store.look(paths["tanh"])
    # The newest, that of another entry, one looked at, one in use, one without facts.
    pruned = prune(store.root, megabytes=1e-6, in_use=[paths["gelu"]])
    assert pruned.deleted == (paths["relu"].name, paths["silu"].name)
    left = {path.name for path in store.root.glob("*.py")}
    kept = (paths["tanh"], paths["gelu"], paths["celu"], of_entry, facts_to_come)
    assert left == {path.name for path in kept}


def test_what_another_process_wrote_stays_for_as_long_as_it_runs(
    tmp_path: Path,
) -> None:
    store = Store(tmp_path / ".fxls")
    first, second = (store.materialize(made(name)) for name in ("relu", "tanh"))
    store.materialize(made("gelu"))
    by_another_process(store, "relu")
    script = "import sys, fxls.store, pathlib; print(*fxls.store.prune(pathlib.Path(sys.argv[1]), megabytes=1e-6).deleted)"
    ran = subprocess.run(
        [sys.executable, "-c", script, str(store.root)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.split() == [first.name]
    assert second.exists()


def test_what_nobody_needs_goes_before_what_is_old(tmp_path: Path) -> None:
    store = Store(tmp_path / ".fxls")
    other = Identity("net", "Other")
    newest = store.materialize(made("relu", identity=other))
    facts = store.root / "facts" / newest.stem
    at = time.time() - 2 * DAY
    for file in (newest, *facts.iterdir(), facts):
        os.utime(file, (at, at))
    superseded = store.materialize(made("tanh"))
    last = store.materialize(made("gelu"))
    sizes = [size_of(store, path) for path in (newest, superseded, last)]
    assert prune(store.root, megabytes=(sizes[0] + sizes[2]) / 1e6).deleted == (
        superseded.name,
    )
    assert prune(store.root, megabytes=sizes[2] / 1e6).deleted == (newest.name,)


def test_all_goes_but_what_runs(tmp_path: Path) -> None:
    store = Store(tmp_path / ".fxls")
    paths = [store.materialize(made(name)) for name in ("relu", "tanh", "gelu")]
    store.look(paths[0])
    sizes = [size_of(store, path) for path in paths]
    expected = Pruned((paths[0].name, paths[2].name), sizes[0] + sizes[2], sizes[1])
    names = names_below(store.root)
    for is_rehearsal in (True, False):
        pruned = prune(
            store.root, in_use=[paths[1]], is_all=True, is_rehearsal=is_rehearsal
        )
        assert (sorted(pruned.deleted), pruned.freed, pruned.left) == (
            sorted(expected.deleted),
            *(expected.freed, expected.left),
        )
        assert (names_below(store.root) == names) == is_rehearsal
    prune(store.root, is_all=True)
    assert [name for name in names_below(store.root) if "tmp" not in name] == [
        ".gitignore"
    ]


def test_a_look_touches_nothing_behind_a_link(tmp_path: Path) -> None:
    store = Store(tmp_path / ".fxls")
    path = store.materialize(made("relu"))
    facts, outside = store.root / "facts", tmp_path / "outside"
    facts.rename(outside)
    facts.symlink_to(outside)
    os.utime(outside / path.stem, (1, 1))
    store.look(path)
    assert (outside / path.stem).stat().st_mtime == 1


def test_files_that_are_not_the_stores_stay(tmp_path: Path) -> None:
    store = Store(tmp_path / ".fxls")
    aged(store, "relu", 40)
    torn = store.root / "tmp" / "1-0123456789abcdef"
    notes = store.root / "notes.py"
    thesis = store.root / "tmp" / "thesis.tex"
    for file in (torn, notes, thesis):
        file.touch()
        os.utime(file, (0, 0))
    prune(store.root)
    assert notes.exists()
    assert thesis.exists()
    assert not torn.exists()


def test_a_log_goes_when_it_is_old_and_nothing_is_left_of_it(tmp_path: Path) -> None:
    store = Store(tmp_path / ".fxls")
    kept = Identity("net", "Kept")
    recent = Identity("net", "Recent")
    aged(store, "relu", 40)
    store.materialize(made("tanh", identity=kept))
    gone = store.materialize(made("gelu", identity=recent))
    old = time.time() - 40 * DAY
    for log in (store.root / "log").iterdir():
        if "Recent" not in log.name:
            os.utime(log, (old, old))
    gone.unlink()
    prune(store.root)
    names = [path.name.partition("-")[0] for path in (store.root / "log").iterdir()]
    assert sorted(names) == ["net.Kept", "net.Recent"]


def test_without_being_asked_it_is_done_once_a_day(tmp_path: Path) -> None:
    store = Store(tmp_path / ".fxls")
    first = aged(store, "relu", 40)
    pruned = prune_seldom(store.root)
    assert pruned is not None
    assert pruned.deleted == (first.name,)
    second = aged(store, "tanh", 40)
    assert prune_seldom(store.root) is None
    stamp = store.root / "tmp" / "pruned"
    for days in (-1, 1):  # the clock was set back since, or a day went by
        at = time.time() - days * DAY
        os.utime(stamp, (at, at))
        pruned = prune_seldom(store.root)
        assert pruned is not None
        assert pruned.deleted == (second.name,)
        assert prune_seldom(store.root) is None
        second = aged(store, "tanh", 40)


def test_there_may_be_no_store(tmp_path: Path) -> None:
    assert prune(tmp_path / "none") == Pruned((), 0, 0)
    assert prune_seldom(tmp_path / "none") is None
    assert list(tmp_path.iterdir()) == []
