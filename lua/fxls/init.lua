-- fxls in Neovim 0.11: the language server, its lenses, and listings that follow a save.
-- docs/editors.md says how to install it, and which keys there are.

local pdb = require('fxls.pdb')
local trust = require('fxls.trust')

vim.lsp.config('fxls', {
  cmd = function(dispatchers)
    return vim.lsp.rpc.start({ pdb.program('fxls'), 'serve' }, dispatchers)
  end,
  filetypes = { 'python' },
  root_markers = { 'pyproject.toml', '.git' },
  -- In a folder that you trust, the entries of the files that you open run.
  before_init = function(params, config)
    local trusted = config.root_dir ~= nil and trust.trusts(config.root_dir)
    params.initializationOptions = { trusted = trusted }
  end,
  capabilities = {
    workspace = { codeLens = { refreshSupport = true } },
    experimental = {
      commands = { commands = { 'fxls.debug', 'fxls.showReferences' } },
      fxlsRevisions = true,
    },
  },
  on_attach = function(_, buffer)
    vim.lsp.inlay_hint.enable(true, { bufnr = buffer })
    vim.lsp.codelens.refresh({ bufnr = buffer })
    vim.api.nvim_create_autocmd({ 'BufEnter', 'InsertLeave' }, {
      group = vim.api.nvim_create_augroup('fxls-lenses-' .. buffer, {}),
      buffer = buffer,
      callback = function()
        vim.lsp.codelens.refresh({ bufnr = buffer })
      end,
    })
  end,

  commands = {
    -- The lens `Debug generated code`.
    ['fxls.debug'] = function(command)
      local source, expression = unpack(command.arguments)
      pdb.debug_entry(vim.uri_to_fname(source), expression)
    end,
    -- The lens `2 users`.
    ['fxls.showReferences'] = function(command, context)
      local client = assert(vim.lsp.get_client_by_id(context.client_id))
      local places = command.arguments[3]
      local items = vim.lsp.util.locations_to_items(places, client.offset_encoding)
      vim.fn.setloclist(0, {}, ' ', { title = command.title, items = items })
      vim.cmd.lopen()
    end,
  },

  handlers = {
    ['workspace/codeLens/refresh'] = function()
      vim.lsp.codelens.refresh()
      return vim.NIL
    end,
    -- Neovim's own keeps the old hints when it draws before the new ones are there.
    ['workspace/inlayHint/refresh'] = function(_, _, context)
      for buffer in pairs(vim.lsp.get_client_by_id(context.client_id).attached_buffers) do
        if vim.lsp.inlay_hint.is_enabled({ bufnr = buffer }) then
          vim.lsp.inlay_hint.enable(false, { bufnr = buffer })
          vim.lsp.inlay_hint.enable(true, { bufnr = buffer })
        end
      end
      return vim.NIL
    end,
    -- A save made another listing: windows and breakpoints go to the same nodes in it.
    ['fxls/revised'] = function(_, revised)
      local old = vim.fn.bufnr(vim.uri_to_fname(revised.old))
      if old == -1 then
        return
      end
      local new = vim.fn.bufadd(vim.uri_to_fname(revised.new))
      vim.fn.bufload(new)
      vim.bo[new].buflisted = true
      local lines = {}
      for _, pair in ipairs(revised.lines) do
        lines[pair[1] + 1] = pair[2] + 1
      end
      pdb.move_breakpoints(old, new, lines)
      for _, window in ipairs(vim.fn.win_findbuf(old)) do
        local line, column = unpack(vim.api.nvim_win_get_cursor(window))
        vim.api.nvim_win_set_buf(window, new)
        vim.api.nvim_win_set_cursor(window, { lines[line] or 1, column })
      end
    end,
  },
})
vim.lsp.enable('fxls')

-- To change what is generated, change the model.
vim.api.nvim_create_autocmd('BufReadPost', {
  pattern = '*/.fxls/*.py',
  callback = function(event)
    vim.bo[event.buf].modifiable = false
    vim.bo[event.buf].readonly = true
  end,
})

vim.keymap.set('n', '<leader>l', vim.lsp.codelens.run, { desc = 'Choose a lens of the line' })
vim.keymap.set('n', '<F9>', pdb.toggle_breakpoint, { desc = 'Set or clear a breakpoint' })
vim.keymap.set('n', '<F5>', pdb.debug_file, { desc = 'Debug this program' })
