"""Gets the sources of a client, and what it needs besides, by the ordinary clients."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

from tools.clients.table import Client

__all__ = ["Unavailable", "fetched", "installed"]

PATIENCE = 900
"""Seconds for a download."""


class Unavailable(Exception):
    """What a client needs cannot be had; says what, and why."""


def installed(client: Client, python: Path, sources: Path) -> None:
    """Let the environment have what a client needs besides; torch stays as it is."""
    if not client.requires:
        return
    held = sources / "held.txt"
    names = ("torch", "torchvision")
    question = (
        "import importlib.metadata as m\n"
        f"for name in {names!r}:\n"
        "    try: print(name + '==' + m.version(name).partition('+')[0])\n"
        "    except m.PackageNotFoundError: pass\n"
    )
    held.write_text(_said(python, "-c", question), encoding="utf-8")
    _pip(python, "install", "--constraint", str(held), *client.requires)


def fetched(client: Client, python: Path, sources: Path) -> Path:
    """The folder in which a client's tests run; an archive is checked by its hash."""
    folder = sources / f"{client.name.partition(':')[0]}-{client.version}"
    if client.source.startswith("debian:"):
        archive = sources / client.archive
        if not archive.exists():
            package = client.source.removeprefix("debian:")
            _said("apt-get", "source", "--download-only", package, cwd=sources)
    elif client.source in {"sdist", "wheel"}:
        archive = sources / (client.archive or f"{folder.name}.tar.gz")
        if not archive.exists():
            kind = ("--no-binary", ":all:") if client.source == "sdist" else ()
            wanted = f"{client.name}=={client.version}"
            _pip(python, "download", "--no-deps", *kind, "-d", str(sources), wanted)
    else:
        return _cloned(client, folder, sources)
    if not archive.exists():
        raise Unavailable(f"{archive.name} is not what can be downloaded today")
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    if digest != client.digest:
        raise Unavailable(f"{archive.name} has another hash than its row: {digest}")
    folder = sources / client.folder if client.folder else folder
    if not folder.exists():
        if archive.suffix == ".whl":
            shutil.unpack_archive(archive, folder, "zip")
        else:
            _said("tar", "xf", str(archive), "-C", str(sources))
    return folder.resolve()


def _cloned(client: Client, folder: Path, sources: Path) -> Path:
    if not folder.exists():
        clone = sources / f"{client.name}.git"
        if not clone.exists():
            _said("git", "clone", "--bare", "--quiet", client.source, str(clone))
        archive = sources / f"{folder.name}.tar"
        _said("git", "-C", str(clone), "archive", "-o", str(archive), client.digest)
        shutil.unpack_archive(archive, folder)
    return folder.resolve()


def _pip(python: Path, *arguments: str) -> None:
    _said(python, "-m", "pip", "-q", "--disable-pip-version-check", *arguments)


def _said(*command: str | Path, cwd: Path | None = None) -> str:
    """What a program prints; `Unavailable` when it fails, or does not end."""
    try:
        run = subprocess.run(
            command,
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"{Path(command[0]).name}: {error}") from error
    if run.returncode:
        words = [line for line in run.stderr.splitlines() if line.strip()]
        last = words[-1] if words else f"status {run.returncode}"
        raise Unavailable(f"{Path(command[0]).name}: {last}")
    return run.stdout
