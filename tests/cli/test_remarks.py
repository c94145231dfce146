"""`fxls remarks`: as a person reads it, as JSON, as SARIF and as annotations."""

from __future__ import annotations

import importlib
import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from fxls import __version__
from fxls.listing import Place, source_digest
from fxls.record import (
    Cause,
    Compilation,
    Event,
    Outcome,
    QuotedPlace,
    Remark,
    Subject,
)
from fxls.text import Span
from tests.cli.command import Command, Ended
from tests.support.records import FIRST, SECOND, written

SOURCE = """\
def f(x, ä):
    y = x + 1
    print("ä", y)
    return y * ä
"""
LIBRARY = "/v/lib/python3.11/site-packages/lib.py"


@pytest.fixture
def recorded(fxls: Command) -> Command:
    path = fxls.file(SOURCE, "my net.py")
    digest = source_digest(path.read_bytes())

    def at(line: int, column: int, end: int) -> QuotedPlace:
        text = SOURCE.splitlines()[line]
        place = Place(str(path), "f", Span.of(line, column, line, end))
        return QuotedPlace(place, text, digest)

    library = QuotedPlace(Place(LIBRARY, "helper", Span.of(6, 0, 6, 4)), "call")
    home = f"cannot call {Path.home()}/x, 100%"
    events: tuple[Event, ...] = (
        Remark(
            *(Subject.BREAK, home, "0/0", "GB0059"),
            *((at(2, 4, 17), at(0, 0, 3)), ("leave it out",)),
        ),
        Compilation("0/0", "f", Outcome.BREAK),
        Compilation("1/0", "f", Outcome.OK, Cause.CONTINUATION, at(2, 4, 17)),
        Remark(
            *(Subject.RECOMPILATION, "0/0: ä == 1", "0/1", "", (at(0, 9, 10),)),
            about="ä",
            was="1",
        ),
        Remark(Subject.LIMIT, "the limit", "0/8", "GB0039", (library,)),
        Remark(Subject.SKIPPED, "nothing to do", "2/0", "", (at(3, 4, 9),)),
    )
    written(fxls.folder / ".fxls", FIRST, *events)
    return fxls


def test_remarks_are_said_as_compilers_do(recorded: Command) -> None:
    home = str(Path.home())
    assert recorded.run("remarks") == Ended(
        0,
        f"""\
my net.py:1:10: problem: Recompiled because of ä, which was 1
 1 | def f(x, ä):
   |          ^
note: in 1 compilation: 0/1

my net.py:3:5: problem [GB0059]: Graph break: cannot call {home}/x, 100%
 3 |     print("ä", y)
   |     ^^^^^^^^^^^^^
my net.py:1:1: note: called here, in f
note: in 1 compilation: 0/0
note: the rest of the function is 1 compilation more: 1/0
help: leave it out
help: https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0059.html

{LIBRARY}:7:1: problem [GB0039]: Not compiled any more: the limit
note: the line was changed since
note: in 1 compilation: 0/8
help: https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0039.html

3 problems in {FIRST}
""",
        "",
    )
    everything = recorded.run("remarks", "--all", "-1")
    assert (
        """
my net.py:4:5: analysis: Not compiled: nothing to do
 4 |     return y * ä
   |     ^^^^^
note: in 1 compilation: 2/0
"""
    ) in everything.out
    assert everything.out.endswith(f"3 problems, 1 analysis in {FIRST}\n")


def test_of_a_line_that_nobody_read_no_column_is_said_and_no_change(
    fxls: Command,
) -> None:
    path = fxls.file(SOURCE, "net.py")
    place = QuotedPlace(Place(str(path), "f", Span.of(2, 0, 2, 0)))
    written(
        fxls.folder / ".fxls",
        FIRST,
        Compilation("0/0", "f", Outcome.BREAK, place=place),
        Remark(Subject.BREAK, "cannot call", "0/0", "", (place,)),
    )

    assert fxls.run("remarks") == Ended(
        0,
        "net.py:3: problem: Graph break: cannot call\n"
        f"note: in 1 compilation: 0/0\n\n1 problem in {FIRST}\n",
        "",
    )
    _, _, of_run = fxls.run("runs", "-1").out.partition("\n\n")
    assert of_run == (
        "0/0  f, net.py:3: break\n  graph break: cannot call\n    at net.py:3\n"
    )


def test_remarks_follow_their_line_and_say_where_it_was_changed(
    recorded: Command,
) -> None:
    recorded.file("import os\n" + SOURCE.replace("(x, ä)", "(x, b)"), "my net.py")
    out = recorded.run("remarks").out
    assert (
        "my net.py:1:10: problem: Recompiled because of ä, which was 1\n"
        "note: the line was changed since\n"
    ) in out
    assert "100%\nnote: this is line 4 today\n" in out
    (line,) = recorded.run("remarks", "--github").out.splitlines()
    assert line.split("::")[1] == (
        "notice file=my net.py,line=4,endLine=4,col=5,endColumn=17,"
        "title=torch.compile%3A break GB0059"
    )


