"""What an editor is told of the passes of a run: hovers, actions, and the first pass."""

from __future__ import annotations

import re
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from fxls.record.first_pass import Asked
from tests.support.lsp_client import LspClient
from tests.support.recorded_projects import opened, recorded

Json = Any

ROOT = Path(__file__).parents[2]

PROGRAM = """\
import torch
import fxls


class Net(torch.nn.Module):
    def forward(self, x, y):
        return (x.sin() + 1.5 - y.cos()).relu()


def swaps(gm):
    node = next(node for node in gm.graph.nodes if node.name == "sub")
    node.args = node.args[::-1]
    gm.recompile()


def instead(gm, old, function):
    node = next(node for node in gm.graph.nodes if node.name == old)
    with gm.graph.inserting_after(node):
        new = gm.graph.call_function(function, (node.args[0],))
    node.replace_all_uses_with(new)
    gm.graph.erase_node(node)
    gm.recompile()


def softens(gm):
    instead(gm, "relu", torch.nn.functional.gelu)


def hardens(gm):
    instead(gm, "gelu", torch.nn.functional.silu)


def breaks(gm):
    nodes = {node.name: node for node in gm.graph.nodes}
    nodes["silu"].append(nodes["sub"])
    gm.recompile()


gm = torch.fx.symbolic_trace(Net())
with fxls.passes(gm):
    for one in (swaps, softens, hardens, breaks):
        one(gm)
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in whose store is a run of a program with four passes."""
    return recorded(tmp_path_factory.mktemp("passes"), PROGRAM)


@pytest.fixture
def client(project: Path) -> Generator[LspClient]:
    with opened(project) as client:
        yield client


@pytest.fixture
def revisions(client: LspClient) -> list[Json]:
    (identity,) = client.request("fxls/identities", {})
    return client.request("fxls/revisions", {"uri": identity["document"]})


def at(path: Path, name: str) -> tuple[Path, int, int]:
    """Where a node is bound."""
    lines = path.read_text().splitlines()
    found = [n for n, line in enumerate(lines) if line.startswith(f"    {name} = ")]
    return path, found[0], 4


def asked(client: LspClient, path: Path, *words: str, shows: bool = False) -> Json:
    """What the command answers, and what it says and shows to the user."""
    arguments = [path.as_uri(), *words]
    sent = {"command": "fxls.firstPass", "arguments": arguments}
    request = client.send("workspace/executeCommand", sent)
    shown = client.reply("window/showDocument", {"success": True}) if shows else None
    answer = client.answer(request)["result"]
    return answer, client.notification("window/showMessage")["message"], shown


pytestmark = pytest.mark.slow


def test_revisions_say_which_pass_left_them_and_the_current_one_is_first(
    revisions: list[Json],
) -> None:
    keys = ("madeBy", "ordinal", "change", "compilation")
    assert [[one.get(key) for key in keys] for one in revisions] == [
        ["breaks", 1, "~1", None],
        ["instead", 2, "+1 -1 ~1", None],
        ["instead", 1, "+1 -1 ~1", None],
        ["swaps", 1, "~1", None],
        # What it was given, and the graph as it was captured.
        [None, None, None, None],
        [None, None, None, None],
    ]


def test_a_hover_says_every_pass_that_made_a_node_back_to_the_model(
    client: LspClient, project: Path, revisions: list[Json]
) -> None:
    broken, hard, soft, swapped, *_ = (Path(one["path"]) for one in revisions)

    def link(path: Path, name: str) -> str:
        _, line, column = at(path, name)
        return f"[`{name}`]({path.as_uri()}#L{line + 1},{column + 1})"

    def card(path: Path, name: str) -> list[str]:
        text = client.ask("hover", *at(path, name))["contents"]["value"]
        _, *paragraphs = text.split("\n\n")
        return [one for one in paragraphs if not one.startswith("- ")]

    source = f"[`prog.py:7`]({(project / 'prog.py').as_uri()}#L7,16) in `Net.forward`"
    from_model = [
        f"from {source}",
        "```python\nreturn (x.sin() + 1.5 - y.cos()).relu()\n```",
    ]
    made_soft = (
        f"The pass `instead` of Net torch.fx made {link(soft, 'gelu')} in place of "
        f"{link(swapped, 'relu')}."
    )
    made_hard = (
        f"The pass `instead (2)` of Net torch.fx made {link(hard, 'silu')} in place of "
        f"{link(soft, 'gelu')}."
    )
    assert card(broken, "silu") == [*from_model, made_hard, made_soft]
    assert card(soft, "gelu") == [*from_model, made_soft]
    # A node that no pass made has no such sentence.
    assert card(swapped, "relu") == from_model


