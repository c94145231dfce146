// The language server: its life, and what is said of it.

import * as path from 'node:path';
import * as vscode from 'vscode';
import {
  CloseAction,
  ErrorAction,
  type LanguageClient,
  type LanguageClientOptions,
  type StaticFeature,
  State,
} from 'vscode-languageclient/node';
import { complaint } from './complaint.ts';
import { Connection } from './connection.ts';
import { importsTorch } from '../debugging/imports_torch.ts';
import { shortened } from '../debugging/inline_values.ts';
import { isListing, showListing } from '../listings/listings.ts';
import { projectFolders } from './project.ts';
import {
  changed,
  EXPERIMENTAL,
  runsChanged,
  SETTINGS_FORMAT,
  serverStatus,
  TABLE,
} from './protocol.ts';
import type { Interpreter } from './interpreters.ts';
import { findPython, type Python } from './python.ts';
import { ServerProcess } from './server_process.ts';
import type { Action, State as Shown, Status } from './status.ts';
import { writtenAndSaved } from './written.ts';

/** The server of a window; there is at most one, and one restart that waits. */
export class Server implements vscode.Disposable {
  readonly #status: Status;
  readonly #log: vscode.LogOutputChannel;
  readonly #version: string;
  readonly #started = new vscode.EventEmitter<LanguageClient>();
  readonly #changed = new vscode.EventEmitter<void>();
  readonly #runsChanged = new vscode.EventEmitter<void>();
  #client: LanguageClient | undefined;
  #process: ServerProcess | undefined;
  #served: readonly Served[] = [];
  #queue: Promise<void> = Promise.resolve();
  /** Whether a restart is in the queue that has not begun. */
  #isWaiting = false;

  constructor(status: Status, log: vscode.LogOutputChannel, version: string) {
    this.#status = status;
    this.#log = log;
    this.#version = version;
  }

  /** The connection, when what was asked for is done; undefined when there is none. */
  async client(): Promise<LanguageClient | undefined> {
    await this.#queue;
    return this.#client?.isRunning() === true ? this.#client : undefined;
  }

  /** Comes with each connection, before anything is heard of it. */
  get onDidStart(): vscode.Event<LanguageClient> {
    return this.#started.event;
  }

  /** Comes when a store holds something else than before, or another server says what. */
  get onDidChangeStores(): vscode.Event<void> {
    return this.#changed.event;
  }

  /** Comes when a run began or says more, or another server says what runs there are. */
  get onDidChangeRuns(): vscode.Event<void> {
    return this.#runsChanged.event;
  }

