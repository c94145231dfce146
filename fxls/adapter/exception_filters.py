"""The rules of `break_on` as exception filters, which editors show among breakpoints."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

from fxls.adapter.configuration import Configuration
from fxls.adapter.messages import Message, event, request
from fxls.rules import OnBreak, Rule

__all__ = ["LABELS", "PREFIX", "ExceptionFilters"]

PREFIX = "fxls."
"""What the filter of a rule is called, in front of the rule's name."""

LABELS = {
    Rule.NAN: (
        "NaN in generated code",
        "A value holds NaN, and no value that went into it does.",
    ),
    Rule.INF: (
        "Inf in generated code",
        "A value holds an infinite number, and no value that went into it does.",
    ),
    Rule.GRAD_NAN: (
        "NaN in gradients",
        "A backward makes NaN of gradients that hold none.",
    ),
    Rule.SHAPE: (
        "Other shape than recorded",
        "A value has another shape than the listing records.",
    ),
    Rule.DTYPE_CHANGE: (
        "Other dtype than recorded",
        "A value has another dtype than the listing records.",
    ),
}
"""Of each rule what an editor shows, and when a node breaks it; in the order shown."""


class ExceptionFilters:
    """Offers the rules to the editor, and tells the program which ones are in force.

    - A program that is about to begin finds them in its environment, into which they are
      put before the editor's `configurationDone` reaches it.
    - A program that runs is told at once. What it can do in a thread of its own alone, as
      starting the runtime, it does where it is stopped, else when it stops.
    - What the editor sends and what debugpy answers may come from two threads.
    """

    def __init__(self, send: Callable[[Message], None]) -> None:
        """`send` gives debugpy's adapter a message, and does not wait."""
        self._send = send
        self._lock = threading.Lock()
        self._configuration = Configuration({})
        self._rules: tuple[str, ...] = ()
        """Those of the configuration."""
        self._chosen: tuple[str, ...] = ()
        """Those of the filters."""
        self._is_configuring = False
        self._held: Message | None = None
        """The end of the configuration, until the program knows the rules."""
        self._is_news = False
        """Whether a program that runs has something left to do for the rules."""
        self._frame: int | None = None
        """The frame of a program that is stopped, where it can be told something."""

    def begin(self, configuration: Configuration) -> None:
        """A program is launched, or attached to, with the rules of a configuration."""
        with self._lock:
            self._configuration = configuration
            self._rules = configuration.rules
            self._is_configuring, self._is_news = True, False

    def replace(self, rules: Sequence[str]) -> None:
        """Let these be the rules of the configuration, beside those of the filters."""
        with self._lock:
            self._is_news |= {*rules} != {*self._rules} and not self._is_configuring
            self._rules = tuple(rules)
            self._tell()

    def from_editor(self, message: Message) -> None:
        """Pass on what the editor sends."""
        command = message.head.command if message.head.type == "request" else ""
        with self._lock:
            if command == "setExceptionBreakpoints":
                message = self._choose(message)
            elif command == "configurationDone":
                self._is_configuring = False
                if self._has_to_know():
                    self._held = message
                    self._send(self._watch(_BEGINS))
                    return
            elif command in _RESUMING:
                self._frame = None  # no frame lives longer than a stop
            self._send(message)

    def from_adapter(self, message: Message) -> Message | None:
        """What the editor gets of what debugpy's adapter sends; None for nothing."""
        head = message.head
        if head.type == "response":
            if head.request_seq in (_BEGINS, _WATCHES, _TELLS):
                return self._answered(message)
            if head.command == "initialize" and head.success:
                return _with_filters(message)
            if head.command == "stackTrace" and head.success:
                with self._lock:
                    self._frame = _innermost(message)
                    self._tell()
        elif head.event in ("continued", "stopped"):
            with self._lock:
                self._frame = None
        return message

    def _choose(self, message: Message) -> Message:
        """Take our filters out of what the editor chooses."""
        arguments = message.part("arguments")
        named = [str(name) for name in arguments.get("filters") or ()]
        ours = {name.removeprefix(PREFIX) for name in named if name.startswith(PREFIX)}
        chosen = tuple(rule.value for rule in LABELS if rule.value in ours)
        self._is_news |= chosen != self._chosen and not self._is_configuring
        self._chosen = chosen
        self._tell()
        if not ours:
            return message
        rest = [name for name in named if not name.startswith(PREFIX)]
        return message.with_(arguments={**arguments, "filters": rest})

    def _wanted(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self._rules, *self._chosen)))

    def _has_to_know(self) -> bool:
        """Whether the program is to be watched for what its environment does not say."""
        known = () if self._configuration.runs_already else self._configuration.rules
        return {*self._wanted()} != {*known}

    def _watch(self, seq: int) -> Message:
        """Write the rules into the environment, which the runtime reads when it starts;
        where it has started, let it watch for them.
        """
        told = {
            "FXLS_BREAK_ON": ",".join(self._wanted()),
            "FXLS_ON_BREAK": self._configuration.on_break,
        }
        expression = (
            f'__import__("os").environ.update({told!r}) or (lambda runtime: "install"'
            f" if runtime is None else runtime.watch({self._given()}))"
            '(__import__("sys").modules.get("fxls.runtime.installing"))'
        )
        return _evaluation(seq, expression)

    def _given(self) -> str:
        given = [repr(rule) for rule in self._wanted()]
        if self._configuration.on_break != OnBreak.REPORT.value:
            given.append(f"on_break={self._configuration.on_break!r}")
        return ", ".join(given)

    def _tell(self) -> None:
        """Tell the program what it does not know."""
        if not self._is_news:
            return
        if self._frame is None:
            self._send(self._watch(_WATCHES))
            return
        self._is_news = False
        expression = f'__import__("fxls").break_on({self._given()})'
        self._send(_evaluation(_TELLS, expression, frameId=self._frame))

    def _answered(self, message: Message) -> Message | None:
        """The program knows the rules, or does not take them, which the editor is told."""
        what = None
        if message.head.request_seq != _TELLS:
            left = str(message.part("body").get("result") or "").strip("'")
            with self._lock:
                if self._configuration.runs_already or left != _INSTALL:
                    what = _LEFT.get(left)
                self._is_news = what is not None or not message.head.success
                held, self._held = self._held, None
                if held is not None:
                    self._send(held)
        if message.head.success:
            return None if what is None else _said("console", what)
        *_, why = message.text("message").strip().splitlines() or [""]
        return _said("important", f"the program did not accept the rules: {why}")


