// Several listings: compared, side by side, newer ones, and those that have no file.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import * as vscode from 'vscode';
import { extension, file, open, place, type Test } from './editor.ts';
import {
  isSeen,
  name,
  reveal,
  scrolledTo,
  seen,
  shown,
  sideBySide,
} from './side_by_side.ts';
import { next, until } from './waiting.ts';

export const graphs: readonly Test[] = [
  [
    'a comparison shows what changed, and no names that changed with it',
    async () => {
      const [before, after] = twoRevisions();
      await vscode.commands.executeCommand('fxls.compareRevisions', undefined, [
        { uri: after.toString() },
        { uri: before.toString() },
      ]);
      const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
      assert.ok(input instanceof vscode.TabInputTextDiff);
      assert.deepEqual(await body(input.original), [
        'linear = self.linear(x)',
        'relu = torch.relu(linear)',
        'add = relu + x',
        'return add',
      ]);
      assert.deepEqual(await body(input.modified), [
        'linear = self.linear(x)',
        'tanh = torch.tanh(linear)',
        'add = tanh + x',
        'return add',
      ]);
      await vscode.commands.executeCommand('workbench.action.closeActiveEditor');
    },
  ],
  [
    'source, what was before, and the listing stand side by side',
    async () => {
      const [before, after] = twoRevisions();
      await vscode.commands.executeCommand('workbench.action.closeAllEditors');
      await open('rewritten.py');
      await vscode.commands.executeCommand('fxls.showSideBySide', {
        uri: after.toString(),
      });
      assert.deepEqual(
        vscode.window.tabGroups.all.map(({ activeTab }) => activeTab?.label),
        ['rewritten.py', name(before), name(after)],
      );
      assert.equal(vscode.window.activeTextEditor?.document.uri.path, after.path);
    },
  ],
  [
    'they scroll together, both ways',
    async () => {
      await vscode.commands.executeCommand('workbench.action.closeAllEditors');
      const source = await open('resnet.py');
      await vscode.commands.executeCommand('fxls.showGeneratedCode');
      const listing = vscode.window.activeTextEditor;
      assert.ok(listing);
      const model = vscode.window.visibleTextEditors.find(
        ({ document }) => document === source,
      );
      assert.ok(model);
      reveal(model, place(source, '# fxls: ResNet18'));
      await scrolledTo(model, place(source, 'out = self.norm2('), () => {
        reveal(listing, place(listing.document, 'stage4_0_conv2 = '));
      });
      const active = await vscode.window.showTextDocument(source, vscode.ViewColumn.One);
      await scrolledTo(listing, place(listing.document, 'add = '), () => {
        reveal(active, place(source, 'class ResNet18'));
      });
    },
  ],
  [
    'what a pass of torch.compile was given and made stand side by side with the model',
    async () => {
      const [captured, forward] = await twoPasses();
      await vscode.commands.executeCommand('workbench.action.closeAllEditors');
      await open('compiled.py');
      await vscode.commands.executeCommand('fxls.showSideBySide', {
        uri: forward.toString(),
      });
      assert.deepEqual(
        vscode.window.tabGroups.all.map(({ activeTab }) => activeTab?.label),
        ['compiled.py', name(captured), name(forward)],
      );
    },
  ],
  [
    'what a pass was given and made is linked, whatever it is called',
    async () => {
      const [captured, forward] = await twoPasses();
      const [model, given, made] = await sideBySide(forward);
      const links = next((await extension().activate()).onDidLink);
      const at = place(made.document, 'addmm_17 = ');
      made.selection = new vscode.Selection(at, at);
      assert.deepEqual((await links).places.map(shown), [
        `compiled.py: layer(x)`,
        `${name(captured)}: linear_17`,
      ]);
      await seen(given, place(given.document, 'linear_17 = '));
      await seen(model, place(model.document, 'layer(x)'));
    },
  ],
  [
    'what a pass was given and made scrolls together, whichever is scrolled',
    async () => {
      const [, forward] = await twoPasses();
      const [model, given, made] = await sideBySide(forward);
      await scrolledTo(given, place(given.document, 'linear_30 = '), () => {
        reveal(made, place(made.document, 'addmm_30 = '));
      });
      const middle = await vscode.window.showTextDocument(given.document, given.viewColumn);
      await scrolledTo(made, place(made.document, 't_3 = '), () => {
        reveal(middle, place(given.document, 'linear_3 = '));
      });
      await seen(model, place(model.document, 'layer(x)'));
    },
  ],
  [
    'passes stay where they are while the link is turned off',
    async () => {
      const [, forward] = await twoPasses();
      const [, given, made] = await sideBySide(forward);
      const linear = place(given.document, 'linear_35 = ');
      await vscode.commands.executeCommand('fxls.toggleLink');
      try {
        const links = next((await extension().activate()).onDidLink);
        const moved = next(vscode.window.onDidChangeTextEditorVisibleRanges);
        const at = place(made.document, 'addmm_35 = ');
        made.selection = new vscode.Selection(at, at);
        reveal(made, at);
        assert.equal((await moved).textEditor, made);
        assert.deepEqual((await links).places, []);
        assert.ok(!isSeen(given, linear));
      } finally {
        await vscode.commands.executeCommand('fxls.toggleLink');
      }
      await scrolledTo(given, linear, () => {
        reveal(made, place(made.document, 'addmm_34 = '));
      });
    },
  ],
  [
    'a model that changes takes its tab and its breakpoints along',
    async () => {
      await vscode.commands.executeCommand('workbench.action.closeAllEditors');
      const source = await open('changing.py');
      await vscode.commands.executeCommand('fxls.showGeneratedCode');
      const old = vscode.window.activeTextEditor?.document;
      assert.ok(old);
      const breakpoint = new vscode.SourceBreakpoint(
        new vscode.Location(old.uri, place(old, 'add = ')),
      );
      vscode.debug.addBreakpoints([breakpoint]);
      const edit = new vscode.WorkspaceEdit();
      edit.replace(source.uri, whole(source), source.getText().replace('(x) +', '(-x) +'));
      await vscode.workspace.applyEdit(edit);
      await source.save();
      const moved = await until(vscode.window.tabGroups.onDidChangeTabs, () =>
        openTabs().find(({ path }) => path.includes('/Changing_') && path !== old.uri.path),
      );
      const now = await vscode.workspace.openTextDocument(moved);
      assert.match(now.getText(), /neg = -x\n/);
      const lines = vscode.debug.breakpoints.map((each) =>
        each instanceof vscode.SourceBreakpoint
          ? now.lineAt(each.location.range.start.line).text.trim()
          : '',
      );
      vscode.debug.removeBreakpoints(vscode.debug.breakpoints);
      assert.deepEqual(lines, ['add = relu + x;  relu = x = None']);
    },
  ],
  [
    'a graph has a document that is in no file, and so has its table',
    async () => {
      const held = await (await extension().activate()).graphs();
      const net = held.find(({ qualname }) => qualname === 'Net');
      assert.ok(net);
      const uri = vscode.Uri.parse(net.document);
      const document = await vscode.workspace.openTextDocument(uri);
      assert.match(document.getText(), /\n {4}add = relu \+ x; /);
      const table = uri.with({ path: uri.path.replace('forward.py', 'table.txt') });
      const text = (await vscode.workspace.openTextDocument(table)).getText();
      assert.match(text, /^linear +call_module +linear +x +1 .*net\.py:13$/m);
    },
  ],
];

