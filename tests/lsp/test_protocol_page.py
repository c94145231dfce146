"""docs/protocol.md and the code name the same things."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from fxls.ide.listing.table_rows import Column
from fxls.lsp import custom, params, run_view
from fxls.lsp import graph_view as picture
from fxls.lsp.first_pass import FirstPassesItem, FirstPassItem
from fxls.server import connection_of
from fxls.serving.settings import Settings

PAGE = (Path(__file__).parents[2] / "docs" / "protocol.md").read_text("utf-8")

TYPESCRIPT = (
    Path(__file__).parents[2] / "vscode-extension" / "src" / "server" / "protocol.ts"
)

MESSAGES = {
    f"Request `{custom.CONTENT}`": (custom.ContentItem,),
    f"Request `{custom.IDENTITIES}`": (custom.IdentityItem,),
    f"Request `{custom.REVISIONS}`": (custom.RevisionItem,),
    f"Request `{custom.GRAPH}`": (
        picture.GraphItem,
        picture.NodeItem,
        picture.ScopeItem,
        picture.PlaceItem,
        picture.ErrorItem,
    ),
    f"Request `{custom.ROWS}`": (params.Rows, picture.TableItem, picture.RowItem),
    f"Request `{custom.TIMES}`": (custom.TimesItem, custom.KernelItem),
    f"Request `{custom.RUN_LIST}`": (run_view.RunItem,),
    f"Request `{custom.RUN}`": (
        run_view.OverviewItem,
        run_view.CompilationItem,
        run_view.RemarkItem,
        run_view.ChangeItem,
        run_view.PhaseItem,
        run_view.PatternItem,
        run_view.CodeItem,
        run_view.RankItem,
    ),
    f"Request `{custom.DELETE}`": (custom.DeletedItem,),
    f"Notification `{custom.CHANGED}`": (custom.Changed,),
    f"Request `{custom.LISTINGS}`": (custom.ListingItem,),
    f"Command `{custom.TRACE}`": (custom.TracedItem,),
    f"Command `{custom.TRY_REPAIRS}`": (custom.TriedItem,),
    f"Notification `{custom.STATUS}`": (custom.StatusItem,),
    f"Notification `{custom.REVISED}`": (custom.Revised,),
    f"Notification `{custom.RUNS}`": (custom.RunsChanged,),
    f"Command `{custom.FIRST_PASS}`": (FirstPassesItem, FirstPassItem),
}


def fields_in(heading: str) -> set[str]:
    """The names in the first column of the tables of a section."""
    (section,) = re.findall(rf"^## {heading}\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S)
    rows = re.findall(r"^\| (`.*?) \|", section, re.M)
    return {name for row in rows for name in re.findall(r"`(\w+)`", row)}


def names_of(struct: type[msgspec.Struct]) -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(struct)}


def test_the_page_has_every_setting() -> None:
    assert fields_in("Settings") == names_of(Settings)


@pytest.mark.parametrize(("heading", "structs"), MESSAGES.items())
def test_the_page_has_every_field_of_our_messages(
    heading: str, structs: tuple[type[msgspec.Struct], ...]
) -> None:
    known = {name for struct in structs for name in names_of(struct)}

    assert fields_in(heading) == known


def test_every_request_of_ours_has_typed_parameters_and_an_answer() -> None:
    manager = cast("Any", connection_of(Settings()).protocol.fm)  # untyped by pygls
    features: dict[str, object] = manager.features

    assert {name for name in features if name.startswith("fxls/")} == {*params.PARAMS}


def test_the_page_has_every_message_of_ours_and_no_other() -> None:
    sections = re.findall(r"^## (Request|Command|Notification) `(.*?)`", PAGE, re.M)

    assert {name for _, name in sections} == {
        custom.CHANGED,
        custom.CONTENT,
        custom.DELETE,
        custom.DIFF,
        custom.FIRST_PASS,
        custom.GRAPH,
        custom.GUARDS,
        custom.IDENTITIES,
        custom.LISTINGS,
        custom.NORMALIZED,
        custom.REVISIONS,
        custom.ROWS,
        custom.RUN,
        custom.RUNS,
        custom.RUN_LIST,
        custom.OPEN,
        custom.REVISED,
        custom.STATUS,
        custom.TABLE,
        custom.TIMES,
        custom.TRACE,
        custom.TRY_REPAIRS,
        custom.FIT_ENTRY,
        custom.WRITE_ENTRY,
    }
    assert f"`{custom.DEBUG}`" in PAGE
    assert f"`{custom.SHOW_REFERENCES}`" in PAGE


def test_the_page_has_every_method_in_a_document() -> None:
    manager = cast("Any", connection_of(Settings()).protocol.fm)  # untyped by pygls
    features: dict[str, object] = manager.features
    asked = {name for name in features if name.startswith("textDocument/")}
    told = {name for name in asked if name.startswith("textDocument/did")}
    (documents,) = re.findall(r"^## Documents\n(.*?)^## ", PAGE, re.M | re.S)
    for method in asked - told:
        name = method.removeprefix("textDocument/").partition("/")[0]
        assert re.search(rf"`(textDocument/)?{name}`", documents), method


def test_the_extension_knows_what_the_page_has_and_nothing_else() -> None:
    text = TYPESCRIPT.read_text("utf-8")
    interfaces: dict[str, type[msgspec.Struct]] = {
        "ChangeItem": run_view.ChangeItem,
        "CodeItem": run_view.CodeItem,
        "CompilationItem": run_view.CompilationItem,
        "DeletedItem": custom.DeletedItem,
        "ErrorItem": picture.ErrorItem,
        "FirstPassItem": FirstPassItem,
        "GraphItem": picture.GraphItem,
        "IdentityItem": custom.IdentityItem,
        "NodeItem": picture.NodeItem,
        "OverviewItem": run_view.OverviewItem,
        "PatternItem": run_view.PatternItem,
        "PhaseItem": run_view.PhaseItem,
        "PlaceItem": picture.PlaceItem,
        "RemarkItem": run_view.RemarkItem,
        "RevisionItem": custom.RevisionItem,
        "RowItem": picture.RowItem,
        "RunItem": run_view.RunItem,
        "Revised": custom.Revised,
        "RowsAsked": params.Rows,
        "RowsAnswer": picture.TableItem,
        "ScopeItem": picture.ScopeItem,
        "ListingItem": custom.ListingItem,
        "TimesItem": custom.TimesItem,
        "TracedItem": custom.TracedItem,
        "ServerStatus": custom.StatusItem,
    }
    for name, struct in interfaces.items():
        (body,) = re.findall(rf"interface {name} \{{(.*?)^\}}", text, re.M | re.S)
        fields = set(re.findall(r"readonly (\w+)\??:", body))
        assert fields, name
        assert fields <= names_of(struct), name
    (columns,) = re.findall(r"^export type Column =(.*?);", text, re.M | re.S)
    assert re.findall(r"'(\w+)'", columns) == [column.value for column in Column]
    named = set(re.findall(r"'((?:fxls|experimental)[./]\w+)'", text))
    assert named
    for name in named:
        assert f"`{name}`" in PAGE, name
