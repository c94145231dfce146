"""docs/protocol.md and the code name the same things."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from fxls.lsp import custom
from fxls.lsp.settings import Settings

PAGE = (Path(__file__).parents[2] / "docs" / "protocol.md").read_text("utf-8")


def fields_in(heading: str) -> set[str]:
    """The names in the first column of the tables of a section."""
    (section,) = re.findall(rf"^## {heading}\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S)
    rows = re.findall(r"^\| (`.*?) \|", section, re.M)
    return {name for row in rows for name in re.findall(r"`(\w+)`", row)}


def names_of(struct: type[msgspec.Struct]) -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(struct)}


def test_the_page_has_every_setting() -> None:
    assert fields_in("Settings") == names_of(Settings)


def test_the_page_has_every_field_of_our_requests() -> None:
    listings = fields_in(f"Request `{custom.LISTINGS}`")
    traced = fields_in(f"Command `{custom.TRACE}`")

    assert listings == names_of(custom.ListingItem)
    assert traced == names_of(custom.TracedItem)


def test_the_page_has_no_request_that_there_is_not() -> None:
    named = set(re.findall(r"^## (?:Request|Command) `(.*?)`", PAGE, re.M))

    assert named == {custom.LISTINGS, custom.TRACE}
