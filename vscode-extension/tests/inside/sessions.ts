// Debug sessions: started, stopped, asked and ended.

import * as vscode from 'vscode';
import { file } from './editor.ts';
import { next } from './waiting.ts';

/** A thread that stopped, and the session of its process. */
interface Stop {
  readonly session: vscode.DebugSession;
  readonly thread: number;
}

/** A program that is stopped. */
export class Stopped {
  readonly #stops: vscode.Event<Stop>;
  #stop: Stop;

  constructor(stops: vscode.Event<Stop>, stop: Stop) {
    this.#stops = stops;
    this.#stop = stop;
  }

  get session(): vscode.DebugSession {
    return this.#stop.session;
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
    const answer = (await this.session.customRequest('evaluate', request)) as {
      result: string;
    };
    return answer.result;
  }

  /** Chooses exceptions to stop at. */
  async filter(filters: readonly string[]): Promise<void> {
    await this.session.customRequest('setExceptionBreakpoints', { filters });
  }

  async step(how: 'next' | 'stepIn' | 'continue'): Promise<void> {
    const stopped = next(this.#stops);
    await this.session.customRequest(how, { threadId: this.#stop.thread });
    this.#stop = await stopped;
  }

  async #frames(): Promise<readonly Frame[]> {
    const answer = (await this.session.customRequest('stackTrace', {
      threadId: this.#stop.thread,
    })) as { stackFrames: Frame[] };
    return answer.stackFrames;
  }
}

/** Starts a session, calls when it has stopped, and ends it. */
export async function inSession(
  start: () => Thenable<unknown>,
  act: (stopped: Stopped) => Promise<void>,
): Promise<void> {
  const stops = new vscode.EventEmitter<Stop>();
  const tracker = vscode.debug.registerDebugAdapterTrackerFactory('fxls', {
    createDebugAdapterTracker: (session) => ({
      onDidSendMessage: (message: { event?: string; body?: { threadId: number } }) => {
        if (message.event === 'stopped' && message.body !== undefined) {
          stops.fire({ session, thread: message.body.threadId });
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
      await act(new Stopped(stops.event, await first));
    } finally {
      await vscode.debug.stopDebugging(session);
      await ended;
    }
  } finally {
    tracker.dispose();
    stops.dispose();
  }
}

export async function withBreakpoint(
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

/** Runs a program of the project in a session of the type fxls. */
export function run(program: string, more: object = {}): Thenable<boolean> {
  return launch(program, { program: file(program).fsPath, ...more });
}

/** Starts a session of the type fxls. */
export function launch(name: string, configuration: object): Thenable<boolean> {
  return vscode.debug.startDebugging(vscode.workspace.workspaceFolders?.[0], {
    type: 'fxls',
    request: 'launch',
    name,
    ...configuration,
  });
}

interface Frame {
  readonly id: number;
  readonly name: string;
  readonly line: number;
  readonly source: { readonly path: string };
}