def _said(category: str, what: str) -> Message:
    return event("output", {"category": category, "output": f"fxls: {what}\n"})


def _evaluation(seq: int, expression: str, **where: int) -> Message:
    asked = {"expression": expression, "context": "repl", **where}
    return request(seq, "evaluate", asked)


def _with_filters(message: Message) -> Message:
    body = message.part("body")
    theirs = cast("Iterable[object]", body.get("exceptionBreakpointFilters") or ())
    ours = [
        {
            "filter": PREFIX + rule.value,
            "label": label,
            "description": when,
            "default": False,
        }
        for rule, (label, when) in LABELS.items()
    ]
    return message.with_(body={**body, "exceptionBreakpointFilters": [*theirs, *ours]})


def _innermost(message: Message) -> int | None:
    frames: list[dict[str, Any]] = message.part("body").get("stackFrames") or []
    return frames[0].get("id") if frames else None


_RESUMING = frozenset({"continue", "next", "stepIn", "stepOut", "goto"})

_INSTALL = "install"
_LEFT = {
    _INSTALL: (
        "the program has not started the runtime of fxls; it does so, and is watched,"
        " when it stops next: pause it for that"
    ),
    "compile": (
        "code that torch.compile made already may run no nodes; it is made again, and"
        " watched, when the program stops next: pause it for that"
    ),
}
"""What is said of what a program that runs has left to do, by its own word for it."""

_BEGINS = 1 << 30
_WATCHES = _BEGINS + 1
_TELLS = _BEGINS + 2
"""Numbers of requests that no editor makes."""
