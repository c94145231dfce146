// Where the program that is debugged is stopped.

import * as vscode from 'vscode';

/** A line of a file that a frame of the call stack is on. */
export interface Frame {
  readonly path: string;
  readonly line: number;
}

/** Says where the program is, from the chosen frame outward. */
export class Stopped implements vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<readonly Frame[]>();
  readonly #listener: vscode.Disposable;
  #frames: readonly Frame[] = [];
  #asked = 0;

  constructor() {
    this.#listener = vscode.debug.onDidChangeActiveStackItem((item) => {
      void this.#follow(item);
    });
  }

  /** Comes when it stops, goes on, or another frame is chosen. */
  get onDidChange(): vscode.Event<readonly Frame[]> {
    return this.#changed.event;
  }

  /** Empty while no program is stopped. */
  get frames(): readonly Frame[] {
    return this.#frames;
  }

  dispose(): void {
    this.#listener.dispose();
    this.#changed.dispose();
  }

  async #follow(
    item: vscode.DebugThread | vscode.DebugStackFrame | undefined,
  ): Promise<void> {
    this.#asked += 1;
    const asked = this.#asked;
    const frames = item instanceof vscode.DebugStackFrame ? await outward(item) : [];
    if (asked !== this.#asked) return;
    this.#frames = frames;
    this.#changed.fire(frames);
  }
}

interface StackFrame {
  readonly id: number;
  readonly line: number;
  readonly source?: { readonly path?: string };
}

/** The frames of a thread from one outward. */
async function outward({
  session,
  threadId,
  frameId,
}: vscode.DebugStackFrame): Promise<Frame[]> {
  try {
    const answer = (await session.customRequest('stackTrace', { threadId })) as {
      readonly stackFrames: readonly StackFrame[];
    };
    const start = answer.stackFrames.findIndex(({ id }) => id === frameId);
    return answer.stackFrames.slice(Math.max(start, 0)).flatMap(({ line, source }) => {
      const path = source?.path;
      return path === undefined ? [] : [{ path: pathOf(path), line: line - 1 }];
    });
  } catch {
    // The program went on, or ended, before it could be asked.
    return [];
  }
}

/** VS Code writes paths of a remote machine as URIs. */
function pathOf(path: string): string {
  return /^[a-z][a-z-]+:/.test(path)
    ? vscode.Uri.parse(path).path
    : vscode.Uri.file(path).path;
}
