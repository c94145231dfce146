"""A program asks for a listing to be shown, and a server hears of it once."""

from __future__ import annotations

from pathlib import Path

from fxls.store import Store
from fxls.store.remote import Mirror
from fxls.store.show_requests import NAME, ShowRequest, ShowRequests, ask_to_show
from tests.store.made import made


def test_what_is_asked_for_is_heard_of_once(tmp_path: Path) -> None:
    path = Store(tmp_path).materialize(made())
    ask_to_show(path, 1)
    shown = ShowRequests(tmp_path)
    assert shown.asked() == ()
    ask_to_show(path, 2)
    ask_to_show(path, 0)
    ask_to_show(path, 2)
    assert shown.asked() == (ShowRequest(path, 2), ShowRequest(path, 0))
    assert shown.asked() == ()
    (tmp_path / NAME).unlink()
    assert shown.asked() == ()
    ask_to_show(path, 1)
    assert shown.asked() == (ShowRequest(path, 1),)


def test_what_is_no_listing_is_not_shown(tmp_path: Path) -> None:
    shown = ShowRequests(tmp_path)
    ask_to_show(tmp_path / "passwords.txt", 0)
    (tmp_path / NAME).write_bytes(
        b'no line\n{"text":"../Net_0123456789ab.py","line":1}'
    )
    ask_to_show(tmp_path / "Net_0123456789ab.py", 3)
    assert shown.asked() == (ShowRequest(tmp_path / "Net_0123456789ab.py", 3),)


def test_a_copy_takes_over_what_is_asked_for_from_now_on(tmp_path: Path) -> None:
    path = Store(tmp_path / "there").materialize(made())
    ask_to_show(path, 1)
    mirror = Mirror(f"file://{tmp_path / 'there'}", tmp_path / "copies")
    shown = ShowRequests(mirror.root)
    mirror.pull()
    assert shown.asked() == ()
    ask_to_show(path, 2)
    mirror.pull()
    mirror.pull()
    assert shown.asked() == (ShowRequest(mirror.root / path.name, 2),)
    assert (mirror.root / path.name).read_text("utf-8") == made().text
