// Debugging generated code, with the debugpy of the project's environment.

import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { file, open, place, type Test } from './editor.ts';
import { inSession, launch, run, withBreakpoint } from './sessions.ts';

export const debugging: readonly Test[] = [
  [
    'the command stops on the first line of the generated code',
    async () => {
      await open('net.py');
      await inSession(
        () => vscode.commands.executeCommand('fxls.debugGeneratedCode'),
        async (stopped) => {
          assert.deepEqual(await stopped.stack(), [
            'forward: linear = self.linear(x)',
            '<module>: # fxls: Net()(torch.ones(2, 4))',
          ]);
          await stopped.step('stepIn');
          assert.match(
            (await stopped.stack())[0] ?? '',
            /^Linear\.forward|^forward: return F\.linear/,
          );
        },
      );
    },
  ],
  [
    'a breakpoint in the generated code is hit, and values are there',
    async () => {
      await open('net.py');
      await vscode.commands.executeCommand('fxls.showGeneratedCode');
      const listing = vscode.window.activeTextEditor?.document;
      assert.ok(listing);
      const line = new vscode.Location(listing.uri, place(listing, 'add = '));
      await withBreakpoint(line, () =>
        inSession(
          () => run('run.py'),
          async (stopped) => {
            assert.deepEqual(await stopped.stack(), [
              'forward: add = relu + x;  relu = x = None',
              '<module>: y = gm(torch.ones(2, 4))',
            ]);
            assert.equal(await stopped.evaluate('tuple(relu.shape)'), '(2, 4)');
            await stopped.step('next');
            assert.equal((await stopped.stack())[0], 'forward: return add');
          },
        ),
      );
    },
  ],
  [
    'one step in leads from the call into the generated code',
    async () => {
      const program = await open('run.py');
      const call = new vscode.Location(program.uri, place(program, 'y = gm'));
      await withBreakpoint(call, () =>
        inSession(
          () => run('run.py'),
          async (stopped) => {
            assert.deepEqual(await stopped.stack(), ['<module>: y = gm(torch.ones(2, 4))']);
            await stopped.step('stepIn');
            assert.equal((await stopped.stack())[0], 'forward: linear = self.linear(x)');
          },
        ),
      );
    },
  ],
  [
    'a breakpoint on a node stops where the node runs',
    async () => {
      await open('net.py');
      await vscode.commands.executeCommand('fxls.showGeneratedCode');
      const listing = vscode.window.activeTextEditor;
      assert.ok(listing);
      const at = place(listing.document, 'relu = ');
      listing.selection = new vscode.Selection(at, at);
      await vscode.commands.executeCommand('fxls.breakOnNode');
      assert.deepEqual(nodeBreakpoints(), ['node:Net.relu']);
      await inSession(
        () => run('run.py'),
        async (stopped) => {
          assert.equal(
            (await stopped.stack())[0],
            'forward: relu = torch.relu(linear);  linear = None',
          );
        },
      );
      await vscode.window.showTextDocument(listing.document);
      await vscode.commands.executeCommand('fxls.breakOnNode');
      assert.deepEqual(nodeBreakpoints(), []);
    },
  ],
  [
    'the first node that makes NaN stops the program, without a breakpoint',
    async () => {
      await inSession(
        () => run('bad.py', { breakOn: ['nan'] }),
        async (stopped) => {
          assert.equal(
            (await stopped.stack())[0],
            'forward: log = torch.log(sub);  sub = None',
          );
          assert.equal(await stopped.evaluate('log.isnan().all().item()'), 'True');
        },
      );
    },
  ],
  [
    'and so it does when the setting says it',
    async () => {
      const settings = vscode.workspace.getConfiguration('fxls');
      const target = vscode.ConfigurationTarget.Workspace;
      await settings.update('breakOn', ['nan'], target);
      try {
        await inSession(
          () => run('bad.py'),
          async (stopped) => {
            assert.match((await stopped.stack())[0] ?? '', /^forward: log = /);
          },
        );
      } finally {
        await settings.update('breakOn', undefined, target);
      }
    },
  ],
  [
    'a program that does not name fxls has its generated code debugged, in the store that is named',
    async () => {
      const store = file('.elsewhere');
      await inSession(
        () => run('plain.py', { breakOn: 'nan', store: store.fsPath, keepValues: true }),
        async (stopped) => {
          assert.equal((await stopped.stack())[0], 'forward: log = torch.log(sub)');
        },
      );
      const listings = await vscode.workspace.fs.readDirectory(store);
      await vscode.workspace.fs.delete(store, { recursive: true });
      assert.equal(listings.filter(([name]) => /^Plain_\w+\.py$/.test(name)).length, 1);
    },
  ],
  [
    'an entry stops on the node that is named',
    async () => {
      await inSession(
        () => launch('relu', { entry: file('net.py').fsPath, node: 'relu' }),
        async (stopped) => {
          assert.equal(
            (await stopped.stack())[0],
            'forward: relu = torch.relu(linear);  linear = None',
          );
        },
      );
    },
  ],
  [
    'a process that the program starts is debugged in a session of its own',
    async () => {
      const child = await open('child.py');
      const at = new vscode.Location(child.uri, place(child, 'print("child")'));
      const code = 'import subprocess, sys; subprocess.run([sys.executable, "child.py"])';
      await withBreakpoint(at, () =>
        inSession(
          () => launch('parent', { code }),
          async (stopped) => {
            assert.equal(stopped.session.parentSession?.name, 'parent');
            assert.deepEqual(await stopped.stack(), ['<module>: print("child")']);
          },
        ),
      );
    },
  ],
  [
    'and so is a worker that a DataLoader forks',
    async () => {
      const program = await open('loader.py');
      const at = new vscode.Location(program.uri, place(program, 'return torch.full'));
      await withBreakpoint(at, () =>
        inSession(
          () => run('loader.py'),
          async (stopped) => {
            assert.equal(stopped.session.parentSession?.name, 'loader.py');
            assert.equal(
              (await stopped.stack())[0],
              '__getitem__: return torch.full((2,), index + 1)',
            );
            assert.equal(await stopped.evaluate('index'), '0');
          },
        ),
      );
    },
  ],
  [
    'a filter of exceptions that is chosen while it is stopped stops it at the NaN',
    async () => {
      const program = await open('bad.py');
      const call = new vscode.Location(program.uri, place(program, 'print("ran"'));
      await withBreakpoint(call, () =>
        inSession(
          () => run('bad.py'),
          async (stopped) => {
            assert.match((await stopped.stack())[0] ?? '', /^<module>: print\("ran"/);
            await stopped.filter(['fxls.nan']);
            await stopped.step('continue');
            assert.match((await stopped.stack())[0] ?? '', /^forward: log = /);
          },
        ),
      );
    },
  ],
];

function nodeBreakpoints(): string[] {
  return vscode.debug.breakpoints.flatMap((each) =>
    each instanceof vscode.FunctionBreakpoint ? [each.functionName] : [],
  );
}
