" fxls in Vim 9 with the plugin ALE: the language server, its listings, and the debugger.
" docs/editors.md says how to use it.

if exists('g:loaded_fxls')
  finish
endif
let g:loaded_fxls = 1

let g:fxls_trust_file = get(g:, 'fxls_trust_file', expand('~/.vim/fxls-trusted.json'))

function! s:Answers() abort
  try
    let answers = json_decode(join(readfile(g:fxls_trust_file), "\n"))
  catch
    return {}
  endtry
  return type(answers) is v:t_dict ? answers : {}
endfunction

" What was answered for a folder; v:null where nobody was asked. A folder in one that is trusted is
" trusted; no other answer is about more than its folder.
function! s:Answer(folder) abort
  let answers = s:Answers()
  if has_key(answers, a:folder)
    return answers[a:folder]
  endif
  let folder = a:folder
  while folder isnot# fnamemodify(folder, ':h')
    let folder = fnamemodify(folder, ':h')
    if get(answers, folder, v:false) is v:true
      return v:true
    endif
  endwhile
  return v:null
endfunction

" Asks once for a folder, and remembers the answer.
function! s:Trusts(folder) abort
  let answer = s:Answer(a:folder)
  if answer is v:null
    let question = 'Run the code of ' .. a:folder .. "?\n"
    let question ..= 'fxls then runs its .venv, and the models that you open; else it only shows listings.'
    let answer = confirm(question, "&Yes\n&No", 2) is 1 ? v:true : v:false
    call mkdir(fnamemodify(g:fxls_trust_file, ':h'), 'p')
    call writefile([json_encode(extend(s:Answers(), {a:folder: answer}))], g:fxls_trust_file)
  endif
  return answer is v:true
endfunction

" The project that a file is in.
function! s:Root(buffer) abort
  let folder = resolve(fnamemodify(bufname(a:buffer), ':p:h'))
  let here = folder
  while here isnot# fnamemodify(here, ':h')
    for name in ['.venv', 'pyproject.toml', '.git']
      if !empty(glob(here .. '/' .. name, v:true, v:true, v:true))
        return here
      endif
    endfor
    let here = fnamemodify(here, ':h')
  endwhile
  return folder
endfunction

" The program of the project's .venv, when that is trusted, else that of the PATH.
function! s:Program(buffer, name) abort
  let there = s:Root(a:buffer) .. '/.venv/bin/' .. a:name
  return executable(there) && s:Answer(s:Root(a:buffer)) is v:true ? there : a:name
endfunction

call ale#linter#Define('python', {
\   'name': 'fxls',
\   'lsp': 'stdio',
\   'executable': {buffer -> s:Program(buffer, 'fxls')},
\   'command': '%e serve',
\   'project_root': {buffer -> s:Root(buffer)},
\   'initialization_options': {buffer -> {'trusted': s:Answer(s:Root(buffer)) is v:true ? v:true : v:false}},
\})

function! s:Opened(buffer) abort
  let linters = get(g:, 'ale_linters', {})
  if index(get(linters, 'python', ['fxls']), 'fxls') >= 0
    call s:Trusts(s:Root(a:buffer))
  endif
endfunction

" Calls with the listings of a file, which is traced when it has none.
function! s:WithListings(buffer, Then) abort
  let uri = ale#util#ToURI(resolve(fnamemodify(bufname(a:buffer), ':p')))
  let listings = [0, 'fxls/listings', {'textDocument': {'uri': uri}}]
  let trace = [0, 'workspace/executeCommand', {'command': 'fxls.trace', 'arguments': [uri]}]
  call ale#lsp_linter#SendRequest(a:buffer, 'fxls', listings, {said -> empty(get(said, 'result', []))
  \   ? ale#lsp_linter#SendRequest(a:buffer, 'fxls', trace, {_ ->
  \       ale#lsp_linter#SendRequest(a:buffer, 'fxls', listings, {said -> s:Chosen(said, a:Then)})})
  \   : s:Chosen(said, a:Then)})
endfunction

function! s:Chosen(said, Then) abort
  let found = get(a:said, 'result', [])
  if empty(found)
    echomsg 'There is no generated code; write an entry: # fxls: Net()(torch.randn(1, 3))'
    return
  endif
  let number = 1
  if len(found) > 1
    let number = inputlist(map(copy(found), {index, one -> (index + 1) .. '. ' .. one.path}))
  endif
  if number >= 1 && number <= len(found)
    call a:Then(found[number - 1])
  endif
endfunction

function! s:Show(listing) abort
  execute 'rightbelow vsplit' fnameescape(a:listing.path)
endfunction

function! s:Debug(source, program, listing) abort
  let entry = get(a:listing, 'entry', '')
  if empty(entry)
    echomsg 'This listing has no entry: debug the program that makes it, with :FxlsDebugFile'
    return
  endif
  call s:InTerminal([a:program, 'debug', a:source .. ':' .. entry])
endfunction

function! s:InTerminal(command) abort
  botright call term_start(a:command, {'term_rows': 12})
endfunction

command! FxlsShow call s:WithListings(bufnr(''), function('s:Show'))
command! FxlsDebug call s:WithListings(bufnr(''),
\ function('s:Debug', [expand('%:p'), s:Program(bufnr(''), 'fxls')]))
command! FxlsDebugFile call s:InTerminal(
\ [s:Program(bufnr(''), 'python'), '-m', 'fxls.pdb', expand('%:p')])
command! FxlsForgetTrust call delete(g:fxls_trust_file)

augroup fxls
  autocmd!
  autocmd FileType python call s:Opened(str2nr(expand('<abuf>')))
  " To change what is generated, change the model.
  autocmd BufReadPost */.fxls/*.py setlocal readonly nomodifiable
augroup END
