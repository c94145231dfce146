"""Runs the clients' tests under torch.fx and under fxls.engine: docs/clients.md.

    python -m tools.clients ENVIRONMENT [--sources FOLDER] [--only NAME] [--write]

ENVIRONMENT is the folder of a virtual environment that has torch and pytest; what a
client needs besides is installed into it. Sources are downloaded into FOLDER once: by
pip, git or ``apt-get source``; what lies there already under its name is taken.

What came out of a run is kept in FOLDER, and the run is not repeated until the client's
row, this folder's plugin or, for the runs under it, the engine has changed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tools.clients import page
from tools.clients.page import Result
from tools.clients.running import Run, ran
from tools.clients.sources import Unavailable, fetched, installed
from tools.clients.table import CLIENTS, Client

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "clients.md"


def main() -> int:
    """Run all, or some; fails where a test passes under torch.fx alone, without a cause."""
    parser = argparse.ArgumentParser(description="Run the tests of clients.")
    parser.add_argument("environment", type=Path)
    parser.add_argument("--sources", type=Path, default=ROOT / ".cache" / "clients")
    parser.add_argument("--only", default="", help="parts of names, between commas")
    parser.add_argument(
        "--limit",
        type=int,
        default=1800,
        help="seconds for each run; 0 reads records alone",
    )
    parser.add_argument(
        "--resume", action="store_true", help="take runs with an older engine as well"
    )
    parser.add_argument("--write", action="store_true", help="write docs/clients.md")
    asked = parser.parse_args()
    python = asked.environment.absolute() / "bin" / "python"
    sources = asked.sources.absolute()
    sources.mkdir(parents=True, exist_ok=True)
    results: list[Result] = []
    for client in CLIENTS:
        if any(part in client.name for part in asked.only.split(",")):
            results.append(_result(client, python, sources, asked))
            print(page.row(results[-1]), flush=True)
    print(page.differences(results))
    if asked.write:
        PAGE.write_text(page.whole(results), encoding="utf-8")
    return 1 if any(page.unexplained(result) for result in results) else 0


def _result(
    client: Client, python: Path, sources: Path, asked: argparse.Namespace
) -> Result:
    try:
        if asked.limit > 0:
            installed(client, python, sources)
        folder = fetched(client, python, sources)
    except Unavailable as reason:
        return Result(client, Run({}), Run({}), str(reason))
    theirs, ours = (
        ran(
            client,
            python,
            folder,
            sources,
            limit=asked.limit,
            is_redirected=is_redirected,
            is_resumed=asked.resume,
        )
        for is_redirected in (False, True)
    )
    if theirs is None or ours is None:
        return Result(client, Run({}), Run({}), "it did not run yet")
    return Result(client, theirs, ours)


if __name__ == "__main__":
    sys.exit(main())
