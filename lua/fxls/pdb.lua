-- pdb, as `fxls debug` starts it, in a terminal of Neovim: breakpoints are signs, and the line where
-- the program stopped is shown in the window above.

local trust = require('fxls.trust')

local M = {}

local GROUP, BREAKPOINT, STOPPED = 'fxls', 'fxls-breakpoint', 'fxls-stopped'
vim.fn.sign_define(BREAKPOINT, { text = '●', texthl = 'DiagnosticError' })
vim.fn.sign_define(STOPPED, { text = '→', texthl = 'DiagnosticWarn', linehl = 'Visual' })

-- A program of the project's environment, when that is trusted, else of the PATH.
function M.program(name)
  local root = vim.fs.root(0, '.venv') or vim.fn.getcwd()
  local there = vim.fs.joinpath(root, '.venv', 'bin', name)
  return vim.fn.executable(there) == 1 and trust.trusts(root) and there or name
end

local function breakpoints(buffer, line)
  return vim.fn.sign_getplaced(buffer, { group = GROUP, lnum = line })[1].signs
end

local function set_breakpoint(buffer, line)
  vim.fn.sign_place(0, GROUP, BREAKPOINT, buffer, { lnum = line })
end

function M.toggle_breakpoint()
  local buffer, line = vim.api.nvim_get_current_buf(), vim.fn.line('.')
  local here = breakpoints(buffer, line)
  if #here == 0 then
    set_breakpoint(buffer, line)
  end
  for _, sign in ipairs(here) do
    vim.fn.sign_unplace(GROUP, { buffer = buffer, id = sign.id })
  end
end

-- `lines` says for each line of the old buffer which one it is in the new one.
function M.move_breakpoints(old, new, lines)
  for _, sign in ipairs(breakpoints(old)) do
    vim.fn.sign_unplace(GROUP, { buffer = old, id = sign.id })
    if lines[sign.lnum] then
      set_breakpoint(new, lines[sign.lnum])
    end
  end
end

-- Stops at the breakpoints, or else on the first line of the listing.
function M.debug_entry(source, expression)
  M.run({ M.program('fxls'), 'debug', ('%s:%s'):format(source, expression) })
end

-- Stops at the breakpoints, or else on the first line of the program.
function M.debug_file()
  M.run({ M.program('python'), '-m', 'fxls.pdb', vim.api.nvim_buf_get_name(0) })
end

local function show_stop(window, path, line)
  if not vim.api.nvim_win_is_valid(window) or vim.fn.filereadable(path) == 0 then
    return
  end
  local buffer = vim.fn.bufadd(path)
  vim.fn.bufload(buffer)
  vim.bo[buffer].buflisted = true
  vim.api.nvim_win_set_buf(window, buffer)
  vim.api.nvim_win_set_cursor(window, { line, 0 })
  vim.fn.sign_unplace(STOPPED)
  vim.fn.sign_place(0, STOPPED, STOPPED, buffer, { lnum = line, priority = 20 })
end

-- What pdb is told where it stops for the first time.
local function go_on(path, line)
  local commands, is_there = {}, false
  for _, buffer in ipairs(vim.fn.getbufinfo()) do
    for _, sign in ipairs(breakpoints(buffer.bufnr)) do
      table.insert(commands, ('break %s:%d\n'):format(buffer.name, sign.lnum))
      is_there = is_there or (buffer.name == path and sign.lnum == line)
    end
  end
  if #commands > 0 and not is_there then
    table.insert(commands, 'continue\n')
  end
  return table.concat(commands)
end

-- Runs a program that stops in pdb, in a terminal below.
function M.run(command)
  local window, unfinished = vim.api.nvim_get_current_win(), ''
  local has_begun, has_ended = false, false
  vim.cmd('botright 12new')
  vim.fn.jobstart(command, {
    term = true,
    on_stdout = function(job, lines)
      lines[1] = unfinished .. lines[1]
      unfinished = table.remove(lines)
      for _, said in ipairs(lines) do
        local path, line = said:match('^> (.+)%((%d+)%)')
        if said:match('^The program ') then
          -- pdb would begin again.
          has_ended = true
          vim.fn.chansend(job, 'quit\n')
        elseif path and not has_ended then
          show_stop(window, path, tonumber(line))
          if not has_begun then
            has_begun = true
            vim.fn.chansend(job, go_on(path, tonumber(line)))
          end
        end
      end
    end,
    on_exit = function()
      vim.fn.sign_unplace(STOPPED)
    end,
  })
  vim.cmd.startinsert()
end

return M