  /** The interpreter of the folder that a file is in, or of the server. */
  interpreterOf(file?: vscode.Uri): Interpreter | undefined {
    const folder = file && vscode.workspace.getWorkspaceFolder(file)?.uri.toString();
    const own = this.#served.find((one) => folder === one.folder?.toString());
    return interpreterIn(own ?? this.#served.find(isReady) ?? this.#served[0]);
  }

  /** The interpreter in which something is missing, else that of the server. */
  get incomplete(): Interpreter | undefined {
    return interpreterIn(this.#served.find((one) => !isReady(one)) ?? this.#served[0]);
  }

  /** Starts it, or starts it again; settles when it runs or it is said why not. */
  restart(): Promise<void> {
    if (this.#isWaiting) return this.#queue;
    this.#isWaiting = true;
    this.#queue = this.#queue.then(() => {
      this.#isWaiting = false;
      return this.#restart();
    });
    return this.#queue;
  }

  /** Ends it; the window is about to close. */
  stop(): Promise<void> {
    this.#queue = this.#queue.then(() => this.#stop());
    return this.#queue;
  }

  dispose(): void {
    this.#started.dispose();
    this.#changed.dispose();
    this.#runsChanged.dispose();
    void this.stop();
  }

  async #restart(): Promise<void> {
    await this.#stop();
    if (!vscode.workspace.isTrusted) {
      this.#status.show({
        kind: 'waiting',
        text: 'fxls: restricted',
        detail:
          'fxls traces the code of this folder by running it, which needs your trust.',
        action: { title: 'Manage Workspace Trust', command: 'workbench.trust.manage' },
      });
      return;
    }
    this.#busy('fxls is starting.');
    const folders = await projectFolders();
    this.#served = await Promise.all(
      folders.map(async (folder) => ({
        folder,
        python: await findPython(folder, this.#version, ({ path }) => {
          // What it takes to start passes while Python is asked what it has.
          if (folder === folders[0]) this.#begin(path, folder);
        }),
      })),
    );
    void setContext(
      'missing',
      this.#served.some(({ python }) => python.kind === 'incomplete'),
    );
    const lack = this.#lack();
    if (lack !== undefined) this.#log.warn(lack.detail);
    for (const { folder, python } of this.#served.filter(isReady)) {
      const { path, found } = python.interpreter;
      const where = this.#served.length > 1 ? ` for ${folder?.fsPath ?? ''}` : '';
      this.#log.info(`Python${where}: ${path}, from ${found}`);
    }
    const first = this.#served.find(isReady);
    if (first === undefined || first.folder !== folders[0]) this.#end();
    if (first !== undefined) {
      await this.#start(first.python.interpreter, first.python.fxls, first.folder);
    } else if (lack !== undefined) {
      this.#status.show(lack);
    }
  }

  #begin(python: string, folder: vscode.Uri | undefined): ServerProcess {
    this.#process = new ServerProcess(python, folder?.fsPath, showsTorch());
    return this.#process;
  }

  #end(): void {
    this.#process?.end();
    this.#process = undefined;
  }

  /** What is missing in the first folder where something is. */
  #lack(): Shown | undefined {
    for (const { folder, python } of this.#served) {
      if (python.kind === 'ready') continue;
      const state = complaint(python, this.#version);
      if (folder === undefined || this.#served.length === 1) return state;
      return { ...state, detail: `${path.basename(folder.fsPath)}: ${state.detail}` };
    }
    return undefined;
  }

  async #start(
    interpreter: Interpreter,
    version: string,
    folder: vscode.Uri | undefined,
  ): Promise<void> {
    const process = this.#process ?? this.#begin(interpreter.path, folder);
    const client = new Connection(
      'fxls',
      'fxls',
      () => process.take(),
      this.#options(interpreter, folder),
    );
    client.registerFeature(experimental);
    client.onDidChangeState(({ newState }) => {
      void setContext('running', newState === State.Running);
      // It runs before it has told VS Code what it can be asked.
      if (newState === State.Running) {
        void client.start().then(() => {
          this.#ready();
        });
      }
    });
    client.onNotification(serverStatus, ({ health, quiescent, message }) => {
      const detail = message ?? `fxls ${version} with ${interpreter.path}`;
      if (health === 'error') {
        this.#status.show({
          kind: 'problem',
          text: 'fxls',
          detail,
          action: LOG,
        });
      } else if (quiescent) {
        this.#ready();
      } else {
        this.#busy(detail);
      }
    });
    this.#client = client;
    // A connection has one listener for each message.
    client.onNotification(changed, () => {
      this.#changed.fire();
    });
    client.onNotification(runsChanged, () => {
      this.#runsChanged.fire();
    });
    this.#started.fire(client);
    this.#changed.fire();
    this.#runsChanged.fire();
    try {
      await client.start();
    } catch (error) {
      this.#log.error(String(error));
      this.#status.show({
        kind: 'problem',
        text: 'fxls: not started',
        detail: `The fxls server of ${interpreter.path} does not start.`,
        action: LOG,
      });
    }
  }

  async #stop(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    try {
      if (client?.needsStop() === true) await client.stop(FAREWELL);
    } catch (error) {
      // A server that does not answer is ended by force; work goes on with another.
      this.#log.warn(String(error));
    }
    this.#end();
  }

  #busy(detail: string): void {
    this.#status.show({ kind: 'busy', text: 'fxls', detail, action: LOG });
  }

  #ready(): void {
    const lack = this.#lack();
    if (lack !== undefined) {
      // The other folders are served.
      this.#status.show(lack);
      return;
    }
    const used = this.#served
      .filter(isReady)
      .map(({ folder, python: { fxls, interpreter } }) => {
        const where =
          this.#served.length > 1 ? `${path.basename(folder?.fsPath ?? '')}: ` : '';
        return `${where}fxls ${fxls} with ${interpreter.path}, from ${interpreter.found}`;
      });
    this.#status.show({
      kind: 'ready',
      text: 'fxls',
      detail: used.join('\n\n'),
      action: LOG,
    });
  }

  /** What is set for each of several folders. */
  #folders(): Record<string, { python?: string; store?: string }> {
    return Object.fromEntries(
      this.#served.map((one) => {
        const python = interpreterIn(one)?.path;
        const settings = vscode.workspace.getConfiguration('fxls', one.folder);
        const store = settings.get<string>('store', '');
        const root = one.folder?.fsPath ?? '';
        return [
          String(one.folder),
          {
            ...(python === undefined ? {} : { python }),
            ...(store === ''
              ? {}
              : { store: store.includes('://') ? store : path.resolve(root, store) }),
          },
        ];
      }),
    );
  }

  #options(
    interpreter: Interpreter,
    folder: vscode.Uri | undefined,
  ): LanguageClientOptions {
    const settings = vscode.workspace.getConfiguration('fxls', folder);
    const store = settings.get<string>('store', '');
    let losses = 0;
    return {
      // Generated code has a scheme of its own where it always shows the newest.
      documentSelector: [
        { scheme: 'file', language: 'python' },
        { scheme: 'fxls', language: 'python' },
        { scheme: 'file', pattern: '**/pyproject.toml' },
      ],
      outputChannel: this.#log,
      initializationOptions: {
        format: SETTINGS_FORMAT,
        trusted:
          vscode.workspace.isTrusted && settings.get<boolean>('traceAutomatically', true),
        python: interpreter.path,
        timeLimit: settings.get<number>('timeLimit', 60),
        producers: settings.get<string[]>('producers', ['engine', 'export', 'compile']),
        programs: settings.get<string>('programs', 'ask'),
        remarks: settings.get<string>('remarks', 'hint'),
        ...(this.#served.length > 1 ? { folders: this.#folders() } : {}),
        ...(store === '' ? {} : { store }),
      },
      initializationFailedHandler: () => false,
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue }),
        closed: () => {
          losses += 1;
          if (losses <= LOSSES) {
            this.#busy('fxls is starting again: its server ended.');
            return { action: CloseAction.Restart, handled: true };
          }
          this.#status.show({
            kind: 'problem',
            text: 'fxls: stopped',
            detail: `The fxls server ended ${losses} times.`,
            action: RESTART,
          });
          return { action: CloseAction.DoNotRestart, handled: true };
        },
      },
      // A hover has a link to the whole table.
      markdown: { isTrusted: { enabledCommands: [TABLE] } },
      middleware: {
        // Other clients show a table as a text.
        executeCommand: (command, values, next) =>
          command === TABLE && typeof values[0] === 'string'
            ? vscode.commands.executeCommand('fxls.showTable', { uri: values[0] })
            : (next(command, values) as unknown),
        provideInlineValues: async (document, viewPort, context, token, next) =>
          shortened((await next(document, viewPort, context, token)) ?? [], context),
        window: {
          showDocument: async (params, token, next) => {
            const uri = vscode.Uri.parse(params.uri);
            if (params.external === true || !isListing(uri)) return next(params, token);
            const selection = params.selection;
            await showListing(uri, selection && rangeOf(selection.start, selection.end));
            return { success: true };
          },
        },
        workspace: {
          handleApplyEdit: (params, next) =>
            writtenAndSaved(params, () => next(params, NOT_CANCELLED)),
        },
      },
    };
  }
}

