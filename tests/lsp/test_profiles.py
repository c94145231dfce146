"""The same conversation with what VS Code, Neovim and Emacs say that they can do.

pytest-lsp has what they say, and checks that answers keep to it.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from lsprotocol import converters
from lsprotocol import types as lsp
from pytest_lsp import client_capabilities, make_test_lsp_client

from fxls.store import Store
from tests.support.lsp_client import PATIENCE
from tests.support.projects import SOURCE, net_listing, spot

Json = Any

pytestmark = pytest.mark.asyncio


@dataclass(frozen=True)
class Profile:
    """An editor, and in what the server has to treat it in its own way."""

    name: str
    encoding: str
    clef: int
    """How many columns the musical clef is wide."""
    asks_for_tips: bool
    """Whether it asks for the tooltip of a hint when that is about to be shown."""
    shows_documents: bool
    """Whether the server may open a file in it, as some lenses do."""
    watches_files: bool


PROFILES = [
    Profile(
        "visual_studio_code@1.65.2",
        encoding="utf-16",
        clef=2,
        asks_for_tips=False,
        shows_documents=True,
        watches_files=True,
    ),
    Profile(
        "neovim@0.11.0",
        encoding="utf-8",
        clef=4,
        asks_for_tips=True,
        shows_documents=True,
        watches_files=False,
    ),
    Profile(
        "emacs@29.1",
        encoding="utf-32",
        clef=1,
        asks_for_tips=False,
        shows_documents=False,
        watches_files=True,
    ),
]


@dataclass
class Conversation:
    profile: Profile
    client: Any
    """A `LanguageClient`, of which pytest-lsp leaves half untyped."""
    capabilities: lsp.ServerCapabilities
    registered: asyncio.Future[lsp.RegistrationParams]
    root: Path
    listing: Path

    def written(self, answer: object) -> Json:
        """An answer as it is sent, with short paths."""
        return _short(converters.get_converter().unstructure(answer), self)

    async def opened(self, name: str, text: str) -> lsp.TextDocumentIdentifier:
        path = self.root / name
        item = lsp.TextDocumentItem(path.as_uri(), "python", 1, text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
        return lsp.TextDocumentIdentifier(item.uri)


def _short(value: Json, of: Conversation) -> Json:
    if isinstance(value, dict):
        return {key: _short(item, of) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType]  # JSON
    if isinstance(value, list):
        return [_short(item, of) for item in value]  # pyright: ignore[reportUnknownVariableType]  # JSON
    if isinstance(value, str):
        short = value.replace(of.listing.as_uri(), "LISTING")
        return short.replace(of.root.as_uri(), "ROOT").replace(str(of.root), "ROOT")
    return value


@pytest_asyncio.fixture(params=PROFILES, ids=lambda profile: profile.name)
async def talk(
    request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncGenerator[Conversation]:
    """A conversation that has begun; the server ends with it."""
    profile: Profile = request.param
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "net.py").write_text(SOURCE)
    listing = Store(tmp_path / ".fxls").materialize(net_listing(tmp_path))
    client: Any = make_test_lsp_client()
    registered = asyncio.get_running_loop().create_future()

    @client.feature(lsp.CLIENT_REGISTER_CAPABILITY)
    def on_register(params: lsp.RegistrationParams) -> None:  # pyright: ignore[reportUnusedFunction]  # the client calls it
        registered.set_result(params)

    await client.start_io(sys.executable, "-m", "fxls", "serve")
    result = await client.initialize_session(
        lsp.InitializeParams(
            capabilities=client_capabilities(profile.name),
            workspace_folders=[lsp.WorkspaceFolder(tmp_path.as_uri(), "project")],
        )
    )
    yield Conversation(
        profile, client, result.capabilities, registered, tmp_path, listing
    )
    await client.shutdown_session()
    await client.stop()


async def test_columns_are_counted_as_the_editor_counts_them(
    talk: Conversation,
) -> None:
    listing = lsp.TextDocumentIdentifier(talk.listing.as_uri())
    clef = talk.profile.clef
    # In a listing, and in the source that a jump leads to.
    behind = lsp.Position(4, 21 + clef)
    read = await talk.client.text_document_document_highlight_async(
        lsp.DocumentHighlightParams(listing, behind)
    )
    jump = await talk.client.text_document_definition_async(
        lsp.DefinitionParams(listing, lsp.Position(4, 5))
    )

    assert talk.capabilities.position_encoding == talk.profile.encoding
    assert [found["range"] for found in talk.written(read)] == [
        spot(2, 18, 19),
        spot(3, 22, 23),
        spot(4, 21 + clef, 22 + clef),
        spot(4, 26 + clef, 27 + clef),
    ]
    there = spot(6, 31, 42 + clef)
    assert talk.written(jump) == [
        {
            "targetUri": "ROOT/net.py",
            "targetRange": there,
            "targetSelectionRange": there,
            "originSelectionRange": spot(4, 4, 9),
        }
    ]


async def test_a_hover_is_markdown(talk: Conversation) -> None:
    listing = lsp.TextDocumentIdentifier(talk.listing.as_uri())
    hover = await talk.client.text_document_hover_async(
        lsp.HoverParams(listing, lsp.Position(3, 6))
    )

    assert talk.written(hover) == {
        "contents": {
            "kind": "markdown",
            "value": "`relu`: call_function `torch.relu` → `f32[2]`\n\n"
            "from [`net.py:7`](ROOT/net.py#L7,16) in `Net.forward`\n\n"
            "```python\nreturn torch.relu(x) + '𝄞'.count(x)\n```\n\n"
            "- **args**: [`x`](LISTING#L3,19)\n"
            "- **users**: 1: [`add`](LISTING#L6,5)\n"
            "- **value**: `float32 (2,), cpu`",
        },
        "range": spot(3, 4, 8),
    }


async def test_a_hint_has_its_tooltip_where_nobody_asks_for_it_later(
    talk: Conversation,
) -> None:
    listing = lsp.TextDocumentIdentifier(talk.listing.as_uri())
    whole = lsp.Range(lsp.Position(0, 0), lsp.Position(9, 0))
    hints = await talk.client.text_document_inlay_hint_async(
        lsp.InlayHintParams(listing, whole)
    )
    assert hints is not None
    resolved = await talk.client.inlay_hint_resolve_async(hints[0])

    hint = {"position": spot(3, 8, 8)["start"], "label": ": f32[2]", "kind": 1}
    tooltip = {"tooltip": "relu = torch.relu: float32 (2,), cpu"}
    data = {"data": {"path": "ROOT/.fxls/" + talk.listing.name, "node": 1}}
    if talk.profile.asks_for_tips:
        assert talk.written(hints) == [{**hint, **data}]
        assert talk.written(resolved) == {**hint, **data, **tooltip}
    else:
        assert talk.written(hints) == [{**hint, **tooltip}]


async def test_lenses_do_what_the_editor_can_do(talk: Conversation) -> None:
    source = await talk.opened("net.py", SOURCE)
    lenses = await talk.client.text_document_code_lens_async(lsp.CodeLensParams(source))

    expression = "Net()(torch.randn(2))"
    opens = {"command": "fxls.open", "arguments": ["LISTING", 2, 0]}
    if not talk.profile.shows_documents:
        opens = {"command": ""}
    entry, name = spot(3, 8, 29), spot(4, 6, 9)
    assert [(lens["range"], lens["command"]) for lens in talk.written(lenses)] == [
        (
            entry,
            {
                "title": "Trace",
                "command": "fxls.trace",
                "arguments": ["ROOT/net.py", expression],
            },
        ),
        (entry, {"title": "Show generated code", **opens}),
        # It takes a debugger, which an extension brings.
        (entry, {"title": "Debug generated code", "command": ""}),
        (
            entry,
            {
                "title": "Table (5 nodes)",
                "command": "fxls.table",
                "arguments": ["LISTING"],
            },
        ),
        (name, {"title": "generated code of Net", **opens}),
    ]


async def test_what_is_wrong_is_said_and_files_are_watched_where_that_is_possible(
    talk: Conversation,
) -> None:
    method = lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS
    said = asyncio.ensure_future(talk.client.wait_for_notification(method))
    bad = await talk.opened("bad.py", SOURCE.replace("Net()(", "Nte()("))
    await asyncio.wait_for(said, PATIENCE)

    assert talk.written(talk.client.diagnostics[bad.uri]) == [
        {
            "range": spot(3, 8, 11),
            "message": "this file does not define Nte\nDid you mean `Net`?",
            "severity": 2,
            "code": "entry",
            "source": "fxls",
        }
    ]
    if talk.profile.watches_files:
        registered = talk.written(await asyncio.wait_for(talk.registered, PATIENCE))
        assert registered["registrations"] == [
            {
                "id": "fxls-files",
                "method": "workspace/didChangeWatchedFiles",
                "registerOptions": {
                    "watchers": [
                        {"globPattern": "**/*.py"},
                        {"globPattern": "**/pyproject.toml"},
                    ]
                },
            }
        ]
    else:
        assert not talk.registered.done()
