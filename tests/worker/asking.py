"""A worker to put questions to: a file, an expression, and what is said about it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from textwrap import dedent
from typing import TypeVar

from fxls.cli.report import Sources, shown
from fxls.entry import Entry, Kind, Producer
from fxls.host.host import Host
from fxls.host.settings import Status, WorkerSettings
from fxls.text import LineTable, Span
from fxls.wire import Failed, Traced

_Result = TypeVar("_Result")

TIME_LIMIT = 60.0
"""Far more than any trace here takes, so that a slow machine fails no test."""


class Asking:
    """A host with an event loop of its own, and a folder for the user's files."""

    def __init__(self, folder: Path, settings: WorkerSettings) -> None:
        self.folder = folder
        self.store = folder / ".fxls"
        self.printed: list[tuple[str | None, str]] = []
        self.statuses: list[Status] = []
        self._loop = asyncio.new_event_loop()
        self.host = Host(
            settings,
            on_printed=lambda entry, text: self.printed.append(
                (entry and entry.expression, text)
            ),
            on_status=self.statuses.append,
        )

    def run(self, coroutine: Coroutine[None, None, _Result]) -> _Result:
        return self._loop.run_until_complete(coroutine)

    def file(self, text: str, name: str = "net.py") -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), "utf-8")
        return path

    def ask(
        self,
        path: Path,
        expression: str,
        limit: float = TIME_LIMIT,
        producer: Producer | None = None,
    ):
        """What becomes of an expression of the command line, as a coroutine."""
        entry = Entry(str(path), expression, Kind.COMMAND, None, producer)
        return self.host.trace(entry, store=str(self.store), time_limit=limit)

    def outcome(
        self, text: str, expression: str, limit: float = TIME_LIMIT
    ) -> Traced | Failed:
        """What becomes of an expression, given the text of the file."""
        return self.run(self.ask(self.file(text), expression, limit))

    def said(self, text: str, expression: str, limit: float = TIME_LIMIT) -> str:
        """What a person is told about it; the reason in front."""
        return self.told(self.outcome(text, expression, limit), expression)

    def said_by_engine(self, text: str, expression: str) -> str:
        """The same where nobody else may capture it."""
        asked = self.ask(self.file(text), expression, producer=Producer.ENGINE)
        return self.told(self.run(asked), expression)

    def said_of_comment(self, text: str) -> str:
        """The same of the file's first line, an entry comment."""
        path = self.file(text)
        comment = LineTable(path.read_text("utf-8")).line(0)
        column = comment.index("fxls: ") + len("fxls: ")
        span = Span.of(0, column, 0, len(comment))
        entry = Entry(str(path), comment[column:], Kind.COMMENT, span)
        outcome = self.run(
            self.host.trace(entry, store=str(self.store), time_limit=TIME_LIMIT)
        )
        return self.told(outcome, entry.expression, span)

    def told(
        self, outcome: Traced | Failed, expression: str, span: Span | None = None
    ) -> str:
        failure = outcome.failure if isinstance(outcome, Failed) else outcome.trouble
        if failure is None:
            return "ok"
        entry = Entry(str(self.folder / "net.py"), expression, Kind.COMMAND, span)
        text = shown(failure, entry, Sources(self.folder))
        folder = str(self.folder)
        return f"[{failure.reason.value}]\n{text.replace(folder, 'FOLDER')}\n"

    def close(self) -> None:
        self.run(self.host.close())
        self._loop.close()
