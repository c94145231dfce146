"""A real Neovim with the configuration of docs/editors.md, as it is there."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.editors.story import (
    HOVER,
    MODEL,
    ROOT,
    write_hostile_project,
    write_project,
)
from tests.support.neovim import Neovim, neovim

pytestmark = pytest.mark.slow

LISTING = """\
# The code of Net's graph, written by fxls. To change it, change the model.
import torch


def forward(self, x: f32[2, 4] : torch.Tensor) -> torch.Tensor: 5 nodes | from Net
    linear: f32[2, 4] = self.linear(x)
    relu: f32[2, 4] = torch.relu(linear);  linear = None
    add: f32[2, 4] = x + relu;  x = relu = None
    return add
"""


PATIENT = """\
local wait = vim.wait
vim.wait = function(time, condition, ...)
  return wait(condition and 300000 or time, condition, ...)
end
"""
"""Neovim waits a second for what a jump needs; a machine may have more to do."""


def install(config: Path) -> None:
    """Put the plugin where a plugin manager puts a clone of the repository."""
    plugin = config.parent.parent / "data/nvim/site/pack/managed/start/fxls"
    for part in ("lua", "plugin"):
        shutil.copytree(ROOT / part, plugin / part)
    config.mkdir(parents=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write_project(tmp_path / "project")


@pytest.fixture
def editor(tmp_path: Path, project: Path) -> Generator[Neovim]:
    """Neovim with the model open, of which the server has made a listing."""
    config = tmp_path / "home/config/nvim"
    install(config)
    (config / "init.lua").write_text(PATIENT)
    answers = tmp_path / "home/data/nvim/fxls-trusted.json"
    answers.parent.mkdir(parents=True, exist_ok=True)
    answers.write_text(json.dumps({str(project.resolve()): True}))
    with neovim(tmp_path / "home", project, "net.py") as editor:
        editor.until("#vim.lsp.inlay_hint.get({ bufnr = 0 }) > 0")
        editor.until("#vim.lsp.codelens.get(0) == 5")
        yield editor


@pytest.mark.parametrize("answer", ["yes", "no"])
def test_nothing_of_a_folder_runs_before_it_is_trusted(
    tmp_path: Path, answer: str
) -> None:
    config = tmp_path / "home/config/nvim"
    install(config)
    programs = Path(sys.executable).parent
    number, ran = 1 if answer == "yes" else 2, tmp_path / "ran"
    (config / "init.lua").write_text(
        f"vim.env.PATH = '{programs}:' .. vim.env.PATH\nvim.g.asked = {{}}\n"
        "vim.fn.confirm = function(question)\n"
        f"  assert(vim.fn.filereadable('{ran}') == 0)\n"
        "  vim.g.asked = vim.list_extend(vim.g.asked, { question })\n"
        f"  return {number}\nend\n"
    )
    assert write_hostile_project(tmp_path / "project") == ran
    for session in range(2):
        with neovim(tmp_path / "home", tmp_path / "project", "net.py") as editor:
            if answer == "yes":
                editor.until(f"vim.fn.filereadable('{ran}') == 1")
            else:
                editor.until("#vim.lsp.codelens.get(0) > 0")
            asked = editor.lua("return vim.g.asked")
        if session == 0:
            folder = (tmp_path / "project").resolve()
            what = "fxls then runs its .venv, and the models that you open"
            question = (
                f"Run the code of {folder}?\n{what}; else it only shows listings."
            )
            assert asked == [question]
        else:
            assert asked == []
    assert ran.exists() == (answer == "yes")


def lens(editor: Neovim, title: str) -> None:
    """Choose a lens above the entry, by its number in the list that Neovim shows."""
    editor.type(":buffer net.py<CR>")
    titles: list[str] = editor.lua(
        "return vim.tbl_map(function(lens) return lens.command.title end,"
        " vim.lsp.codelens.get(0))"
    )
    editor.at("# fxls")
    editor.type(f"\\l{titles.index(title) + 1}<CR>")


def open_listing(editor: Neovim) -> None:
    lens(editor, "Show generated code")
    editor.until("vim.fn.expand('%:t'):match('^Net_%x+%.py$') ~= nil")
    editor.until("#vim.lsp.inlay_hint.get({ bufnr = 0 }) == 4")
    editor.until("#vim.lsp.codelens.get(0) == 2")


def lines(editor: Neovim) -> list[str]:
    """The window as it is drawn, up to the end of the buffer."""
    rows = editor.screen()
    return rows[: rows.index("~")]


def test_the_model_has_shapes_and_lenses(editor: Neovim) -> None:
    *shown, entry = lines(editor)
    comment, *titles = re.split(r" (?=Trace|Debug|Show|Table)", entry)

    assert shown == [
        *MODEL.splitlines()[:4],
        "class Net(nn.Module): generated code of Net",
        *MODEL.splitlines()[5:10],
        "        y: f32[2, 4] = torch.relu(self.linear(x))",
        "        return x + y: f32[2, 4]",
        "",
        "",
    ]
    assert comment == "# fxls: Net(4)(torch.randn(2, 4))"
    assert {title.removesuffix(" |") for title in titles} == {
        "Trace",
        "Show generated code",
        "Debug generated code",
        "Table (5 nodes)",
    }


def test_a_lens_opens_the_listing_which_is_not_edited(editor: Neovim) -> None:
    open_listing(editor)

    assert lines(editor) == LISTING.splitlines()
    assert editor.lua("return { vim.bo.modifiable, vim.bo.readonly }") == [False, True]


def test_a_hover_says_what_a_node_is(editor: Neovim) -> None:
    open_listing(editor)
    editor.at("relu(linear)")
    editor.type("K")
    shown = editor.float()
    drawn = [line.strip() for line in editor.screen()]

    assert [re.sub(r"\((?:file|https):[^)]*\)", "", line) for line in shown] == HOVER
    # The marks of Markdown are not drawn.
    assert "- args: linear" in drawn


def test_definition_leads_to_the_model_and_implementation_back(editor: Neovim) -> None:
    open_listing(editor)
    listing = editor.place()[0]
    editor.at("linear);  linear")
    editor.type("<C-]>")
    binding = editor.place()
    editor.type("<C-]>")
    source = editor.place()
    editor.type("gri")
    editor.until("vim.fn.expand('%:t') ~= 'net.py'")
    back = editor.place()

    assert binding == (listing, 6, "linear = self.linear(x)")
    assert source == ("net.py", 11, "self.linear(x))")
    assert back == binding


def test_references_and_outline_are_lists_to_walk_through(editor: Neovim) -> None:
    open_listing(editor)
    editor.at("linear = self")
    editor.type("grr")
    editor.until("vim.fn.getqflist({ size = 0 }).size == 2")
    references = editor.lua(
        "return vim.tbl_map(function(item) return { item.lnum, item.text } end,"
        " vim.fn.getqflist())"
    )
    editor.type("<C-w>q")
    editor.type("gO")
    editor.until("vim.fn.getloclist(0, { size = 0 }).size > 0")
    outline = editor.lua(
        "return vim.tbl_map(function(item) return { item.lnum, item.text } end,"
        " vim.fn.getloclist(0))"
    )

    assert references == [
        [6, "    linear = self.linear(x)"],
        [7, "    relu = torch.relu(linear);  linear = None"],
    ]
    assert outline == [
        [5, "[Function] Net.forward"],
        [5, "[Variable] x"],
        [6, "[Object] linear"],
        [7, "[Function] relu"],
        [8, "[Function] add"],
        [9, "[Event] output"],
    ]


def test_what_cannot_be_traced_is_said_on_its_expression(
    editor: Neovim, project: Path
) -> None:
    bad = MODEL.replace("return x + y", "return x if y.sum() > 0 else y")
    (project / "bad.py").write_text(bad)
    editor.edit(project / "bad.py")
    editor.until("#vim.diagnostic.get(0) == 1")
    (found,) = editor.lua("return vim.diagnostic.get(0)")
    line = bad.splitlines()[int(found["lnum"])]
    editor.at("y.sum()")
    editor.type("<C-w>d")

    assert line[found["col"] : found["end_col"]] == "y.sum() > 0"
    assert found["message"].splitlines()[0] == (
        "symbolically traced variables cannot be used as inputs to control flow"
    )
    assert editor.float()[:2] == [
        "Diagnostics:",
        "1. symbolically traced variables cannot be used as inputs to control flow",
    ]


def test_a_save_moves_the_window_and_the_breakpoint_to_the_new_listing(
    editor: Neovim, project: Path
) -> None:
    open_listing(editor)
    old = editor.place()[0]
    editor.at("add =")
    editor.type("<F9>")
    editor.type(":split net.py<CR>")
    editor.at("return x + y")
    editor.type("Oy = y * 2<Esc>:w<CR>")
    editor.until("vim.fn.bufname(vim.fn.winbufnr(2)) ~= value", f".fxls/{old}")
    editor.type("<C-w>j")
    editor.until("#vim.lsp.inlay_hint.get({ bufnr = 0 }) == 5")
    after = editor.place()
    placed = editor.lua(
        "return vim.iter(vim.fn.getbufinfo()):map(function(buffer)"
        "  local there = vim.fn.sign_getplaced(buffer.bufnr, { group = 'fxls' })[1]"
        "  return there.signs[1] and { vim.fs.basename(buffer.name), there.signs[1].lnum }"
        " end):totable()"
    )

    assert after[0] != old
    assert after[1:] == (9, "add = x + mul;  x = mul = None")
    assert placed == [[after[0], 9]]


def test_the_lens_debug_stops_at_a_breakpoint_in_the_listing(editor: Neovim) -> None:
    open_listing(editor)
    editor.at("add =")
    editor.type("<F9>")
    lens(editor, "Debug generated code")
    stopped(editor, 8)
    arrow = "→     add: f32[2, 4] = x + relu;  x = relu = None"
    editor.shows(8, arrow)
    shown = editor.screen()[:9]
    say(editor, "p relu.shape")
    editor.until("vim.fn.search('torch.Size(.2, 4.)', 'nw') > 0")
    say(editor, "next")
    stopped(editor, 9)
    say(editor, "continue")
    editor.until("vim.fn.search('Process exited 0', 'nw') > 0")

    assert shown == [
        *("  " + line if line else "" for line in LISTING.splitlines()[:7]),
        arrow,
        "      return add",
    ]
    assert signs(editor) == [[8, "fxls-breakpoint"]]


def test_without_a_breakpoint_it_stops_on_the_first_line(editor: Neovim) -> None:
    lens(editor, "Debug generated code")
    stopped(editor, 6)

    editor.shows(6, "→     linear: f32[2, 4] = self.linear(x)")


def test_a_program_of_ones_own_stops_in_its_listing(
    editor: Neovim, project: Path
) -> None:
    (project / "run.py").write_text(
        "import torch\nfrom fxls import engine as fx\nfrom net import Net\n"
        "fx.symbolic_trace(Net(4))(torch.ones(2, 4))\n"
    )
    open_listing(editor)
    editor.at("relu =")
    editor.type("<F9>")
    editor.edit(project / "run.py")
    editor.type("<F5>")
    stopped(editor, 7)
    arrow = "→     relu: f32[2, 4] = torch.relu(linear);  linear = None"
    editor.shows(7, arrow)


def stopped(editor: Neovim, line: int) -> None:
    """Wait until the line of the upper window is the one where pdb stopped."""
    editor.until(
        "vim.iter(vim.fn.sign_getplaced(vim.fn.winbufnr(1), { group = '*' })[1].signs)"
        ":any(function(s) return s.lnum == value and s.name == 'fxls-stopped' end)",
        line,
    )


def signs(editor: Neovim) -> list[list[object]]:
    """Line and name of the signs in the upper window."""
    found: list[list[object]] = editor.lua(
        "return vim.tbl_map(function(sign) return { sign.lnum, sign.name } end,"
        " vim.fn.sign_getplaced(vim.fn.winbufnr(1), { group = '*' })[1].signs)"
    )
    return found


def say(editor: Neovim, command: str) -> None:
    """Give pdb a command in its terminal, which is the current window."""
    editor.lua("vim.fn.chansend(vim.b.terminal_job_id, ... .. '\\n')", command)


NEEDY = """\
import torch


