"""Searches the commits of a program's repository, in a worktree that is thrown away."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from fxls.cli.trials import Answer, Outcome, Trials

__all__ = ["GitError", "first_bad"]

_MARKS = {Answer.GOOD: "good", Answer.BAD: "bad", Answer.OPEN: "skip"}


class GitError(Exception):
    """What git says that keeps this from being searched."""


def first_bad(trials: Trials, commits: str) -> tuple[list[str], Outcome | None]:
    """The commits, as ``hash subject``, of which the first bad one is one, and what is
    wrong there; several where those between could not be tried. Without an outcome, no
    fault came up in these commits, and the one commit is the end that says otherwise.

    `commits` is ``GOOD..BAD``, or ``GOOD`` alone for ``GOOD..HEAD``. Raises `GitError`.
    """
    good, _, bad = commits.partition("..")
    top = Path(_git(Path.cwd(), "rev-parse", "--show-toplevel"))
    ends = [
        _git(top, "rev-parse", "--verify", f"{one}^{{commit}}")
        for one in (good, bad or "HEAD")
    ]
    here = Path.cwd().resolve().relative_to(top.resolve())
    with _worktree(top, ends[1]) as tree:
        found: dict[str, Outcome] = {}

        def tried() -> Outcome:
            commit = _git(tree, "rev-parse", "HEAD")
            found[commit] = trials.run(folder=tree / here)
            trials.wanted = trials.wanted or found[commit].kind
            return found[commit]

        for commit, wanted in ((ends[1], Answer.BAD), (ends[0], Answer.GOOD)):
            _git(tree, "checkout", "--quiet", "--force", "--detach", commit)
            if tried().answer is not wanted:
                return [_named(tree, commit)], None
        said = _git(tree, "bisect", "start", "--no-checkout", ends[1], ends[0])
        while (suspects := _suspects(tree, said)) is None:
            commit = _git(tree, "rev-parse", "BISECT_HEAD")
            _git(tree, "checkout", "--quiet", "--force", "--detach", commit)
            said = _git(tree, "bisect", _MARKS[tried().answer])
        return [_named(tree, one) for one in suspects], found.get(
            suspects[-1]
        ) or found[ends[1]]


def _suspects(tree: Path, said: str) -> Sequence[str] | None:
    """The commits that are left; None while git names another one to try."""
    is_one = "is the first bad commit" in said
    if not is_one and "There are only 'skip'ped commits left" not in said:
        return None
    bad = _git(tree, "rev-parse", "refs/bisect/bad")
    if is_one:
        return [bad]
    goods = _git(tree, "for-each-ref", "--format=^%(refname)", "refs/bisect/good-*")
    return _git(tree, "rev-list", "--reverse", bad, *goods.split()).split()


@contextmanager
def _worktree(top: Path, commit: str) -> Generator[Path]:
    """A worktree in a temporary folder, of which nothing is left."""
    with tempfile.TemporaryDirectory(prefix="fxls-commits-") as folder:
        tree = Path(folder) / "tree"
        _git(top, "worktree", "add", "--quiet", "--detach", str(tree), commit)
        try:
            yield tree
        finally:
            _git(top, "worktree", "remove", "--force", str(tree))


def _named(tree: Path, commit: str) -> str:
    return _git(tree, "show", "--no-patch", "--format=%h %s", commit)


def _git(folder: Path, *arguments: str) -> str:
    """What git prints; neither hooks nor messages in other languages get in the way."""
    command = ["git", "-c", "core.hooksPath=/dev/null", *arguments]
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("GIT_")
    }
    try:
        ended = subprocess.run(
            command,
            cwd=folder,
            env={**environment, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        raise GitError(f"git does not start: {error}") from error
    said = f"{ended.stdout}{ended.stderr}".strip()
    # A bisection whose last commits were skipped ends with 2, and says which they are.
    if ended.returncode and "left to test" not in said:
        raise GitError(
            f"git {arguments[0]}: {said.splitlines()[0] if said else ended.returncode}"
        )
    return said if arguments[0] == "bisect" else ended.stdout.strip()
