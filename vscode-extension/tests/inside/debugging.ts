// Debugging generated code, with the debugpy of the project's environment.

import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { file, open, place, type Test } from './editor.ts';
import { next } from './waiting.ts';

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
          () =>
            vscode.debug.startDebugging(vscode.workspace.workspaceFolders?.[0], {
              type: 'fxls',
              request: 'launch',
              name: 'run.py',
              program: file('run.py').fsPath,
            }),
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
          () =>
            vscode.debug.startDebugging(vscode.workspace.workspaceFolders?.[0], {
              type: 'fxls',
              request: 'launch',
              name: 'run.py',
              program: file('run.py').fsPath,
            }),
          async (stopped) => {
            assert.deepEqual(await stopped.stack(), ['<module>: y = gm(torch.ones(2, 4))']);
            await stopped.step('stepIn');
            assert.equal((await stopped.stack())[0], 'forward: linear = self.linear(x)');
          },
        ),
      );
    },
  ],
];

/** A program that is stopped. */
class Stopped {
  readonly #session: vscode.DebugSession;
  readonly #stops: vscode.Event<number>;
  #thread: number;

  constructor(session: vscode.DebugSession, stops: vscode.Event<number>, thread: number) {
    this.#session = session;
    this.#stops = stops;
    this.#thread = thread;
  }

  /** Each frame with the text of its line, innermost first. */
  async stack(): Promise<string[]> {
    const frames = (await this.#frames()).map(async ({ name, line, source }) => {
      // VS Code has written what the debugger calls a path as what it calls one itself.
      const document = await vscode.workspace.openTextDocument(
        vscode.Uri.parse(source.path),
      );
      return `${name}: ${document.lineAt(line - 1).text.trim()}`;
    });
    return Promise.all(frames);
  }

  async evaluate(expression: string): Promise<string> {
    const frameId = (await this.#frames())[0]?.id;
    const request = { expression, frameId, context: 'repl' };
    const answer = (await this.#session.customRequest('evaluate', request)) as {
      result: string;
    };
    return answer.result;
  }

  async step(how: 'next' | 'stepIn'): Promise<void> {
    const stopped = next(this.#stops);
    await this.#session.customRequest(how, { threadId: this.#thread });
    this.#thread = await stopped;
  }

  async #frames(): Promise<readonly Frame[]> {
    const answer = (await this.#session.customRequest('stackTrace', {
      threadId: this.#thread,
    })) as { stackFrames: Frame[] };
    return answer.stackFrames;
  }
}

interface Frame {
  readonly id: number;
  readonly name: string;
  readonly line: number;
  readonly source: { readonly path: string };
}

/** Starts a session, calls when it has stopped, and ends it. */
async function inSession(
  start: () => Thenable<unknown>,
  act: (stopped: Stopped) => Promise<void>,
): Promise<void> {
  const stops = new vscode.EventEmitter<number>();
  const tracker = vscode.debug.registerDebugAdapterTrackerFactory('fxls', {
    createDebugAdapterTracker: () => ({
      onDidSendMessage: (message: { event?: string; body?: { threadId: number } }) => {
        if (message.event === 'stopped' && message.body !== undefined) {
          stops.fire(message.body.threadId);
        }
      },
    }),
  });
  try {
    const started = next(vscode.debug.onDidStartDebugSession);
    const first = next(stops.event);
    await start();
    const session = await started;
    const ended = next(vscode.debug.onDidTerminateDebugSession, (s) => s === session);
    try {
      await act(new Stopped(session, stops.event, await first));
    } finally {
      await vscode.debug.stopDebugging(session);
      await ended;
    }
  } finally {
    tracker.dispose();
    stops.dispose();
  }
}

async function withBreakpoint(
  at: vscode.Location,
  act: () => Promise<void>,
): Promise<void> {
  const breakpoint = new vscode.SourceBreakpoint(at);
  vscode.debug.addBreakpoints([breakpoint]);
  try {
    await act();
  } finally {
    vscode.debug.removeBreakpoints([breakpoint]);
  }
}
