"""How long a person waits for the first listing, from the start of the server.

The whole conversation of an editor that opens a folder and shows a model: the server
starts, the worker imports torch, the model is traced, and the listing is there. Beside it
stand the same with the store of the time before, and one `import torch` alone, which no
trace is quicker than. Another clone of fxls may be measured beside this one, in turns: a
busy machine slows all down.

    python -m benchmarks.waiting [--pairs N] [--other CLONE]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple

__all__ = ["main"]

_HERE = Path(__file__).parents[1]
_MODEL = "resnet.py"


class Waited(NamedTuple):
    """Seconds from the start of the server's process."""

    answered: float
    """Until it answers that it is there."""
    listed: float
    """Until the listing is there."""
    cpu: float
    """That it and its worker computed, until they ended."""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.waiting")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--other", type=Path, help="a clone that starts without --warm")
    chosen = parser.parse_args(arguments)
    clones: dict[str, tuple[Path, list[str]]] = {
        "this": (_HERE, ["--warm"]),
        "this, not warm": (_HERE, []),
    }
    if chosen.other:
        clones["other"] = (chosen.other.absolute(), [])
    measured: dict[str, Callable[[], Waited]] = {
        name: partial(_waited, *clone) for name, clone in clones.items()
    }
    with tempfile.TemporaryDirectory() as seen:
        measured["this, seen before"] = partial(
            _waited_in, Path(seen), _HERE, ["--warm"], seen_before=True
        )
        measured["import torch"] = _imported
        found = _in_turns(measured, chosen.pairs)
    print("| | answers, s | listing, s | slowest, s | CPU, s |")
    print("|---|---:|---:|---:|---:|")
    for name, all_waited in found.items():
        answered, listed, cpu = map(statistics.median, zip(*all_waited, strict=True))
        slowest = max(one.listed for one in all_waited)
        row = f"{answered:.2f} | {listed:.2f} | {slowest:.2f} | {cpu:.2f}"
        print(f"| {name} | {row} |")


def _in_turns(
    measured: Mapping[str, Callable[[], Waited]], turns: int
) -> dict[str, list[Waited]]:
    found: dict[str, list[Waited]] = {name: [] for name in measured}
    for turn in range(turns + 1):
        for name, measure in measured.items():
            waited = measure()
            # The first turn fills the caches.
            if turn:
                found[name].append(waited)
    return found


def _waited(clone: Path, options: Sequence[str]) -> Waited:
    """What one editor sees that opens a folder with a model and nothing else."""
    with tempfile.TemporaryDirectory() as name:
        return _waited_in(Path(name), clone, options)


def _waited_in(
    folder: Path, clone: Path, options: Sequence[str], *, seen_before: bool = False
) -> Waited:
    """The same in one folder, which another editor may have shown before: then the wait
    ends when a lens says how many nodes there are.
    """
    shutil.copy(clone / "examples" / _MODEL, folder)
    (folder / "pyproject.toml").touch()
    environment = {**os.environ, "PYTHONPATH": str(clone)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    had_listing = (folder / ".fxls").exists()
    before = _computed()
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "fxls", "serve", *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=folder,
        env=environment,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    _send(process.stdin, 1, "initialize", _begin(folder))
    _until(process.stdout, "id", 1)
    answered = time.perf_counter() - began
    _send(process.stdin, None, "initialized", {})
    opened = _open(folder / _MODEL)
    _send(process.stdin, None, "textDocument/didOpen", opened)
    if seen_before and had_listing:
        where = {"textDocument": {"uri": opened["textDocument"]["uri"]}}
        _send(process.stdin, 3, "textDocument/codeLens", where)
        lenses = _until(process.stdout, "id", 3)["result"]
        assert "nodes)" in json.dumps(lenses)
    else:
        _until(process.stdout, "method", "fxls/changed")
    listed = time.perf_counter() - began
    _send(process.stdin, 2, "shutdown", None)
    _until(process.stdout, "id", 2)
    _send(process.stdin, None, "exit", None)
    process.communicate()
    assert process.returncode == 0
    return Waited(answered, listed, _computed() - before)


def _imported() -> Waited:
    """What an import of torch takes in a Python that does nothing else."""
    before = _computed()
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import torch"], check=True)
    took = time.perf_counter() - began
    return Waited(took, took, _computed() - before)


def _begin(folder: Path) -> dict[str, Any]:
    uri = folder.as_uri()
    return {
        "processId": None,
        "rootUri": uri,
        "workspaceFolders": [{"uri": uri, "name": folder.name}],
        "capabilities": {"experimental": {"fxlsChanges": True}},
        "initializationOptions": {"trusted": True},
    }


def _open(path: Path) -> dict[str, Any]:
    item = {"uri": path.as_uri(), "languageId": "python", "version": 1}
    return {"textDocument": {**item, "text": path.read_text("utf-8")}}


def _send(stream: IO[bytes], number: int | None, method: str, params: Any) -> None:
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    if number is not None:
        message["id"] = number
    body = json.dumps(message).encode()
    stream.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    stream.flush()


def _until(stream: IO[bytes], name: str, value: int | str) -> dict[str, Any]:
    """The next message that has this; others are lost."""
    while True:
        length = 0
        while line := stream.readline().strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        assert length, "the server ended"
        message = json.loads(stream.read(length))
        if message.get(name) == value:
            return message


def _computed() -> float:
    """Seconds of CPU time that ended children took."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
