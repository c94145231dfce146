"""What goes wrong with a store, and what the user is told."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from fxls import __version__
from fxls.listing import Identity, Listing
from fxls.listing.sidecar import encode
from fxls.record import RevisionName
from fxls.store import (
    Damaged,
    NotAListing,
    Store,
    StoreError,
    Unreadable,
    Unwritable,
    digest_of,
)
from tests.store.made import (
    NET,
    Listening,
    as_anybody,
    listings_about,
    made,
    names_below,
)

AGAIN = "Run your program or `fxls trace` again to write it again"
ELSEWHERE = "or choose another folder with FXLS_STORE."


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / ".fxls"


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter, as pytest's own may not be."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)
        for path in Path(folder).rglob("*"):
            path.chmod(0o755)


def sidecars(path: Path) -> list[Path]:
    """The sidecars of a text, oldest first."""
    folder = path.parent / "facts" / path.stem
    return sorted(folder.iterdir(), key=lambda sidecar: sidecar.stat().st_mtime_ns)


def sidecar_of(listing: Listing, root: Path) -> Path:
    """Where the sidecar of a listing belongs."""
    path = Store(root).path_of(listing.identity.class_name, listing.text)
    return root / "facts" / path.stem / digest_of(encode(listing))


def refusal(kind: type[StoreError], path: Path) -> str:
    """What `read` says of the path, after making sure that it raises this class."""
    with pytest.raises(StoreError) as caught:
        Store(path.parent).read(path)
    assert (type(caught.value), caught.value.path) == (kind, path)
    return str(caught.value).removeprefix(f"{path}: ")


# The listing


def test_a_text_that_was_edited_by_hand_is_refused(root: Path) -> None:
    path = Store(root).materialize(made())
    path.write_text(path.read_text() + "# mine\n")

    assert refusal(Damaged, path) == (
        "was edited by hand or damaged: its text is not the one it is named by. "
        f"{AGAIN}, or delete it."
    )


def test_a_text_that_was_edited_by_hand_is_written_again_and_reported(
    root: Path,
) -> None:
    it = Listening(root)
    path = it.store.materialize(made())
    for edited in (b"", b"\xff\xfe", made().text.replace("x", "y").encode()):
        path.write_bytes(edited)

        assert it.store.materialize(made()) == path
        assert it.store.read(path) == made()
        assert it.reports.pop() == (
            f"{path}: was edited by hand or damaged. It was written again; a debugger "
            "or editor that shows the edited text must open it again."
        )
        assert it.reports == []


def test_an_edit_is_seen_although_the_text_was_read_before(root: Path) -> None:
    store = Store(root)
    path = store.materialize(made())
    assert store.read(path) == made()
    path.write_text("# mine\n")

    with pytest.raises(Damaged):
        store.read(path)


def test_a_text_has_facts_once_it_is_materialized(root: Path) -> None:
    store = Store(root)
    path = store.write_text(made().identity.class_name, made().text)
    before = store.has_facts(path)
    store.materialize(made())

    assert (before, store.has_facts(path)) == (False, True)


def test_a_text_that_was_deleted_is_no_listing_and_comes_back(root: Path) -> None:
    store = Store(root)
    path = store.materialize(made())
    path.unlink()

    assert refusal(NotAListing, path) == f"there is no such listing. {AGAIN}."
    assert (store.newest(NET), store.revisions(NET), store.identities()) == (
        None,
        (),
        (),
    )

    assert store.materialize(made()) == path
    assert store.read(path) == made()
    assert store.identities() == (NET,)


def test_a_file_outside_of_the_store_is_no_listing(root: Path, tmp_path: Path) -> None:
    path = tmp_path / Store(root).path_of("Net", "").name

    with pytest.raises(NotAListing) as caught:
        Store(root).read(path)
    assert str(caught.value) == (
        f"{path}: is not a listing of the store {root}. "
        "Listings lie in that folder and are called <Class>_<hash>.py."
    )


@pytest.mark.parametrize(
    "facts", ["/etc/passwd", "../../../net.py", "..", "a/../b", "\0", "0" * 13]
)
def test_facts_that_a_record_names_elsewhere_are_not_read(
    root: Path, facts: str
) -> None:
    store = Store(root)
    path = store.materialize(made())

    with pytest.raises(NotAListing, match="has no facts of such a name"):
        store.read_named(RevisionName(NET, path.name, facts))


def test_a_folder_in_the_place_of_a_text_is_named(root: Path) -> None:
    store = Store(root)
    path = store.path_of("Net", made().text)
    path.mkdir(parents=True)

    assert refusal(Unreadable, path) == (
        "cannot be read: Is a directory. Check its permissions."
    )
    with pytest.raises(Unwritable) as caught:
        store.materialize(made())
    assert str(caught.value) == (
        f"{path}: cannot be written: a folder is where a file must be. "
        f"Move it away {ELSEWHERE}"
    )


# The facts


def test_without_its_facts_a_text_is_refused(root: Path) -> None:
    path = Store(root).materialize(made())
    (facts,) = sidecars(path)
    facts.unlink()

    assert refusal(Damaged, path) == f"its facts are missing. {AGAIN}."

    Store(root).materialize(made())
    assert Store(root).read(path) == made()


@pytest.mark.parametrize("damage", [b"", b"\x00", b"not msgpack at all"])
def test_damaged_facts_are_refused_and_written_again(root: Path, damage: bytes) -> None:
    path = Store(root).materialize(made())
    (facts,) = sidecars(path)
    facts.write_bytes(damage)

    assert refusal(Damaged, path) == f"its facts {facts.name} are damaged. {AGAIN}."

    Store(root).materialize(made())
    assert Store(root).read(path) == made()


def test_one_wrong_bit_in_the_facts_is_found(root: Path) -> None:
    path = Store(root).materialize(made())
    (facts,) = sidecars(path)
    data = bytearray(facts.read_bytes())
    data[len(data) // 2] ^= 1
    facts.write_bytes(data)

    assert refusal(Damaged, path) == f"its facts {facts.name} are damaged. {AGAIN}."

    Store(root).materialize(made())
    assert Store(root).read(path) == made()


def test_lines_of_another_format_in_a_log_are_left_out_and_reported(root: Path) -> None:
    it = Listening(root)
    it.store.materialize(made())
    (log,) = (root / "log").iterdir()
    line = log.read_bytes()
    later = line.replace(b'"format":1,', b'"format":2,"more":[],')

    for text in (line + later, line + later + later):
        log.write_bytes(text)
        assert [one.path.name for one in it.store.revisions(NET)] == [
            it.store.path_of("Net", made().text).name
        ]

    assert it.reports == [
        (
            f"{log}: some of it has format 2, from a newer fxls; this one, {__version__}, "
            "reads format 1, which leaves that out. Use the same fxls for all that share "
            "the store, or delete the file."
        )
    ]


def test_facts_of_another_format_are_refused(root: Path) -> None:
    path = Store(root).materialize(made())
    (facts,) = sidecars(path)
    later = facts.read_bytes().replace(b"\xa6format\x01", b"\xa6format\x63")
    facts.unlink()
    (facts.parent / digest_of(later)).write_bytes(later)

    assert refusal(Damaged, path) == (
        f"its sidecar has format 99, from a newer fxls; this one, {__version__}, reads"
        f" format 1. {AGAIN}."
    )


def test_older_facts_serve_while_the_newest_are_damaged(root: Path) -> None:
    it = Listening(root)
    path = it.store.materialize(made(size=3))
    it.store.materialize(made(size=4))
    newest = sidecars(path)[-1]
    newest.write_bytes(b"damaged")

    trouble = f"{path}: its facts {newest.name} are damaged. {AGAIN}."
    assert it.store.read(path) == made(size=3)
    assert it.store.instances(path) == (made(size=3),)
    assert it.reports == [trouble], "each trouble is reported once"
    revision = it.store.newest(NET)
    assert revision is not None
    with pytest.raises(Damaged) as caught:
        it.store.read_revision(revision)
    assert str(caught.value) == trouble


def test_a_damaged_listing_is_left_out_of_the_listings_about_a_source(
    root: Path,
) -> None:
    it = Listening(root)
    other = made(identity=Identity("net", "Other"), body="tanh")
    path = it.store.materialize(made())
    it.store.materialize(other)
    path.write_text("# mine\n")

    assert listings_about(it.store, Path("/models/net.py")) == (other,)
    trouble = "was edited by hand or damaged: its text is not the one it is named by"
    assert it.reports == [f"{path}: {trouble}. {AGAIN}, or delete it."]


# The log


def test_a_log_that_was_cut_anywhere_says_what_was_whole(root: Path) -> None:
    Store(root).materialize(made("relu"))
    (log,) = (root / "log").iterdir()
    first = log.read_bytes()
    Store(root).materialize(made("tanh"))
    whole = log.read_bytes()
    paths = [Store(root).path_of("Net", made(body).text) for body in ("relu", "tanh")]

    for cut in range(len(first), len(whole)):
        log.write_bytes(whole[:cut])
        store = Store(root)
        assert [one.path for one in store.revisions(NET)] == paths[:1], cut

        store.materialize(made("tanh"))
        assert [one.path for one in store.revisions(NET)] == paths, cut


def test_lines_of_a_log_that_nobody_can_read_count_as_absent(root: Path) -> None:
    store = Store(root)
    path = store.materialize(made())
    (log,) = (root / "log").iterdir()
    line = log.read_bytes()
    strange = (
        b"\xff\n",
        b"\n",
        b"null\n",
        line.replace(b'"format":1', b'"format":2'),
        line.replace(b'"Net_', b'"../Net_'),
        line.replace(b'"qualname":"Net"', b'"qualname":"Other"'),
    )
    log.write_bytes(b"".join(strange) + line + b"".join(strange))

    assert [one.path for one in Store(root).revisions(NET)] == [path]
    assert Store(root).identities() == (NET,)


def test_files_that_are_no_logs_are_no_identities(root: Path) -> None:
    Store(root).materialize(made())
    (log,) = (root / "log").iterdir()
    (root / "log" / "copy of a log.jsonl").write_bytes(log.read_bytes())
    (root / "log" / "notes.txt").write_text("mine")

    assert Store(root).identities() == (NET,)


# The folder


def test_an_absent_store_is_empty(root: Path) -> None:
    it = Listening(root)

    assert it.store.identities() == ()
    assert it.store.revisions(NET) == ()
    assert it.store.newest(NET) is None
    assert listings_about(it.store, Path("/models/net.py")) == ()
    assert it.store.changes_since(None).revisions == ()
    assert it.reports == []
    assert not root.exists()


def test_a_file_in_the_place_of_the_store_is_named(root: Path) -> None:
    root.write_text("mine")
    it = Listening(root)

    with pytest.raises(Unwritable) as caught:
        it.store.materialize(made())
    assert str(caught.value) == (
        f"{root}: cannot be written: a file is where a folder must be. "
        f"Move it away {ELSEWHERE}"
    )
    assert it.store.identities() == ()
    assert it.reports == []
    assert root.read_text() == "mine"


def test_a_file_above_the_store_is_named(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text("mine")

    with pytest.raises(Unwritable) as caught:
        Store(file / "deep" / ".fxls").materialize(made())
    assert str(caught.value) == (
        f"{file}: cannot be written: a file is where a folder must be. "
        f"Move it away {ELSEWHERE}"
    )


def test_without_permission_to_write_the_user_is_told(open_folder: Path) -> None:
    root = open_folder / ".fxls"
    store = Store(root)
    store.materialize(made())
    for path in (root, *root.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)

    with as_anybody():
        assert store.materialize(made()) == store.path_of("Net", made().text), (
            "what is there need not be written"
        )
        assert listings_about(Store(root), Path("/models/net.py")) == (made(),)
        with pytest.raises(Unwritable) as caught:
            store.materialize(made("tanh"))
    assert str(caught.value) == (
        f"{sidecar_of(made('tanh'), root)}: cannot be written: permission is denied. "
        f"Give permission to write {ELSEWHERE}"
    )


def test_without_permission_to_read_the_user_is_told(open_folder: Path) -> None:
    root = open_folder / ".fxls"
    it = Listening(root)
    path = it.store.materialize(made())
    path.chmod(0)
    (root / "log").chmod(0)

    with as_anybody():
        assert refusal(Unreadable, path) == (
            "cannot be read: Permission denied. Check its permissions."
        )
        assert it.store.identities() == ()
        assert it.store.changes_since(None).revisions == ()
        assert it.store.newest(NET) is None
    (log,) = (root / "log").iterdir()
    trouble = "cannot be read: Permission denied. Check its permissions."
    assert it.reports == [f"{root / 'log'}: {trouble}", f"{log}: {trouble}"]


def test_a_source_whose_name_is_not_unicode_is_said_with_escapes(root: Path) -> None:
    store = Store(root)
    path = store.materialize(made(source=os.fsdecode(b"/models/n\xe9t.py")))

    assert store.read(path) == made(source="/models/n\\udce9t.py")


def test_a_text_that_is_not_unicode_is_refused(root: Path) -> None:
    text = "# \udce9\n"

    with pytest.raises(Unwritable) as caught:
        Store(root).materialize(msgspec.structs.replace(made(), text=text))
    assert str(caught.value) == (
        f"{root}: cannot hold a listing of 'Net': a name in it is not Unicode, "
        "'\\udce9'. Rename the file or folder that has this character."
    )


def test_a_store_that_was_deleted_while_in_use_is_made_again(root: Path) -> None:
    it = Listening(root)
    path = it.store.materialize(made())
    before = names_below(root)
    assert it.store.read(path) == made()
    shutil.rmtree(root)
    assert it.store.identities() == ()

    assert it.store.materialize(made()) == path
    assert names_below(root) == before
    assert listings_about(it.store, Path("/models/net.py")) == (made(),)
    assert it.reports == []


# The disk

LIMITED = """
import resource, sys
from pathlib import Path
from fxls.store import Store, Unwritable
from tests.store.made import made
root, limit = Path(sys.argv[1]), int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
try:
    Store(root).materialize(made("tanh"))
