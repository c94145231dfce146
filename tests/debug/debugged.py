"""A program under a real debugger; places are words, as `Project` has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

from tests.debug.project import Project
from tests.support.dap import Breakpoint, Frame, Json, Session

__all__ = ["Debugged"]


class Debugged:
    """A session with default settings, in a project."""

    def __init__(
        self,
        project: Project,
        port: int | None = None,
        adapter: str = "debugpy.adapter",
    ) -> None:
        """With a new adapter, or with the one that listens on a port."""
        self.project = project
        self.session = (
            Session.spawn(cwd=project.folder, adapter=adapter)
            if port is None
            else Session.connect("127.0.0.1", port)
        )

    def __enter__(self) -> Self:
        self.session.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.session.__exit__(kind, error, traceback)

    def launch(
        self,
        program: str = "run.py",
        *,
        stop_at: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        settings: Json | None = None,
        exceptions: Sequence[str] = (),
    ) -> None:
        """Start a program, or ``-m module``, with breakpoints.

        The breakpoints have to be taken as they are. ``Net:relu if x.sum() > 1`` is one
        with a condition.
        """
        if program.startswith("-m "):
            settings = {**(settings or {}), "module": program.removeprefix("-m ")}
        wanted = self._wanted(stop_at)
        answers = self.session.launch(
            self.project.folder / program,
            breakpoints=wanted,
            env={**self.project.env, **(env or {})},
            settings=settings,
            exceptions=exceptions,
        )
        for path, breakpoints in answers.items():
            _check(breakpoints, wanted[path])

    def stop_at(self, *places: str) -> None:
        """Have these breakpoints in their files, and no others there."""
        for path, wanted in self._wanted(places).items():
            _check(self.session.set_breakpoints(path, wanted), wanted)

    def break_on(self, *functions: str, condition: str | None = None) -> None:
        """Ask for breakpoints by the name of a function, all with the condition."""
        more = {} if condition is None else {"condition": condition}
        wanted = [{"name": name, **more} for name in functions]
        self.session.request("setFunctionBreakpoints", {"breakpoints": wanted})
        # Those of nodes are set when it was answered, before the next request is taken;
        # a program that runs may be quicker than a busy machine sets them.
        self.session.request("threads")

    def told(self) -> list[tuple[str, str, bool, str]]:
        """What the adapter said of its own accord about breakpoints, so far."""
        return [
            (
                str(event.body["reason"]),
                self.project.place(Path(b["source"]["path"]), b["line"]),
                b["verified"],
                b.get("message", ""),
            )
            for event in self.session.events("breakpoint")
            for b in [cast("dict[str, Any]", event.body["breakpoint"])]
        ]

    def stopped(self) -> str:
        """Where the program stops next."""
        self.session.wait_stopped()
        return self.where()

    def where(self) -> str:
        return self._place(self.session.top())

    def stack(self) -> list[str]:
        """Each frame as ``function @ place``, innermost first."""
        return [f"{f.name} @ {self._place(f)}" for f in self.session.stack()]

    def resume(self) -> str:
        """Let the program run on to where it stops next."""
        self.session.resume()
        return self.stopped()

    def next(self) -> str:
        self.session.next()
        return self.where()

    def step_in(self) -> str:
        self.session.step_in()
        return self.where()

    def step_out(self) -> str:
        self.session.step_out()
        return self.where()

    def finish(self) -> str:
        """Let the program run to its end; what it printed."""
        self.session.resume()
        assert self.session.wait_ended() == 0, self.session.output()
        return self.session.output("stdout")

    def _wanted(self, places: Sequence[str]) -> dict[Path, list[Json]]:
        wanted: dict[Path, list[Json]] = {}
        for place in places:
            where, _, condition = place.partition(" if ")
            path, line = self.project.line(where)
            more = {"condition": condition} if condition else {}
            wanted.setdefault(path, []).append({"line": line, **more})
        return wanted

    def _place(self, frame: Frame) -> str:
        place = self.project.place(Path(frame.source.path), frame.line)
        if frame.source.source_reference:
            place += " (a copy that the debugger made)"
        return place


def _check(taken: Sequence[Breakpoint], wanted: Sequence[Json]) -> None:
    assert [(b.line, b.verified) for b in taken] == [
        (one["line"], True) for one in wanted
    ], taken