class Needy(torch.nn.Module):
    def __init__(self, width, mode: str):
        super().__init__()
        self.linear = torch.nn.Linear(width, 4)

    def forward(self, x):
        return self.linear(x)
"""


def test_a_lens_writes_an_example_call_and_goes_there(
    editor: Neovim, project: Path
) -> None:
    (project / "needy.py").write_text(NEEDY)
    editor.edit(project / "needy.py")
    editor.until("#vim.lsp.codelens.get(0) == 1")
    editor.at("class Needy")
    editor.type("\\l1<CR>")
    rest = "...)(torch.randn(1, 8))"
    editor.until("vim.fn.getline('.'):sub(vim.fn.col('.')) == value", rest)
    editor.until("#vim.diagnostic.get(0) == 1")

    call = f"Needy(width=8, mode={rest}"
    assert editor.lua("return vim.fn.getline(4)") == f"# fxls: {call}"
    assert editor.place() == ("needy.py", 4, rest)
    message = editor.lua("return vim.diagnostic.get(0)[1].message")
    assert (
        message.split("\n")[0] == "Needy needs mode (str): write it in place of `...`"
    )


def test_checkhealth_says_what_works_and_what_is_missing(
    editor: Neovim, tmp_path: Path
) -> None:
    editor.type(":checkhealth fxls<CR>")
    found = "\n".join(editor.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)"))
    assert "of the .venv in a folder that you trust" in found
    assert f"the server runs for {(tmp_path / 'project').resolve()}" in found
    for name in ("python", "torch", "fxls", "debugpy"):
        assert re.search(rf"OK\W* {name} \d", found), found
    assert "ERROR" not in found

    # Where nobody was asked, nobody is asked, and nothing of the folder runs.
    editor.lua("vim.fn.delete(vim.fn.stdpath('data') .. '/fxls-trusted.json')")
    editor.lua("vim.env.PATH = '/nowhere'")
    editor.type(":bwipeout<CR>:checkhealth fxls<CR>")
    found = "\n".join(editor.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)"))
    assert "because you do not trust" in found
    assert "there is no program fxls" in found
