-- `:checkhealth fxls`: what works here, and what to do about the rest. It asks for no trust, and runs
-- nothing of a folder that has none.

local trust = require('fxls.trust')

local M = {}

local PATIENCE = 120000

-- The program that a file here would get, and why.
local function program()
  local root = vim.fs.root(0, '.venv') or vim.fn.getcwd()
  local there = vim.fs.joinpath(root, '.venv', 'bin', 'fxls')
  if vim.fn.executable(there) == 1 then
    if trust.answer(root) then
      return there, 'of the .venv in a folder that you trust'
    end
    vim.health.warn(('%s is not used, because you do not trust %s'):format(there, root), {
      'Open a Python file there, and answer; :FxlsForgetTrust asks again.',
    })
  end
  return vim.fn.exepath('fxls'), 'of the PATH'
end

local function about_neovim()
  vim.health.start('fxls: Neovim')
  if vim.fn.has('nvim-0.11') == 0 then
    vim.health.error('Neovim is too old', { 'Install Neovim 0.11 or newer.' })
    return false
  end
  vim.health.ok(tostring(vim.version()))
  return true
end

local function about_server()
  local clients = vim.lsp.get_clients({ name = 'fxls' })
  for _, client in ipairs(clients) do
    local trusted = (client.config.init_options or {}).trusted
    vim.health.ok(
      ('the server runs for %s'):format(client.root_dir or 'a file without a project')
        .. (trusted == false and ', which you do not trust: it runs no model' or '')
    )
  end
  if #clients == 0 then
    vim.health.info('No server runs: open a Python file.')
  end
end

-- What `fxls doctor` says, by its parts.
local function about_python(fxls)
  vim.health.start('fxls: Python')
  local run = vim.system({ fxls, 'doctor', '--json' }, { text = true, timeout = PATIENCE }):wait()
  local is_read, said = pcall(vim.json.decode, run.stdout or '')
  if not is_read or type(said) ~= 'table' then
    vim.health.error(
      ('%s doctor --json does not answer (%d)'):format(fxls, run.code),
      vim.split(vim.trim(run.stderr or ''), '\n')
    )
    return
  end
  local versions = said.versions
  for _, name in ipairs({ 'python', 'torch', 'fxls', 'debugpy' }) do
    local version = versions[name]
    if type(version) == 'string' then
      vim.health.ok(('%s %s'):format(name, version))
    else
      vim.health.error(('%s is not there'):format(name), {
        ("Install it into the environment of %s, for example with `pip install 'fxls[debug]'`."):format(fxls),
      })
    end
  end
  local working = 0
  for _, part in ipairs(said.parts or {}) do
    if #part.problems == 0 then
      working = working + 1
    else
      vim.health.warn(('%s: %s'):format(part.area, part.name), part.problems)
    end
  end
  vim.health.ok(('%d parts of fxls work'):format(working))
end

function M.check()
  if not about_neovim() then
    return
  end
  local fxls, why = program()
  if fxls == '' then
    vim.health.error('there is no program fxls', {
      'Install fxls into the .venv of the project, or put it on the PATH.',
    })
    return
  end
  vim.health.ok(('%s, %s'):format(fxls, why))
  about_server()
  about_python(fxls)
end

return M
