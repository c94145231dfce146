"""What `fxls remarks` says: as compilers do, as JSON, as SARIF and as annotations.

Values in, text out. What is made to leave the machine, SARIF and annotations, has paths
from the folder, and neither home nor a file outside of the folder.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote

from fxls import __version__
from fxls.cli.report import Sources, place_as_json, position, snippet
from fxls.counted import counted
from fxls.record import QuotedPlace, Subject
from fxls.record.remark_wording import costs_of, role_of, title_of
from fxls.record.remarks import RemarkKind, SourceRemark
from fxls.text import Span

__all__ = [
    "SCHEMA",
    "RemarkNow",
    "remark_as_json",
    "remark_text",
    "remarks_as_annotations",
    "remarks_as_json",
    "remarks_as_sarif",
    "remarks_text",
]

SCHEMA = 1
"""The version of what ``--json`` prints; a new key does not change it."""

_MOST_FRAMES = 8
_MOST_RESULTS = 5_000
"""So many results GitHub shows of a log."""
_SARIF = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {
    RemarkKind.PROBLEM: "note",
    RemarkKind.COST: "note",
    RemarkKind.ANALYSIS: "none",
}


@dataclass(frozen=True, slots=True)
class RemarkNow:
    """A remark, and where its place is in the source of today."""

    remark: SourceRemark
    span: Span | None
    """None where its line was changed, or is gone."""


def remarks_text(
    found: Sequence[RemarkNow], sources: Sources, runs: Sequence[str]
) -> str:
    """The remarks as compilers show them, and how many there are of each kind."""
    lines: list[str] = []
    for one in found:
        lines += [*remark_text(one, sources), ""]
    kinds = [one.remark.kind for one in found]
    counted = ", ".join(
        f"{count} {kind.value}{'s' * (count != 1 and kind is not RemarkKind.ANALYSIS)}"
        for kind in RemarkKind
        if (count := kinds.count(kind))
    )
    lines.append(f"{counted or 'nothing to remark'} in {', '.join(runs)}")
    return "\n".join(lines)


def remarks_as_json(found: Iterable[RemarkNow], runs: Sequence[str]) -> dict[str, Any]:
    """The remarks for programs."""
    return {
        "schema": SCHEMA,
        "runs": list(runs),
        "remarks": [remark_as_json(one) for one in found],
    }


def remarks_as_sarif(found: Iterable[RemarkNow], folder: Path) -> dict[str, Any]:
    """The remarks as a log of SARIF 2.1.0, with what GitHub's code scanning asks for.

    It takes no result without a place, and no log with one: what is in no file of the
    folder is left out.
    """
    rules: dict[str, dict[str, Any]] = {}
    results: list[dict[str, Any]] = []
    times: Counter[tuple[str, str, str]] = Counter()
    for one in found:
        place = _location(one.remark.place, one.span, folder)
        if place is None or len(results) >= _MOST_RESULTS:
            continue
        name = _rule(one.remark)
        rules.setdefault(name, _described(one.remark))
        # The same on equal lines of a file is told apart by its order there.
        line = one.remark.place.line.strip() if one.remark.place else ""
        key = name, str(_below(one.remark.place, folder)), line
        times[key] += 1
        results.append(
            {
                **_result(one, folder),
                "ruleIndex": list(rules).index(name),
                "locations": [place],
                "partialFingerprints": {
                    "primaryLocationLineHash": f"{_hashed(line)}:{times[key]}"
                },
            }
        )
    driver = {"name": "fxls", "version": __version__, "rules": [*rules.values()]}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {
            "SRCROOT": {"description": {"text": "The folder of the sources."}}
        },
        "results": results,
    }
    return {"$schema": _SARIF, "version": "2.1.0", "runs": [run]}


def remarks_as_annotations(found: Iterable[RemarkNow], folder: Path) -> str:
    """The remarks as commands of GitHub's workflows; those whose place is gone have none."""
    return "\n".join(
        line for one in found if (line := _annotation(one, folder)) is not None
    )


def remark_text(one: RemarkNow, sources: Sources) -> Iterator[str]:
    """The lines of a remark, as compilers show one."""
    remark = one.remark
    number = f" [{remark.id}]" if remark.id else ""
    where = _where(remark.place, sources) if remark.place else ""
    yield f"{where}{remark.kind.value}{number}: {title_of(remark)}"
    if remark.place is not None:
        if one.span is not None and one.span == remark.place.place.span:
            yield from snippet(remark.place.place, sources)
        elif one.span is not None:
            yield f"note: this is line {one.span.start.line + 1} today"
        elif remark.place.line:
            yield "note: the line was changed since"
    others = [each for each in remark.frames if each != remark.place]
    for frame in others[:_MOST_FRAMES]:
        yield f"{_where(frame, sources)}note: {role_of(frame, remark)}"
    if len(others) > _MOST_FRAMES:
        left = len(others) - _MOST_FRAMES
        yield f"note: {counted(left, 'more frame is', 'more frames are')} not shown"
    yield from (f"note: {said}" for said in costs_of(remark))
    yield from (f"help: {hint}" for hint in remark.hints)
    if remark.page:
        yield f"help: {remark.page}"


def _where(quoted: QuotedPlace, sources: Sources) -> str:
    return f"{sources.name(quoted.place.path)}:{position(quoted)}: "


