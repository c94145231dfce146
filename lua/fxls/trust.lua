-- Whether the code of a folder may run: asked once for a folder, and remembered.

local M = {}

local FILE = vim.fs.joinpath(vim.fn.stdpath('data'), 'fxls-trusted.json')

local function known()
  if vim.fn.filereadable(FILE) == 0 then
    return {}
  end
  local is_read, answers = pcall(vim.json.decode, table.concat(vim.fn.readfile(FILE), '\n'))
  return is_read and type(answers) == 'table' and answers or {}
end

local function remember(folder, answer)
  local answers = known()
  answers[folder] = answer
  vim.fn.mkdir(vim.fs.dirname(FILE), 'p')
  vim.fn.writefile({ vim.json.encode(answers) }, FILE)
end

-- A folder in one that is trusted is trusted; no other answer is about more than its folder.
-- What was answered, and nil where nobody was asked.
function M.answer(folder)
  folder = vim.uv.fs_realpath(folder) or folder
  local answers = known()
  if answers[folder] ~= nil then
    return answers[folder]
  end
  for parent in vim.fs.parents(folder) do
    if answers[parent] then
      return true
    end
  end
  return nil
end

function M.trusts(folder)
  folder = vim.uv.fs_realpath(folder) or folder
  local known_answer = M.answer(folder)
  if known_answer ~= nil then
    return known_answer
  end
  local question = ('Run the code of %s?\n'):format(folder)
    .. 'fxls then runs its .venv, and the models that you open; else it only shows listings.'
  local answer = vim.fn.confirm(question, '&Yes\n&No', 2) == 1
  remember(folder, answer)
  return answer
end

-- Ask again about all folders.
vim.api.nvim_create_user_command('FxlsForgetTrust', function()
  vim.fn.delete(FILE)
end, {})

return M
