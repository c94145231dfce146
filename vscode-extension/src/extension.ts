// What VS Code calls: everything is put together here.

import * as vscode from 'vscode';
import { registerBreakOn } from './debugging/break_on.ts';
import { registerCommands } from './commands.ts';
import { registerDebugging } from './debugging/configurations.ts';
import { Comparing } from './listings/comparing.ts';
import { registerGraphCommands } from './graphs/view_commands.ts';
import { Graphs } from './graphs/view.ts';
import { KnownGraphs } from './graphs/known_graphs.ts';
import { registerKernels } from './listings/kernels.ts';
import { type Link, LinkedViews, toggleLink } from './listings/linked.ts';
import { isListing } from './listings/listings.ts';
import { registerNodeBreakpoints } from './debugging/node_breakpoints.ts';
import { registerPageCommands } from './graphs/page_commands.ts';
import { Panels } from './graphs/panels.ts';
import { type IdentityItem, identities } from './server/protocol.ts';
import { choosePython } from './server/choose_python.ts';
import { registerInstalling } from './server/installing.ts';
import { onInterpreterChange } from './server/interpreters.ts';
import { followRevisions } from './listings/revising.ts';
import { registerGuards } from './runs/guards.ts';
import { Runs } from './runs/view.ts';
import { LinkedScrolling } from './listings/scrolling.ts';
import { Server, setContext } from './server/server.ts';
import { registerSideBySide } from './listings/side_by_side.ts';
import { type State, Status } from './server/status.ts';
import { Stopped } from './debugging/stopped.ts';

/** What other extensions may ask; the tests do. */
export interface Api {
  /** What the status item shows. */
  state(): State | undefined;
  readonly onDidChangeState: vscode.Event<State>;
  /** What the stores hold. */
  graphs(): Promise<readonly IdentityItem[]>;
  /** What the cursor is on, and what is highlighted for it. */
  readonly onDidLink: vscode.Event<Link>;
}

export function activate(context: vscode.ExtensionContext): Api {
  const log = vscode.window.createOutputChannel('fxls', { log: true });
  const status = new Status();
  const version = String((context.extension.packageJSON as { version: unknown }).version);
  const server = new Server(status, log, version);
  const known = new KnownGraphs(server);
  const linked = new LinkedViews(known);
  const stopped = new Stopped();
  const panels = new Panels(context.extensionUri, server, linked, stopped);
  const graphs = new Graphs(server);
  context.subscriptions.push(
    log,
    status,
    server,
    known,
    linked,
    new LinkedScrolling(known),
    stopped,
    panels,
    graphs,
    registerGraphCommands(server, graphs),
    new Runs(server, known),
    registerGuards(server),
    new Comparing(server, panels),
    registerSideBySide(server, known, panels),
    registerKernels(server, known),
    registerNodeBreakpoints(known),
    followRevisions(server, panels),
    registerPageCommands(server, panels),
    registerCommands(server, log, panels),
    registerInstalling(server, context.extensionUri, version),
    vscode.commands.registerCommand('fxls.choosePython', () => choosePython(version)),
    registerDebugging(server, context.globalState),
    registerBreakOn(),
    vscode.commands.registerCommand('fxls.toggleLink', toggleLink),
    vscode.window.onDidChangeActiveTextEditor((editor) => {
      void setContext('inListing', editor !== undefined && isListing(editor.document.uri));
    }),
    // What was missing may have been made or installed there.
    vscode.window.onDidEndTerminalShellExecution(() => {
      if (status.state?.kind === 'problem') void server.restart();
    }),
    vscode.workspace.onDidChangeWorkspaceFolders(() => void server.restart()),
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
  return {
    state: () => status.state,
    onDidChangeState: status.onDidChange,
    graphs: async () => {
      const client = await server.client();
      return (await client?.sendRequest(identities, {})) ?? [];
    },
    onDidLink: linked.onDidMove,
  };
}

export function deactivate(): Promise<void> | undefined {
  return stop?.();
}

/** Settings that the server is started with. */
const STARTED_WITH = [
  'python',
  'store',
  'timeLimit',
  'producers',
  'programs',
  'remarks',
  'traceAutomatically',
];

let stop: (() => Promise<void>) | undefined;