def remark_as_json(one: RemarkNow) -> dict[str, Any]:
    """A remark for programs."""
    remark = one.remark
    return {
        "kind": remark.kind.value,
        "subject": remark.subject.value,
        "id": remark.id,
        "title": title_of(remark),
        "reason": remark.reason,
        "page": remark.page,
        "hints": list(remark.hints),
        "about": remark.about,
        "values": list(remark.values),
        "nodes": [list(pair) for pair in remark.nodes],
        "compilations": list(remark.compilations),
        "of_limit": remark.of_limit and list(remark.of_limit),
        "without_graph": list(remark.without_graph),
        "why_no_graph": remark.why_no_graph,
        "rest": list(remark.rest),
        "inside": list(remark.inside),
        "place": remark.place and _quoted_as_json(remark.place),
        "line_today": one.span and one.span.start.line + 1,
        "frames": [_quoted_as_json(frame) for frame in remark.frames],
    }


def _quoted_as_json(quoted: QuotedPlace) -> dict[str, Any]:
    return place_as_json(quoted.place) | {"text": quoted.line, "digest": quoted.digest}


def _rule(remark: SourceRemark) -> str:
    return remark.id or remark.subject.value


def _described(remark: SourceRemark) -> dict[str, Any]:
    """The rule of a remark; what is said of one place only is in its results."""
    subject = _RULES[remark.subject]
    about = title_of(remark).partition(": ")[0] if remark.id else subject
    where = f" {remark.page}" if remark.page else ""
    rule: dict[str, Any] = {
        "id": _rule(remark),
        "name": "".join(word.title() for word in remark.subject.value.split()),
        "shortDescription": {"text": about},
        "fullDescription": {"text": f"torch.compile: {subject}"},
        "help": {"text": f"{subject}{where}"},
        "defaultConfiguration": {"level": _level(remark)},
    }
    return rule | ({"helpUri": remark.page} if remark.page else {})


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


_RULES = {
    Subject.BREAK: "A graph ends before its function does.",
    Subject.RECOMPILATION: "A function was compiled again.",
    Subject.LIMIT: "A function is not compiled any more.",
    Subject.SKIPPED: "A function was not compiled.",
    Subject.ERROR: "A function could not be compiled.",
    Subject.CUDA_GRAPH: "Kernels run without a CUDA graph.",
    Subject.COST: "Something takes more time than it might.",
    Subject.FUSION: "Two kernels could have been one.",
    Subject.PATTERN: "A pattern nearly had a match.",
    Subject.SEARCHED: "A pattern was looked for.",
    Subject.SPECIALIZED: "A size became a constant.",
    Subject.GUARD: "A size has a bound.",
    Subject.NUMBERS: "What is computed is wrong.",
    Subject.OTHER: "Something else.",
}


def _result(one: RemarkNow, folder: Path) -> dict[str, Any]:
    remark = one.remark
    words = [title_of(remark), *costs_of(remark), *remark.hints]
    result: dict[str, Any] = {
        "ruleId": _rule(remark),
        "kind": "informational" if remark.kind is RemarkKind.ANALYSIS else "fail",
        "level": _level(remark),
        "message": {"text": "\n".join(_elsewhere(one, folder) for one in words)},
    }
    related = [
        location | {"message": {"text": role_of(frame, remark)}}
        for frame in remark.frames
        if frame != remark.place
        if (location := _location(frame, frame.place.span, folder)) is not None
    ]
    if related:
        result["relatedLocations"] = related[:_MOST_FRAMES]
    return result


def _level(remark: SourceRemark) -> str:
    if remark.subject is Subject.LIMIT:
        return "warning"
    return _LEVELS[remark.kind]


def _location(
    quoted: QuotedPlace | None, span: Span | None, folder: Path
) -> dict[str, Any] | None:
    name = _below(quoted, folder)
    if name is None or span is None:
        return None
    artifact = {"uri": quote(name), "uriBaseId": "SRCROOT"}
    region = {
        "startLine": span.start.line + 1,
        "startColumn": span.start.column + 1,
        "endLine": span.end.line + 1,
        "endColumn": span.end.column + 1,
    }
    return {"physicalLocation": {"artifactLocation": artifact, "region": region}}


def _below(quoted: QuotedPlace | None, folder: Path) -> str | None:
    """The path of a place from a folder; None when it is outside of that."""
    if quoted is None or not PurePath(quoted.place.path).is_relative_to(folder):
        return None
    return PurePath(quoted.place.path).relative_to(folder).as_posix()


def _elsewhere(text: str, folder: Path) -> str:
    """A text that names neither the folder nor a home."""
    return text.replace(f"{folder}/", "").replace(str(Path.home()), "~")


def _annotation(one: RemarkNow, folder: Path) -> str | None:
    remark, span = one.remark, one.span
    name = _below(remark.place, folder)
    if name is None or span is None:
        return None
    command = "warning" if _level(remark) == "warning" else "notice"
    places = {
        "file": name,
        "line": str(span.start.line + 1),
        "endLine": str(span.end.line + 1),
    }
    if span.start.line == span.end.line:
        # Columns are of one line alone, and the last one counts.
        places["col"] = str(span.start.column + 1)
        places["endColumn"] = str(max(span.end.column, span.start.column + 1))
    places["title"] = f"torch.compile: {remark.subject.value} {remark.id}".strip()
    words = [title_of(remark), *costs_of(remark), *remark.hints]
    message = _elsewhere("\n".join(words), folder)
    listed = ",".join(f"{key}={_property(value)}" for key, value in places.items())
    return f"::{command} {listed}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