/** Two revisions of the graph of rewritten.py, the older one first. */
function twoRevisions(): readonly [vscode.Uri, vscode.Uri] {
  execFileSync(file('.venv/bin/python').fsPath, ['rewritten.py'], {
    cwd: file('.').fsPath,
  });
  return [file('.fxls/Rewritten_0012d6f6f750.py'), file('.fxls/Rewritten_3e15267f8004.py')];
}

/** What torch.compile captured of compiled.py, and what AOTAutograd made of it. */
async function twoPasses(): Promise<readonly [vscode.Uri, vscode.Uri]> {
  const all = async () => {
    const held = await (await extension().activate()).graphs();
    const stages = ['graph 0', 'graph 0, forward'];
    return stages.flatMap((stage) => {
      const found = held.find(
        (item) => item.qualname === 'Compiled' && item.stage === stage,
      );
      return found === undefined ? [] : [vscode.Uri.parse(found.uri)];
    });
  };
  if ((await all()).length === 0) {
    execFileSync(file('.venv/bin/python').fsPath, ['-m', 'fxls', 'run', 'compiled.py'], {
      cwd: file('.').fsPath,
    });
  }
  const [captured, forward] = await all();
  assert.ok(captured !== undefined && forward !== undefined);
  return [captured, forward];
}

/** The statements of a listing. */
async function body(uri: vscode.Uri): Promise<string[]> {
  const document = await vscode.workspace.openTextDocument(uri);
  const lines = document.getText().trimEnd().split('\n');
  const start = lines.findIndex((line) => line.startsWith('def '));
  return lines.slice(start + 1).map((line) => line.trim());
}

/** The files that are open in tabs. */
function openTabs(): vscode.Uri[] {
  return vscode.window.tabGroups.all
    .flatMap(({ tabs }) => tabs)
    .flatMap(({ input }) => (input instanceof vscode.TabInputText ? [input.uri] : []));
}

function whole(document: vscode.TextDocument): vscode.Range {
  return new vscode.Range(0, 0, document.lineCount, 0);
}
