"""Searches the commits of a program's repository, in a worktree that is thrown away."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from fxls.cli.searches.trials import Answer, Outcome, Trials

__all__ = ["GitError", "first_bad"]

_MARKS = {Answer.GOOD: "good", Answer.BAD: "bad", Answer.OPEN: "skip"}


_Git = Callable[..., str]
_FOUND = re.compile(r"^[0-9a-f]{40,64} is the first bad commit$", re.MULTILINE)


class GitError(Exception):
    """What git says that keeps this from being searched."""


def first_bad(trials: Trials, commits: str) -> tuple[list[str], Outcome | None]:
    """The commits, as ``hash subject``, of which the first bad one is one, and what is
    wrong there; several where those between could not be tried. Without an outcome, no
    fault came up in these commits, and the one commit is the end that says otherwise.

    `commits` is ``GOOD..BAD``, or ``GOOD`` alone for ``GOOD..HEAD``. Raises `GitError`.
    """
    environment = {
        name: value
        for name, value in trials.environment.items()
        if not name.startswith("GIT_")
    }
    git = partial(_asked, {**environment, "LC_ALL": "C"})
    good, _, bad = commits.partition("..")
    top = Path(git(Path.cwd(), "rev-parse", "--show-toplevel"))
    ends = [
        git(top, "rev-parse", "--verify", f"{one}^{{commit}}")
        for one in (good, bad or "HEAD")
    ]
    here = Path.cwd().resolve().relative_to(top.resolve())
    with _worktree(git, top, ends[1]) as tree:
        found: dict[str, Outcome] = {}

        def tried() -> Outcome:
            commit = git(tree, "rev-parse", "HEAD")
            of = _named(git, tree, commit)
            found[commit] = trials.run(folder=tree / here, of=of)
            trials.wanted = trials.wanted or found[commit].kind
            return found[commit]

        for commit, wanted in ((ends[1], Answer.BAD), (ends[0], Answer.GOOD)):
            git(tree, "checkout", "--quiet", "--force", "--detach", commit)
            if tried().answer is not wanted:
                return [_named(git, tree, commit)], None
        said = git(tree, "bisect", "start", "--no-checkout", ends[1], ends[0])
        while (suspects := _suspects(git, tree, said)) is None:
            commit = git(tree, "rev-parse", "BISECT_HEAD")
            git(tree, "checkout", "--quiet", "--force", "--detach", commit)
            said = git(tree, "bisect", _MARKS[tried().answer])
        what = found.get(suspects[-1]) or found[ends[1]]
        return [_named(git, tree, one) for one in suspects], what


def _suspects(git: _Git, tree: Path, said: str) -> Sequence[str] | None:
    """The commits that are left; None while git names another one to try."""
    is_one = _FOUND.search(said) is not None
    if not is_one and "There are only 'skip'ped commits left" not in said:
        return None
    bad = git(tree, "rev-parse", "refs/bisect/bad")
    if is_one:
        return [bad]
    goods = git(tree, "for-each-ref", "--format=^%(refname)", "refs/bisect/good-*")
    return git(tree, "rev-list", "--reverse", bad, *goods.split()).split()


@contextmanager
def _worktree(git: _Git, top: Path, commit: str) -> Generator[Path]:
    """A worktree in a temporary folder, of which nothing is left."""
    with tempfile.TemporaryDirectory(prefix="fxls-commits-") as folder:
        tree = Path(folder) / "tree"
        git(top, "worktree", "add", "--quiet", "--detach", str(tree), commit)
        try:
            yield tree
        finally:
            git(top, "worktree", "remove", "--force", str(tree))


def _named(git: _Git, tree: Path, commit: str) -> str:
    return git(tree, "show", "--no-patch", "--format=%h %s", commit)


def _asked(environment: Mapping[str, str], folder: Path, *arguments: str) -> str:
    """What git prints; neither hooks nor messages in other languages get in the way."""
    command = ["git", "-c", "core.hooksPath=/dev/null", *arguments]
    try:
        ended = subprocess.run(
            command,
            cwd=folder,
            env=environment,
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
