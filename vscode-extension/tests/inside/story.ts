// The five minutes: from a folder with a model to its generated code.

import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import {
  extension,
  file,
  settled,
  hints,
  hover,
  jump,
  open,
  place,
  type Test,
} from './editor.ts';
import { say } from './saying.ts';
import { until } from './waiting.ts';

export const story: readonly Test[] = [
  [
    'it is active without delay, and finds the .venv of the folder',
    async () => {
      // Of the time, that of this process alone: others may run beside it.
      const before = process.cpuUsage();
      await took('activation', async () => {
        await extension().activate();
        const { user, system } = process.cpuUsage(before);
        return `, of which it computed ${Math.round((user + system) / 1000)} ms`;
      });
      await took('from then to the listing of a ResNet', async () => {
        await open('resnet.py');
        await vscode.commands.executeCommand('fxls.showGeneratedCode');
        return ', by a worker that was not there';
      });
      assert.match(
        vscode.window.activeTextEditor?.document.uri.path ?? '',
        /\/\.fxls\/ResNet18_[0-9a-f]{12}\.py$/,
      );
      assert.deepEqual(await settled(), {
        kind: 'ready',
        text: 'fxls',
        detail: `fxls 0.1.0 with ${file('.venv/bin/python').fsPath}, from .venv`,
        action: { title: 'Show Log', command: 'fxls.showLog' },
      });
    },
  ],
  [
    'the generated code opens beside the model',
    async () => {
      const source = await open('net.py');
      const listing = await showListing();
      assert.equal(vscode.window.activeTextEditor?.viewColumn, vscode.ViewColumn.Two);
      assert.equal(listing.languageId, 'python');
      assert.equal(
        vscode.workspace.asRelativePath(listing.uri),
        '.fxls/Net_7fe8cef5d937.py',
      );
      assert.ok(vscode.window.visibleTextEditors.some((e) => e.document === source));
      assert.equal(
        listing.getText(),
        `# The code of Net's graph, written by fxls. To change it, change the model.
import torch


def forward(self, x : torch.Tensor) -> torch.Tensor:
    linear = self.linear(x)
    relu = torch.relu(linear);  linear = None
    add = relu + x;  relu = x = None
    return add
`,
      );
    },
  ],
  [
    'a hover says what a node is and where it comes from',
    async () => {
      const listing = await showListing();
      const said = await hover(listing, place(listing, 'relu = '));
      const [made, ...more] = withoutPaths(said).split('\n\n');
      assert.equal(made, '`relu`: call_function `torch.relu` → `f32[2, 4]`');
      assert.deepEqual(more.slice(0, 2), [
        'from [`net.py:13`](net.py#L13,18) in `Net.forward`',
        '```python\nhidden = torch.relu(self.linear(x))\n```',
      ]);
    },
  ],
  [
    'each node has its shape behind it',
    async () => {
      const found = await hints(await showListing());
      assert.deepEqual(
        found.map((label) => label.trim()),
        Array.from({ length: found.length }, () => ': f32[2, 4]'),
      );
      assert.notEqual(found.length, 0);
    },
  ],
  [
    'a jump leads to the exact expression of the model',
    async () => {
      const listing = await showListing();
      assert.deepEqual(await jump('Definition', listing, place(listing, 'add = ')), [
        'net.py:14: hidden + x',
      ]);
    },
  ],
  [
    'and one leads back to the node',
    async () => {
      const source = await open('net.py');
      const plus = place(source, '+ x');
      assert.deepEqual(await jump('Implementation', source, plus), [
        'Net_7fe8cef5d937.py:8: add',
      ]);
    },
  ],
  [
    'a use leads to where its value is made',
    async () => {
      const listing = await showListing();
      assert.deepEqual(await jump('Definition', listing, place(listing, 'relu + x')), [
        'Net_7fe8cef5d937.py:7: relu',
      ]);
    },
  ],
  [
    'a jump goes to the pane that shows the file already',
    async () => {
      await vscode.commands.executeCommand('workbench.action.closeAllEditors');
      const listing = await showListing();
      const panes = [['net.py'], ['Net_7fe8cef5d937.py']];
      const add = place(listing, 'add = ');
      await jumped('editor.action.revealDefinition', add, 'net.py', vscode.ViewColumn.One);
      assert.deepEqual(tabs(), panes);
      const source = vscode.window.activeTextEditor?.document;
      assert.ok(source);
      const plus = place(source, '+ x');
      await jumped(
        'editor.action.goToImplementation',
        plus,
        'Net_7fe8cef5d937.py',
        vscode.ViewColumn.Two,
      );
      assert.deepEqual(tabs(), panes);
    },
  ],
];

/** Jumps from a place of the editor in front; waits until a file of a pane is there. */
async function jumped(
  command: string,
  from: vscode.Position,
  name: string,
  pane: vscode.ViewColumn,
): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  assert.ok(editor);
  editor.selection = new vscode.Selection(from, from);
  await vscode.commands.executeCommand(command);
  await until(vscode.window.onDidChangeActiveTextEditor, () => {
    const now = vscode.window.activeTextEditor;
    return now?.document.uri.path.endsWith(`/${name}`) === true && now.viewColumn === pane
      ? true
      : undefined;
  });
}

/** The names of the files in each pane. */
function tabs(): string[][] {
  return vscode.window.tabGroups.all.map((group) => group.tabs.map(({ label }) => label));
}

/** Prints how long something took; nothing is asserted of that. */
async function took(what: string, act: () => Promise<string>): Promise<void> {
  const began = performance.now();
  const more = await act();
  say(`      ${what}: ${Math.round(performance.now() - began)} ms${more}`);
}

/** The listing of net.py, shown by the command from the model. */
async function showListing(): Promise<vscode.TextDocument> {
  await open('net.py');
  await vscode.commands.executeCommand('fxls.showGeneratedCode');
  const listing = vscode.window.activeTextEditor?.document;
  assert.ok(listing);
  return listing;
}

/** A text whose links name files alone. */
function withoutPaths(text: string): string {
  return text.replaceAll(/\]\(file:[^)]*\/([^/)]*)\)/g, ']($1)');
}
