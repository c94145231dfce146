"""What is written, and what can be written, inside ``# fxls:`` comments."""

from __future__ import annotations

import ast
import builtins
import difflib
import enum
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from fxls.entry import Entry, Kind
from fxls.ide.entries.entries import comment_at, commented, entries, place_in
from fxls.ide.samples.samples import Samples, comment_of
from fxls.ide.syntax.module_classes import ModuleClass, modules
from fxls.ide.syntax.pieces import defined_names
from fxls.listing import Failure, Place, Reason
from fxls.repairs import GiveArguments, Rename, Repair
from fxls.text import LineTable, Point, Span

__all__ = ["Completion", "Offer", "completions", "doubts"]

_FACTORIES = (
    "arange",
    "empty",
    "eye",
    "full",
    "linspace",
    "ones",
    "rand",
    "randint",
    "randn",
    "tensor",
    "zeros",
    "float16",
    "float32",
    "bfloat16",
    "int64",
    "long",
    "bool",
)
"""Of torch's two thousand names, those that make example inputs."""


class Offer(enum.Enum):
    """What a completion stands for."""

    ENTRY = "entry"
    CLASS = "class"
    NAME = "name"
    ARGUMENT = "argument"
    FUNCTION = "function"


@dataclass(frozen=True, slots=True)
class Completion:
    """A text that can stand for a span."""

    label: str
    offer: Offer
    span: Span
    text: str
    detail: str = ""


def completions(text: str, path: str, point: Point) -> tuple[Completion, ...]:
    """What can be written at a point of a comment; nothing anywhere else."""
    lines = LineTable(text)
    before = lines.line(point.line)[: point.column]
    start = re.fullmatch(r"(\s*)#[ \t]*(f?x?l?s?)", before)
    if start is not None:
        return tuple(_whole(text, path, point, len(start[1])))
    entry = comment_at(text, path, point)
    if entry is None or entry.span is None:
        return ()
    written = lines.slice(Span(entry.span.start, point))
    word = re.search(r"[\w.]*$", written)
    assert word is not None
    column = point.column - len(word[0])
    span = Span(Point(point.line, column), point)
    head = written[: len(written) - len(word[0])]
    return tuple(_words(text, word[0], head, span))


def doubts(text: str, path: str) -> tuple[tuple[Failure, Entry], ...]:
    """What is likely wrong with the entry comments of a file, without running it.

    Names that the file does not define, and arguments that do not fit a class of it;
    each with the entry.
    """
    known = _names(text) if commented(text) else None
    if known is None:
        return ()
    classes = {module.name: module for module in modules(text)}
    # It reads the whole file, and most entries need it for nothing.
    samples = partial(Samples, text)
    found: list[tuple[Failure, Entry]] = []
    for entry in entries(text, path):
        if entry.kind is not Kind.COMMENT or entry.span is None:
            continue
        expression = ast.parse(entry.expression, mode="eval")
        for node, message, advice, repair in _wrong(
            expression, known, classes, samples
        ):
            span = place_in(entry.span, entry.expression, node)
            place = Place(path, "<module>", span)
            repairs = () if repair is None else (repair,)
            failure = Failure(Reason.ENTRY, message, (place,), advice, repairs)
            found.append((failure, entry))
    return tuple(found)


def _whole(text: str, path: str, point: Point, column: int) -> Iterator[Completion]:
    """An entry for each class, first those that have none."""
    span = Span(Point(point.line, column), point)
    written = (e.expression for e in entries(text, path) if e.kind is Kind.COMMENT)
    named = " ".join(written)

    def has_one(module: ModuleClass) -> bool:
        return re.search(rf"\b{module.name}\b", named) is not None

    samples = Samples(text)
    for module in sorted(modules(text), key=has_one):
        comment = comment_of(samples.entry(module))
        yield Completion(comment, Offer.ENTRY, span, comment, "an entry for fxls")


