"""Where the store of a source is, and how files and identities are called."""

from __future__ import annotations

import os
import re
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fxls.listing import Identity
from fxls.store import Store, class_name_of, identity_uri, locate

LETTERS = st.text(st.characters(exclude_categories=["Cs"]))
IDENTITIES = st.builds(
    Identity, LETTERS, LETTERS, LETTERS, LETTERS, st.none() | st.integers(0, 9999)
)


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No parent of the folder of the test has anything in it."""
    exists = os.path.exists

    def below(path: str) -> bool:
        return Path(path).is_relative_to(tmp_path) and exists(path)

    monkeypatch.setattr("os.path.exists", below)


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(
    ("there", "start", "expected"),
    [
        ("project/pyproject.toml", "project/src/net.py", "project"),
        ("project/.git/HEAD", "project/src/net.py", "project"),
        ("project/.git", "project/src/deep/net.py", "project"),
        ("project/.fxls/.gitignore", "project/src/net.py", "project"),
        ("project/src/pyproject.toml", "project/src/net.py", "project/src"),
        ("project/pyproject.toml", "project", "project"),
        ("project/.fxls/.gitignore", "project/.fxls/Net_0123456789ab.py", "project"),
        ("project/src/net.py", "project/src/net.py", "project/src"),
        ("project/src/net.py", "project/src", "project/src"),
        ("größe 🙂/.git", "größe 🙂/net.py", "größe 🙂"),
    ],
)
def test_the_store_is_at_the_root_of_the_project(
    tmp_path: Path, there: str, start: str, expected: str
) -> None:
    (tmp_path / there).parent.mkdir(parents=True)
    (tmp_path / there).write_text("")
    folder = (tmp_path / start).parent
    folder.mkdir(parents=True, exist_ok=True)

    assert locate(tmp_path / start) == tmp_path / expected / ".fxls"


@pytest.fixture
def works_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder without a mark, in which a person started a program or an editor."""
    folder = tmp_path / "works in"
    (folder / "net").mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.usefixtures("alone")
def test_without_a_mark_the_folder_that_is_worked_in_is_the_project(
    works_in: Path,
) -> None:
    assert locate(Path("net/unet.py")) == works_in / ".fxls"
    assert locate(works_in / "net" / "unet.py") == works_in / ".fxls"
    assert locate(works_in) == works_in / ".fxls"
    assert locate(works_in.parent / "net.py") == works_in.parent / ".fxls"
    inner = str(works_in / "net")
    assert locate(Path("net/unet.py"), inner) == works_in / "net" / ".fxls"
    assert locate(Path("net/deep/unet.py"), None) == works_in / "net" / "deep" / ".fxls"


@pytest.mark.usefixtures("alone")
def test_a_linked_folder_that_is_worked_in_keeps_the_spelling_of_the_source(
    works_in: Path, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(works_in)

    found = locate(tmp_path / "link" / "net" / "unet.py")
    assert found == tmp_path / "link" / ".fxls"


@pytest.mark.usefixtures("alone")
def test_a_mark_is_nearer_than_the_folder_that_is_worked_in(works_in: Path) -> None:
    (works_in / "net" / ".fxls").mkdir()
    assert locate(Path("net/unet.py")) == works_in / "net" / ".fxls"


@pytest.mark.usefixtures("alone")
def test_no_home_and_no_folder_of_everybody_is_a_project(
    works_in: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_the_file = works_in / "net" / ".fxls"
    for home in (works_in, works_in / "net"):
        with monkeypatch.context() as person:
            person.setenv("HOME", str(home))
            person.setenv("USERPROFILE", str(home))
            assert locate(works_in / "net" / "unet.py") == of_the_file
    if os.name != "nt":  # where a mode does not say who may write
        works_in.chmod(0o777)
        assert locate(works_in / "net" / "unet.py") == of_the_file


def test_a_store_keeps_the_spelling_of_a_linked_folder(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / ".git").touch()
    (tmp_path / "link").symlink_to(tmp_path / "project")

    assert locate(tmp_path / "link" / "net.py") == tmp_path / "link" / ".fxls"


def test_a_relative_source_is_found_from_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyproject.toml").touch()
    monkeypatch.chdir(tmp_path)

    assert locate(Path("src") / "net.py") == tmp_path / ".fxls"


@pytest.mark.parametrize(
    ("class_name", "expected"),
    [
        ("Net", "Net"),
        ("_Net_2", "Net_2"),
        ("<lambda>", "lambda"),
        ("make.<locals>.Net", "make_locals_Net"),
        ("Größe", "Gr_e"),
        ("模型", "graph"),
        ("", "graph"),
        ("../../etc/passwd", "etc_passwd"),
        ("Net\n\0", "Net"),
        ("N" * 300, "N" * 80),
    ],
)
def test_any_class_gives_a_safe_file_name(class_name: str, expected: str) -> None:
    digest = sha256("größe\n".encode()).hexdigest()[:12]

    path = Store(Path("/store")).path_of(class_name, "größe\n")

    assert path == Path("/store") / f"{expected}_{digest}.py"
    assert class_name_of(path) == expected
    assert Store(Path("/store")).owns(path)


@pytest.mark.parametrize(
    "name", ["Net.py", "Net_0123456789AB.py", "_0123456789ab.py", "N-t_0123456789ab.py"]
)
def test_other_files_have_no_class(name: str) -> None:
    assert class_name_of(Path("/store") / name) is None


@pytest.mark.parametrize(
    ("identity", "expected"),
    [
        (Identity("net", "Net"), "net.Net-engine-23e3914497a5"),
        (
            Identity("a.b", "f.<locals>.Net", "export", "fuse/conv", 3),
            "a.b.f._locals_.Net-export-fuse_conv-rank3-",
        ),
        (Identity("", "模型"), "engine-"),
    ],
)
def test_the_uri_of_an_identity_can_be_read(identity: Identity, expected: str) -> None:
    assert identity_uri(identity).startswith(f"fxls:/{expected}")


@given(IDENTITIES, IDENTITIES)
def test_identities_have_safe_uris_of_their_own(one: Identity, other: Identity) -> None:
    uri = identity_uri(one)

    assert re.fullmatch(r"fxls:/[A-Za-z0-9_][A-Za-z0-9._-]{,99}/forward\.py", uri)
    assert (uri == identity_uri(other)) == (one == other)
