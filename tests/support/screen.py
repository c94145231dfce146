"""What an editor would show of the answers of a real server, as text."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from tests.support.lsp_client import LspClient

__all__ = ["Screen"]

Json = Any

_ROLES = {3: "written", 2: "read", 1: "given up"}


class Screen:
    """An editor with a server, in a folder with a project."""

    def __init__(self, client: LspClient, root: Path) -> None:
        self.client = client
        self.root = root

    def spot(self, path: Path, line: str, word: str) -> tuple[int, int]:
        """Where a word first stands in the first line that holds this text."""
        for number, content in enumerate(self.lines(path)):
            if line in content:
                return number, content.index(word)
        raise AssertionError(f"{path} has no line with {line!r}")

    def lines(self, path: Path) -> list[str]:
        return path.read_text("utf-8").split("\n")

    def line(self, path: Path, number: int) -> str:
        return self.lines(path)[number]

    def hover(self, path: Path, line: str, word: str) -> list[str]:
        number, column = self.spot(path, line, word)
        found = self.client.ask("hover", path, number, column)
        return found["contents"]["value"].split("\n")

    def jumps(self, method: str, path: Path, line: str, word: str) -> list[str]:
        """Each place that a question leads to, and what stands there."""
        number, column = self.spot(path, line, word)
        found = self.client.ask(method, path, number, column)
        return [
            self.place(one["targetUri"], one["targetSelectionRange"]) for one in found
        ]

    def place(self, uri: str, span: Json) -> str:
        """``net.py:12  x + 1``."""
        path = Path(unquote(uri.removeprefix("file://")))
        start, end = span["start"], span["end"]
        content = self.line(path, start["line"])
        until = end["character"] if end["line"] == start["line"] else len(content)
        words = content[start["character"] : until].strip() or content.strip()
        return f"{path.name}:{start['line'] + 1}  {words}"

    def inlaid(self, path: Path, first: str, count: int) -> list[str]:
        """Lines with their hints written in."""
        number, _ = self.spot(path, first, first)
        span = whole(number, number + count - 1)
        hints = self.client.request(
            "textDocument/inlayHint", {**of(path), "range": span}
        )
        lines = self.lines(path)
        for hint in sorted(hints, key=lambda h: -h["position"]["character"]):
            at = hint["position"]
            line: int = at["line"]
            column: int = at["character"]
            if number <= line < number + count:
                text = lines[line]
                lines[line] = f"{text[:column]}⟦{hint['label']}⟧{text[column:]}"
        return dedented(lines[number : number + count])

    def lenses(self, path: Path, line: str) -> list[str]:
        """The line with its lenses above it."""
        number, _ = self.spot(path, line, line)
        found = self.client.request("textDocument/codeLens", of(path))
        titles = [
            f"▸ {lens['command']['title']}"
            for lens in found
            if lens["range"]["start"]["line"] == number
        ]
        return ["   ".join(titles), self.line(path, number).strip()]

    def marked(self, path: Path, said: Iterable[Json]) -> list[str]:
        """Lines with what is said of them underneath."""
        out: list[str] = []
        for one in said:
            start, end = one["range"]["start"], one["range"]["end"]
            content = self.line(path, start["line"])
            indent = len(content) - len(content.lstrip())
            until = end["character"] if end["line"] == start["line"] else len(content)
            waves = "~" * max(until - start["character"], 1)
            out.append(content.strip())
            out.append(" " * (start["character"] - indent) + waves)
            out += [f"  {line}" for line in one["message"].split("\n")]
            out += [
                f"  {self.place(o['location']['uri'], o['location']['range'])}"
                f"   ({o['message']})"
                for o in one.get("relatedInformation", ())
            ]
        return out

    def highlighted(self, path: Path, line: str, word: str) -> list[str]:
        """The lines in which a node is named, and what its name does there."""
        number, column = self.spot(path, line, word)
        found = self.client.ask("documentHighlight", path, number, column)
        out: list[str] = []
        found.sort(key=_start)
        by_line = itertools.groupby(found, lambda one: _start(one)[0])
        for at, marks in by_line:
            out.append(self.line(path, at).strip())
            waves, words = "", list[str]()
            for mark in marks:
                start, end = mark["range"]["start"], mark["range"]["end"]
                waves = waves.ljust(start["character"] - 4)
                waves += "~" * (end["character"] - start["character"])
                words.append(_ROLES[mark["kind"]])
            out.append(f"{waves}   {', '.join(words)}")
        return out

    def coloured(self, path: Path, first: str, count: int, legend: Json) -> list[str]:
        """Lines, and behind each the colours of its names."""
        number, _ = self.spot(path, first, first)
        span = whole(number, number + count - 1)
        asked = {**of(path), "range": span}
        data = self.client.request("textDocument/semanticTokens/range", asked)["data"]
        lines = self.lines(path)
        said: dict[int, list[str]] = {}
        line, column = 0, 0
        for down, right, length, kind, modifiers in zip(*[iter(data)] * 5, strict=True):
            line, column = line + down, right if down else column + right
            word = self.line(path, line)[column : column + length]
            names = [
                n for i, n in enumerate(legend["tokenModifiers"]) if modifiers >> i & 1
            ]
            colour = " ".join([*names, legend["tokenTypes"][kind]])
            said.setdefault(line, []).append(f"{word}: {colour}")
        return [
            text
            for at in range(number, number + count)
            for text in (lines[at].strip(), f"  {', '.join(said.get(at, []))}")
        ]

    def selected(self, path: Path, line: str, word: str) -> list[str]:
        """What is selected when the selection grows from a word."""
        number, column = self.spot(path, line, word)
        at = {"line": number, "character": column}
        asked = {**of(path), "positions": [at]}
        (found,) = self.client.request("textDocument/selectionRange", asked)
        out: list[str] = []
        while found:
            start, end = found["range"]["start"], found["range"]["end"]
            first = self.line(path, start["line"])
            if start["line"] == end["line"]:
                out.append(first[start["character"] : end["character"]])
            else:
                count = end["line"] - start["line"] + 1
                out.append(f"{first.strip()[:48]} …  ({count} lines)")
            found = found.get("parent")
        return out


def _start(one: Json) -> tuple[int, int]:
    at = one["range"]["start"]
    return at["line"], at["character"]


def of(path: Path) -> Json:
    return {"textDocument": {"uri": path.as_uri()}}


def whole(first: int, last: int) -> Json:
    return {
        "start": {"line": first, "character": 0},
        "end": {"line": last, "character": 999},
    }


def dedented(lines: Sequence[str]) -> list[str]:
    indent = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    return [line[indent:] for line in lines]


def shortened(lines: Iterable[str], widest: int = 110) -> list[str]:
    """Lines that a reader can take in, without what is another at each run."""
    out: list[str] = []
    for line in lines:
        line = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "2026-01-31 12:00:00", line)
        line = re.sub(r"\(\d+\.\d+ s\)", "(0.12 s)", line)
        out.append((line if len(line) <= widest else f"{line[: widest - 1]}…").rstrip())
    return out