def _words(text: str, word: str, head: str, span: Span) -> Iterator[Completion]:
    if word.startswith("torch."):
        for name in _FACTORIES:
            full = f"torch.{name}"
            if full.startswith(word):
                yield Completion(full, Offer.FUNCTION, span, full)
        return
    classes = {module.name: module for module in modules(text)}
    called = _called(head)
    if called in classes:
        given = set(re.findall(r"(\w+)\s*=", head[head.rindex(called) :]))
        for parameter in classes[called].parameters:
            if parameter.name.startswith(word) and parameter.name not in given:
                yield Completion(
                    f"{parameter.name}=",
                    Offer.ARGUMENT,
                    span,
                    f"{parameter.name}=",
                    parameter.annotation or parameter.default or "",
                )
    elif not head.strip():
        samples = Samples(text)
        for module in classes.values():
            if module.name.startswith(word):
                call = samples.entry(module)
                detail = f"({samples.arguments(module.name, module.parameters)})"
                yield Completion(module.name, Offer.CLASS, span, call, detail)
    for name in sorted(_names(text) or ()):
        if name.startswith(word) and name not in classes and not name.startswith("_"):
            yield Completion(name, Offer.NAME, span, name)


def _called(head: str) -> str:
    """The name whose parenthesis is open at the end of a text."""
    depth = 0
    for at in range(len(head) - 1, -1, -1):
        if head[at] in ")]}":
            depth += 1
        elif head[at] in "([{":
            if depth == 0:
                match = re.search(r"(\w+)\s*$", head[:at])
                return match[1] if match and head[at] == "(" else ""
            depth -= 1
    return ""


def _names(text: str) -> frozenset[str] | None:
    """What an entry may name: what the top level of a file defines, and two imports."""
    found = defined_names(text)
    return None if found is None else found | {"torch", "fxls"}


_Wrong = tuple[ast.expr | ast.keyword, str, str | None, Repair | None]
"""Where, what, what to do, and what of it an editor can do."""


def _wrong(
    expression: ast.Expression,
    known: frozenset[str],
    classes: dict[str, ModuleClass],
    samples: Callable[[], Samples],
) -> Iterator[_Wrong]:
    bound = {
        node.arg if isinstance(node, ast.arg) else node.id
        for node in ast.walk(expression)
        if isinstance(node, ast.arg)
        or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    }
    for node in ast.walk(expression):
        if isinstance(node, ast.Name) and "*" not in known:
            name = node.id
            if name not in known and name not in bound and not hasattr(builtins, name):
                likely = sorted({*known, "True", "False", "None"})
                message = f"this file does not define {name}"
                yield node, message, *_meant(name, likely)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            module = classes.get(node.func.id)
            if module is not None and known >= {module.name}:
                yield from _wrong_arguments(node, module, samples)


def _wrong_arguments(
    call: ast.Call, module: ModuleClass, samples: Callable[[], Samples]
) -> Iterator[_Wrong]:
    names = [parameter.name for parameter in module.parameters]
    given = {keyword.arg for keyword in call.keywords}
    if not module.open:
        for keyword in call.keywords:
            if keyword.arg is not None and keyword.arg not in names:
                message = f"{module.name} takes no {keyword.arg}"
                yield keyword, message, *_meant(keyword.arg, names)
    starred = any(isinstance(argument, ast.Starred) for argument in call.args)
    if starred or None in given or module.constructible:
        return
    missing = [
        parameter
        for parameter in module.parameters[len(call.args) :]
        if parameter.default is None and parameter.name not in given
    ]
    if missing:
        listed = ", ".join(parameter.name for parameter in missing)
        advice = f"Give it as {samples().arguments(module.name, missing)}."
        repair = GiveArguments(module.name)
        yield call.func, f"{module.name} needs {listed}", advice, repair


def _meant(name: str, known: Sequence[str]) -> tuple[str | None, Rename | None]:
    """What to write instead of a name that is not known, when one is spelled like it."""
    for meant in difflib.get_close_matches(name, known, 1):
        return f"Did you mean `{meant}`?", Rename(name, meant)
    return None, None
