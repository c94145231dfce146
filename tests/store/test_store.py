"""What is written to a store, and what is read from it."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fxls.listing import HeadLink, Identity, Listing, ToClass, ToLine
from fxls.listing.sidecar import decode, encode
from fxls.store import Bookmark, Revision, Store, digest_of, files, identity_uri
from fxls.store.history import newest_of
from tests.store.made import NET, Listening, listings_about, made, names_below


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / ".fxls"


def revision_of(listing: Listing, store: Store, at: float) -> Revision:
    """The revision that this process made of a listing."""
    return Revision(
        identity=listing.identity,
        path=store.path_of(listing.identity.class_name, listing.text),
        facts=digest_of(encode(listing)),
        time=at,
        pid=os.getpid(),
        sources=("/models/net.py",),
        entry=listing.entry,
        nodes=len(listing.nodes),
    )


def test_making_a_store_touches_nothing(root: Path) -> None:
    Store(root)

    assert not root.exists()


def test_a_listing_is_a_text_a_sidecar_and_a_line_in_the_log(root: Path) -> None:
    listing = made()

    path = Store(root).materialize(listing)

    assert path == root / "Net_1aa865cf6397.py"
    assert path.read_bytes() == listing.text.encode()
    facts = digest_of(encode(listing))
    assert names_below(root) == [
        ".gitignore",
        "Net_1aa865cf6397.py",
        f"facts/Net_1aa865cf6397/{facts}",
        "log/net.Net-engine-23e3914497a5.jsonl",
    ]
    assert Store(root).read(path) == listing


@pytest.mark.parametrize(
    "text", ["", "a\r\nb\rc\n", "x = 'größe 𝛑'", "a\x0cb\u2028\n", "\ufeffx\n\x00"]
)
def test_a_text_is_kept_to_the_byte(root: Path, text: str) -> None:
    listing = Listing(NET, text, 0, (), ())

    path = Store(root).materialize(listing)

    assert path.read_bytes() == text.encode()
    assert Store(root).read(path) == listing


def test_an_equal_listing_is_not_written_again(root: Path) -> None:
    store = Store(root)
    path = store.materialize(made())
    before = {name: (root / name).stat().st_ino for name in names_below(root)}
    text, (log,) = path.stat(), (root / "log").iterdir()
    lines = log.read_bytes()

    assert Store(root).materialize(made()) == path
    assert {name: (root / name).stat().st_ino for name in names_below(root)} == before
    assert path.stat().st_mtime_ns == text.st_mtime_ns, "a debugger may be reading it"
    assert log.read_bytes() == lines


def test_two_graphs_with_one_text_share_its_file(root: Path) -> None:
    store = Store(root)
    path = store.materialize(made(size=3))
    assert store.read(path) == made(size=3)

    assert store.materialize(made(size=4)) == path
    assert store.read(path) == made(size=4)
    assert store.instances(path) == (made(size=4), made(size=3))

    store.materialize(made(size=3))
    assert store.instances(path) == (made(size=3), made(size=4))
    assert Store(root).instances(path) == (made(size=3), made(size=4))


def test_the_newest_facts_are_first_even_when_the_clock_was_set_back(
    root: Path,
) -> None:
    store = Store(root)
    path = store.materialize(made(size=3))
    (facts,) = (root / "facts" / path.stem).iterdir()
    tomorrow = time.time_ns() + 86_400 * 10**9
    os.utime(facts, ns=(tomorrow, tomorrow))

    store.materialize(made(size=4))

    assert store.instances(path) == (made(size=4), made(size=3))


def test_an_identity_has_its_revisions_in_the_order_they_were_made(
    root: Path,
) -> None:
    store = Store(root)
    start = time.time()
    for body in ("relu", "tanh", "relu"):
        store.materialize(made(body, entry=f"Net('{body}')"))
    end = time.time()

    revisions = store.revisions(NET)

    assert list(revisions) == [
        revision_of(made(body, entry=f"Net('{body}')"), store, one.time)
        for body, one in zip(("relu", "tanh", "relu"), revisions, strict=True)
    ]
    times = [one.time for one in revisions]
    assert [start, *times, end] == sorted([start, *times, end])
    assert store.newest(NET) == revisions[-1] == Store(root).newest(NET)


def test_other_facts_for_the_same_text_make_no_other_revision(root: Path) -> None:
    store = Store(root)
    store.materialize(made(size=3))
    store.materialize(made(size=4))

    (revision,) = store.revisions(NET)

    assert revision == revision_of(made(size=4), store, revision.time)
    assert store.read_revision(revision) == made(size=4)


def test_each_rank_has_its_own_facts_for_a_text_they_share(root: Path) -> None:
    store = Store(root)
    ranks = [
        made(size=rank, identity=Identity("net", "Net", rank=rank)) for rank in range(3)
    ]
    paths = {store.materialize(listing) for listing in ranks}

    newest = [store.newest(listing.identity) for listing in ranks]

    assert paths == {one.path for one in newest if one}
    assert [store.read_revision(one) for one in newest if one] == ranks


def test_identities_are_sorted_by_name(root: Path) -> None:
    store = Store(root)
    expected = (
        Identity("a", "Net"),
        Identity("net", "Net"),
        Identity("net", "Net", rank=0),
        Identity("net", "Net", rank=10),
        Identity("net", "Net", stage="fuse"),
        Identity("net", "Net", producer="export"),
        Identity("net", "make.<locals>.<lambda>"),
    )
    for identity in reversed(expected):
        store.materialize(made(identity=identity))

    assert store.identities() == expected
    assert [store.identity_of(identity_uri(one)) for one in expected] == list(expected)


def test_a_uri_of_another_store_names_no_identity(root: Path) -> None:
    Store(root).materialize(made())
    uris = (
        identity_uri(Identity("net", "Other")),
        "fxls:/../forward.py",
        "file:///models/net.py",
        "",
    )

    assert [Store(root).identity_of(uri) for uri in uris] == [None] * 4


def test_a_source_has_the_newest_listing_of_each_identity(
    root: Path, tmp_path: Path
) -> None:
    source, other = tmp_path / "net.py", tmp_path / "other.py"
    store = Store(root)
    last = made("tanh", source=str(source))
    second = made(identity=Identity("net", "Second"), source=str(source))
    store.materialize(made("relu", source=str(source)))
    store.materialize(last)
    store.materialize(second)
    store.materialize(
        made("gelu", identity=Identity("other", "Other"), source=str(other))
    )
    (tmp_path / "link").symlink_to(tmp_path)

    assert listings_about(store, source) == (last, second)
    assert listings_about(store, tmp_path / "link" / "net.py") == (last, second)
    assert listings_about(store, tmp_path / "nothing.py") == ()

    moved = made("relu", source=str(other))
    store.materialize(moved)
    assert listings_about(store, source) == (second,)
    assert moved in listings_about(store, other)


def test_when_the_newest_text_is_deleted_the_one_before_it_is_the_newest(
    root: Path,
) -> None:
    store = Store(root)
    store.materialize(made("relu"))
    store.materialize(made("tanh")).unlink()

    assert listings_about(store, Path("/models/net.py")) == (made("relu"),)
    assert [store.read_revision(one) for one in store.revisions(NET)] == [made("relu")]


def test_a_watcher_learns_what_others_did_since_it_looked(root: Path) -> None:
    watcher, other = Store(root), Store(root)
    nothing = watcher.changes_since(None)
    assert nothing.revisions == ()

    other.materialize(made("relu"))
    first = watcher.changes_since(nothing.bookmark)
    assert [watcher.read_revision(one) for one in first.revisions] == [made("relu")]
    assert watcher.changes_since(first.bookmark).revisions == ()

    other.materialize(made("relu"))
    assert watcher.changes_since(first.bookmark).revisions == ()

    other.materialize(made("tanh"))
    other.materialize(made("tanh", size=4))
    second = watcher.changes_since(first.bookmark)
    assert [watcher.read_revision(one) for one in second.revisions] == [
        made("tanh"),
        made("tanh", size=4),
    ]
    assert watcher.changes_since(None).revisions == first.revisions + second.revisions


def test_a_watcher_sees_a_store_that_was_deleted_and_made_again(root: Path) -> None:
    watcher = Store(root)
    for body in ("relu", "tanh"):
        watcher.materialize(made(body))
    bookmark = watcher.changes_since(None).bookmark
    for name in names_below(root):
        (root / name).unlink()
    assert watcher.changes_since(bookmark).bookmark == Bookmark({})

    Store(root).materialize(made("gelu"))

    changes = watcher.changes_since(bookmark)
    assert [watcher.read_revision(one) for one in changes.revisions] == [made("gelu")]


def test_large_listings_stay_in_memory_only_within_bounds(root: Path) -> None:
    it = Listening(root)
    long = "x" * (12 << 20)
    listings = [made(entry=f"{at}{long}") for at in range(4)]
    for listing in listings:
        it.store.materialize(listing)
    path = it.store.path_of("Net", listings[0].text)

    assert it.store.instances(path) == tuple(reversed(listings))
    assert it.store.read(path) is it.store.read(path)
    assert it.store.instances(path)[-1] is not it.store.instances(path)[-1]


def test_stores_in_folders_with_any_name_are_apart(tmp_path: Path) -> None:
    names = ("with space", "größe", "模型 🙂", "a'b\"c", "%41#?")
    stores = [Store(tmp_path / name / ".fxls") for name in names]
    for size, store in enumerate(stores):
        store.materialize(made(size=size))

    for size, store in enumerate(stores):
        assert listings_about(store, Path("/models/net.py")) == (made(size=size),)
        paths = [one.path for one in store.revisions(NET)]
        assert [[other.owns(path) for other in stores] for path in paths] == [
            [other is store for other in stores]
        ]


def test_a_store_knows_its_listings_in_every_spelling(root: Path) -> None:
    store = Store(root)
    path = store.materialize(made())
    link = root.parent / "link"
    link.symlink_to(root)
    spellings = (link / path.name, root / ".." / ".fxls" / path.name)

    assert [store.owns(one) for one in spellings] == [True, True]
    assert [store.read(one) for one in spellings] == [made(), made()]
    assert Store(link).materialize(made()) == link / path.name
    strangers = (
        root,
        root / "Net.py",
        root / "facts" / path.name,
        root / (path.name + "c"),
        root.parent / path.name,
    )
    assert [store.owns(one) for one in strangers] == [False] * 5


def test_a_relative_root_is_that_of_the_folder_it_was_given_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store = Store(Path("build") / ".." / ".fxls")
    monkeypatch.chdir("/")

    assert store.materialize(made()).parent == tmp_path / ".fxls"


def test_git_does_not_see_a_store(root: Path) -> None:
    subprocess.run(["git", "init", "-q", root.parent], check=True)
    Store(root).materialize(made())

    status = ["git", "-C", root.parent, "status", "--porcelain", "--ignored"]
    seen = subprocess.run(status, check=True, capture_output=True, text=True).stdout
    assert seen == "!! .fxls/\n"


def test_what_the_user_wrote_to_gitignore_stays(root: Path) -> None:
    root.mkdir()
    (root / ".gitignore").write_text("# mine\n")

    Store(root).materialize(made())

    assert (root / ".gitignore").read_text() == "# mine\n"


@pytest.mark.parametrize(
    ("there", "ignored"),
    [([], True), (["tmp", "Net_0123456789ab.py"], True), (["train.py", "tmp"], False)],
)
def test_a_folder_that_holds_other_things_is_not_hidden_from_git(
    tmp_path: Path, there: list[str], ignored: bool
) -> None:
    for name in there:
        (tmp_path / name).mkdir()

    Store(tmp_path).materialize(made())

    assert (tmp_path / ".gitignore").exists() is ignored


def test_a_copy_of_a_store_leads_to_the_files_of_this_machine(root: Path) -> None:
    links = (
        HeadLink(0, 0, 1, ToClass()),
        HeadLink(0, 1, 1, ToLine("/models/net.py", 7)),
        HeadLink(0, 2, 1, ToLine("/elsewhere/net.py", 8)),
    )
    path = Store(root).materialize(replace(made(), links=links))

    def here(there: str) -> str:
        return there.replace("/models/", "/here/")

    moved = Store(root, here=here).read(path)

    assert [source.path for source in moved.sources] == ["/here/net.py"]
    line = ToLine("/here/net.py", 7)
    assert moved.links == (links[0], HeadLink(0, 1, 1, line), links[2])


def test_the_newest_of_many_revisions_is_found_without_a_look_at_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path)
    for number in range(30):
        store.materialize(made(f"relu{number % 7}", entry=f"Net({number % 3})"))
    store.delete(store.revisions(NET)[-1].path)
    revisions = store.revisions(NET)
    looked_for: list[Path] = []
    is_there = files.is_there

    def noted(path: Path) -> bool:
        looked_for.append(path)
        return is_there(path)

    monkeypatch.setattr(files, "is_there", noted)

    assert newest_of(store, NET, revisions[-1].entry) == revisions[-1]
    assert len(looked_for) <= 2
    assert tuple(store.latest(NET)) == revisions[::-1]
    assert newest_of(store, NET, "Other()") is None


def test_a_log_that_is_being_read_is_no_empty_one_for_whoever_else_asks(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Store(root).materialize(made())
    store, found = Store(root), list[tuple[Revision, ...]]()
    read_end = files.read_end

    def read_slowly(*asked: Any) -> tuple[int, bytes]:
        monkeypatch.setattr(files, "read_end", read_end)
        found.append(store.revisions(NET))
        return read_end(*asked)

    monkeypatch.setattr(files, "read_end", read_slowly)
    found.append(store.revisions(NET))

    assert [[one.path for one in each] for each in found] == [[path], [path]]


def test_a_listing_that_two_threads_decode_is_one_value(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Store(root).materialize(made())
    store, found = Store(root), list[Listing]()

    def decode_slowly(*asked: Any) -> Listing:
        monkeypatch.setattr("fxls.store.instances.decode", decode)
        found.append(store.read(path))
        return decode(*asked)

    monkeypatch.setattr("fxls.store.instances.decode", decode_slowly)
    found.append(store.read(path))

    assert found == [made(), made()]
    assert found[0] is found[1]


def test_whoever_makes_a_store_hears_how_much_is_read(root: Path) -> None:
    listing, sizes = made(), list[int]()
    store = Store(root, reading=sizes.append)
    path = store.materialize(listing)

    assert store.read(path) == store.read(path) == listing
    assert sizes == [len(listing.text), len(encode(listing))]
