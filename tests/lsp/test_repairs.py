"""Repairs of what torch.compile could not do, as an editor gets, tries and applies them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fxls.entry import Producer
from fxls.listing import Place, source_digest
from fxls.record import QuotedPlace, Remark, Subject
from fxls.store import locate
from fxls.text import Span
from tests.lsp.test_folders import begun, environment
from tests.support.lsp_client import LspClient, started
from tests.support.projects import EDITOR, spot
from tests.support.records import FIRST, written

Json = Any

MODEL = """\
import torch


# fxls: step(torch.arange(4.0))
def step(x):
    y = x + 1
    print('𝄞', y)
    return y * y.sum()
"""
WAITS = "Let print wait until the graph ran: reorderable_logging_functions.add(print)"
LEFT_OUT = "Leave print out where it is compiled"
PYTHON = "Leave step to Python: @torch.compiler.disable"
GONE = "tried: the problem is gone, and all is as in eager"
OTHER = "tried: the problem is gone, with other prints than in eager"


def model(folder: Path, below: str = "") -> Path:
    """A file with a graph break, that a run has recorded."""
    (folder / "pyproject.toml").touch()
    path = folder / "my step.py"
    text = MODEL + below
    path.write_text(text, "utf-8")
    quoted = QuotedPlace(
        Place(str(path), "step", Span.of(6, 4, 6, 17)),
        MODEL.split("\n")[6],
        source_digest(text.encode()),
    )
    broken = Remark(Subject.BREAK, "print", "0/0", "GB0059", (quoted,))
    written(locate(path), FIRST, broken)
    return path


def offered(client: LspClient, path: Path, line: int, column: int) -> list[Json]:
    params: Json = {
        "textDocument": {"uri": path.as_uri()},
        "range": spot(line, column, column),
        "context": {"diagnostics": []},
    }
    found = client.request("textDocument/codeAction", params)
    return [one for one in found if one["kind"] == "quickfix"]


@pytest.mark.slow
def test_repairs_of_a_break_are_untried_until_somebody_lets_them_be_tried(
    tmp_path: Path,
) -> None:
    path = model(tmp_path)
    with started() as client:
        client.initialize(tmp_path, {"trusted": True})
        client.open(path)
        client.diagnostics(path)

        *repairs, trial = offered(client, path, 6, 6)

        assert [one["title"] for one in repairs] == [
            f"{WAITS} (untried)",
            f"{LEFT_OUT} (untried)",
            f"{PYTHON} (untried)",
        ]
        assert [one["diagnostics"][0]["code"] for one in repairs] == ["GB0059"] * 3
        assert trial["title"] == "Try these repairs with step(torch.arange(4.0))"

        command = trial["command"]
        assert command["arguments"] == [path.as_uri(), 6, 6]
        assert client.command(command["command"], *command["arguments"]) == [
            {"title": WAITS, "holds": True, "said": GONE},
            {"title": LEFT_OUT, "holds": False, "said": OTHER},
        ]

        repairs = offered(client, path, 6, 6)
        assert [one["title"] for one in repairs] == [
            f"{WAITS} ({GONE})",
            f"{PYTHON} (untried)",
            f"{LEFT_OUT} ({OTHER})",
        ]
        assert [one.get("isPreferred") for one in repairs] == [True, None, None]
        line = "torch._dynamo.config.reorderable_logging_functions.add(print)"
        assert repairs[0]["edit"]["changes"] == {
            path.as_uri(): [{"range": spot(1, 0, 0), "newText": f"\n{line}\n"}]
        }


@pytest.mark.slow
def test_a_repair_is_tried_by_the_python_of_its_folder(tmp_path: Path) -> None:
    python = environment(tmp_path / "own")
    project = tmp_path / "project"
    project.mkdir()
    path = model(project, "\nimport sys\nassert sys.prefix.endswith('own')\n")
    settings = {project.as_uri(): {"python": str(python)}}
    with started() as client:
        begun(client, {"trusted": True, "folders": settings}, project)
        client.open(path)

        tried = client.command("fxls.tryRepairs", path.as_uri(), 6, 6)

        assert [one["said"] for one in tried] == [GONE, OTHER]


@pytest.mark.slow
def test_what_came_of_a_repair_holds_until_an_imported_file_is_another(
    tmp_path: Path,
) -> None:
    imported = tmp_path / "scale.py"
    imported.write_text("FACTOR = 2\n")
    path = model(tmp_path, "\nfrom scale import FACTOR\n")
    with started() as client:
        client.initialize(tmp_path, {"trusted": True})
        client.open(path)
        client.diagnostics(path)
        client.command("fxls.tryRepairs", path.as_uri(), 6, 6)
        known = [one["title"] for one in offered(client, path, 6, 6)]

        imported.write_text("FACTOR = 2.5\n")

        assert known == [
            f"{WAITS} ({GONE})",
            f"{PYTHON} (untried)",
            f"{LEFT_OUT} ({OTHER})",
        ]
        assert [one["title"] for one in offered(client, path, 6, 6)] == [
            f"{WAITS} (untried)",
            f"{LEFT_OUT} (untried)",
            f"{PYTHON} (untried)",
            "Try these repairs with step(torch.arange(4.0))",
        ]


@pytest.mark.slow
@pytest.mark.parametrize("by_button", [True, False])
def test_who_tries_repairs_sees_progress_and_can_stop_it(
    tmp_path: Path, *, by_button: bool
) -> None:
    path = model(tmp_path, "\nimport time\ntime.sleep(100_000)\n")
    command = {"command": "fxls.tryRepairs", "arguments": [path.as_uri(), 6, 6]}
    with started() as client:
        client.initialize(tmp_path, {"trusted": True}, EDITOR)
        client.open(path)
        # It is opened, and traced.
        assert not client.notification("experimental/serverStatus")["quiescent"]
        token = client.reply("window/workDoneProgress/create")["token"]
        client.notification("$/progress")
        client.notify("window/workDoneProgress/cancel", {"token": token})
        client.notification("$/progress")
        assert client.notification("experimental/serverStatus")["quiescent"]

        asked = client.send("workspace/executeCommand", command)
        token = client.reply("window/workDoneProgress/create")["token"]
        begin = client.notification("$/progress")
        if by_button:
            client.notify("window/workDoneProgress/cancel", {"token": token})
        else:
            client.notify("$/cancelRequest", {"id": asked})
        answer = client.answer(asked)
        end = client.notification("$/progress")
        busy = [client.notification("experimental/serverStatus") for _ in range(2)]
        client.unread()
        client.end()

    assert begin["value"]["title"] == "Trying a repair"
    assert end["value"]["kind"] == "end"
    assert [status["quiescent"] for status in busy] == [False, True]
    if by_button:
        assert answer["result"] == []
    else:
        assert answer["error"]["code"] == -32800


def test_nothing_is_tried_in_a_folder_that_is_not_trusted(tmp_path: Path) -> None:
    path = model(tmp_path)
    with started() as client:
        client.initialize(tmp_path, {"trusted": False})
        client.open(path)
        client.diagnostics(path)

        titles = [one["title"] for one in offered(client, path, 6, 6)]

        assert titles == [
            f"{WAITS} (untried)",
            f"{LEFT_OUT} (untried)",
            f"{PYTHON} (untried)",
        ]
        assert client.command("fxls.tryRepairs", path.as_uri(), 6, 6) == []


def test_a_file_that_is_not_saved_has_repairs_and_no_trial(tmp_path: Path) -> None:
    path = model(tmp_path)
    with started() as client:
        client.initialize(tmp_path, {"trusted": True})
        client.open(path, "\n" + MODEL)
        client.diagnostics(path)
        assert len(offered(client, path, 7, 6)) == 3
        assert client.command("fxls.tryRepairs", path.as_uri(), 7, 6) == []


@pytest.mark.slow
def test_an_export_that_depends_on_values_is_repaired_with_its_own_entry(
    tmp_path: Path,
) -> None:
    (tmp_path / "pyproject.toml").touch()
    path = tmp_path / "net.py"
    call = "Net()(torch.arange(8.0), torch.tensor(4))"
    path.write_text(
        f"import torch\n\n\n# fxls[{Producer.EXPORT.value}]: {call}\n"
        "class Net(torch.nn.Module):\n"
        "    def forward(self, x, n):\n"
        "        k = n.item()\n"
        "        return x + 1 if k > 3 else x\n",
        "utf-8",
    )
    with started() as client:
        client.initialize(tmp_path, {"trusted": True})
        client.open(path)
        (said,) = client.diagnostics(path)
        assert said["range"] == spot(7, 24, 29)

        *found, trial = offered(client, path, 7, 25)
        titles = [one["title"] for one in found if "_check" in one["title"]]
        assert titles == [
            "Tell torch that it holds: torch._check(k > 3) (untried)",
            "Tell torch that it holds: torch._check(k <= 3) (untried)",
        ]
        client.command(trial["command"]["command"], *trial["command"]["arguments"])
        titles = [
            one["title"]
            for one in offered(client, path, 7, 25)
            if "_check" in one["title"]
        ]
        assert titles[0] == f"Tell torch that it holds: torch._check(k > 3) ({GONE})"
        assert titles[1].startswith(
            "Tell torch that it holds: torch._check(k <= 3) (tried: RuntimeError: "
        )


@pytest.mark.slow
@pytest.mark.parametrize("strict", [False, True], ids=["as Python", "strict"])
def test_what_an_export_of_a_run_could_not_know_is_repaired_with_an_entry(
    tmp_path: Path, *, strict: bool
) -> None:
    (tmp_path / "pyproject.toml").touch()
    path = tmp_path / "my export.py"
    call = "Net()(torch.arange(8.0), torch.tensor(4))"
    path.write_text(
        f"import torch\n\n\n# fxls[compile]: {call}\n"
        "class Net(torch.nn.Module):\n"
        "    def forward(self, x, n):\n"
        "        k = n.item()\n"
        "        if k > 3:\n"
        "            x = x + 1\n"
        "        return x * 2 if k < 9 else x\n\n\n"
        'if __name__ == "__main__":\n'
        "    try:\n"
        "        inputs = torch.arange(8.0), torch.tensor(4)\n"
        f"        torch.export.export(Net(), inputs, strict={strict})\n"
        "    except Exception as error:\n"
        "        print(type(error).__name__)\n",
        "utf-8",
    )
    command = [sys.executable, "-m", "fxls", "run", str(path)]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    assert ran.stdout.split()[0] in (b"GuardOnDataDependentSymNode", b"UserError")
    with started() as client:
        client.initialize(tmp_path, {"trusted": True})
        client.open(path)
        said = [
            one
            for one in client.diagnostics(path)
            if one["message"].startswith("Could not guard on")
        ]
        assert [one["range"] for one in said] == [spot(7, 11, 16)]

        checks = "Tell torch that it holds: torch._check({})".format
        *found, trial = offered(client, path, 7, 12)
        titles = [one["title"] for one in found if "_check" in one["title"]]
        assert titles == [
            f"{checks('k > 3')} (untried)",
            f"{checks('k <= 3')} (untried)",
        ]
        assert trial["title"] == f"Try these repairs with {call}"

        command = trial["command"]
        tried = client.command(command["command"], *command["arguments"])

        # With the first one `k < 9` is what torch cannot know; the second one says it.
        assert [(one["title"], one["holds"]) for one in tried] == [
            (checks("k > 3"), False),
            (checks("k <= 3"), False),
        ]
        another = "tried: the problem is gone, and there is another one at k < 9"
        refuted = "tried: RuntimeError: Runtime assertion failed for expression u0 <= 3"
        assert tried[0]["said"] == another
        assert tried[1]["said"].startswith(refuted)


@pytest.mark.slow
def test_of_two_breaks_each_is_judged_by_itself(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    path = tmp_path / "two.py"
    path.write_text(
        "import torch\n\n\n# fxls: step(torch.arange(4.0))\n"
        "def step(x):\n"
        "    y = x + 1\n"
        "    print('ä', y)\n"
        "    n = y.sum().item()\n"
        "    return y * 2 if n > 3 else y\n\n\n"
        'if __name__ == "__main__":\n'
        "    torch.compile(step, backend='eager')(torch.arange(4.0))\n",
        "utf-8",
    )
    command = [sys.executable, "-m", "fxls", "run", str(path)]
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    with started() as client:
        client.initialize(tmp_path, {"trusted": True})
        client.open(path)
        places = {str(one["range"]) for one in client.diagnostics(path)}
        assert places == {str(spot(6, 4, 17)), str(spot(7, 8, 22))}

        of_print = client.command("fxls.tryRepairs", path.as_uri(), 6, 6)
        of_item = client.command("fxls.tryRepairs", path.as_uri(), 7, 10)

        assert of_print == [
            {"title": WAITS, "holds": True, "said": GONE},
            {"title": LEFT_OUT, "holds": False, "said": OTHER},
        ]
        another = "tried: the problem is gone, and there is another one at n > 3"
        detached = "Keep it a tensor: detach() instead of item()"
        captured = (
            "Capture numbers that depend on values: capture_scalar_outputs = True"
        )
        assert of_item == [
            {"title": detached, "holds": False, "said": another},
            {"title": captured, "holds": False, "said": another},
        ]
