"""What the record of this process begins with: which run it is."""

from __future__ import annotations

import os
import platform
import re
import secrets
import sys
import time
from pathlib import Path

import torch

from fxls import machine, regular_file
from fxls._version import __version__
from fxls.record import SCHEMA, Run
from fxls.runtime.listings.rank import rank

__all__ = ["ThisRun", "is_compile_worker"]

_MOST_ARGUMENTS = 64
_LONGEST_ARGUMENT = 200
_MOST_IN_REF = 1 << 20
_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


class ThisRun:
    """Which run this process is; one that was forked is another one."""

    def __init__(self, launch: str | None = None, parent: str | None = None) -> None:
        """The launch and the parent that this process inherited, if it did."""
        self._pid = os.getpid()
        self._parent = parent
        self._start = time.time()
        self._id = _new_id(self._start)
        self._is_first = launch is None
        self.launch = launch or self._id

    @property
    def id(self) -> str:
        """A name that no other run has."""
        if os.getpid() != self._pid:
            self._parent = self._id
            self._pid = os.getpid()
            self._start = time.time()
            self._id = _new_id(self._start)
        return self._id

    def cut(self) -> None:
        """Be another run from now on; of the same launch where this process inherited
        it, as the ranks of one program do.
        """
        self._pid = os.getpid()
        self._start = time.time()
        self._id = _new_id(self._start)
        if self._is_first:
            self.launch = self._id

    def head(self, program: str | None) -> Run:
        """What the record begins with."""
        arguments = tuple(one[:_LONGEST_ARGUMENT] for one in sys.argv[1:])
        distributed = torch.distributed
        world = None
        if distributed.is_available() and distributed.is_initialized():
            world = distributed.get_world_size()
        return Run(
            schema=SCHEMA,
            id=self.id,
            launch=self.launch,
            pid=os.getpid(),
            start=self._start,
            program=program,
            arguments=arguments[:_MOST_ARGUMENTS],
            parent=self._parent,
            rank=rank(),
            world_size=world,
            boot=machine.boot(),
            host=machine.host(),
            versions={
                "fxls": __version__,
                "python": platform.python_version(),
                "torch": str(torch.__version__),
            },
            commit=_commit(Path(program).parent if program else Path.cwd()),
        )


def _new_id(start: float) -> str:
    when = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(start))
    host = re.sub(r"[^A-Za-z0-9_.]+", "_", machine.host())[:64] or "host"
    return f"{when}-{host}-{os.getpid()}-{secrets.token_hex(4)}"


def is_compile_worker() -> bool:
    """Whether this is a process in which inductor compiles: it has no run of its own."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return getattr(spec, "name", "").startswith("torch._inductor.")


def _commit(folder: Path) -> str | None:
    """The commit that git has checked out for a folder, without asking git."""
    for parent in (folder, *folder.parents):
        if os.path.lexists(parent / ".git"):
            try:
                return _checked_out(parent / ".git")
            except (OSError, ValueError):
                return None
    return None


def _checked_out(git: Path) -> str | None:
    if not git.is_dir():  # of a worktree, or of a submodule
        git = git.parent / _text(git).removeprefix("gitdir:").strip()
    named = _text(git / "HEAD").strip()
    if not named.startswith("ref:"):
        return named if _COMMIT.fullmatch(named) else None
    ref = named.removeprefix("ref:").strip()
    if not re.fullmatch(r"refs/[\w./-]{1,200}", ref) or ".." in ref:
        return None
    common = git
    if (git / "commondir").is_file():
        common = git / _text(git / "commondir").strip()
    if (common / ref).is_file():
        found = _text(common / ref).strip()
        return found if _COMMIT.fullmatch(found) else None
    for line in _text(common / "packed-refs").splitlines():
        commit, _, name = line.partition(" ")
        if name == ref and _COMMIT.fullmatch(commit):
            return commit
    return None


def _text(path: Path) -> str:
    return regular_file.read(path, _MOST_IN_REF).decode("utf-8", "replace")
