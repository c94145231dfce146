// Several listings: compared, side by side, newer ones, and those that have no file.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import * as vscode from 'vscode';
import { extension, file, hintsBehind, open, place, type Test } from './editor.ts';
import {
  isSeen,
  linkedFrom,
  name,
  reveal,
  scrolledTo,
  seen,
  sideBySide,
} from './side_by_side.ts';
import { next, until } from './waiting.ts';

export const graphs: readonly Test[] = [
  [
    'a comparison shows what changed, and no names that changed with it',
    async () => {
      const [before, after] = await twoRevisions();
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
      const [before, after] = await twoRevisions();
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
      const [model, given, made] = await sideBySide('compiled.py', forward);
      assert.deepEqual(await linkedFrom(made, 'addmm_17 = '), [
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
      const [model, given, made] = await sideBySide('compiled.py', forward);
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
      const [, given, made] = await sideBySide('compiled.py', forward);
      const linear = place(given.document, 'linear_35 = ');
      await vscode.commands.executeCommand('fxls.toggleLink');
      try {
        const moved = next(
          vscode.window.onDidChangeTextEditorVisibleRanges,
          ({ textEditor }) => textEditor === made,
        );
        assert.deepEqual(await linkedFrom(made, 'addmm_35 = '), []);
        reveal(made, place(made.document, 'addmm_35 = '));
        await moved;
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
    'each stage of torch.compile stands beside the one that it was made from',
    async () => {
      const all = await allStages();
      for (const [given, made] of [
        ['graph 0', 'graph 0, pre-grad'],
        ['graph 0, pre-grad', 'graph 0, joint'],
        ['graph 0, joint', 'graph 0, forward'],
        ['graph 0, forward', 'graph 0, forward, post-grad'],
        ['graph 0, joint', 'graph 0, backward'],
        ['graph 0, backward', 'graph 0, backward, post-grad'],
      ] as const) {
        const editors = await sideBySide('staged.py', stage(all, made));
        assert.deepEqual(
          editors.map(({ document }) => name(document.uri)),
          ['staged.py', name(stage(all, given)), name(stage(all, made))],
        );
      }
    },
  ],
  [
    'a node of the joint graph is linked to the model and to the graph before autograd',
    async () => {
      const all = await allStages();
      const [, , joint] = await sideBySide('staged.py', stage(all, 'graph 0, joint'));
      const given = name(stage(all, 'graph 0, pre-grad'));
      assert.deepEqual(await linkedFrom(joint, 'relu = '), [
        'staged.py: torch.relu(self.linear(x))',
        `${given}: hidden`,
      ]);
    },
  ],
  [
    'and one of the backward is linked to what it is the backward of',
    async () => {
      const all = await allStages();
      const [, , backward] = await sideBySide('staged.py', stage(all, 'graph 0, backward'));
      const given = name(stage(all, 'graph 0, joint'));
      assert.deepEqual(await linkedFrom(backward, 'where = '), [
        'staged.py: torch.relu(self.linear(x))',
        `${given}: where`,
      ]);
    },
  ],
  [
    'the kernels of inductor stand beside the model and the last graph, linked to both',
    async () => {
      const all = await allStages();
      const code = stage(all, 'graph 0, forward, kernels');
      const given = stage(all, 'graph 0, forward, post-grad');
      const [model, graph, kernels] = await sideBySide('staged.py', code);
      assert.deepEqual(
        [model, graph, kernels].map(({ document }) => name(document.uri)),
        ['staged.py', name(given), name(code)],
      );
      const fused = [
        'staged.py: torch.relu(self.linear(x))',
        'staged.py: hidden + x',
        ...['relu', 'add', 'le'].map((node) => `${name(given)}: ${node}`),
      ];
      assert.deepEqual(await linkedFrom(kernels, '(buf0, primals_3, buf1, buf2)'), fused);
      // The text of the kernel is the kernel, whichever line of it the cursor is on.
      assert.deepEqual(await linkedFrom(kernels, 'at::vec::clamp_min'), fused);
      const middle = await vscode.window.showTextDocument(graph.document, graph.viewColumn);
      assert.deepEqual(await linkedFrom(middle, 'add = '), [
        'staged.py: hidden + x',
        `${name(code)}: cpp_fused_add_relu_threshold_backward_0`,
      ]);
    },
  ],
  [
    'the model leads to the kernel of an expression, and both move',
    async () => {
      const code = stage(await allStages(), 'graph 0, forward, kernels');
      await vscode.commands.executeCommand('workbench.action.closeAllEditors');
      const source = await open('staged.py');
      const model = vscode.window.activeTextEditor;
      assert.ok(model);
      const plus = place(source, '+ x');
      model.selection = new vscode.Selection(plus, plus);
      await vscode.commands.executeCommand('fxls.showKernels');
      const kernels = vscode.window.activeTextEditor;
      assert.equal(kernels?.document.uri.path, code.path);
      assert.equal(kernels.viewColumn, vscode.ViewColumn.Two);
      const call = 'cpp_fused_add_relu_threshold_backward_0(buf0';
      assert.deepEqual(kernels.selection.active, place(kernels.document, call));
      assert.ok(isSeen(kernels, kernels.selection.active));
      assert.deepEqual(await linkedFrom(kernels, 'extern_kernels.addmm('), [
        'staged.py: self.linear(x)',
      ]);
      const left = await vscode.window.showTextDocument(source, vscode.ViewColumn.One);
      await linkedFrom(left, 'class Staged');
      reveal(kernels, new vscode.Position(0, 0));
      const found = await linkedFrom(left, '+ x');
      assert.ok(
        found.includes(`${name(code)}: cpp_fused_add_relu_threshold_backward_0`),
        found.join('; '),
      );
      await seen(kernels, place(kernels.document, call));
    },
  ],
  [
    'what a run measured stands behind lines of the model, nodes and kernels',
    async () => {
      const all = await allStages();
      const model = await timesBehind(await open('staged.py'));
      assert.deepEqual(model, [
        'hidden: N ms in 4 kernels; N ms in 1 kernel shared with line 14',
        'return: N ms in 1 kernel shared with line 13',
      ]);
      const graph = stage(all, 'graph 0, forward, post-grad');
      assert.deepEqual(await timesBehind(await vscode.workspace.openTextDocument(graph)), [
        'addmm: N ms',
        ...['relu', 'add', 'le'].map((node) => `${node}: N ms, shared by 3 nodes`),
      ]);
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
    'a listing behind another tab is the newest one too, and stays behind',
    async () => {
      await vscode.commands.executeCommand('workbench.action.closeAllEditors');
      const source = await open('changing.py');
      await vscode.commands.executeCommand('fxls.showGeneratedCode');
      const old = vscode.window.activeTextEditor?.document.uri;
      assert.ok(old);
      const { viewColumn } = vscode.window.tabGroups.activeTabGroup;
      await vscode.window.showTextDocument(source, { viewColumn, preview: false });
      const edit = new vscode.WorkspaceEdit();
      edit.replace(source.uri, whole(source), source.getText().replace('(-x) +', '(x) +'));
      await vscode.workspace.applyEdit(edit);
      await source.save();
      const labels = await until(vscode.window.tabGroups.onDidChangeTabs, () => {
        const { tabs } = vscode.window.tabGroups.activeTabGroup;
        const isMoved = tabs.length === 2 && tabs.every((tab) => tab.label !== name(old));
        return isMoved ? tabs.map(({ label }) => label) : undefined;
      });
      assert.deepEqual(labels.map((label) => label.replace(/_\w{12}/, '_HASH')).sort(), [
        'Changing_HASH.py',
        'changing.py',
      ]);
      const { activeTab } = vscode.window.tabGroups.activeTabGroup;
      assert.equal(activeTab?.label, 'changing.py');
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
async function twoRevisions(): Promise<readonly [vscode.Uri, vscode.Uri]> {
  await python('rewritten.py');
  return [file('.fxls/Rewritten_0012d6f6f750.py'), file('.fxls/Rewritten_3e15267f8004.py')];
}

/** What torch.compile captured of compiled.py, and what AOTAutograd made of it. */
async function twoPasses(): Promise<readonly [vscode.Uri, vscode.Uri]> {
  if ((await stages('Compiled')).size === 0) {
    await python('-m', 'fxls', 'run', 'compiled.py');
  }
  const all = await stages('Compiled');
  return [stage(all, 'graph 0'), stage(all, 'graph 0, forward')];
}

/** What became of staged.py, from what torch.compile captured to the kernels. */
async function allStages(): Promise<ReadonlyMap<string, vscode.Uri>> {
  if ((await stages('Staged')).size === 0) {
    await python('-m', 'fxls', 'run', '--times', 'staged.py');
  }
  return stages('Staged');
}

/** The hints that are times, each behind the first word of its line. */
async function timesBehind(document: vscode.TextDocument): Promise<string[]> {
  const found = await hintsBehind(document);
  return found
    .filter(({ text }) => text.includes(' ms'))
    .map(({ line, text }) => {
      const [word = ''] = document.lineAt(line).text.trim().split(/[ :]/);
      return `${word}: ${text.trim().replaceAll(/[\d.]+ ms/g, 'N ms')}`;
    });
}

/** The newest listings of a model that torch.compile made, by their stages. */
async function stages(model: string): Promise<ReadonlyMap<string, vscode.Uri>> {
  const held = await (await extension().activate()).graphs();
  const own = held.filter(({ qualname }) => qualname === model);
  return new Map(own.map((item) => [item.stage ?? '', vscode.Uri.parse(item.uri)]));
}

function stage(all: ReadonlyMap<string, vscode.Uri>, named: string): vscode.Uri {
  const found = all.get(named);
  assert.ok(found, `${named} is among ${[...all.keys()].join('; ')}`);
  return found;
}

/** Runs Python in the project; what waited, VS Code would take for dead. */
async function python(...command: string[]): Promise<void> {
  const env = {
    ...process.env,
    // What torch has in its cache, it does not make again.
    TORCHINDUCTOR_FORCE_DISABLE_CACHES: '1',
  };
  const options = { cwd: file('.').fsPath, env };
  await promisify(execFile)(file('.venv/bin/python').fsPath, command, options);
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