def test_programs_get_json_with_the_version_of_its_schema(recorded: Command) -> None:
    found = json.loads(recorded.run("remarks", "--json").out)
    assert (found["schema"], found["runs"]) == (1, [FIRST])
    guard, broken, limit = found["remarks"]
    assert (limit["subject"], limit["line_today"]) == ("limit", None)
    assert (guard["about"], guard["values"]) == ("ä", ["1"])
    place = {
        "path": "FOLDER/my net.py",
        "function": "f",
        "line": 3,
        "column": 5,
        "end_line": 3,
        "end_column": 18,
        "text": '    print("ä", y)',
        "digest": source_digest(SOURCE.encode()),
    }
    assert broken.pop("frames")[0] == place
    assert broken == {
        "kind": "problem",
        "subject": "break",
        "id": "GB0059",
        "title": f"Graph break: cannot call {Path.home()}/x, 100%",
        "reason": f"cannot call {Path.home()}/x, 100%",
        "page": "https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0059.html",
        "hints": ["leave it out"],
        "about": "",
        "values": [],
        "nodes": [],
        "compilations": ["0/0"],
        "of_limit": None,
        "without_graph": [],
        "why_no_graph": "",
        "rest": ["1/0"],
        "inside": [],
        "place": place,
        "line_today": 3,
    }


def test_sarif_has_places_below_the_folder_and_names_no_home(
    recorded: Command,
) -> None:
    log = json.loads(recorded.run("remarks", "--sarif").out)
    (run,) = log.pop("runs")
    assert log == {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
    }
    guard, broken = run.pop("results")  # the limit is outside of the folder
    page = "https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0059.html"
    again, ends = (
        "A function was compiled again.",
        "A graph ends before its function does.",
    )
    assert run == {
        "tool": {
            "driver": {
                "name": "fxls",
                "version": __version__,
                "rules": [
                    {
                        "id": "recompilation",
                        "name": "Recompilation",
                        "shortDescription": {"text": again},
                        "fullDescription": {"text": f"torch.compile: {again}"},
                        "help": {"text": again},
                        "defaultConfiguration": {"level": "note"},
                    },
                    {
                        "id": "GB0059",
                        "name": "Break",
                        "shortDescription": {"text": "Graph break"},
                        "fullDescription": {"text": f"torch.compile: {ends}"},
                        "help": {"text": f"{ends} {page}"},
                        "defaultConfiguration": {"level": "note"},
                        "helpUri": page,
                    },
                ],
            }
        },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {
            "SRCROOT": {"description": {"text": "The folder of the sources."}}
        },
    }
    assert guard["level"] == "note"
    text = b'print("\xc3\xa4", y)'
    assert broken.pop("partialFingerprints") == {
        "primaryLocationLineHash": f"{sha256(text).hexdigest()[:16]}:1"
    }
    assert broken == {
        "ruleId": "GB0059",
        "ruleIndex": 1,
        "kind": "fail",
        "level": "note",
        "message": {
            "text": "Graph break: cannot call ~/x, 100%\nin 1 compilation: 0/0\n"
            "the rest of the function is 1 compilation more: 1/0\nleave it out"
        },
        "locations": [location(3, 5, 3, 18)],
        "relatedLocations": [
            location(1, 1, 1, 4) | {"message": {"text": "called here, in f"}}
        ],
    }


def test_a_log_of_every_subject_has_all_that_code_scanning_requires(
    fxls: Command,
) -> None:
    fxls.file("x\nx\ny\n", "net.py")
    path = str(fxls.folder / "net.py")

    def at(line: int) -> QuotedPlace:
        place = Place(path, "f", Span.of(line, 0, line, 1))
        return QuotedPlace(place, "xxy"[line], source_digest(b"x\nx\ny\n"))

    remarks = [
        Remark(subject, "so it is", "0/0", "", (at(line),), about=f"it {line}")
        for subject in Subject
        for line in range(3)
    ]
    nowhere = Remark(Subject.BREAK, "in no file", "0/0")
    written(fxls.folder / ".fxls", FIRST, *remarks, nowhere)

    log = json.loads(fxls.run("remarks", "--all", "--sarif").out)
    as_the_schema_has_it(log)
    (run,) = log["runs"]
    rules, results = run["tool"]["driver"]["rules"], run["results"]
    assert len(results) == len(remarks)
    assert {one["id"] for one in rules} == {one.value for one in Subject}
    # https://docs.github.com says what of a log it needs.
    for rule in rules:
        for field in ("shortDescription", "fullDescription", "help"):
            assert rule[field]["text"]
    known: set[tuple[str, str]] = set()
    for one in results:
        assert rules[one["ruleIndex"]]["id"] == one["ruleId"]
        assert one["message"]["text"]
        assert one["level"] in ("none", "note", "warning")
        (where,) = one["locations"]
        file = where["physicalLocation"]["artifactLocation"]
        assert file == {"uri": "net.py", "uriBaseId": "SRCROOT"}
        assert where["physicalLocation"]["region"].keys() == {
            *("startLine", "startColumn", "endLine", "endColumn")
        }
        known.add(
            (one["ruleId"], one["partialFingerprints"]["primaryLocationLineHash"])
        )
    assert len(known) == len(results)


