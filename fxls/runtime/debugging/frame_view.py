"""What a person at a stop sees of a listing's frame, beyond what its variables hold.

Each name is a node: what it calls, and where in the source it came from, stand behind
its value. A value that the code let go says so. A name that Python does not find there
is looked for where the graph has it: in the listings that call this code, and in the
module whose forward it is.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, cast

import torch

from fxls.attempt import Raised, attempt
from fxls.engine.origins.resolve import source_line
from fxls.listing import Facts, Listing, Place, Role
from fxls.runtime.listings.sections import DRIVER
from fxls.runtime.torch_private import is_made

__all__ = ["FrameView", "Freed", "FreedValue"]

_LONGEST = 60


class FreedValue(Exception):
    """An expression needs a value that the generated code let go."""


@dataclass(frozen=True, slots=True, repr=False)
class Freed:
    """Stands for a value that the generated code let go."""

    name: str
    line: int
    """The line of its last use, counted from one."""

    def __str__(self) -> str:
        return f"freed on line {self.line}"

    def __repr__(self) -> str:
        return (
            f"{self}, behind its last use; to keep values: fxls run --keep-values, or"
            " FXLS_KEEP_VALUES=1"
        )


class FrameView:
    """Answers for the frames of the listings that `read` knows."""

    def __init__(
        self,
        read: Callable[[Path], Listing | None],
        look: Callable[[Path], object] = lambda _: None,
        compared: Callable[[Path, Listing], Callable[[], Mapping[str, str]]]
        | None = None,
    ) -> None:
        """`look` is called with the path of each listing that is looked at; `compared`
        gives what a comparison said of its values, by the names that they have in it.
        """
        self._read = read
        self._look = look
        self._compared = compared
        self._known: dict[str, _Nodes | None] = {}

    def shown(self, frame: FrameType, name: str, value: object, text: str) -> str:
        """A variable's value as text, with its node; the same text where it is none."""
        nodes = self._nodes(frame)
        if nodes is None or name not in nodes.facts:
            return text
        self._look(Path(frame.f_code.co_filename))
        freed = nodes.freed(frame, name) if value is None else None
        value_text = text if freed is None else str(freed)
        return f"{value_text}  ← {nodes.about(name)}"

    def rank(self, frame: FrameType, name: str, value: object) -> int:
        """Where a variable is shown: nodes first, then what is no node, then what is gone."""
        nodes = self._nodes(frame)
        if nodes is None:
            return 0
        if value is None and nodes.freed(frame, name) is not None:
            return 2
        return int(name not in nodes.facts)

    def instead(
        self, frame: FrameType, expression: str, result: object
    ) -> object | Raised:
        """What to answer an expression, for what Python answers.

        An error is `Raised`, here and there.
        """
        name = expression.strip()
        if result is None and name.isidentifier():
            given = self._given(frame, name)
            return self._freed(frame, name) if given is None else given
        if not isinstance(result, Raised):
            return result
        found = self._evaluated(frame, expression)
        if found is not None:
            return found
        for name in _names(expression):
            freed = self._freed(frame, name)
            if freed is not None and frame.f_locals.get(name, None) is None:
                return Raised(FreedValue(f"{name} was {freed!r}"))
        return result

    def _freed(self, frame: FrameType, name: str) -> Freed | None:
        nodes = self._nodes(frame)
        return None if nodes is None else nodes.freed(frame, name)

    def _given(self, frame: FrameType, name: str) -> object:
        """The value of an input that was let go, where the argument still has it."""
        nodes = self._nodes(frame)
        if nodes is None or nodes.freed(frame, name) is None:
            return None
        return frame.f_locals.get(nodes.argument(name))

    def _evaluated(self, frame: FrameType, expression: str) -> object | None:
        """The value of an expression with names that Python does not find here."""
        values = {**frame.f_globals, **frame.f_locals}
        found: dict[str, Any] = {}
        for name in _names(expression):
            if name not in values and not hasattr(builtins, name):
                value = next(self._elsewhere(frame, name), None)
                if value is None:
                    return None
                found[name] = value
            elif values.get(name, name) is None:
                given = self._given(frame, name)
                found |= {} if given is None else {name: given}
        if not found:
            return None
        if len(found) == 1 and expression.strip() in found:
            return found[expression.strip()]
        return attempt(lambda: eval(expression.strip(), {**values, **found}))

    def _elsewhere(self, frame: FrameType, name: str) -> Iterator[object]:
        """The values that a name has for the graph: in outer listings, and in modules."""
        outer: list[FrameType] = []
        at: FrameType | None = frame
        while at is not None:
            if self._nodes(at) is not None or _is_divided(at):
                outer.append(at)
            at = at.f_back
        for at in outer:
            if name in at.f_locals:
                freed = self._freed(at, name)
                value = at.f_locals[name]
                yield freed if value is None and freed is not None else value
        # A graph of torch.compile's has no modules; the function that was compiled has.
        for at in (*outer, *_compiled_around(frame)):
            module = at.f_locals.get("self")
            if isinstance(module, torch.nn.Module):
                value = attempt(lambda module=module: getattr(module, name))
                if not isinstance(value, Raised):
                    yield value

    def _nodes(self, frame: FrameType) -> _Nodes | None:
        path = frame.f_code.co_filename
        if path not in self._known:
            listing = None if path.startswith("<") else self._read(Path(path))
            if listing is None:
                self._known[path] = None
            else:
                said: Callable[[], Mapping[str, str]] = dict[str, str]
                if self._compared is not None:
                    said = self._compared(Path(path), listing)
                self._known[path] = _Nodes(listing, said)
        return self._known[path]


