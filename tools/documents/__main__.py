"""Compare what the code of documents does under torch.fx and under fxls.engine.

    python -m tools.documents FOLDER

Each block of code of each document (`*.txt`) runs under both engines. What its statements
print, raise and make is compared. A block that cannot be run is named, with the reason.
The exit status is 1 if anything differs, and 2 if there is nothing to compare.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tools.documents.blocks import Block, blocks, documents
from tools.documents.comparison import Difference, compared, without_a_name
from tools.documents.execution import ErrorText, Outcome

ENGINES = "torch.fx", "fxls.engine"


def main() -> int:
    """Run the tool; the exit status says how it went."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path, help="where the documents are")
    found = documents(parser.parse_args().folder)
    ran = refused = statements = different = 0
    for path in found:
        text = path.read_text("utf-8")
        there = blocks(text)
        runnable = [block for block in there if not block.refused]
        theirs, ours = (run(engine, runnable) for engine in ENGINES)
        differences = compared(theirs, ours, text)
        print(f"{path.name}: {len(there)} blocks, {len(theirs)} statements")
        for block in there:
            if block.refused:
                print(f"  line {block.line} is not run: {block.refused}")
        for outcome in without_a_name(theirs):
            assert outcome.raised is not None
            print(f"  {_place(outcome)} is run in vain: {outcome.raised.said}")
        for difference in differences:
            print(_said(difference))
        ran += len(runnable)
        refused += len(there) - len(runnable)
        statements += len(theirs)
        different += sum(not difference.shown for difference in differences)
    print(
        f"{len(found)} documents, {ran + refused} blocks: {ran} run under both engines,"
        f" {refused} not run; {different} of {statements} statements differ"
    )
    return 1 if different else 0 if ran else 2


def run(engine: str, found: list[Block]) -> list[Outcome]:
    """What the blocks of a document do under an engine, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder, "blocks.json"), Path(folder, "outcomes.json")
        given.write_text(json.dumps([asdict(block) for block in found]), "utf-8")
        subprocess.run(
            [
                *(sys.executable, "-W", "ignore", "-m", "tools.documents.execution"),
                *(engine, str(given), str(made)),
            ],
            # What a block says to a debugger that it starts.
            input="continue\n" * 100,
            text=True,
            check=True,
        )
        return [_outcome(**each) for each in json.loads(made.read_text("utf-8"))]


def _outcome(
    *, made: list[str], raised: dict[str, Any] | None, **parts: Any
) -> Outcome:
    """An outcome as it comes out of a file."""
    error = (
        None if raised is None else ErrorText(tuple(raised["kinds"]), raised["said"])
    )
    return Outcome(**parts, made=tuple(made), raised=error)


def _place(outcome: Outcome) -> str:
    return f"line {outcome.block}, `{outcome.ran.strip()}`"


def _said(difference: Difference) -> str:
    known = difference.torch_fx or difference.other
    assert known is not None
    if difference.shown:
        return (
            f"  {_place(known)} gives what the document shows under fxls.engine,"
            " and no longer under torch.fx"
        )
    lines = [f"  {_place(known)} differs:"]
    both = zip(ENGINES, (difference.torch_fx, difference.other), strict=True)
    for engine, outcome in both:
        lines.append(f"    {engine}:")
        lines += [f"      {line}" for line in _parts(outcome)]
    return "\n".join(lines)


def _parts(outcome: Outcome | None) -> list[str]:
    """What a statement did, in lines."""
    if outcome is None:
        return ["is not reached"]
    texts = [outcome.printed, *outcome.made]
    if outcome.raised is not None:
        texts.append(f"{outcome.raised.kinds[0]}: {outcome.raised.said}")
    return [line for text in texts for line in text.splitlines() if line.strip()]


if __name__ == "__main__":
    sys.exit(main())
