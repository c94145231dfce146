"""Classes and functions that were traced, and are not written any more."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fxls.ide.listing.document import Document
from fxls.ide.source.gone import is_gone
from tests.ide.nets import NET, SOURCE, SOURCE_PATH, source_text

ENTERED = Document(
    NET.path,
    replace(
        NET.listing,
        entry_source=[s.path for s in NET.listing.sources].index(SOURCE_PATH),
    ),
)


def gone(text: str | None, document: Document = NET) -> bool:
    return is_gone(
        document, lambda path: text if path == SOURCE_PATH else source_text(path)
    )


def test_a_class_that_is_written_is_there_whatever_else_was_edited() -> None:
    assert not gone(SOURCE)
    assert not gone("import os\n" + SOURCE.replace("torch.relu", "torch.tanh"))


@pytest.mark.parametrize(
    "text", [SOURCE.replace("class Net", "class Other"), "import torch\n", ""]
)
def test_a_class_that_was_renamed_or_deleted_is_gone(text: str) -> None:
    assert gone(text)
    assert gone(text, ENTERED)


def test_what_is_half_written_or_cannot_be_read_tells_nothing() -> None:
    assert not gone("class Other(:\n")
    assert not gone(None)


HEIR = "from base import Base\n\n\n# fxls: Net()(torch.randn(1, 3, 8, 8))\n"


def test_an_entry_that_names_what_its_file_lacks_is_gone_though_its_forward_is_not() -> (
    None
):
    inherited = SOURCE.replace("class Net", "class Base")
    listing = replace(
        ENTERED.listing,
        frames=tuple(
            replace(row, function=row.function.replace("Net.", "Base."))
            for row in ENTERED.listing.frames
        ),
    )
    document = Document(ENTERED.path, listing)
    assert gone(inherited, document)
    assert not gone(inherited + "\n\nclass Net(Base):\n    pass\n", document)
    assert not gone("from models import *\n" + inherited, document)
    assert not gone("from models import Net, torch\n" + inherited, document)


@pytest.mark.parametrize(
    "binding",
    [
        "async def Net(x): pass",
        "for Net in (Base,): pass",
        "with open('net') as Net: pass",
        "if (Net := Base): pass",
        "try: pass\nexcept ValueError as Net: pass",
        "match Base:\n    case Net: pass",
        "match [Base]:\n    case [*Net]: pass",
        "match {}:\n    case {**Net}: pass",
        "globals()['Net'] = Base",
        "exec('Net = Base')",
    ],
)
def test_a_name_that_an_entry_uses_may_be_bound_in_any_way(binding: str) -> None:
    inherited = SOURCE.replace("class Net", "class Base")
    listing = replace(
        ENTERED.listing,
        frames=tuple(
            replace(row, function=row.function.replace("Net.", "Base."))
            for row in ENTERED.listing.frames
        ),
    )
    document = Document(ENTERED.path, listing)
    assert gone(inherited, document)
    assert not gone(f"{inherited}\n\n{binding}\n", document)
