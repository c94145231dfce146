// What VS Code calls: everything is put together here.

import * as vscode from 'vscode';
import { registerCommands } from './commands.ts';
import { registerDebugging } from './debugging.ts';
import { Graphs } from './graphs.ts';
import { LinkedViews, toggleLink } from './linked.ts';
import { isListing } from './listings.ts';
import { onInterpreterChange } from './python.ts';
import { Server, setContext } from './server.ts';
import { type State, Status } from './status.ts';

/** What other extensions may ask; the tests do. */
export interface Api {
  /** What the status item shows. */
  state(): State | undefined;
  readonly onDidChangeState: vscode.Event<State>;
}

export function activate(context: vscode.ExtensionContext): Api {
  const log = vscode.window.createOutputChannel('fxls', { log: true });
  const status = new Status();
  const version = String((context.extension.packageJSON as { version: unknown }).version);
  const server = new Server(status, log, version);
  context.subscriptions.push(
    log,
    status,
    server,
    new LinkedViews(),
    new Graphs(server),
    registerCommands(server, log, version),
    registerDebugging(server),
    vscode.commands.registerCommand('fxls.toggleLink', toggleLink),
    vscode.window.onDidChangeActiveTextEditor((editor) => {
      void setContext('inListing', editor !== undefined && isListing(editor.document.uri));
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => void server.restart()),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (STARTED_WITH.some((name) => change.affectsConfiguration(`fxls.${name}`))) {
        void server.restart();
      }
    }),
  );
  const ready = server.restart();
  void ready.then(async () => {
    context.subscriptions.push(await onInterpreterChange(() => void server.restart()));
  });
  const active = vscode.window.activeTextEditor;
  void setContext('inListing', active !== undefined && isListing(active.document.uri));
  stop = () => server.stop();
  return { state: () => status.state, onDidChangeState: status.onDidChange };
}

export function deactivate(): Promise<void> | undefined {
  return stop?.();
}

/** Settings that the server is started with. */
const STARTED_WITH = ['python', 'store', 'timeLimit', 'traceAutomatically'];

let stop: (() => Promise<void>) | undefined;
