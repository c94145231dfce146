"""Runs the clients' tests under torch.fx and under fxls.engine: docs/clients.md.

    python -m tools.clients ENVIRONMENT [--sources FOLDER] [--only NAME] [--write]

ENVIRONMENT is the folder of a virtual environment that has torch and pytest; what a
client needs besides is installed into it. Sources are downloaded into FOLDER once: by
pip, git or ``apt-get source``; what lies there already under its name is taken.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.clients.table import CLIENTS, Client

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "clients.md"

_INTRODUCTION = """\
# Clients

Written by `make clients`.

Programs that use torch.fx run their own tests, once with torch.fx and once with each
import of it read as one of `fxls.engine`; their sources stay as they are.
A test counts as passed in the last column when it passes under both.

| client | version | source | tests | passed under torch.fx | passed under fxls.engine | of these, both |
|---|---|---|---|---|---|---|
"""


@dataclass(frozen=True, slots=True)
class Run:
    """What became of each test, by its name."""

    outcomes: dict[str, str]

    def named(self, outcome: str) -> set[str]:
        """The tests with an outcome."""
        return {name for name, had in self.outcomes.items() if had == outcome}


def main() -> int:
    """Run all, or one; fails where a test passes under torch.fx alone."""
    parser = argparse.ArgumentParser(description="Run the tests of clients.")
    parser.add_argument("environment", type=Path)
    parser.add_argument("--sources", type=Path, default=ROOT / ".cache" / "clients")
    parser.add_argument("--only", default="", help="part of a client's name")
    parser.add_argument("--write", action="store_true", help="write docs/clients.md")
    asked = parser.parse_args()
    python = asked.environment.absolute() / "bin" / "python"
    sources = asked.sources.absolute()
    sources.mkdir(parents=True, exist_ok=True)
    rows: list[str] = []
    notes: list[str] = []
    for client in CLIENTS:
        if asked.only not in client.name:
            continue
        _pip(python, "install", *client.requires)
        folder = _fetched(client, python, sources).resolve()
        theirs = _run(client, python, folder, sources)
        ours = _run(client, python, folder, sources, is_redirected=True)
        rows.append(_row(client, theirs, ours))
        notes += _differences(client, theirs, ours)
        print(rows[-1], flush=True)
    page = _INTRODUCTION + "\n".join(rows) + "\n\n## Differences\n\n"
    page += "\n".join(notes) + "\n" if notes else "None.\n"
    if asked.write:
        PAGE.write_text(page, encoding="utf-8")
    print(*notes, sep="\n")
    return 1 if any(line.startswith("- ") for line in notes) else 0


def _pip(python: Path, *arguments: str) -> None:
    if len(arguments) > 1:
        subprocess.run(
            [python, "-m", "pip", "-q", "--disable-pip-version-check", *arguments],
            check=True,
        )


def _fetched(client: Client, python: Path, sources: Path) -> Path:
    """The folder with a client's sources, which are checked against their hash."""
    if client.source == "debian":
        return _debian(client, sources)
    folder = sources / f"{client.name}-{client.version}"
    if client.source == "sdist":
        pattern = f"{client.name}-{client.version}.tar.gz"
        if not (sources / pattern).exists():
            _pip(
                python,
                *("download", "--no-deps", "--no-binary", ":all:", "-d", str(sources)),
                f"{client.name}=={client.version}",
            )
        return _unpacked(sources / pattern, client.digest, folder, sources)
    clone = sources / f"{client.name}.git"
    if not clone.exists():
        _call("git", "clone", "--bare", "--quiet", client.source, str(clone))
    if not folder.exists():
        folder.mkdir()
        archive = subprocess.Popen(
            ["git", "-C", clone, "archive", client.digest], stdout=subprocess.PIPE
        )
        subprocess.run(["tar", "x", "-C", folder], stdin=archive.stdout, check=False)
        archive.wait()
    return folder


def _debian(client: Client, sources: Path) -> Path:
    archive = sources / f"pytorch_{client.version}.orig.tar.xz"
    if not archive.exists():
        _call("apt-get", "source", "--download-only", "pytorch", cwd=sources)
    folder = sources / "pytorch-v2.6.0"
    return _unpacked(archive, client.digest, folder, sources) / "test"


def _unpacked(archive: Path, digest: str, folder: Path, to: Path) -> Path:
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != digest:
        raise SystemExit(
            f"{archive} is not what the table names: {found}, not {digest}"
        )
    if not folder.exists():
        _call("tar", "xf", str(archive), "-C", str(to))
    return folder


def _call(*command: str, cwd: Path | None = None) -> None:
    subprocess.run(command, check=True, cwd=cwd)


def _run(
    client: Client,
    python: Path,
    folder: Path,
    sources: Path,
    *,
    is_redirected: bool = False,
) -> Run:
    """Run the tests of a client, and read what became of them."""
    report = sources / "report.xml"
    report.unlink(missing_ok=True)
    scope = ":".join([*client.packages, str(folder)]) if is_redirected else ""
    path = os.pathsep.join(map(str, (ROOT, folder / "src", folder)))
    settings = ("-q", "--assert=plain", "-W", "ignore")
    plugins = ("-p", "tools.clients.plugin", "-p", "no:cacheprovider")
    subprocess.run(
        [
            *(python, "-m", "pytest", *settings, *plugins),
            f"--junitxml={report}",
            *client.tests,
        ],
        cwd=folder,
        env={
            **os.environ,
            "FXLS_CLIENT": scope,
            "PYTHONPATH": path,
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        stdout=subprocess.DEVNULL,
        check=False,
    )
    if not report.exists():
        raise SystemExit(f"the tests of {client.name} did not run: see pytest's words")
    return Run(dict(_outcomes(report)))


def _outcomes(report: Path) -> Iterator[tuple[str, str]]:
    seen: Counter[str] = Counter()
    for case in ET.parse(report).getroot().iter("testcase"):
        tags = {child.tag for child in case}
        outcome = next(
            (t for t in ("error", "failure", "skipped") if t in tags), "passed"
        )
        name = f"{case.get('classname')}.{case.get('name')}"
        seen[name] += 1
        yield f"{name} ({seen[name]})" if seen[name] > 1 else name, outcome


def _row(client: Client, theirs: Run, ours: Run) -> str:
    passed = theirs.named("passed"), ours.named("passed")
    cells = (
        client.name,
        client.version,
        f"{client.source} `{client.digest[:12]}`",
        len(theirs.outcomes),
        len(passed[0]),
        len(passed[1]),
        len(passed[0] & passed[1]),
    )
    return f"| {' | '.join(map(str, cells))} |"


def _differences(client: Client, theirs: Run, ours: Run) -> list[str]:
    lost = sorted(theirs.named("passed") - ours.named("passed"))
    lines = [f"- {client.name}: `{name}` passes under torch.fx alone." for name in lost]
    rest = len(theirs.outcomes) - len(theirs.named("passed"))
    if rest:
        why = client.cause or "They are skipped here."
        lines.append(f"{client.name}: {rest} tests pass under neither. {why}")
    return lines


if __name__ == "__main__":
    sys.exit(main())
