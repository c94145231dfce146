"""A process that computes something, and changes nothing around it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fxls.runtime.numbers.as_python.child import Child

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux forks here")


def test_it_says_what_its_function_returned() -> None:
    before = [1]

    child = Child(lambda: f"{before} {os.getppid()}".encode())

    before[0] = 2
    assert child.found() == f"[1] {os.getpid()}".encode()
    assert child.found() == child.found()


def test_a_long_answer_comes_whole() -> None:
    assert Child(lambda: b"x" * 500_000).found() == b"x" * 500_000


def test_one_that_raises_says_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    assert Child(lambda: b"%d" % (1 // 0)).found() == b""
    assert capfd.readouterr() == ("", "")


def test_what_it_prints_arrives_nowhere(capfd: pytest.CaptureFixture[str]) -> None:
    def talk() -> bytes:
        sys.stdout.write("hello")
        sys.stdout.flush()
        os.write(2, b"hello")
        return b"done"

    assert Child(talk).found() == b"done"
    assert capfd.readouterr() == ("", "")


def test_what_it_writes_into_open_files_arrives_nowhere(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("w") as log:
        log.write("one line\n")

        def write() -> bytes:
            log.write("another\n")
            log.flush()
            return b"done"

        assert Child(write).found() == b"done"
    assert path.read_text() == "one line\n"


def test_what_it_sends_arrives_nowhere() -> None:
    one, other = socket.socketpair()
    with one, other:
        other.settimeout(0.2)

        assert Child(lambda: b"%d" % one.send(b"hello")).found() == b""
        with pytest.raises(TimeoutError):
            other.recv(5)


def _opened(path: Path) -> bytes:
    path.open("a")
    return b"opened"


def _made(path: Path) -> bytes:
    path.mkdir()
    return b"made"


def _removed(path: Path) -> bytes:
    path.parent.joinpath("there").unlink()
    return b"removed"


def _started(path: Path) -> bytes:
    subprocess.run([sys.executable, "-c", f"open({str(path)!r}, 'w')"], check=True)
    return b"started"


def _killed(_path: Path) -> bytes:
    os.kill(os.getppid(), 0)
    return b"killed"


@pytest.mark.parametrize("does", [_opened, _made, _removed, _started, _killed])
def test_it_may_change_nothing(tmp_path: Path, does: Callable[[Path], bytes]) -> None:
    there = tmp_path / "there"
    there.write_text("text")

    assert Child(lambda: does(tmp_path / "new")).found() == b""
    assert [*tmp_path.iterdir()] == [there]


def test_it_may_read(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.write_text("text")

    assert Child(lambda: there.read_text().encode()).found() == b"text"


def test_one_that_nobody_asks_is_ended() -> None:
    began = time.monotonic()
    child = Child(lambda: time.sleep(60) or b"late")

    child.forget()

    assert child.found() == b""
    assert time.monotonic() - began < 30


def test_one_whose_time_is_up_is_ended() -> None:
    quick, slow = Child(lambda: b"here"), Child(lambda: time.sleep(60) or b"late", 0.2)

    assert (slow.found(), slow.is_late) == (b"", True)
    assert (quick.found(), quick.is_late) == (b"here", False)


def test_a_program_may_ignore_how_its_children_end() -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        quick = Child(lambda: b"here")
        slow = Child(lambda: time.sleep(60) or b"late", 0.2)
        assert (quick.found(), slow.found()) == (b"here", b"")
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_a_program_may_wait_for_all_of_its_children() -> None:
    child = Child(lambda: b"here")
    while True:
        try:
            os.wait()
        except ChildProcessError:
            break

    assert child.found() == b"here"
