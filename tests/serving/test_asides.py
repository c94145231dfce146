"""What is computed aside."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from fxls.server import connection_of
from fxls.serving import connection
from fxls.serving.asides import Asides
from fxls.serving.settings import Settings


def test_others_are_answered_and_whoever_can_wait_is_told_to() -> None:
    asides, may_end, seen = Asides(), threading.Event(), list[bool]()

    async def both() -> int:
        first = asyncio.create_task(asides.run(lambda: may_end.wait(60) and 1))
        second = asyncio.create_task(asides.run(max, 2, 3))
        assert await second == 3
        seen.append(asides.are_running)
        may_end.set()
        return int(await first)

    assert not asides.are_running
    assert asyncio.run(both()) == 1
    assert seen == [True]
    assert not asides.are_running


def test_what_raises_runs_no_more() -> None:
    asides = Asides()
    with pytest.raises(ZeroDivisionError):
        asyncio.run(asides.run(divmod, 1, 0))
    assert not asides.are_running


def test_no_store_is_looked_at_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_POLL", 0.001)
    client = connection_of(Settings())
    seen: list[str] = []
    may_end, is_told = threading.Event(), threading.Event()
    watch = client.watch

    def look_again() -> None:
        watch()
        seen.append("look")
        if len(seen) == 5:
            may_end.set()

    def tell() -> None:
        seen.append("news")
        is_told.set()

    monkeypatch.setattr(client, "watch", look_again)
    monkeypatch.setattr(client, "tell_news", tell)

    async def serve() -> None:
        aside = asyncio.create_task(client.asides.run(may_end.wait, 60))
        await asyncio.sleep(0)
        client.opened((tmp_path / "net.py").as_uri())
        assert await aside
        assert await asyncio.to_thread(is_told.wait, 60)
        client.unwatch()

    asyncio.run(serve())
    assert seen[:5] == ["look"] * 5
    assert "news" in seen
