"""A real Emacs with the configuration of docs/editors.md, as it is there."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.editors.story import (
    HOVER,
    MODEL,
    ROOT,
    write_hostile_project,
    write_project,
)
from tests.support.emacs import Emacs, emacs
from tests.support.programs import program

pytestmark = pytest.mark.slow

CONNECTED = "(and (eglot-current-server) t)"
PROMPT = (
    '(with-current-buffer "*gud-debug*"'
    ' (string-suffix-p "\\n(Pdb) " (buffer-substring-no-properties 1 (point-max))))'
)

PATIENT = """\
(setq native-comp-deferred-compilation nil)
(require 'eglot)
(setq eglot-connect-timeout 300 jsonrpc-default-request-timeout 300)
"""
"""Emacs waits ten seconds for an answer; a machine may have more to do. Nor does it
compile its own libraries for this home, which takes two processors for minutes."""

REASON = "symbolically traced variables cannot be used as inputs to control flow"


@pytest.fixture
def around() -> Generator[Path]:
    # Not in `tmp_path`: in a folder with a blank, Emacs 28 was seen to compute for minutes
    # at the end of a session of pdb, and to be done at once in another such folder.
    with TemporaryDirectory(prefix="fxls-") as folder:
        yield Path(folder)


@pytest.fixture
def project(around: Path) -> Path:
    return own_repository(write_project(around / "project"))


def own_repository(folder: Path) -> Path:
    """Make a folder one, or it is part of what is around it, which is asked about too."""
    subprocess.run(["git", "init", "--quiet", folder], check=True)
    return folder


@pytest.fixture
def editor(tmp_path: Path, project: Path) -> Generator[Emacs]:
    """Emacs with the model open, and a server for it."""
    home = tmp_path / "home"
    home.mkdir()
    (home / ".emacs").write_text(f'{PATIENT}(load "{ROOT}/docs/editors/fxls.el")\n')
    (home / ".emacs.d").mkdir()
    (home / ".emacs.d/fxls-trusted.eld").write_text(f'(("{project.resolve()}/" . t))')
    with emacs(home, project) as editor:
        editor.type("C-x C-f net.py RET")
        editor.until(CONNECTED)
        yield editor


@pytest.mark.parametrize("answer", ["yes", "no"])
def test_nothing_of_a_folder_runs_before_it_is_trusted(
    around: Path, answer: str
) -> None:
    home = around / "home"
    home.mkdir()
    said = "t" if answer == "yes" else "nil"
    ran = write_hostile_project(around / "project")
    own_repository(around / "project")
    programs = Path(sys.executable).parent
    (home / ".emacs").write_text(
        f'{PATIENT}(push "{programs}" exec-path)\n'
        f'(setenv "PATH" (concat "{programs}:" (getenv "PATH")))\n'
        "(defvar asked nil)\n(defun yes-or-no-p (question)\n"
        f'  (cl-assert (not (file-exists-p "{ran}")))\n'
        f"  (push question asked) {said})\n"
        f'(load "{ROOT}/docs/editors/fxls.el")\n'
    )
    with emacs(home, around / "project") as editor:
        editor.type("C-x C-f net.py RET")
        done = CONNECTED if answer == "no" else f'(file-exists-p "{ran}")'
        editor.until(done)
        asked = editor.lisp("(vconcat asked)")

    what = "(its .venv, the models that you open)"
    assert asked == [f"Run the code of {(around / 'project').resolve()}/ {what}? "]
    assert ran.exists() == (answer == "yes")


def place(editor: Emacs) -> tuple[str, int, str]:
    """The name of the buffer, the line and the rest of it from the cursor on."""
    name, line, rest = editor.lisp(
        "(list (buffer-name) (line-number-at-pos)"
        " (buffer-substring-no-properties (point) (line-end-position)))"
    )
    return name, line, rest


def test_generated_code_opens_beside_the_model_and_is_not_edited(
    editor: Emacs,
) -> None:
    editor.type("C-c x g")
    shown = editor.lisp("(buffer-substring-no-properties (point-min) (point-max))")
    windows = editor.lisp(
        "(mapcar (lambda (w) (buffer-name (window-buffer w))) (window-list))"
    )

    assert windows == [place(editor)[0], "net.py"]
    assert shown.splitlines() == [
        "# The code of Net's graph, written by fxls. To change it, change the model.",
        "import torch",
        "",
        "",
        "def forward(self, x : torch.Tensor) -> torch.Tensor:",
        "    linear = self.linear(x)",
        "    relu = torch.relu(linear);  linear = None",
        "    add = x + relu;  x = relu = None",
        "    return add",
    ]
    assert editor.lisp("buffer-read-only") is True


def test_a_hover_says_what_a_node_is(editor: Emacs) -> None:
    editor.type("C-c x g")
    editor.until(CONNECTED)
    editor.type("C-s relu SPC = RET C-b C-b C-b")
    editor.type("M-x eldoc RET")
    # Emacs may show what it asked for at the place before.
    editor.until(
        '(and (get-buffer "*eldoc*") (with-current-buffer "*eldoc*"'
        ' (string-prefix-p "`relu`" (string-trim (buffer-string)))))'
    )
    said = editor.lisp(
        '(with-current-buffer "*eldoc*"'
        " (buffer-substring-no-properties (point-min) (point-max)))"
    )

    assert re.sub(r"\]\([^)]*\)", "]", said).strip().splitlines() == HOVER


def test_definition_leads_to_the_model_and_implementation_back(
    editor: Emacs,
) -> None:
    editor.type("C-c x g")
    editor.until(CONNECTED)
    listing = place(editor)[0]
    editor.type("C-s relu(linear RET M-.")
    binding = place(editor)
    editor.type("M-.")
    source = place(editor)
    # A list of one, as Emacs has it; the first line of it is the name of the file.
    editor.type("M-x eglot-find-implementation RET")
    editor.type("n RET")
    back = place(editor)

    assert binding == (listing, 6, "linear = self.linear(x)")
    assert source == ("net.py", 11, "self.linear(x))")
    assert back == binding


def test_what_cannot_be_traced_is_said_on_its_expression(
    editor: Emacs, project: Path
) -> None:
    bad = MODEL.replace("return x + y", "return x if y.sum() > 0 else y")
    (project / "bad.py").write_text(bad)
    editor.type("C-x C-f bad.py RET")
    editor.until("(flymake-diagnostics)")
    found = editor.lisp(
        "(mapcar (lambda (d) (vector (buffer-substring-no-properties"
        "  (flymake-diagnostic-beg d) (flymake-diagnostic-end d))"
        ' (car (split-string (flymake-diagnostic-text d) "\\n"))))'
        " (flymake-diagnostics))"
    )

    assert found == [
        [
            "y.sum() > 0",
            f"fxls [trace]: {REASON}",
        ]
    ]


def test_a_debugger_stops_in_the_listing_and_at_a_breakpoint(editor: Emacs) -> None:
    editor.type("C-c x d")
    editor.until(PROMPT)
    first = stop(editor)
    # The listing is in the other window; a breakpoint is set there.
    editor.type("C-x o C-s add SPC = RET C-x C-a C-b C-x o")
    editor.until(
        '(with-current-buffer "*gud-debug*"'
        ' (string-match-p "Breakpoint .*:8\n(Pdb) \\\\\'" (buffer-string)))'
    )
    editor.type("continue RET")
    editor.until(f"(and {PROMPT} (= 8 (cadr {STOP})))")
    second = stop(editor)
    editor.type("p SPC relu.shape RET")
    editor.until(PROMPT)
    said = editor.lisp(
        '(with-current-buffer "*gud-debug*"'
        " (buffer-substring-no-properties (point-min) (point-max)))"
    )
    editor.type("continue RET")
    editor.until('(not (get-buffer-process "*gud-debug*"))')

    assert re.fullmatch(r"Net_\w+\.py", first[0])
    assert first[1] == 6
    assert second == (first[0], 8)
    assert said.endswith("(Pdb) p relu.shape\ntorch.Size([2, 4])\n(Pdb) ")


STOP = """
(let ((there (or gud-overlay-arrow-position (point-min-marker))))
  (with-current-buffer (marker-buffer there)
    (list (buffer-name) (line-number-at-pos there))))
"""


def stop(editor: Emacs) -> tuple[str, int]:
    """The buffer and the line that the arrow of the debugger is in."""
    name, line = editor.lisp(STOP)
    return name, line


def test_it_is_a_package_that_is_installed_from_its_file(around: Path) -> None:
    first = f'''(progn (setq package-user-dir "{around}/elpa" package-archives nil)
        (require 'package) (package-initialize)'''
    install = f'{first} (package-install-file "{ROOT}/docs/editors/fxls.el"))'
    use = f"""{first} (require 'fxls) (princ (list
        (package-desc-version (cadr (assq 'fxls package-alist)))
        (lookup-key global-map (kbd "C-c x g"))
        (and (memq 'eglot-ensure python-mode-hook) t))))"""

    said = [in_batch(form, around / "home") for form in (install, use)]

    assert "Error" not in said[0].stderr
    assert said[1].stdout == "((0 1 0) fxls-show-generated-code t)", said[1].stderr


def in_batch(form: str, home: Path) -> subprocess.CompletedProcess[str]:
    """What an Emacs says that evaluates a form and ends."""
    home.mkdir(exist_ok=True)
    emacs = program("emacs", "apt-get install emacs-nox elpa-eglot")
    return subprocess.run(
        ["env", f"HOME={home}", str(emacs), "--batch", "--eval", form],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
