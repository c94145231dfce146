"""Runs a client's tests in a process of their own, within a time limit."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tools.clients import records
from tools.clients.records import Outcome
from tools.clients.table import Client

__all__ = ["Run", "ran"]

ROOT = Path(__file__).parent.parent.parent
TRIALS = Path(__file__).parent / "trials"


@dataclass(frozen=True, slots=True)
class Run:
    """What became of each test, by its name."""

    outcomes: dict[str, Outcome]
    is_whole: bool = True
    """Whether the run came to its end within its time."""

    def named(self, *words: str) -> set[str]:
        """The tests with one of some outcomes."""
        return {name for name, had in self.outcomes.items() if had.word in words}


def ran(
    client: Client,
    python: Path,
    folder: Path,
    sources: Path,
    *,
    limit: int,
    is_redirected: bool,
    is_resumed: bool = False,
) -> Run | None:
    """What became of the tests of a client; None without a record and without time.

    A record that was cut short goes on where it ended. When resumed, what passed with
    another engine counts as well, and the other tests run again.
    """
    name, digest = _key(client, is_redirected=is_redirected)
    record = sources / "records" / f"{name}-{digest}.jsonl"
    record.parent.mkdir(exist_ok=True)
    if not record.exists() and is_resumed:
        older = sorted(record.parent.glob(f"{name}-*.jsonl"), key=os.path.getmtime)
        if older and limit > 0 and is_redirected:
            record.write_text(records.passing(_lines(older[-1])), encoding="utf-8")
        elif older:
            record = older[-1]
    if limit > 0 and not (record.exists() and records.is_whole(_lines(record))):
        record.touch()
        _run(client, python, folder, record, limit, is_redirected=is_redirected)
    if not record.exists():
        return None
    return Run(records.outcomes(_lines(record)), records.is_whole(_lines(record)))


def _lines(record: Path) -> list[str]:
    return record.read_text(encoding="utf-8").splitlines()


def _run(
    client: Client,
    python: Path,
    folder: Path,
    record: Path,
    limit: int,
    *,
    is_redirected: bool,
) -> None:
    scope = [*client.packages, str(folder), str(TRIALS)] if is_redirected else []
    tests = [str(TRIALS / t) if (TRIALS / t).exists() else t for t in client.tests]
    settings = ("-q", "--assert=plain", "-W", "ignore", "-o", "addopts=")
    settings += ("--continue-on-collection-errors",)
    plugins = ("-p", "tools.clients.plugin", "-p", "no:cacheprovider")
    command = [python, "-m", "pytest", *settings, *plugins, *tests]
    environment = {
        **os.environ,
        **dict(client.environment),
        "FXLS_CLIENT": ":".join(scope),
        "FXLS_CLIENT_RECORD": str(record),
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "PYTEST_ADDOPTS": "",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": os.pathsep.join(map(str, (ROOT, folder / "src", folder))),
    }
    with record.with_suffix(".txt").open("w", encoding="utf-8") as words:
        try:
            ended = subprocess.run(
                command,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=words,
                stderr=subprocess.STDOUT,
                timeout=limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return
    if ended.returncode >= 0:  # no signal took the process with the tests that follow
        records.add(record, records.ENDED, "passed")


def _key(client: Client, *, is_redirected: bool) -> tuple[str, str]:
    """A run's name, and a hash of all of ours that may change what comes out of it."""
    parts = [Path(__file__).with_name(n) for n in ("plugin.py", "redirect.py")]
    parts += [TRIALS / one for one in client.tests if (TRIALS / one).is_file()]
    if is_redirected:
        parts += sorted((ROOT / "fxls" / "engine").rglob("*.py"))
    digest = hashlib.sha256(f"{client!r}{_content(parts)}".encode()).hexdigest()
    name = "".join(c if c.isalnum() else "-" for c in client.name)
    return f"{name}-{'engine' if is_redirected else 'torch.fx'}", digest[:12]


def _content(files: Iterable[Path]) -> str:
    return hashlib.sha256(b"".join(one.read_bytes() for one in files)).hexdigest()
