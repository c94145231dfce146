"""Child processes of a program: one that the editor does not debug runs on all the same.

debugpy announces a child, which waits until somebody attaches to it. It asks an editor
that can be asked (`startDebugging`), and tells the others by an event of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, cast

from fxls.adapter.configuration import Unclear, address_of
from fxls.adapter.debugpy_adapter import DebugpyAdapter
from fxls.adapter.messages import Malformed, Message, event, read, request

__all__ = ["Children"]


class Children:
    """Watches what becomes of the children that one editor is told of."""

    def __init__(self, say: Callable[[Message], None], patience: float) -> None:
        """`say` gives the editor a message. A child waits for it for `patience` seconds."""
        self._say = say
        self._patience = patience
        self._asked: dict[int, str] = {}
        """The children that the editor was asked about, by the number of the request."""

    def from_adapter(self, message: Message) -> None:
        """Notice that debugpy announces a child."""
        head = message.head
        if head.event == "debugpyAttach":
            self._wait_for(message.part("body"))
        elif head.type == "request" and head.command == "startDebugging":
            asked = message.part("arguments").get("configuration")
            self._asked[head.seq] = _process(asked)

    def from_editor(self, message: Message) -> None:
        """Notice that the editor refuses one; debugpy lets it run then."""
        head = message.head
        if head.type == "response" and head.command == "startDebugging":
            process = self._asked.pop(head.request_seq, None)
            if process is not None and not head.success:
                why = message.text("message") or "the editor starts no session for it"
                self._tell(process, why)

    def let_run(self, announced: Mapping[str, Any]) -> None:
        """Attach to a child and leave it, unless somebody has attached to it."""
        try:
            address = address_of(announced)
            if address is None:
                return
            adapter = DebugpyAdapter.connect(address)
        except (Unclear, OSError):
            return  # the program has ended, and all of its children
        try:
            if _is_left(adapter, announced):
                seconds = f"{self._patience:.0f} s"
                why = f"the editor did not attach to it in {seconds}"
                self._tell(_process(announced), why)
        except (Malformed, OSError, ValueError):
            pass  # as above, a moment later
        finally:
            adapter.end(0)

    def _wait_for(self, announced: Mapping[str, Any]) -> None:
        timer = threading.Timer(self._patience, lambda: self.let_run(announced))
        timer.name, timer.daemon = "child of the program", True
        timer.start()

    def _tell(self, process: str, why: str) -> None:
        said = (
            f"fxls: the child process {process} runs without a debugger: {why}."
            ' With `"subProcess": false` in the configuration, children are not waited'
            " for.\n"
        )
        self._say(event("output", {"category": "console", "output": said}))


def _process(announced: object) -> str:
    if not isinstance(announced, Mapping):
        raise Malformed("announced a child process without its configuration")
    return str(cast("Mapping[str, Any]", announced).get("subProcessId"))


def _is_left(adapter: DebugpyAdapter, announced: Mapping[str, Any]) -> bool:
    """Let a child run that nobody debugs; whether that was so."""
    adapter.send(request(1, "initialize", {"adapterID": "fxls"}))
    adapter.send(request(2, "attach", {**announced, "request": "attach"}))
    is_left = False
    while (message := read(adapter.received)) is not None:
        head = message.head
        match head.event or head.type, head.command:
            case "initialized", _:
                adapter.send(request(3, "configurationDone", {}))
            case "response", "attach":
                # It says yes as well where another client has the child; then nobody
                # is there who knows of threads.
                adapter.send(request(4, "threads", {}))
            case "response", "threads":
                is_left = head.success
                adapter.send(request(5, "disconnect", {"terminateDebuggee": False}))
            case "response", "disconnect":
                break
            case _:
                pass
    return is_left
