"""Changes to the source that do what the advice of a failure says."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from fxls.entry import Entry, Kind, Producer
from fxls.ide.edits.checks import check_fixes
from fxls.ide.edits.fix import Edit, Fix
from fxls.ide.edits.python_source import source_of
from fxls.ide.samples.samples import Samples
from fxls.ide.syntax.module_classes import modules
from fxls.ide.syntax.quiet_parser import parsed
from fxls.listing import Failure, Place, Reason
from fxls.repairs import Capture, Check, Evaluate, GiveArguments, Rename, Wrap
from fxls.text import LineTable, Point, Span

__all__ = ["fixes"]


def fixes(
    failure: Failure,
    entry: Entry | None,
    path: str,
    text: str,
    entry_text: str | None = None,
) -> tuple[Fix, ...]:
    """What would repair a failure that is shown in this file, the likeliest first.

    `entry_text` is that of the entry's file, where that is another one.
    """
    found = [*_wrapping(failure, path, text)]
    if entry is not None and entry.kind is Kind.COMMENT:
        known = text if entry.path == path else entry_text
        if known is not None:
            found += _on_entry(failure, entry, known)
    found += _renaming(failure, path, text)
    found += _checking(failure, entry, path, text)
    return tuple(found)


def _wrapping(failure: Failure, path: str, text: str) -> Iterator[Fix]:
    """Make one node of a function that looks at values."""
    if failure.reason not in (Reason.TRACE, Reason.ENTRY):
        return
    named = [one.function for one in failure.repairs if isinstance(one, Wrap)]
    if any(place.path == path for place in failure.places):
        for function in named:
            yield _wrap(function, path, text, preferred=True)
    tree = parsed(text)
    if tree is None:
        return
    functions = {
        statement.name
        for statement in tree.body
        if isinstance(statement, ast.FunctionDef)
    }
    # The outermost place is the function that is traced itself.
    for place in failure.places[:-1]:
        if place.path == path and place.function in functions:
            yield _wrap(place.function, path, text, preferred=not named)


def _wrap(name: str, path: str, text: str, *, preferred: bool) -> Fix:
    """Say behind the imports, or behind the function, that it is recorded as a call."""
    lines = LineTable(text)
    tree = parsed(text)
    body = tree.body if tree else []
    call, imported = _wrap_call(body)
    ending = "\r\n" if "\r\n" in text else "\n"
    defined = [s for s in body if isinstance(s, ast.FunctionDef) and s.name == name]
    imports = [s for s in body if isinstance(s, ast.Import | ast.ImportFrom)]
    last = (defined or imports or [None])[-1]
    line = 0 if last is None else last.end_lineno or last.lineno
    said = f'{call}("{name}")'
    blank = "" if imports and not defined else ending
    new = f"{blank}{said}{ending}" if defined else f"{ending}{said}{ending}"
    here = Point(line, 0)
    if line >= len(lines):
        here, new = lines.point(len(text)), ending + new
    edits = [Edit(Span(here, here), new)]
    if not imported:
        first = _behind_future(body)
        edits.insert(0, Edit(Span(first, first), f"from torch import fx{ending}"))
    return Fix(f"Record {name} as one node: {said}", path, tuple(edits), preferred)


def _wrap_call(body: list[ast.stmt]) -> tuple[str, bool]:
    """How the file can say `wrap`, and whether it imports what that needs."""
    for statement in body:
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                if alias.name in ("torch.fx", "fxls.engine"):
                    return f"{alias.asname or alias.name}.wrap", True
        if isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                full = f"{statement.module}.{alias.name}"
                if full in ("torch.fx", "fxls.engine"):
                    return f"{alias.asname or alias.name}.wrap", True
                if full in ("torch.fx.wrap", "fxls.engine.wrap"):
                    return alias.asname or alias.name, True
    return "fx.wrap", False


def _behind_future(body: list[ast.stmt]) -> Point:
    """In front of the first import that is not from the future."""
    for statement in body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            if getattr(statement, "module", "") != "__future__":
                return Point(statement.lineno - 1, 0)
        elif not isinstance(statement, ast.Expr):
            return Point(statement.lineno - 1, 0)
    return Point(0, 0)


def _on_entry(failure: Failure, entry: Entry, text: str) -> Iterator[Fix]:
    span = entry.span
    try:
        tree = ast.parse(entry.expression, mode="eval").body
    except SyntaxError:
        return
    if span is None or not isinstance(tree, ast.Call):
        return
    for repair in failure.repairs:
        match repair:
            case Evaluate() if isinstance(tree.func, ast.Call):
                end = _point(span, entry.expression, tree.func.end_col_offset)
                edits = (Edit(Span(end, end), ".eval()"),)
                title = "Trace it for evaluation"
                yield Fix(title, entry.path, edits, is_preferred=True)
            case GiveArguments(callee):
                yield from _missing(entry, span, tree, callee, text)
            case _:
                pass
    yield from _called_whole(failure, entry, span, tree, text)
    for repair in failure.repairs:
        if isinstance(repair, Capture):
            yield from _produced(entry, span, repair.producer, text)


def _produced(entry: Entry, span: Span, producer: str, text: str) -> Iterator[Fix]:
    """Let another tool capture the model."""
    before = LineTable(text).line(span.start.line)[: span.start.column]
    colon = before.rfind(":")
    start = before.rfind("fxls", 0, colon) + len("fxls")
    if colon > 0:
        line = span.start.line
        edit = Edit(Span.of(line, start, line, colon), f"[{producer}]")
        yield Fix(f"Capture it with {Producer(producer).title}", entry.path, (edit,))


def _missing(
    entry: Entry, span: Span, tree: ast.Call, name: str, text: str
) -> Iterator[Fix]:
    """Give a class the arguments that it needs."""
    found = {module.name: module for module in modules(text)}.get(name)
    for call in ast.walk(tree):
        if (
            found is not None
            and isinstance(call, ast.Call)
            and isinstance(call.func, ast.Name)
            and call.func.id == name
        ):
            given = {keyword.arg for keyword in call.keywords}
            left = [
                parameter
                for parameter in found.parameters[len(call.args) :]
                if parameter.name not in given
            ]
            written = Samples(text).arguments(name, left)
            if not written:
                continue
            end = _point(span, entry.expression, (call.end_col_offset or 1) - 1)
            comma = ", " if call.args or call.keywords else ""
            edit = Edit(Span(end, end), comma + written)
            title = f"Give {name} {', '.join(p.name for p in left if not p.default)}"
            yield Fix(title, entry.path, (edit,), is_preferred=True)


def _called_whole(
    failure: Failure, entry: Entry, span: Span, tree: ast.Call, text: str
) -> Iterator[Fix]:
    """Make one node of the innermost submodule that the failure is in."""
    outermost = failure.places[-1].function if failure.places else ""
    calls = [place.function for place in failure.places if place.function != outermost]
    names = [name for name in calls if name.endswith(".forward")]
    if failure.reason is not Reason.TRACE or not names:
        return
    name = names[0].removesuffix(".forward").rpartition(".")[2]
    title = f"Call {name} as a whole: mark it as a leaf"
    model = _model(tree, text)
    said = ast.unparse(model.func) if isinstance(model, ast.Call) else ""
    if said == _AROUND:
        end = _point(span, entry.expression, (model.end_col_offset or 1) - 1)
        yield Fix(title, entry.path, (Edit(Span(end, end), f', "{name}"'),))
    elif not said.startswith("fxls."):
        start, end = (
            _point(span, entry.expression, offset)
            for offset in (model.col_offset, model.end_col_offset)
        )
        before = Edit(Span(start, start), f"{_AROUND}(")
        behind = Edit(Span(end, end), f', "{name}")')
        yield Fix(title, entry.path, (before, behind))


def _model(tree: ast.Call, text: str) -> ast.expr:
    """The part of an entry that is the model; the rest calls it with inputs."""
    if isinstance(tree.func, ast.Call):
        return tree.func
    module = parsed(text)
    made = {
        target.id
        for statement in (module.body if module else ())
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
    is_made = isinstance(tree.func, ast.Name) and tree.func.id in made
    return tree.func if is_made else tree


_AROUND = "fxls.engine.trace_around"


def _renaming(failure: Failure, path: str, text: str) -> Iterator[Fix]:
    """Write the name that was meant."""
    lines = LineTable(text)
    for repair in failure.repairs:
        for place in failure.places:
            if isinstance(repair, Rename) and place.path == path:
                yield from _replaced(lines, place, repair)


def _checking(
    failure: Failure, entry: Entry | None, path: str, text: str
) -> Iterator[Fix]:
    """Tell torch what it cannot know of a number."""
    checks = [one for one in failure.repairs if isinstance(one, Check)]
    own = next((place for place in failure.places if place.path == path), None)
    source = source_of(text, path) if checks else None
    if source is None or own is None:
        return
    for check in checks:
        conditions, is_tensor = check.conditions, check.is_tensor
        for fix in check_fixes(source, own.span, conditions, is_tensor=is_tensor):
            yield replace(fix, can_be_tried=entry is not None)


def _replaced(lines: LineTable, place: Place, name: Rename) -> Iterator[Fix]:
    match = re.search(rf"\b{name.wrong}\b", lines.slice(place.span))
    if match is not None:
        start = lines.offset(place.span.start)
        span = Span(
            lines.point(start + match.start()), lines.point(start + match.end())
        )
        title = f"Change it to {name.meant}"
        yield Fix(title, place.path, (Edit(span, name.meant),), is_preferred=True)


def _point(span: Span, expression: str, offset: int | None) -> Point:
    """The point of a byte of the entry's expression."""
    before = expression.encode()[: offset or 0].decode(errors="replace")
    return Point(span.start.line, span.start.column + len(before))