def as_the_schema_has_it(log: object) -> None:
    """Fails where a log of SARIF has what the schema does not, or lacks what it wants."""
    model: Any = importlib.import_module("pydantic_sarif.model")
    model.StaticAnalysisResultsFormatSarifVersion210JsonSchema.model_validate(log)


def test_the_schema_of_sarif_refuses_what_it_does_not_have(fxls: Command) -> None:
    fxls.file("x\n", "net.py")
    place = Place(str(fxls.folder / "net.py"), "f", Span.of(0, 0, 0, 1))
    quoted = QuotedPlace(place, "x", source_digest(b"x\n"))
    remark = Remark(Subject.BREAK, "so it is", "0/0", "GB0059", (quoted,))
    written(fxls.folder / ".fxls", FIRST, remark)
    log = json.loads(fxls.run("remarks", "--sarif").out)
    (result,) = log["runs"][0]["results"]
    wrong: dict[str, object] = {"level": "bad", "nonsense": 1, "locations": {}}
    for field, value in wrong.items():
        kept = result.get(field)
        result[field] = value
        with pytest.raises(ValueError, match=field):
            as_the_schema_has_it(log)
        result[field] = kept
        if kept is None:
            del result[field]
    as_the_schema_has_it(log)


def location(
    line: int, column: int, end_line: int, end_column: int
) -> dict[str, object]:
    region = {
        "startLine": line,
        "startColumn": column,
        "endLine": end_line,
        "endColumn": end_column,
    }
    file = {"uri": "my%20net.py", "uriBaseId": "SRCROOT"}
    return {"physicalLocation": {"artifactLocation": file, "region": region}}


def test_annotations_are_commands_of_a_workflow(recorded: Command) -> None:
    assert recorded.run("remarks", "--github").out == (
        "::notice file=my net.py,line=1,endLine=1,col=10,endColumn=10,"
        "title=torch.compile%3A recompilation::Recompiled because of ä, which was 1"
        "%0Ain 1 compilation: 0/1\n"
        "::notice file=my net.py,line=3,endLine=3,col=5,endColumn=17,"
        "title=torch.compile%3A break GB0059::Graph break: cannot call ~/x, 100%25"
        "%0Ain 1 compilation: 0/0%0A"
        "the rest of the function is 1 compilation more: 1/0%0Aleave it out\n"
    )


def test_what_a_record_says_does_nothing_to_a_terminal_or_a_workflow(
    fxls: Command,
) -> None:
    place = Place(str(fxls.folder / "a,b:c.py"), "f", Span.of(0, 0, 0, 1))
    evil = "\x1b]0;title\x07\r\n::error::no"
    remark = Remark(Subject.BREAK, evil, "0/0", "", (QuotedPlace(place, "x"),))
    fxls.file("x\n", "a,b:c.py")
    written(fxls.folder / ".fxls", FIRST, remark)
    assert "\\x1b]0;title\\x07\\r\n" in fxls.run("remarks").out
    (line,) = fxls.run("remarks", "--github").out.splitlines()
    assert line.startswith("::notice file=a%2Cb%3Ac.py,line=1,endLine=1,col=1,")
    assert line.endswith(
        "::Graph break: \\x1b]0;title\\x07%0D%0A::error::no%0Ain 1 compilation: 0/0"
    )


def test_where_nothing_ran_programs_read_an_object_with_no_remarks(
    fxls: Command,
) -> None:
    empty = '{"schema": 1, "runs": [], "remarks": []}\n'
    assert fxls.run("remarks", "--json") == Ended(0, empty, "")
    ended = fxls.run("remarks", "--sarif")
    (run,) = json.loads(ended.out)["runs"]
    assert (run["results"], ended.code, ended.err) == ([], 0, "")


def test_the_runs_of_one_program_are_one_and_none_is_said(fxls: Command) -> None:
    assert fxls.run("remarks").err.startswith("fxls: no runs in FOLDER/.fxls\nhelp: ")
    root = fxls.folder / ".fxls"
    written(root, FIRST, Remark(Subject.BREAK, "print", "0/0"))
    written(root, SECOND)
    assert fxls.run("remarks").out == f"nothing to remark in {SECOND}\n"
    assert fxls.run("remarks", "-2").out.endswith(f"1 problem in {FIRST}\n")
    written(root, SECOND, Remark(Subject.BREAK, "print", "3/0"), launch=FIRST)
    out = fxls.run("remarks").out
    assert "note: in 2 compilations: 0/0, 3/0\n" in out
    assert out.endswith(f"1 problem in {FIRST}, {SECOND}\n")