except Unwritable as trouble:
    print(trouble)
"""


def with_files_limited_to(limit: int, root: Path) -> str:
    """What materializing says where no file may be longer than `limit` bytes.

    This stands for a full disk: a write stores what still fits and then fails.
    """
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(root), str(limit)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout


def test_on_a_full_disk_nothing_half_written_stays(root: Path) -> None:
    Store(root).materialize(made("relu"))
    before = names_below(root)

    said = with_files_limited_to(100, root)

    assert said == (
        f"{sidecar_of(made('tanh'), root)}: cannot be written: the file would be "
        f"larger than the limit. Raise it {ELSEWHERE}\n"
    )
    assert names_below(root) == before
    assert listings_about(Store(root), Path("/models/net.py")) == (made("relu"),)


def test_a_log_line_that_a_full_disk_cut_is_written_again(root: Path) -> None:
    store = Store(root)
    for size in range(9):
        store.materialize(made("relu", size=size))
    (log,) = (root / "log").iterdir()
    length = log.stat().st_size

    said = with_files_limited_to(length + 10, root)

    assert said == (
        f"{log}: cannot be written: the file would be larger than the limit. "
        f"Raise it {ELSEWHERE}\n"
    )
    assert log.stat().st_size == length + 10
    assert listings_about(store, Path("/models/net.py")) == (made("relu", size=8),)
    store.materialize(made("tanh"))
    assert listings_about(store, Path("/models/net.py")) == (made("tanh"),)
