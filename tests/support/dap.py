"""A client of the Debug Adapter Protocol that drives a real debugpy.

    with Session.spawn(cwd=folder) as session:
        session.launch("program.py", breakpoints={listing: [12]})
        stop = session.wait_stopped()
        assert session.top().line == 12

- Every wait has a time limit; leaving the ``with`` block ends every process.
- An exception that leaves the block carries the end of the conversation as a note.
- Lines are counted from one here, as the protocol and the editors do.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import msgspec

from tests.support.dap_connection import (
    TIME_LIMIT,
    Connection,
    Ended,
    Event,
    Json,
    RequestFailed,
    TimedOut,
    kill_group,
)

__all__ = [
    "Breakpoint",
    "Ended",
    "Event",
    "Frame",
    "Location",
    "RequestFailed",
    "Session",
    "Stop",
    "TimedOut",
    "Variable",
]

_Struct = TypeVar("_Struct", bound=msgspec.Struct)

_PATIENT = {
    "DEBUGPY_PROCESS_SPAWN_TIMEOUT": str(TIME_LIMIT),
    "PYDEVD_WARN_EVALUATION_TIMEOUT": str(TIME_LIMIT),
    "PYDEVD_WARN_SLOW_RESOLVE_TIMEOUT": str(TIME_LIMIT),
}
"""On a busy machine debugpy neither gives up, nor remarks in the console that it is."""


class Stop(msgspec.Struct, frozen=True, rename="camel"):
    """Why the program stopped, and which thread."""

    reason: str
    thread_id: int


class Location(msgspec.Struct, frozen=True, rename="camel"):
    """The file of a frame; a `source_reference` other than 0 is no file on disk."""

    path: str = ""
    source_reference: int = 0


class Frame(msgspec.Struct, frozen=True):
    """One level of a stack."""

    id: int
    name: str
    line: int
    source: Location = Location()


class Breakpoint(msgspec.Struct, frozen=True):
    """What became of a breakpoint that was asked for."""

    verified: bool
    id: int | None = None
    line: int | None = None
    message: str | None = None


class Variable(msgspec.Struct, frozen=True, rename="camel"):
    """A name or an expression and its value, as an editor shows it."""

    value: str
    name: str = ""
    type: str = ""
    variables_reference: int = 0


class _Breakpoints(msgspec.Struct):
    breakpoints: tuple[Breakpoint, ...]


class _Frames(msgspec.Struct, rename="camel"):
    stack_frames: tuple[Frame, ...]


class _Scope(msgspec.Struct, rename="camel"):
    name: str
    variables_reference: int


class _Scopes(msgspec.Struct):
    scopes: tuple[_Scope, ...]


class _Variables(msgspec.Struct):
    variables: tuple[Variable, ...]


class _Target(msgspec.Struct):
    id: int


class _Targets(msgspec.Struct):
    targets: tuple[_Target, ...]


class _Evaluated(msgspec.Struct, rename="camel"):
    result: str
    type: str = ""
    variables_reference: int = 0


class _Connect(msgspec.Struct):
    host: str
    port: int


class _Announced(msgspec.Struct):
    connect: _Connect
    process: int = msgspec.field(name="subProcessId")


class Session:
    """One debugged process, from the adapter's start to its end.

    Questions about a stopped program are about the thread that stopped last and, where
    no frame is named, about its innermost frame.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._children: list[Session] = []
        self._thread = 0
        self._starts_children = False

    @classmethod
    def spawn(
        cls,
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        python: str = sys.executable,
        adapter: str = "debugpy.adapter",
    ) -> Self:
        """A session with a new adapter, a module; `env` is added to ours."""
        told = {**_PATIENT, **(env or {})}
        return cls(Connection.spawn([python, "-m", adapter], cwd, told))

    @classmethod
    def connect(cls, host: str, port: int) -> Self:
        """A session with an adapter that listens already."""
        return cls(Connection.connect(host, port))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is not None:
            error.add_note(self.transcript())
        self.close()

    def close(self) -> None:
        """Ends the program, its children and the adapter."""
        for child in self._children:
            child.close()
        # After `hang_up` there is nobody to ask, which is a ValueError.
        with contextlib.suppress(RequestFailed, TimedOut, Ended, OSError, ValueError):
            self.request("disconnect", {"terminateDebuggee": True}, time_limit=5)
        for event in self.events("process"):
            pid = event.body.get("systemProcessId")
            if isinstance(pid, int):
                # debugpy makes the program the leader of a group of its own.
                kill_group(pid)
        self._connection.close()

    def answer_requests(self, answer: Callable[[Json], None]) -> None:
        """Be asked to start sessions of children, from the next launch or attach on.

        `answer` gets the arguments of a request; `RequestFailed` refuses it.
        """
        self._starts_children = True
        self._connection.answer_requests(answer)

    def wait_hung_up(self) -> None:
        """Waits until the adapter hangs up, as it does behind `disconnect`."""
        self._connection.wait_closed(TIME_LIMIT)

    def hang_up(self) -> None:
        """Goes away without a word, as a client does that crashes."""
        self._connection.close()

    def process(self) -> int:
        """The id of the program's process."""
        (event,) = self.events("process")
        pid = event.body["systemProcessId"]
        assert isinstance(pid, int)
        return pid

    def launch(
        self,
        program: Path | str,
        *,
        breakpoints: Mapping[Path, Sequence[int | Json]] | None = None,
        exceptions: Sequence[str] = (),
        arguments: Sequence[str] = (),
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        settings: Json | None = None,
    ) -> dict[Path, tuple[Breakpoint, ...]]:
        """Starts a program; what became of the breakpoints, by file.

        A breakpoint is a line, or the protocol's object (line, condition, ...).
        `settings` are those of a launch configuration, as an editor passes them on;
        with a ``module`` among them that is run, and not the program.
        """
        configuration = {
            **({} if "module" in (settings or {}) else {"program": str(program)}),
            "args": list(arguments),
            "console": "internalConsole",
            "env": dict(env or {}),
            **({} if cwd is None else {"cwd": str(cwd)}),
            **(settings or {}),
        }
        return self._start("launch", configuration, breakpoints or {}, exceptions)

    def attach(
        self,
        breakpoints: Mapping[Path, Sequence[int | Json]] | None = None,
        *,
        exceptions: Sequence[str] = (),
        settings: Json | None = None,
    ) -> dict[Path, tuple[Breakpoint, ...]]:
        """Joins a program; as `launch` else.

        Without `settings` it is the one whose adapter this is connected to.
        """
        # An editor sends its whole configuration; without any argument debugpy refuses.
        told = {"request": "attach", **(settings or {})}
        return self._start("attach", told, breakpoints or {}, exceptions)

    def next_child(
        self, *, breakpoints: Mapping[Path, Sequence[int | Json]] | None = None
    ) -> tuple[int, Session]:
        """The next child process of the program that is announced, and its session."""
        announced = self.wait_event("debugpyAttach").body
        told = msgspec.convert(announced, _Announced)
        child = Session.connect(told.connect.host, told.connect.port)
        self._children.append(child)
        child._start("attach", announced, breakpoints or {}, ())
        return told.process, child

    def child(
        self,
        process: int,
        *,
        breakpoints: Mapping[Path, Sequence[int | Json]] | None = None,
    ) -> Session:
        """The session of a child process of the program.

        Attaches to those that are announced before it, too, as an editor does: Python
        has processes of its own.
        """
        while True:
            announced, child = self.next_child(breakpoints=breakpoints)
            if announced == process:
                return child

    def set_breakpoints(
        self, path: Path, breakpoints: Sequence[int | Json]
    ) -> tuple[Breakpoint, ...]:
        """Replaces the breakpoints of a file."""
        wanted = [{"line": b} if isinstance(b, int) else b for b in breakpoints]
        source = {"source": {"path": str(path)}, "breakpoints": wanted}
        return self._ask("setBreakpoints", source, _Breakpoints).breakpoints

    def wait_stopped(self, *, time_limit: float = TIME_LIMIT) -> Stop:
        """The next stop; raises `Ended` when the program ends before it."""
        event = self.wait_event("stopped", "terminated", time_limit=time_limit)
        if event.event == "terminated":
            raise Ended(f"the program ended, no stop came\n{self.output()}")
        stop = msgspec.convert(event.body, Stop)
        self._thread = stop.thread_id
        return stop

    def wait_ended(self, *, time_limit: float = TIME_LIMIT) -> int:
        """The exit code of the program, which must not stop before its end."""
        event = self.wait_event("stopped", "exited", time_limit=time_limit)
        assert event.event == "exited", f"stopped on the way: {event.body}"
        code = event.body["exitCode"]
        assert isinstance(code, int)
        return code

    def resume(self) -> None:
        """Lets the program run on, without waiting."""
        self.request("continue", {"threadId": self._thread})

    def next(self) -> Stop:
        """Steps over the line."""
        return self._step("next")

    def step_in(self) -> Stop:
        """Steps into the call, once."""
        return self._step("stepIn")

    def step_out(self) -> Stop:
        """Runs to the caller."""
        return self._step("stepOut")

    def stack(self) -> tuple[Frame, ...]:
        """The frames, innermost first."""
        asked = {"threadId": self._thread}
        return self._ask("stackTrace", asked, _Frames).stack_frames

    def top(self) -> Frame:
        """The innermost frame."""
        return self.stack()[0]

    def where(self) -> str:
        """The innermost frame as ``function file:line``, with the name of the file."""
        top = self.top()
        return f"{top.name} {Path(top.source.path).name}:{top.line}"

    def evaluate(self, expression: str, frame: Frame | None = None) -> str:
        """The value as the debugger prints it; raises `RequestFailed` if it raises."""
        return self._evaluate(expression, frame, "repl").value

    def hover(self, expression: str, frame: Frame | None = None) -> Variable:
        """What an editor shows when the mouse rests on an expression."""
        return self._evaluate(expression, frame, "hover")

    def inline(self, expression: str, frame: Frame | None = None) -> str:
        """What the extension for VS Code shows behind a line."""
        return self._evaluate(expression, frame, "inline").value

    def locals(self, frame: Frame | None = None) -> dict[str, str]:
        """The local names of a frame and their values as shown."""
        shown = self.variables(self._locals(frame))
        return {variable.name: variable.value for variable in shown}

    def set_variable(self, name: str, expression: str) -> str:
        """Sets a local name of the innermost frame; the value as shown."""
        asked = {
            "variablesReference": self._locals(),
            "name": name,
            "value": expression,
        }
        return self._ask("setVariable", asked, Variable).value

    def go_to(self, path: Path, line: int) -> None:
        """Lets the stopped thread go on at another line; it stops there."""
        asked = {"source": {"path": str(path)}, "line": line}
        (target,) = self._ask("gotoTargets", asked, _Targets).targets
        self.request("goto", {"threadId": self._thread, "targetId": target.id})

    def variables(self, reference: int) -> tuple[Variable, ...]:
        """What a scope or a value holds."""
        asked = {"variablesReference": reference}
        return self._ask("variables", asked, _Variables).variables

    def output(self, category: str | None = None) -> str:
        """Everything the program printed; `category` is stdout, stderr or console."""
        return "".join(
            str(event.body["output"])
            for event in self.events("output")
            if category in (None, event.body.get("category"))
        )

    def events(self, name: str) -> tuple[Event, ...]:
        """Every event of this name so far, also those that were waited for."""
        return self._connection.events(name)

    def wait_event(
        self,
        *names: str,
        where: Callable[[Event], bool] = lambda _: True,
        time_limit: float = TIME_LIMIT,
    ) -> Event:
        """The first event of these names that nobody has waited for yet."""
        event = self._connection.wait_event(names, where, time_limit)
        assert event is not None
        return event

    def transcript(self) -> str:
        """The end of the conversation, for a person who has to find out."""
        return self._connection.transcript()

    def request(
        self,
        command: str,
        arguments: Json | None = None,
        *,
        time_limit: float = TIME_LIMIT,
    ) -> dict[str, object]:
        """The body of the answer to any request of the protocol."""
        sequence = self._connection.send(command, arguments or {})
        return self._connection.answer(sequence, command, time_limit)

    def _start(
        self,
        command: str,
        configuration: Json,
        breakpoints: Mapping[Path, Sequence[int | Json]],
        exceptions: Sequence[str],
    ) -> dict[Path, tuple[Breakpoint, ...]]:
        client = {
            "clientID": "fxls",
            "adapterID": "debugpy",
            "pathFormat": "path",
            "linesStartAt1": True,
            "columnsStartAt1": True,
            "supportsVariableType": True,
            "supportsStartDebuggingRequest": self._starts_children,
        }
        self.request("initialize", client)
        connection = self._connection
        started = connection.send(command, configuration)
        # A launch that is refused is answered at once and never says `initialized`.
        said = connection.wait_event(
            ("initialized",),
            lambda _: True,
            TIME_LIMIT,
            unless=lambda: connection.answered(started),
        )
        if said is not None:
            answers = {
                path: self.set_breakpoints(path, wanted)
                for path, wanted in breakpoints.items()
            }
            self.request("setExceptionBreakpoints", {"filters": list(exceptions)})
            self.request("configurationDone")
        else:
            answers = {}
        connection.answer(started, command, TIME_LIMIT)
        return answers

    def _locals(self, frame: Frame | None = None) -> int:
        asked = {"frameId": (frame or self.top()).id}
        for scope in self._ask("scopes", asked, _Scopes).scopes:
            if scope.name == "Locals":
                return scope.variables_reference
        raise AssertionError("the frame has no scope of locals")

    def _step(self, command: str) -> Stop:
        self.request(command, {"threadId": self._thread})
        return self.wait_stopped()

    def _evaluate(self, expression: str, frame: Frame | None, context: str) -> Variable:
        asked = {
            "expression": expression,
            "frameId": (frame or self.top()).id,
            "context": context,
        }
        got = self._ask("evaluate", asked, _Evaluated)
        return Variable(got.result, expression, got.type, got.variables_reference)

    def _ask(self, command: str, arguments: Json, kind: type[_Struct]) -> _Struct:
        return msgspec.convert(self.request(command, arguments), kind)
