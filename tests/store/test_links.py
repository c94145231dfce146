"""Nothing outside of a store is written or deleted, whatever lies where a file belongs."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fxls.store import Store, StoreError, Unreadable, Unwritable, prune
from fxls.store.show_requests import NAME as SHOWN
from fxls.store.show_requests import ask_to_show
from tests.store.made import NET, Listening, made

OLD = time.time() - 40 * 86400


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A store with a listing that is not used any more, in which all files are old."""
    store = Store(tmp_path / "project" / ".fxls")
    store.materialize(made("tanh"))
    store.write_table(store.path_of("Net", made("tanh").text), "table")
    return store.root


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A folder of somebody's, with files that a store could have."""
    folder = tmp_path / "victim"
    shutil.copytree(tmp_path / "project", folder, dirs_exist_ok=True)
    folder = folder / ".fxls"
    for name in ("thesis.tex", "1-0123456789abcdef", "pruned"):
        (folder / name).write_text("mine")
    return folder


def aged(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        if not path.is_symlink():
            os.utime(path, (OLD, OLD))


def seen(folder: Path) -> dict[str, tuple[bytes, int]]:
    """All that lies below a folder, with its date."""
    return {
        str(path.relative_to(folder)): (
            path.read_bytes() if path.is_file() else b"",
            path.lstat().st_mtime_ns,
        )
        for path in sorted(folder.rglob("*"))
    }


def everything(root: Path) -> list[str]:
    """Do all that writes to a store, or deletes in it; returns what is refused."""
    text = made("relu").text
    path = Store(root).path_of("Net", text)
    refused: list[str] = []
    acts: list[Callable[[], object]] = [
        lambda: prune(root),
        lambda: Store(root).materialize(made("relu")),
        lambda: Store(root).materialize(made("tanh")),
        lambda: Store(root).write_text("Net", "another text\n"),
        lambda: Store(root).write_table(path, "table"),
        lambda: ask_to_show(path, 1),
        lambda: Store(root).delete(Store(root).path_of("Net", made("tanh").text)),
        lambda: Store(root).forget(NET),
    ]
    for act in acts:
        try:
            act()
        except (Unwritable, Unreadable) as error:
            refused.append(str(error))
    return refused


FOLDERS = ["tmp", "facts", "log", "tables", "facts/Net_*"]


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_that_is_a_link_is_not_followed(
    root: Path, victim: Path, name: str
) -> None:
    (folder,) = root.glob(name)
    shutil.rmtree(folder)
    folder.symlink_to(victim if name == "tmp" else victim / folder.relative_to(root))
    aged(victim.parent)
    before = seen(victim)
    refused = everything(root)

    assert seen(victim) == before
    elsewhere = (
        "Put a file or folder in its place or choose another folder with FXLS_STORE"
    )
    link = "it is a symbolic link, and could lead anywhere"
    assert {one.partition(": ")[2] for one in refused} <= {
        f"cannot be written: {link}. {elsewhere}.",
        "is not read: a symbolic link leads out of it. Delete it, if it is not yours.",
    }
    assert len(refused) > 1


def test_a_store_that_is_a_link_is_not_written(root: Path, victim: Path) -> None:
    shutil.rmtree(root)
    root.symlink_to(victim)
    aged(victim.parent)
    before = seen(victim)
    refused = everything(root)

    assert seen(victim) == before
    assert len(refused) == 7
    assert {one.partition(":")[0] for one in refused} == {str(root)}


def test_a_store_that_is_a_dangling_link_makes_nothing(tmp_path: Path) -> None:
    root = tmp_path / ".fxls"
    root.symlink_to(tmp_path / "made")
    everything(root)

    assert [path.name for path in tmp_path.iterdir()] == [".fxls"]


def files_of(root: Path) -> list[Path]:
    """One file of each kind, which a link can stand for."""
    store = Store(root)
    text = store.path_of("Net", made("tanh").text)
    return [
        text,
        next((root / "facts" / text.stem).iterdir()),
        next((root / "log").iterdir()),
        root / "tables" / f"{text.stem}.txt",
        root / SHOWN,
        root / ".gitignore",
        root / "tmp" / "pruned",
    ]


@pytest.mark.parametrize("kind", ["link", "dangling link", "hard link"])
@pytest.mark.parametrize("number", range(7))
def test_a_file_that_is_a_link_is_not_written_through(
    root: Path, tmp_path: Path, number: int, kind: str
) -> None:
    file, precious = files_of(root)[number], tmp_path / "precious"
    precious.write_bytes(file.read_bytes() if file.exists() else b"mine\n")
    os.utime(precious, (OLD, OLD))
    before = precious.read_bytes(), precious.stat().st_mtime_ns
    file.unlink(missing_ok=True)
    if kind == "hard link":
        file.hardlink_to(precious)
    else:
        file.symlink_to(tmp_path / "absent" if kind == "dangling link" else precious)
    everything(root)

    assert (precious.read_bytes(), precious.stat().st_mtime_ns) == before
    assert not (tmp_path / "absent").exists()


def test_a_log_with_another_name_is_refused_and_says_so(root: Path) -> None:
    log = files_of(root)[2]
    log.with_name("other").hardlink_to(log)

    with pytest.raises(Unwritable) as caught:
        Store(root).materialize(made("relu"))
    assert str(caught.value) == (
        f"{log}: cannot be written: it has another name as well, and could be anything. "
        "Put a copy in its place or choose another folder with FXLS_STORE."
    )


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("kind", ["fifo", "/dev/zero", "sparse"])
def test_what_is_no_file_of_a_reasonable_size_is_not_read(
    root: Path, number: int, kind: str
) -> None:
    file = files_of(root)[number]
    file.unlink()
    if kind == "fifo":
        os.mkfifo(file)
    elif kind == "sparse":
        with file.open("wb") as hole:
            hole.truncate(1 << 40)
    else:
        file.symlink_to(kind)
    it = Listening(root)
    path = it.store.path_of("Net", made("tanh").text)

    if number == 2:
        assert it.store.identities() == ()
        said = it.reports
    else:
        with pytest.raises(StoreError) as caught:
            it.store.read(path)
        said = [str(caught.value)]
    reason = {
        "fifo": "is not read: it is a device or a pipe, and no file",
        "/dev/zero": "is not read: it is a symbolic link",
        "sparse": "is not read: it has 1,099,511,627,776 bytes, and 134,217,728 are the "
        "most that is read",
    }[kind]
    if (number, kind) == (2, "sparse"):
        reason = "only its last 1,048,576 bytes are read"
    assert len(said) == 1
    assert said[0].startswith(f"{file}: {reason}. ")
    # A writer puts things right where that is possible.
    if number < 2:
        it.store.materialize(made("tanh"))
        assert it.store.read(path) == made("tanh")


def test_of_a_long_log_the_end_is_read_and_news_are_found(root: Path) -> None:
    log = files_of(root)[2]
    line = log.read_bytes()
    log.write_bytes(line * 300_000)
    it = Listening(root)
    bookmark = it.store.changes_since(None).bookmark
    text = it.store.materialize(made("relu"))
    news = it.store.changes_since(bookmark)

    assert [one.path for one in news.revisions] == [text]
    assert it.store.newest(NET) == news.revisions[0]
    assert len(it.store.changes_since(None).revisions) < 10_000
    assert it.reports == [
        f"{log}: only its last 1,048,576 bytes are read. What came before is history."
    ]


def test_of_many_logs_the_newest_are_read(root: Path) -> None:
    log = files_of(root)[2]
    for number in range(40):
        copy = log.with_name(f"other{number}.jsonl")
        copy.write_bytes((b" " * 1023 + b"\n") * 1024)
        os.utime(copy, (OLD - number, OLD - number))
    it = Listening(root)

    assert it.store.identities() == (NET,)
    advice = "Delete what is not needed, with `fxls prune`."
    assert it.reports == [
        f"{log.parent}: only the newest 16 of 41 logs are read. {advice}"
    ]