class _Nodes:
    """The nodes of a listing, by name."""

    def __init__(
        self, listing: Listing, compared: Callable[[], Mapping[str, str]]
    ) -> None:
        self._listing = listing
        self._compared = compared
        self._index = {f.name: i for i, f in enumerate(listing.nodes)}
        self.facts: Mapping[str, Facts] = {f.name: f for f in listing.nodes}
        self._frees = {
            listing.nodes[mark.node].name: mark.line
            for mark in listing.marks
            if mark.role is Role.FREES
        }

    def freed(self, frame: FrameType, name: str) -> Freed | None:
        """What stands for a value, when a frame is past the line that lets it go."""
        line = self._frees.get(name)
        if line is None or frame.f_lineno - 1 <= line:
            return None
        return Freed(name, line + 1)

    def argument(self, name: str) -> str:
        """The parameter that an input of the graph is given by; empty for no input."""
        facts = self.facts[name]
        return facts.target if facts.opcode == "placeholder" else ""

    def about(self, name: str) -> str:
        """A node in a few words: what it does, the expression it came from, and how far
        its value was off when it was compared.
        """
        facts = self.facts[name]
        words = _what(facts)
        origin = self._listing.origin(self._index[name])
        if origin is not None:
            words += f", {_where(origin.places[0])}"
        compared = self._compared().get(name)
        return words if compared is None else f"{words}  ← compared: {compared}"


def _what(facts: Facts) -> str:
    match facts.opcode:
        case "placeholder":
            return "input"
        case "call_method":
            return f".{facts.target}()"
        case "call_module":
            return f"module {facts.target}"
        case "get_attr":
            return f"attribute {facts.target}"
        case _:
            return facts.target


def _where(place: Place) -> str:
    line, span = source_line(place), place.span
    end = span.end.column if span.end.line == span.start.line else len(line)
    text = line[span.start.column : end].strip()
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST - 1]}…"
    return f"{Path(place.path).name}:{span.start.line + 1} {text}".rstrip()


def _names(expression: str) -> list[str]:
    """The names that an expression reads; none of what is no expression."""
    tree = attempt(lambda: ast.parse(expression.strip(), mode="eval"))
    if isinstance(tree, Raised):
        return []
    names = (at for at in ast.walk(cast("ast.AST", tree)) if isinstance(at, ast.Name))
    return list(dict.fromkeys(at.id for at in names))


def _compiled_around(frame: FrameType | None) -> Iterator[FrameType]:
    """The frames of the functions that torch.compile runs the graph of a frame for."""
    while frame is not None:
        if is_made(frame.f_code):
            yield frame
        frame = frame.f_back


def _is_divided(frame: FrameType) -> bool:
    """Whether a frame is that of a forward around the sections of its listing."""
    return frame.f_code.co_filename.startswith(DRIVER)
