// What goes wrong is said with one action, and work goes on without a reload.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as vscode from 'vscode';
import type { State } from '../../src/server/status.ts';
import { extension, file, hover, open, place, settled, type Test } from './editor.ts';
import { next, until } from './waiting.ts';

export const faults: readonly Test[] = [
  [
    'a Python that is not there is said, and the next one is used at once',
    async () => {
      const nowhere = '/nowhere/python';
      assert.deepEqual(await withPython(nowhere, 'fxls: Python gone'), {
        kind: 'problem',
        text: 'fxls: Python gone',
        detail: `${nowhere} (from the setting fxls.python) is gone. Choose another Python, or make this one again.`,
        action: { title: 'Choose a Python', command: 'fxls.choosePython' },
      });
      assert.equal((await withPython(undefined, 'fxls')).kind, 'ready');
    },
  ],
  [
    'a Python without fxls is said, and is used further when it is installed',
    async () => {
      const bare = file('../bare/bin/python').fsPath;
      assert.deepEqual(await withPython(bare, 'fxls: no fxls'), {
        kind: 'problem',
        text: 'fxls: no fxls',
        detail: `${bare} (from the setting fxls.python) has no fxls.`,
        action: { title: 'Install fxls', command: 'fxls.install' },
      });
      // It has no pip either, as an environment that uv has made. The wheel comes with the
      // extension; what fxls needs would come from an index, which pip is told not to ask.
      const api = await extension().activate();
      const lacks = next(api.onDidChangeState, ({ text }) => text === 'fxls: no torch');
      await vscode.commands.executeCommand('fxls.install');
      assert.equal(
        (await lacks).detail,
        `${bare} (from the setting fxls.python) has no torch.`,
      );
      assert.equal((await withPython(undefined, 'fxls')).kind, 'ready');
    },
  ],
  [
    'the server begins while its Python is still asked what it has',
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'fxls-asked-'));
      const python = join(folder, 'python');
      const own = file('.venv/bin/python').fsPath;
      // It says what it has when the server has begun; would that wait, neither came.
      const ask = 'until [ -e "${0%/*}/begun" ]; do sleep 0.1; done';
      const script = `[ "$1" = -c ] && { ${ask}; } || : >"\${0%/*}/begun"`;
      writeFileSync(python, `#!/bin/sh\n${script}\nexec ${own} "$@"\n`, { mode: 0o755 });
      try {
        await used(python, `fxls 0.1.0 with ${python}, from the setting fxls.python`);
      } finally {
        await used(undefined, `fxls 0.1.0 with ${own}, from .venv`);
        rmSync(folder, { recursive: true });
      }
    },
  ],
  [
    'a server that is killed is started again',
    async () => {
      await open('net.py');
      await vscode.commands.executeCommand('fxls.showGeneratedCode');
      const listing = vscode.window.activeTextEditor?.document;
      assert.ok(listing);
      const before = serverProcess();
      const api = await extension().activate();
      const begun = next(api.onDidChangeState, ({ kind }) => kind === 'busy');
      process.kill(before, 'SIGKILL');
      await begun;
      assert.equal((await settled()).kind, 'ready');
      assert.notEqual(serverProcess(), before);
      assert.match(await hover(listing, place(listing, 'relu = ')), /relu/);
    },
  ],
  [
    'a store that is deleted is made again',
    async () => {
      await vscode.workspace.fs.delete(file('.fxls'), { recursive: true });
      await open('net.py');
      await vscode.commands.executeCommand('fxls.showGeneratedCode');
      const listing = vscode.window.activeTextEditor?.document;
      assert.match(listing?.uri.path ?? '', /\.fxls\/Net_[0-9a-f]{12}\.py$/);
    },
  ],
  [
    'a listing of 50 MB neither stops the editor nor the server',
    async () => {
      const long = 'x'.repeat(99);
      const text = `def forward(self, x):\n${`    # ${long}\n`.repeat(500_000)}    return x\n`;
      const big = file('.fxls/Big_0123456789ab.py');
      await vscode.workspace.fs.writeFile(big, new TextEncoder().encode(text));
      try {
        // VS Code shows it, and gives it to no extension.
        await vscode.commands.executeCommand('vscode.open', big);
        await open('net.py');
        await vscode.commands.executeCommand('fxls.showGeneratedCode');
        const listing = vscode.window.activeTextEditor?.document;
        assert.ok(listing);
        assert.match(await hover(listing, place(listing, 'add = ')), /add/);
        assert.equal((await settled()).kind, 'ready');
      } finally {
        await vscode.commands.executeCommand('workbench.action.closeAllEditors');
        await vscode.workspace.fs.delete(big);
      }
    },
  ],
  [
    'an interpreter that vanishes is said, and used again when it is back',
    async () => {
      const [here, away] = [file('.venv').fsPath, file('.venv-away').fsPath];
      renameSync(here, away);
      try {
        await vscode.commands.executeCommand('fxls.restart');
        const state = await settled();
        // The next one on the PATH is used, or it is said what that one has not.
        assert.ok(!state.detail.includes(here), state.detail);
      } finally {
        renameSync(away, here);
      }
      await vscode.commands.executeCommand('fxls.restart');
      assert.deepEqual((await settled()).kind, 'ready');
    },
  ],
  [
    'an environment whose own Python was removed is said to be gone',
    async () => {
      const [here, away] = [file('.venv').fsPath, file('.venv-away').fsPath];
      renameSync(here, away);
      try {
        mkdirSync(join(here, 'bin'), { recursive: true });
        writeFileSync(join(here, 'pyvenv.cfg'), 'home = /nowhere/bin\n');
        symlinkSync('/nowhere/bin/python3', join(here, 'bin/python'));
        await vscode.commands.executeCommand('fxls.restart');
        assert.deepEqual(await settled(), {
          kind: 'problem',
          text: 'fxls: Python gone',
          detail: `${join(here, 'bin/python')} (from .venv) is gone. Choose another Python, or make this one again.`,
          action: { title: 'Choose a Python', command: 'fxls.choosePython' },
        });
      } finally {
        rmSync(here, { recursive: true });
        renameSync(away, here);
      }
      await vscode.commands.executeCommand('fxls.restart');
      assert.equal((await settled()).kind, 'ready');
    },
  ],
];

/** Changes the interpreter, and waits until the item says that it is used. */
async function used(path: string | undefined, said: string): Promise<void> {
  const api = await extension().activate();
  const ready = next(
    api.onDidChangeState,
    ({ kind, detail }) => kind === 'ready' && detail === said,
  );
  await withPython(path, 'fxls');
  await ready;
}

/** Changes the interpreter; what is shown when the item has a text. */
async function withPython(path: string | undefined, text: string): Promise<State> {
  const api = await extension().activate();
  await vscode.workspace
    .getConfiguration('fxls')
    .update('python', path, vscode.ConfigurationTarget.Workspace);
  return until(api.onDidChangeState, () => {
    const state = api.state();
    return state?.text === text && state.kind !== 'busy' ? state : undefined;
  });
}

/** The server that this extension host started. */
function serverProcess(): number {
  const table = execFileSync('ps', ['-o', 'pid=,args=', '--ppid', String(process.pid)], {
    encoding: 'utf8',
  });
  const line = table.split('\n').find((row) => row.includes('-m fxls serve'));
  assert.ok(line, `a server runs:\n${table}`);
  return Number.parseInt(line, 10);
}