def test_the_first_pass_is_a_command_of_every_editor(
    client: LspClient, project: Path, revisions: list[Json]
) -> None:
    broken, hard, soft, swapped, _, first = (Path(one["path"]) for one in revisions)
    said = "The pass instead (2), in Net torch.fx: gelu is replaced by silu."
    answer, message, shown = asked(client, broken, "gone", "gelu", shows=True)
    place = {"uri": (project / "prog.py").as_uri(), "function": "Net.forward"}
    place |= {"line": 6, "character": 15, "endLine": 6, "endCharacter": 47}
    line = at(soft, "gelu")[1]
    assert answer["found"] == [
        {
            "name": "instead",
            "ordinal": 2,
            "said": said,
            "place": place,
            "node": "gelu",
            "reason": "is replaced by silu",
            "before": soft.as_uri(),
            "after": hard.as_uri(),
            "uri": soft.as_uri(),
            "line": line,
        }
    ]
    assert message == f"fxls: {said}"
    assert (shown["uri"], shown["selection"]["start"]["line"]) == (soft.as_uri(), line)

    found = {
        (
            "broken",
        ): "The pass breaks, in Net torch.fx: silu uses sub before that is made.",
        (
            "altered",
            "sub",
        ): "The pass swaps, in Net torch.fx: sub has (cos, add) and not (add, cos).",
        ("moved", "sub"): "The pass breaks, in Net torch.fx: sub stands behind silu.",
        (
            "made",
            "silu",
        ): "The pass instead (2), in Net torch.fx: silu is made from gelu.",
        ("with", "gelu"): "The pass instead, in Net torch.fx: gelu calls it.",
        ("without", "relu"): "The pass instead, in Net torch.fx: relu was the first of"
        " them.",
    }
    # It does not matter by which of its revisions a graph is asked about.
    for path, (words, sentence) in zip(
        (first, swapped, soft, hard, broken, broken), found.items(), strict=True
    ):
        assert asked(client, path, *words, shows=True)[1] == f"fxls: {sentence}"

    unanswered = {
        ("gone", "sin"): "None of the 4 passes that changed this graph did that.",
        ("made", "nope"): "No graph of this step has nope.",
        ("what",): "Ask for one of gone, made, altered, moved, with, without, shape, "
        "broken, not 'what'.",
    }
    for words, problem in unanswered.items():
        answer, message, _ = asked(client, broken, *words)
        assert (answer, message) == ({"problem": problem}, f"fxls: {problem}")


def test_vs_code_asks_all_that_can_be_asked() -> None:
    questions = ROOT / "vscode-extension" / "src" / "graphs" / "first_pass.ts"
    words = re.findall(r"asked: '(\w+)'", questions.read_text())
    assert words == [one.value for one in Asked]


def test_on_a_node_that_passes_touched_the_first_pass_is_offered(
    client: LspClient, revisions: list[Json]
) -> None:
    def offered(path: Path, name: str) -> Json:
        path, line, column = at(path, name)
        place = {"line": line, "character": column}
        where = {"start": place, "end": place}
        asked = {"textDocument": {"uri": path.as_uri()}, "range": where}
        found = client.request(
            "textDocument/codeAction", {**asked, "context": {"diagnostics": []}}
        )
        return {one["title"]: one["command"] for one in found or ()}

    broken, _, soft, *_ = (Path(one["path"]) for one in revisions)
    made = offered(broken, "silu")["Ask for the first pass that made silu"]
    assert made["arguments"] == [broken.as_uri(), "made", "silu"]
    gone = "Ask for the first pass behind which gelu is gone"
    assert gone in offered(soft, "gelu")
    assert offered(broken, "sin") == {}
