-- What a plugin manager loads. Without one, docs/editors.md says how to load lua/fxls.

if vim.fn.has('nvim-0.11') == 1 then
  require('fxls')
end
