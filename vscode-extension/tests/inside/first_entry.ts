// From a class that nobody wrote an entry for to the shapes behind its code, by clicks alone.

import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { extension, file, hintsBehind, open, place, settled, type Test } from './editor.ts';
import { next, until } from './waiting.ts';

export const firstEntry: readonly Test[] = [
  [
    'the lens of a class writes an entry that runs, and its shapes are there',
    async () => {
      const source = await open('convolved.py');
      await run(await lens(source, 'Write an example call to trace'));
      assert.equal(entryOf(source), ENTRY);
      assert.equal(source.isDirty, false, 'a trace imports what is saved');
      assert.deepEqual(await shapes(source), SHAPES);
    },
  ],
  [
    'an entry that fails on its inputs has a quick fix, by which it runs',
    async () => {
      const source = await open('convolved.py');
      const line = source.lineAt(place(source, '# fxls: ').line);
      const change = new vscode.WorkspaceEdit();
      change.replace(source.uri, line.range, WRONG);
      assert.ok(await vscode.workspace.applyEdit(change));
      await source.save();
      await until(vscode.languages.onDidChangeDiagnostics, () => problem(source));
      const fixes = await vscode.commands.executeCommand<vscode.CodeAction[]>(
        'vscode.executeCodeActionProvider',
        source.uri,
        problem(source)?.range,
      );
      const title = `Look for inputs with which ${WRONG.slice('# fxls: '.length)} runs`;
      const fix = fixes.find((one) => one.title === title)?.command;
      assert.ok(fix, fixes.map((one) => one.title).join('\n'));
      await run(fix);
      assert.equal(entryOf(source), ENTRY);
      assert.deepEqual(await shapes(source), SHAPES);
      assert.deepEqual(vscode.languages.getDiagnostics(source.uri), []);
    },
  ],
  [
    'the lens of an installed class writes a file of the project, and saves it',
    async () => {
      const installed = file('site-packages/zoo.py');
      await vscode.workspace.fs.writeFile(installed, new TextEncoder().encode(ZOO));
      const source = await vscode.workspace.openTextDocument(installed);
      await vscode.window.showTextDocument(source, vscode.ViewColumn.One);
      await run(await lens(source, 'Write an example call to trace'));
      const own = vscode.window.activeTextEditor?.document;
      assert.ok(own);
      assert.equal(vscode.workspace.asRelativePath(own.uri), 'try_Doubled.py');
      assert.equal(own.isDirty, false, 'a trace imports what is saved');
      assert.equal(own.getText(), OWN);
      await vscode.workspace.fs.delete(own.uri);
      await vscode.workspace.fs.delete(installed);
    },
  ],
];

const ENTRY = '# fxls: Stem(n_channels=3)(torch.randn(1, 3, 32, 32))';
const WRONG = '# fxls: Stem(n_channels=3)(torch.randn(1, 8))';
const ZOO = `from torch import nn


class Doubled(nn.Module):
    def forward(self, x):
        return x + x
`;
const OWN = `import torch
from zoo import Doubled

# fxls: Doubled()(torch.randn(1, 8))
`;
const SHAPES = [
  'features = self.conv(image): f32[1, 8, 30, 30]',
  'return features.relu(): f32[1, 8, 30, 30]',
];

function entryOf(source: vscode.TextDocument): string {
  return source.lineAt(place(source, '# fxls: ').line).text;
}

/** What is said of a call that its inputs do not fit. */
function problem(source: vscode.TextDocument): vscode.Diagnostic | undefined {
  return vscode.languages
    .getDiagnostics(source.uri)
    .find(({ severity }) => severity === vscode.DiagnosticSeverity.Warning);
}

async function lens(source: vscode.TextDocument, title: string): Promise<vscode.Command> {
  await settled();
  const found = await vscode.commands.executeCommand<vscode.CodeLens[]>(
    'vscode.executeCodeLensProvider',
    source.uri,
    100,
  );
  const command = found.find((one) => one.command?.title === title)?.command;
  assert.ok(command, found.map((one) => one.command?.title).join('\n'));
  return command;
}

/** Do what a click does. */
async function run({ command, arguments: given }: vscode.Command): Promise<void> {
  await vscode.commands.executeCommand(command, ...((given ?? []) as unknown[]));
}

/** What stands behind the lines of the model, as soon as a trace of it is done. */
async function shapes(source: vscode.TextDocument): Promise<string[]> {
  const api = await extension().activate();
  for (;;) {
    const changed = next(api.onDidChangeState);
    const found = await hintsBehind(source);
    if (found.length > 0) {
      return found.map(({ line, text }) => `${source.lineAt(line).text.trim()}${text}`);
    }
    await changed;
  }
}
