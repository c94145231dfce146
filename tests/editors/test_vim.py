"""A real Vim with ALE and the configuration of docs/editors.md, as it is there."""

from __future__ import annotations

import json
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.editors.story import HOVER, ROOT, write_hostile_project, write_project
from tests.support.vim import Vim, vim

pytestmark = pytest.mark.slow

SETUP = ROOT / "docs/editors/fxls.vim"

LISTING = """\
# The code of Net's graph, written by fxls. To change it, change the model.
import torch


def forward(self, x : torch.Tensor) -> torch.Tensor:
    linear = self.linear(x)
    relu = torch.relu(linear);  linear = None
    add = x + relu;  x = relu = None
    return add
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    (folder / ".vim").mkdir(parents=True)
    return folder


@pytest.fixture
def editor(tmp_path: Path, home: Path) -> Generator[Vim]:
    """Vim with the model open, in a folder that is trusted."""
    project = write_project(tmp_path / "project")
    answers = {str(project.resolve()): True}
    (home / ".vim/fxls-trusted.json").write_text(json.dumps(answers))
    with vim(home, project, SETUP, "net.py") as editor:
        yield editor


@pytest.mark.parametrize("answer", ["yes", "no"])
def test_nothing_of_a_folder_runs_before_it_is_trusted(
    tmp_path: Path, home: Path, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")
    project = tmp_path / "project"
    ran = write_hostile_project(project)
    for asks in (True, False):
        with vim(home, project, SETUP, "net.py") as editor:
            if asks:
                editor.printed("(Y)es, [N]o")
                assert not ran.exists()
                editor.type(answer[0])
            if answer == "yes":
                editor.until(f"filereadable('{ran}')")
            else:
                request = (
                    "[0, 'fxls/identities', {}], {said -> extend(g:, {'said': 1})}"
                )
                editor.ask(f"ale#lsp_linter#SendRequest(bufnr(''), 'fxls', {request})")
                editor.until("exists('g:said')")
    assert json.loads((home / ".vim/fxls-trusted.json").read_text()) == {
        str(project.resolve()): answer == "yes"
    }
    assert ran.exists() == (answer == "yes")


def show(editor: Vim) -> None:
    editor.run("FxlsShow")
    editor.until("expand('%:t') =~# '^Net_.*[.]py$'")


def test_generated_code_opens_beside_the_model_and_is_not_edited(editor: Vim) -> None:
    show(editor)
    assert editor.ask('join(getline(1, \'$\'), "\\n") .. "\\n"') == LISTING
    assert editor.ask("map(range(1, winnr('$')), 'bufname(winbufnr(v:val))[:5]')") == [
        *("net.py", editor.ask("bufname('')[:5]"))
    ]
    assert editor.ask("[&readonly, &modifiable]") == [1, 0]


def test_a_node_says_what_it_is_and_leads_to_the_model_and_back(editor: Vim) -> None:
    show(editor)
    editor.run("call cursor(7, 5) | ALEHover")
    editor.until("bufwinnr('ALEPreviewWindow') > 0")
    said = editor.ask("getbufline('ALEPreviewWindow', 1, '$')")
    assert said[0] == HOVER[0].replace("`", "")
    assert said[1:3] == ["from net.py:11 in Net.forward", f"    {HOVER[5]}"]
    editor.run("pclose | call cursor(7, 5) | ALEGoToDefinition")
    editor.until("expand('%:t') is# 'net.py'")
    assert editor.ask("[line('.'), getline('.')[col('.') - 1:]]") == [
        *(11, "torch.relu(self.linear(x))")
    ]
    editor.run("ALEGoToImplementation")
    editor.until("expand('%:t') =~# '^Net_'")
    assert editor.ask("getline('.')") == LISTING.splitlines()[6]


def test_a_model_that_cannot_be_traced_is_marked(editor: Vim) -> None:
    editor.run("call setline(12, '        return x + y.missing') | write")
    editor.until("!empty(getloclist(0))")
    (problem,) = editor.ask("getloclist(0)")
    assert problem["lnum"] == 12


def test_the_generated_code_is_debugged_in_a_terminal(editor: Vim) -> None:
    editor.run("FxlsDebug")
    line = "join(getline(1, '$'), ' ') =~# "
    editor.until(
        f"&buftype is# 'terminal' && {line} '-> linear = self.linear(x) (Pdb)'"
    )
    editor.ask("term_sendkeys('', \"next\\r\")")
    editor.until(f"{line} '-> relu = torch.relu(linear);  linear = None (Pdb)'")
