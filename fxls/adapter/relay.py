"""What passes between an editor and debugpy's adapter, until one of them is gone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from queue import SimpleQueue
from typing import IO

from fxls.adapter.children import Children
from fxls.adapter.configuration import Unclear, attached, launched
from fxls.adapter.debugpy_adapter import DebugpyAdapter
from fxls.adapter.exception_filters import ExceptionFilters
from fxls.adapter.messages import Malformed, Message, read, response
from fxls.launching.listening import Address
from fxls.rules import rules_of

__all__ = ["Relay"]


class Relay:
    """One session. Each side has a thread that reads what it sends.

    `environment` is what a program that is launched inherits.
    """

    def __init__(
        self,
        received: IO[bytes],
        sent: IO[bytes],
        environment: Mapping[str, str],
        patience: float = 10.0,
    ) -> None:
        """Child processes wait `patience` seconds for the editor."""
        self._received = received
        self._sent = sent
        self._environment = environment
        self._writing = threading.Lock()
        self._adapter = DebugpyAdapter.start()
        self._left: list[DebugpyAdapter] = []
        self._filters = ExceptionFilters(self._to_adapter)
        self._children = Children(self._to_editor, patience)
        self._initialize: Message | None = None
        self._tells_of_skipped = True
        self._ended: SimpleQueue[str | None] = SimpleQueue()

    def run(self) -> str | None:
        """Pass on until one side hangs up; what went wrong, if anything did."""
        self._listen(self._adapter, skips=False)
        _in_thread("from the editor", self._from_editor)
        trouble = self._ended.get()
        for adapter in self._left:
            adapter.end(0)
        code = self._adapter.end(_PATIENCE)
        if trouble is None and code != 0:
            return f"debugpy's adapter ended with the code {code}"
        return trouble

    def _from_editor(self) -> None:
        trouble = None
        try:
            while (message := read(self._received)) is not None:
                self._take(message)
        except Malformed as error:
            trouble = f"the editor {error}"
        except OSError:
            pass  # it hung up in the middle of an answer of ours
        finally:
            self._ended.put(trouble)

    def _take(self, message: Message) -> None:
        if message.head.type == "request":
            try:
                match message.head.command:
                    case "initialize":
                        self._initialize = message
                    case "launch" | "attach":
                        message = self._begin(message)
                    case "fxls/breakOn":
                        # Ours: `{"rules": ["nan"]}` in place of `breakOn`.
                        self._replace(message)
                        return
                    case _:
                        pass
            except Unclear as unclear:
                self._to_editor(response(message, f"fxls: {unclear}"))
                return
        self._children.from_editor(message)
        self._filters.from_editor(message)

    def _begin(self, message: Message) -> Message:
        """A launch or attach in debugpy's words; raises `Unclear`."""
        given = message.part("arguments")
        if message.head.command == "launch":
            configuration = launched(given, self._environment)
        else:
            configuration = attached(given)
            if configuration.listens is not None:
                self._join(configuration.listens)
        self._filters.begin(configuration)
        self._tells_of_skipped = configuration.has_own_rules
        return message.with_(arguments=configuration.arguments)

    def _join(self, address: Address) -> None:
        """Go on with the adapter that listens there, which is greeted as the other was."""
        try:
            adapter = DebugpyAdapter.connect(address)
        except OSError as error:
            why = error.strerror or error
            raise Unclear(f"no debugger answers on {address}: {why}") from None
        before, self._adapter = self._adapter, adapter
        before.leave()
        self._left.append(before)
        if self._initialize is not None:
            adapter.send(self._initialize)
        self._listen(adapter, skips=self._initialize is not None)

    def _replace(self, message: Message) -> None:
        given = message.part("arguments")
        try:
            rules = rules_of(map(str, given.get("rules") or ()))
        except ValueError as error:
            raise Unclear(str(error)) from None
        self._filters.replace([rule.value for rule in rules])
        self._to_editor(response(message))

    def _listen(self, adapter: DebugpyAdapter, *, skips: bool) -> None:
        _in_thread("from debugpy", lambda: self._from_adapter(adapter, skips=skips))

    def _from_adapter(self, adapter: DebugpyAdapter, *, skips: bool) -> None:
        trouble = None
        try:
            while (message := read(adapter.received)) is not None:
                if adapter is not self._adapter:
                    return
                if skips:
                    # The editor has heard this from the adapter before.
                    skips = message.head.command != "initialize"
                elif not self._tells_of_skipped and _is_of_skipped(message):
                    continue
                elif (told := self._filters.from_adapter(message)) is not None:
                    self._to_editor(told)
                    self._children.from_adapter(message)
        except Malformed as error:
            trouble = f"debugpy's adapter {error}"
        except (OSError, ValueError):
            pass  # one of the two hung up, and its pipe is closed
        finally:
            if adapter is self._adapter:
                self._ended.put(trouble)

    def _to_adapter(self, message: Message) -> None:
        self._adapter.send(message)

    def _to_editor(self, message: Message) -> None:
        with self._writing:
            message.write(self._sent)


def _is_of_skipped(message: Message) -> bool:
    """Whether debugpy says that a step went past a frame, and how to have it otherwise.

    Each step into a submodule goes past torch's call of it, because our rules say so.
    """
    is_output = message.head.event == "output"
    return is_output and str(message.part("body").get("output")).startswith(_SKIPPED)


_SKIPPED = "Frame skipped from debugging during step-in."
"""As pydevd writes it, in `make_skipped_step_in_because_of_filters`."""


def _in_thread(name: str, target: Callable[[], None]) -> None:
    threading.Thread(target=target, name=name, daemon=True).start()


_PATIENCE = 30.0
"""Seconds that debugpy's adapter has to end the program and itself."""
