// The adapter of a session: debugpy's, with the rules of fxls as exception filters.

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import * as vscode from 'vscode';
import { type Message, RuleFilters } from './rule_filters.ts';

export class Adapter extends vscode.Disposable implements vscode.DebugAdapter {
  readonly #sent = new vscode.EventEmitter<vscode.DebugProtocolMessage>();
  readonly #process: ChildProcessWithoutNullStreams;
  readonly #filters: RuleFilters;
  #read: Buffer = Buffer.alloc(0);

  constructor(python: string) {
    super(() => {
      this.#process.kill();
      this.#sent.dispose();
    });
    this.#process = spawn(python, ['-m', 'debugpy.adapter'], { windowsHide: true });
    this.#filters = new RuleFilters(
      (message) => {
        this.#sent.fire(message);
      },
      (message) => {
        this.#write(message);
      },
    );
    this.#process.stdout.on('data', (data: Buffer) => {
      this.#take(data);
    });
    // An adapter that ends, or never began, ends the session.
    const end = () => {
      const ended: Message = { seq: 0, type: 'event', event: 'terminated' };
      this.#sent.fire(ended);
    };
    this.#process.on('error', end);
    this.#process.on('exit', end);
    this.#process.stdin.on('error', end);
  }

  readonly onDidSendMessage = this.#sent.event;

  handleMessage(message: vscode.DebugProtocolMessage): void {
    this.#filters.fromEditor(message as Message);
  }

  #write(message: Message): void {
    const body = JSON.stringify(message);
    const length = Buffer.byteLength(body);
    this.#process.stdin.write(`Content-Length: ${length}\r\n\r\n${body}`);
  }

  /** Reads the messages that are complete. */
  #take(data: Buffer): void {
    this.#read = Buffer.concat([this.#read, data]);
    for (;;) {
      const start = this.#read.indexOf(SEPARATOR);
      if (start === -1) return;
      const head = this.#read.toString('ascii', 0, start);
      const length = Number(/Content-Length: (\d+)/i.exec(head)?.[1] ?? 0);
      const [from, to] = [start + SEPARATOR.length, start + SEPARATOR.length + length];
      if (this.#read.length < to) return;
      const body = this.#read.toString('utf8', from, to);
      this.#read = this.#read.subarray(to);
      this.#filters.fromAdapter(JSON.parse(body) as Message);
    }
  }
}

const SEPARATOR = '\r\n\r\n';
