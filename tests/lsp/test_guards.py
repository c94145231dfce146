"""The guards of compilations, and the sizes that they fixed, with the lines that did it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.lsp_client import started
from tests.support.projects import EDITOR

Json = Any

pytestmark = pytest.mark.slow

PROGRAM = """\
import json
import logging

import torch

heard = []


class Listener(logging.Handler):
    def emit(self, record):
        if "dynamo_cpp_guards_str" in record.metadata:
            heard.append(record.payload)


log = logging.getLogger("torch.__trace")
log.addHandler(Listener(logging.DEBUG))
log.setLevel(logging.DEBUG)
linear = torch.nn.Linear(4, 4)
scale = 3


def f(x, flag):
    y = x * scale if flag else x
    if x.shape[0] == 5:
        y = y + 1
    return linear(y.reshape(-1, 4)).sum()


compiled = torch.compile(f, backend="eager", dynamic=True)
compiled(torch.randn(5, 4), True)
compiled(torch.randn(6, 4), True)
with open("heard.json", "w") as file:
    json.dump(heard, file)
"""

LEAF = re.compile(r"\+- \w+: (.*?) +# (.*?)  # \S+?:(\d+) in (\w+)")
"""A guard as torch writes it: what holds, and the line, its number and function."""


def lines_of(text: str) -> set[tuple[str, int, str]]:
    """What torch says of guards: what holds, and the line that it is there for."""
    found = (LEAF.search(line) for line in text.splitlines())
    return {(one[1], int(one[3]), one[4]) for one in found if one}


def fxls(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        [sys.executable, "-m", "fxls", *arguments],
        cwd=folder,
        env={**os.environ, "FXLS_STORE": str(folder / ".fxls")},
        check=True,
        timeout=600,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in whose store is a run of the program."""
    folder = tmp_path_factory.mktemp("guards")
    (folder / "pyproject.toml").touch()
    (folder / "prog.py").write_text(PROGRAM)
    fxls(folder, "run", "prog.py")
    return folder


@pytest.fixture(scope="module")
def said(project: Path) -> Json:
    return json.loads(fxls(project, "runs", "-1", "--guards", "--json"))


BRANCH = PROGRAM.splitlines().index("    if x.shape[0] == 5:") + 1


def test_guards_are_those_that_torch_checks_each_with_the_line_that_torch_says(
    project: Path, said: Json
) -> None:
    heard = json.loads((project / "heard.json").read_text())

    assert [one["compilation"] for one in said["guards"]] == ["0/0", "0/1"]
    for of_torch, ours in zip(heard, said["guards"], strict=True):
        assert ours["count"] == len(ours["first"])
        recorded = {
            (one["text"], one["place"]["line"], one["place"]["function"])
            for one in ours["first"]
            if one["place"] is not None
        }
        texts = {text for text, _, _ in recorded}
        known = {one for one in lines_of(of_torch) if one[0] in texts}
        assert len(known) > 15
        assert known <= recorded
    texts = [one["text"] for one in said["guards"][1]["first"]]
    (checked,) = (one for one in texts if one.startswith("check_tensor(L['x']"))
    assert checked.endswith(", requires_grad=False, size=[None, 4], stride=[4, 1])")


def test_sizes_that_were_bound_or_fixed_have_the_line_that_asked(
    project: Path, said: Json
) -> None:
    sizes = [
        {
            one["text"]: one["place"]["line"]
            for one in each["first"]
            if one["kind"] == "SIZE"
        }
        for each in said["guards"]
    ]
    assert sizes[0]["Eq(L['x'].size()[0], 5)"] == BRANCH
    assert sizes[1]["Ne(L['x'].size()[0], 5)"] == BRANCH
    fixed = [
        (one["compilation"], one["reason"], one["places"][0]["line"])
        for one in said["remarks"]
        if one["subject"] == "specialized"
    ]
    refined = "range_refined_to_singleton"
    assert fixed == [
        ("0/0", f"L['x'].size()[0] is always 5: {refined}", BRANCH),
        ("0/0", f"L['x'].size()[1] is always 4: {refined}", BRANCH + 2),
        ("0/1", f"L['x'].size()[1] is always 4: {refined}", BRANCH + 2),
    ]
    text = fxls(project, "runs", "-1")
    assert (
        f"  size fixed: L['x'].size()[0] is always 5: {refined}\n"
        f"    at prog.py:{BRANCH}:5: if x.shape[0] == 5:\n"
    ) in text
    assert "  guard CONSTANT_MATCH" not in text
    guard = "  guard CONSTANT_MATCH: L['flag'] == True\n"
    assert guard in fxls(project, "runs", "-1", "--guards")


def test_guards_are_a_document_whose_places_are_links(
    project: Path, said: Json
) -> None:
    run, source = said["run"]["id"], project / "prog.py"
    with started() as client:
        client.initialize(project, capabilities=EDITOR)

        def text(uri: str) -> str:
            return client.request("workspace/textDocumentContent", {"uri": uri})["text"]

        asked = {"command": "fxls.guards", "arguments": [source.as_uri(), "0/1"]}
        sent = client.send("workspace/executeCommand", asked)
        there = client.reply("window/showDocument", {"success": True})["uri"]
        assert client.answer(sent)["result"] == there
        assert there == f"fxls:/runs/{run}/0-1/guards.txt"
        sheet = text(there)
        assert sheet.partition("\n  ")[0] == (
            f"The guards of run {run}.\n"
            "A compilation is used again as long as all of its guards hold.\n\n"
            f"0/1  f, prog.py:{BRANCH - 2}: {said['guards'][1]['count']} guards"
        )
        flag = f"CONSTANT_MATCH, for prog.py:{BRANCH - 1}: y = x * scale if flag else x"
        assert f"\n  L['flag'] == True\n      {flag}\n" in sheet
        document = {"textDocument": {"uri": there}}
        links = client.request("textDocument/documentLink", document)
        assert source.as_uri() in {one["target"].partition("#")[0] for one in links}

        whole = text(f"fxls:/runs/{run}/guards.txt")
        assert re.findall(r"^(\S+)  f, ", whole, re.M) == ["0/0", "0/1"]
        for uri in ("fxls:/runs/../guards.txt", f"fxls:/runs/{run}/9-9/guards.txt"):
            assert text(uri) == f"# There is no listing at {uri} any more.\n"
        client.unread()
        client.end()
