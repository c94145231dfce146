"""The debugger this process runs under, when that is debugpy: all that knows its insides.

debugpy's engine, pydevd, has no interface for most of what is done here. Nearly all that
is used is the same from debugpy 1.6 to 1.8; where a version lacks something, that is
logged once, and the program is debugged as it would be without fxls.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import itertools
import logging
import socket
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Protocol

import fxls
from fxls.runtime.debugging.pydevd_codes import find_codes_at_once
from fxls.runtime.debugging.pydevd_stepping import step_on
from fxls.runtime.debugging.pydevd_view import View, evaluate_more, say_more
from fxls.runtime.listings.sections import DRIVER
from fxls.runtime.patches import Patches
from fxls.said_once import SaidOnce
from fxls.tensor_view import TensorView

__all__ = [
    "DEBUGGER",
    "Breakpoint",
    "Debugger",
    "Judge",
    "Log",
    "connected",
    "is_loaded",
    "let_run",
    "logging_unknown",
    "put_back",
]

DEBUGGER = "pydevd"
"""The module that a process has that has a debugger."""

_log = logging.getLogger("fxls")


class Judge(Protocol):
    """Whether an expression holds in a frame; never raises."""

    def __call__(
        self, condition: str, frame: FrameType, as_written: str = "", /
    ) -> bool: ...


Log = Callable[[str, FrameType], str | None]
"""What a log point says in a frame; None for what debugpy says."""


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """One that a client asked for, as it asked for it; lines count from one."""

    id: int
    path: str
    line: int
    terms: tuple[Any, ...]
    """Condition, hit count, message and the like, as pydevd takes them."""

    @property
    def says_more(self) -> bool:
        """Whether it has an expression that names are read in."""
        return any(self.terms[n] not in (None, "", "None") for n in (1, 3))


class Debugger:
    """A pydevd with a client. Any method may raise what `logging_unknown` catches."""

    def __init__(self, pydb: Any) -> None:
        self._pydb = pydb

    @property
    def is_new(self) -> bool:
        """Whether `adapt` was not called yet since this client is connected."""
        return getattr(self._pydb, _CLIENT, None) is not self._pydb.writer

    def adapt(
        self, judge: Judge, log: Log, on_request: Callable[[], None], view: View
    ) -> None:
        """Make it quick, and let it step over fxls; once for each client.

        From then on `judge` says whether a condition holds in a frame, `log` what a log
        point says there, and `on_request` is called, in a thread of its own, after the client changed its breakpoints and
        before its next request is taken. `view` says more of the variables of frames.
        """
        is_first = not hasattr(self._pydb, _CLIENT)
        _patches.put(self._pydb, _CLIENT, self._pydb.writer)
        with logging_unknown("stops are slow"):
            self._send_at_once()
        with logging_unknown("a step may stop between two sections of a listing"):
            self._leave_out(f"**/{DRIVER}*/**")
        with logging_unknown("without justMyCode, a step may go into fxls itself"):
            # Last, so that a rule of the user's can show it.
            self._leave_out(f"{Path(fxls.__file__).parent}/**", is_last=True)
        with logging_unknown("breakpoints by the name of a node may come too late"):
            self._take_in_turn()
        if not is_first:
            return
        with logging_unknown("breakpoints in long functions are slow"):
            find_codes_at_once(_patches)
        with logging_unknown("a step may go into fxls itself"):
            self._call_fxls_a_library()
        with logging_unknown("tensors are shown as debugpy shows them"):
            _show_tensors()
        with logging_unknown(
            "a step may end in what torch.compile runs to call a graph"
        ):
            step_on(self._pydb, _patches)
        with logging_unknown("conditions are judged by debugpy"):
            self._judge_conditions(judge)
        with logging_unknown("log points say of freed values what debugpy says"):
            self._fill_in(log)
        with logging_unknown(
            "breakpoints that are set during the session stay on their lines"
        ):
            self._listen(on_request)
        with logging_unknown("variables are shown without their nodes"):
            say_more(view, _patches)
        with logging_unknown("only names that Python finds have a value"):
            evaluate_more(view, _patches)

    def say(self, message: str) -> None:
        """Show a message in the session's console, and where the editor shows notes."""
        factory: Any = self._pydb.cmd_factory
        self._send(factory.make_warning_message(f"fxls: {message}\n"))

    def stop_at(self, frame: FrameType) -> None:
        """Stop the program in a frame that runs."""
        engine: Any = sys.modules["pydevd"]
        engine.settrace(
            suspend=True,
            trace_only_current_thread=True,
            patch_multiprocessing=False,
            stop_at_frame=frame,
        )

    def stop_for(self, frame: FrameType, error: Exception) -> None:
        """Stop in a frame that called us, on the line it is on, as for an exception."""
        thread = threading.current_thread()
        infos: Any = sys.modules["_pydevd_bundle.pydevd_additional_thread_info"]
        # Older ones do not say it, and their sessions end at such a stop.
        if infos.set_additional_thread_info(thread).is_in_wait_loop:
            return  # the client evaluates something, and waits for the result
        commands: Any = sys.modules["_pydevd_bundle.pydevd_comm_constants"]
        self._pydb.enable_tracing()
        there = TracebackType(None, frame, frame.f_lasti, frame.f_lineno)
        with self._unmonitored():
            self._pydb.set_suspend(thread, commands.CMD_ADD_EXCEPTION_BREAK)
            self._pydb.do_wait_suspend(
                thread, frame, "exception", (type(error), error, there)
            )

    def settle(self) -> None:
        """Return when the request that is being taken has been."""
        with self._locked():
            pass

    def received(self) -> tuple[Breakpoint, ...]:
        """Every breakpoint in a file, also where there is no such file."""
        return tuple(
            Breakpoint(params[2], params[0], params[3], (params[1], *params[4:]))
            for _, params in list(self._pydb.api_received_breakpoints.values())
        )

    def is_bound(self, breakpoint_: Breakpoint) -> bool:
        """Whether it can stop the program."""
        for key, (canonical, _) in list(self._pydb.api_received_breakpoints.items()):
            if key[1] == breakpoint_.id:
                bound = self._pydb.file_to_id_to_line_breakpoint.get(canonical, {})
                return breakpoint_.id in bound
        return False

    def bind(self, breakpoint_: Breakpoint) -> None:
        """Let a breakpoint stop the program, whose file was not there when it was set."""
        with self._locked():
            line = self._add(breakpoint_)
        self._tell("changed", breakpoint_, line, verified=True)

    def copy(self, breakpoint_: Breakpoint, path: str, line: int) -> Breakpoint:
        """A new breakpoint on another line, on the same terms, unknown to the client."""
        new = Breakpoint(next(_ids), path, line, breakpoint_.terms)
        with self._locked():
            self._add(new)
        return new

    def announce(self, new: Breakpoint) -> None:
        """Tell the client of a breakpoint that it did not ask for."""
        self._tell("new", new, new.line, verified=True)

    def remove(self, old: Breakpoint) -> None:
        """Let a breakpoint stop nothing any more; the client does not hear of it."""
        api: Any = sys.modules["_pydevd_bundle.pydevd_api"]
        with self._locked():
            api.PyDevdAPI().remove_breakpoint(
                self._pydb, old.path, old.terms[0], old.id
            )

    def move(self, old: Breakpoint, line: int) -> None:
        """Let a breakpoint be on another line of its file, and tell the client."""
        self.remove(old)
        new = Breakpoint(old.id, old.path, line, old.terms)
        with self._locked():
            self._add(new)
        self._tell("changed", new, line, verified=True)

    def refuse(self, breakpoint_: Breakpoint, reason: str) -> None:
        """Tell the client that a breakpoint stops nothing, and why."""
        line = breakpoint_.line
        self._tell("changed", breakpoint_, line, verified=False, message=reason)

    def named(self) -> Iterator[Breakpoint]:
        """The function breakpoints; the path of each is the name, its id is unknown."""
        table: dict[str, Any] = self._pydb.function_breakpoint_name_to_breakpoint
        for name, one in list(table.items()):
            terms = (
                *("python-line", one.condition, "None", one.expression),
                *(one.suspend_policy, one.hit_condition, one.is_logpoint),
            )
            yield Breakpoint(0, name, 0, terms)

    # -- inside ------------------------------------------------------------------

    def _add(self, new: Breakpoint) -> int:
        kind, *terms = new.terms
        api: Any = sys.modules["_pydevd_bundle.pydevd_api"]
        result = api.PyDevdAPI().add_breakpoint(
            *(self._pydb, new.path, kind, new.id, new.line, *terms), adjust_line=True
        )
        return int(result.translated_line)

    def _tell(
        self,
        reason: str,
        about: Breakpoint,
        line: int,
        *,
        verified: bool,
        message: str | None = None,
    ) -> None:
        schema: Any = sys.modules["_pydevd_bundle._debug_adapter.pydevd_schema"]
        command: Any = sys.modules["_pydevd_bundle.pydevd_net_command"]
        told = schema.Breakpoint(
            verified=verified,
            id=about.id,
            line=line,
            source={"path": about.path},
            **({} if message is None else {"message": message}),
        )
        event = schema.BreakpointEvent(schema.BreakpointEventBody(reason, told))
        self._send(command.NetCommand(0, 0, event, is_json=True))

    def _send(self, command: Any) -> None:
        self._pydb.writer.add_command(command)

    @contextlib.contextmanager
    def _locked(self) -> Generator[None]:
        """Hold what pydevd holds while it takes a request.

        Not for ever: the code that runs may be an expression that the client evaluates.
        """
        lock = self._pydb._main_lock
        if not lock.acquire(timeout=_PATIENCE):
            raise TimeoutError("the debugger is busy")
        try:
            yield
        finally:
            lock.release()

    @contextlib.contextmanager
    def _unmonitored(self) -> Generator[None]:
        """Do what is in the block unseen by this debugger.

        From Python 3.12 on it sees every line of a thread, also of frames that run when
        it is told to suspend the thread, and would stop at the next one, for no reason.
        """
        constants: Any = sys.modules["_pydevd_bundle.pydevd_constants"]
        if not getattr(constants, "PYDEVD_USE_SYS_MONITORING", False):
            yield
            return
        self._pydb.disable_tracing()
        try:
            yield
        finally:
            self._pydb.enable_tracing()

    def _send_at_once(self) -> None:
        # pydevd writes a message in two pieces; without this the second piece waits
        # 40 ms for the other side to say that the first has come.
        connection: socket.socket = self._pydb.writer.sock
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def _take_in_turn(self) -> None:
        """Take no request while what follows from the one before is being done."""
        reader: Any = self._pydb.reader
        own: Callable[..., Any] = reader.process_net_command_json

        @functools.wraps(own)
        def in_turn(*args: Any, **kwargs: Any) -> Any:
            while _following:
                _following.pop().join(_PATIENCE)
            return own(*args, **kwargs)

        _patches.put(reader, "process_net_command_json", in_turn)

    def _call_fxls_a_library(self) -> None:
        """Let fxls be library code also where it is not installed in site-packages."""
        filters = self._pydb._files_filtering
        roots: list[str] = filters._get_library_roots()
        folder = str(Path(fxls.__file__).parent)
        if not any(folder.startswith(root) for root in roots):
            filters.set_library_roots([*roots, folder])
            _undo.append(lambda: filters.set_library_roots(roots))
            # Said again, because that empties the caches of what was judged before.
            self._pydb.set_use_libraries_filter(filters.use_libraries_filter())

    def _leave_out(self, files: str, *, is_last: bool = False) -> None:
        """Neither stop nor show frames in code whose name, a path or not, is so."""
        module: Any = sys.modules["_pydevd_bundle.pydevd_filtering"]
        known: list[Any] = self._pydb._files_filtering._exclude_filters
        left_out = module.ExcludeFilter(files, True, True)  # noqa: FBT003  # pydevd's order
        if left_out not in known:
            new = [*known, left_out] if is_last else [left_out, *known]
            self._pydb.set_exclude_filters(new)
            _undo.append(lambda: self._pydb.set_exclude_filters(known))

    def _judge_conditions(self, judge: Judge) -> None:
        own: Callable[[Any, Any, FrameType], object]
        own = self._pydb.handle_breakpoint_condition

        def handle(info: Any, breakpoint_: Any, frame: FrameType) -> object:
            hits = breakpoint_.hit_condition or ""
            if not breakpoint_.condition and not hits:
                return own(info, breakpoint_, frame)
            if breakpoint_.handle_hit_condition(frame):
                return True
            # debugpy takes one that cannot be judged for a no; with numbers alone, it can.
            if any(map(str.isalpha, hits.replace(_HIT, ""))):
                count = str(breakpoint_._hit_count)
                written = hits.replace(_HIT, "").strip()
                if judge(hits.replace(_HIT, count), frame, written):
                    return True
            condition = breakpoint_.condition
            return bool(condition) and judge(condition, frame)

        _patches.put(self._pydb, "handle_breakpoint_condition", handle)

    def _fill_in(self, log: Log) -> None:
        own: Callable[[Any, Any, FrameType], object]
        own = self._pydb.handle_breakpoint_expression

        def handle(breakpoint_: Any, info: Any, frame: FrameType) -> object:
            said = log(breakpoint_.expression, frame)
            if said is None:
                return own(breakpoint_, info, frame)
            info.pydev_message = said
            return None

        _patches.put(self._pydb, "handle_breakpoint_expression", handle)

    def _listen(self, on_request: Callable[[], None]) -> None:
        api: Any = sys.modules["_pydevd_bundle.pydevd_api"].PyDevdAPI
        pydb = self._pydb

        def after(own: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(own)
            def and_then(self: Any, to: Any, *args: Any, **kwargs: Any) -> Any:
                answer = own(self, to, *args, **kwargs)
                if to is pydb:
                    _in_background(on_request)
                return answer

            return and_then

        # Every request that sets the breakpoints of a file removes the earlier ones.
        for name in ("remove_all_breakpoints", "set_function_breakpoints"):
            _patches.put(api, name, after(getattr(api, name)))


def _show_tensors() -> None:
    """Do what pydevd does with the plugin that is installed beside fxls.

    It does not find the plugin of an editable installation, nor one that came too late.
    """
    api: Any = importlib.import_module("_pydevd_bundle.pydevd_extension_api")
    extensions: Any = importlib.import_module("_pydevd_bundle.pydevd_extension_utils")
    for kind in (api.StrPresentationProvider, api.TypeResolveProvider):
        kind.register(TensorView)
        known: list[Any] = extensions.extensions_of_type(kind)
        if not any(isinstance(one, TensorView) for one in known):
            shown = TensorView()
            known.insert(0, shown)
            _undo.append(lambda known=known, shown=shown: known.remove(shown))


def _in_background(call: Callable[[], None]) -> None:
    """Call when the request that is being taken has been; the debugger looks away."""
    thread = threading.Thread(target=call, name="fxls breakpoints", daemon=True)
    let_run(thread)
    thread.start()
    _following.append(thread)


def let_run(thread: threading.Thread) -> None:
    """Let a thread that was not started yet be neither traced nor stopped."""
    for mark in ("pydev_do_not_trace", "is_pydev_daemon_thread"):
        setattr(thread, mark, True)


def put_back() -> None:
    """Let the debugger be as it was before `adapt`."""
    with logging_unknown("the debugger keeps what fxls has put into it"):
        while _undo:
            _undo.pop()()
    _patches.undo()


def is_loaded() -> bool:
    """Whether the process has a debugger, be a client connected or not."""
    return DEBUGGER in sys.modules


def connected() -> Debugger | None:
    """The debugger, when a client is connected to it."""
    if not is_loaded():
        return None
    with logging_unknown("debugging works as it does without fxls"):
        constants: Any = sys.modules["_pydevd_bundle.pydevd_constants"]
        pydb = constants.get_global_debugger()
        if pydb is not None and pydb.writer is not None:
            return Debugger(pydb)
    return None


@contextlib.contextmanager
def logging_unknown(what_happens: str) -> Generator[None]:
    """Log, once, that this debugpy is not as we know it, and what happens because of it."""
    try:
        yield
    except (
        AttributeError,
        ImportError,
        LookupError,
        TypeError,
        ValueError,
        OSError,
    ) as error:
        if _said.is_first(what_happens):
            _log.warning(
                "fxls does not know this debugpy: %s (%r)", what_happens, error
            )


_CLIENT = "_fxls_client"
"""Names the connection that was made quick, on the debugger itself."""
_PATIENCE = 2.0
_HIT = "@HIT@"
"""Stands for how often a breakpoint was hit."""
_patches = Patches()
"""What is replaced in the debugger."""
_undo: list[Callable[[], object]] = []
"""What takes out the rest that was put into it."""
_following: list[threading.Thread] = []
"""What is being done in the background; the client's next request waits for it."""
_ids = itertools.count(1_000_000)
"""Far above those that pydevd gives."""
_said = SaidOnce()
