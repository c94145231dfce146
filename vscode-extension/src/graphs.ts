// The view "Graphs": what the store of the folder holds, newest of each graph.

import { execFile } from 'node:child_process';
import * as vscode from 'vscode';
import { debugEntry } from './debugging.ts';
import { showListing } from './listings.ts';
import type { Server } from './server.ts';

/** A graph of the store, as `fxls list --json` says it. */
export interface Graph {
  readonly identity: {
    readonly module: string;
    readonly qualname: string;
    readonly producer: string;
    readonly stage: string;
    readonly rank: number | null;
  };
  readonly path: string;
  readonly nodes: number | null;
  readonly time: number;
  readonly entry: string | null;
  readonly sources: readonly string[];
}

/** The graphs by name; it is asked again when files of a store come or go. */
export class Graphs implements vscode.TreeDataProvider<Graph>, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<undefined>();
  readonly #server: Server;
  readonly #parts: vscode.Disposable;

  constructor(server: Server) {
    this.#server = server;
    const watcher = vscode.workspace.createFileSystemWatcher('**/.fxls/*.py');
    this.#parts = vscode.Disposable.from(
      watcher,
      watcher.onDidCreate(() => {
        this.refresh();
      }),
      watcher.onDidDelete(() => {
        this.refresh();
      }),
      vscode.window.registerTreeDataProvider('fxls.graphs', this),
      vscode.commands.registerCommand('fxls.refreshGraphs', () => {
        this.refresh();
      }),
      vscode.commands.registerCommand('fxls.debugGraph', debugGraph),
      vscode.commands.registerCommand('fxls.openGraphSource', openSource),
    );
  }

  readonly onDidChangeTreeData = this.#changed.event;

  refresh(): void {
    this.#changed.fire(undefined);
  }

  getTreeItem(graph: Graph): vscode.TreeItem {
    const { module, qualname, producer, stage, rank } = graph.identity;
    const item = new vscode.TreeItem(qualname);
    const uri = vscode.Uri.file(graph.path);
    item.id = [module, qualname, producer, stage, rank ?? ''].join('|');
    item.description = [
      module,
      graph.nodes === null ? 'unreadable' : `${graph.nodes} nodes`,
      stage,
      rank === null ? '' : `rank ${rank}`,
    ]
      .filter((part) => part !== '')
      .join(' · ');
    item.tooltip = [graph.entry ?? '', new Date(graph.time * 1000).toLocaleString()]
      .filter((part) => part !== '')
      .join('\n');
    item.iconPath = new vscode.ThemeIcon('circuit-board');
    item.contextValue = graph.entry === null ? 'graph' : 'graph.entry';
    item.command = { title: 'Open', command: 'vscode.open', arguments: [uri] };
    return item;
  }

  async getChildren(parent?: Graph): Promise<Graph[]> {
    if (parent !== undefined) return [];
    await this.#server.client();
    const python = this.#server.interpreter?.path;
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
    if (python === undefined || folder === undefined) return [];
    const store = vscode.workspace
      .getConfiguration('fxls', folder)
      .get<string>('store', '');
    return listed(python, folder.fsPath, store);
  }

  dispose(): void {
    this.#parts.dispose();
    this.#changed.dispose();
  }
}

async function debugGraph(graph: Graph): Promise<void> {
  const [source] = graph.sources;
  if (source === undefined || graph.entry === null) return;
  const store = vscode.Uri.joinPath(vscode.Uri.file(graph.path), '..').fsPath;
  await showListing(vscode.Uri.file(graph.path));
  await debugEntry(vscode.Uri.file(source), graph.entry, store);
}

async function openSource(graph: Graph): Promise<void> {
  const [source] = graph.sources;
  if (source === undefined) return;
  await vscode.window.showTextDocument(vscode.Uri.file(source));
}

/** What the store holds; nothing when it cannot be asked. */
function listed(python: string, cwd: string, store: string): Promise<Graph[]> {
  const where = store === '' ? [] : ['--store', store];
  return new Promise((resolve) => {
    const options = { cwd, timeout: 20_000, maxBuffer: 1 << 26, windowsHide: true };
    const args = ['-m', 'fxls', 'list', '--json', ...where];
    execFile(python, args, options, (_error, stdout) => {
      resolve(graphsIn(stdout));
    });
  });
}

function graphsIn(text: string): Graph[] {
  try {
    const value = JSON.parse(text) as { listings?: Graph[] };
    return value.listings ?? [];
  } catch {
    return [];
  }
}