/** What the server asks for is done to its end. */
const NOT_CANCELLED = new vscode.CancellationTokenSource().token;

/** Whether a model may be open: then its trace, which imports torch, comes next. */
function showsTorch(): boolean {
  return (
    vscode.workspace.getConfiguration('fxls').get<boolean>('traceAutomatically', true) &&
    vscode.workspace.textDocuments.some(
      (one) => one.languageId === 'python' && importsTorch(one.getText()),
    )
  );
}

/** A folder, and what was found out about its Python. */
interface Served {
  readonly folder: vscode.Uri | undefined;
  readonly python: Python;
}

type Ready = Served & { readonly python: Extract<Python, { kind: 'ready' }> };

function isReady(one: Served): one is Ready {
  return one.python.kind === 'ready';
}

function interpreterIn(one: Served | undefined): Interpreter | undefined {
  return one !== undefined && 'interpreter' in one.python
    ? one.python.interpreter
    : undefined;
}

/** Sets what `when` clauses ask for. */
export async function setContext(name: string, value: boolean): Promise<void> {
  await vscode.commands.executeCommand('setContext', `fxls.${name}`, value);
}

/** So often a server that ends is started again by itself. */
const LOSSES = 3;

/** Milliseconds that a server has to end its worker. */
const FAREWELL = 5000;

const LOG: Action = { title: 'Show Log', command: 'fxls.showLog' };
const RESTART: Action = { title: 'Restart fxls', command: 'fxls.restart' };

const experimental: StaticFeature = {
  fillClientCapabilities: (capabilities) => {
    capabilities.experimental = EXPERIMENTAL;
  },
  initialize: () => undefined,
  getState: () => ({ kind: 'static' }),
  clear: () => undefined,
};

interface Position {
  readonly line: number;
  readonly character: number;
}

function rangeOf(start: Position, end: Position): vscode.Range {
  return new vscode.Range(start.line, start.character, end.line, end.character);
}
