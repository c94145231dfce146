// The view "Graphs": what the stores hold, by model, producer and pass, with revisions.

import * as path from 'node:path';
import * as vscode from 'vscode';
import { passName } from './first_pass.ts';
import { byModel, isStale } from './order.ts';
import { joined, spoken, when } from './wording.ts';
import { type IdentityItem, identities, revisions } from '../server/protocol.ts';
import { type Server, setContext } from '../server/server.ts';

/** A model with graphs of several producers, passes or ranks. */
export interface Model {
  readonly kind: 'model';
  readonly graphs: readonly Graph[];
}

/** An identity: what is followed from revision to revision. */
export interface Graph extends IdentityItem {
  readonly kind: 'graph';
  /** Whether it stands under its model, among others. */
  readonly isNested: boolean;
}

/** A revision of an identity. */
export interface Past {
  readonly kind: 'revision';
  readonly uri: string;
  readonly time: number;
  readonly nodes?: number;
  /** The pass that left it, and which of those with its name that is. */
  readonly madeBy?: string;
  readonly ordinal?: number;
  readonly change?: string;
  readonly compilation?: string;
  readonly isNewest: boolean;
  readonly of: Graph;
}

export type Shelf = Model | Graph | Past;

/** The view; it is asked again when the server says that a store has changed. */
export class Graphs implements vscode.TreeDataProvider<Shelf>, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<undefined>();
  readonly #server: Server;
  readonly #parts: vscode.Disposable;

  constructor(server: Server) {
    this.#server = server;
    this.#parts = vscode.Disposable.from(
      vscode.window.createTreeView('fxls.graphs', {
        treeDataProvider: this,
        canSelectMany: true,
        showCollapseAll: true,
      }),
      vscode.commands.registerCommand('fxls.refreshGraphs', () => {
        this.refresh();
      }),
      server.onDidChangeStores(() => {
        this.refresh();
      }),
    );
  }

  readonly onDidChangeTreeData = this.#changed.event;

  refresh(): void {
    this.#changed.fire(undefined);
  }

  getTreeItem(shelf: Shelf): vscode.TreeItem {
    switch (shelf.kind) {
      case 'model':
        return modelItem(shelf);
      case 'graph':
        return graphItem(shelf);
      case 'revision':
        return revisionItem(shelf);
    }
  }

  async getChildren(parent?: Shelf): Promise<Shelf[]> {
    if (parent?.kind === 'model') return [...parent.graphs];
    if (parent?.kind === 'revision') return [];
    const client = await this.#server.client();
    if (client === undefined) return [];
    if (parent === undefined) {
      const all = (await client.sendRequest(identities, {})) ?? [];
      // What is said of an empty view would else take the keyboard while it is filled.
      await setContext('empty', all.length === 0);
      return models(all);
    }
    const found = (await client.sendRequest(revisions, { uri: parent.document })) ?? [];
    return found.map((revision, index) => ({
      kind: 'revision',
      ...revision,
      isNewest: index === 0,
      of: parent,
    }));
  }

  dispose(): void {
    this.#parts.dispose();
    this.#changed.dispose();
  }
}

/** Graphs of one model stand together, when there are several. */
function models(found: readonly IdentityItem[]): Shelf[] {
  return byModel(found, nameOf).flatMap((group): Shelf[] => {
    const isNested = group.length > 1;
    const graphs = group.map((item): Graph => ({ ...item, kind: 'graph', isNested }));
    return isNested ? [{ kind: 'model', graphs }] : graphs;
  });
}

/** Two folders may have models of one name. */
function nameOf({ module, qualname, uri }: IdentityItem): string {
  return [module, qualname, folderOf(uri) ?? ''].join(' ').trim();
}

/** The folder that a listing is in, where there are several. */
function folderOf(uri: string): string | undefined {
  const { workspaceFolders: open } = vscode.workspace;
  if (open === undefined || open.length < 2) return undefined;
  return vscode.workspace.getWorkspaceFolder(vscode.Uri.parse(uri))?.name;
}

function modelItem({ graphs }: Model): vscode.TreeItem {
  const [first] = graphs;
  const item = new vscode.TreeItem(
    first?.qualname ?? '',
    // What is old takes one line.
    isStale(graphs)
      ? vscode.TreeItemCollapsibleState.Collapsed
      : vscode.TreeItemCollapsibleState.Expanded,
  );
  item.id = first === undefined ? '' : nameOf(first);
  item.description = joined([
    first?.module,
    first && folderOf(first.uri),
    `${graphs.length} graphs`,
  ]);
  item.accessibilityInformation = { label: spoken(item) };
  item.iconPath = new vscode.ThemeIcon('symbol-class');
  item.contextValue = 'model';
  return item;
}

function graphItem(graph: Graph): vscode.TreeItem {
  const { module, qualname, producer, stage, rank, nodes, entry, isNested } = graph;
  const ranked = rank === undefined ? undefined : `rank ${rank}`;
  const made = producer === 'engine' ? undefined : producer;
  const label = isNested ? joined([producer, stage, ranked]) : qualname;
  const item = new vscode.TreeItem(
    label,
    graph.revisions > 1
      ? vscode.TreeItemCollapsibleState.Collapsed
      : vscode.TreeItemCollapsibleState.None,
  );
  item.id = graph.document;
  item.description = joined([
    ...(isNested ? [] : [module, folderOf(graph.uri), made, stage, ranked]),
    counted(nodes),
    graph.stale === true ? 'stale' : undefined,
    when(graph.time),
  ]);
  item.accessibilityInformation = {
    label: spoken(item, graph.revisions > 1 ? `${graph.revisions} revisions` : undefined),
  };
  item.tooltip = [
    joined([`${module}.${qualname}`, producer, stage, ranked]),
    ...(entry === undefined ? [] : [entry]),
    `${graph.revisions} ${graph.revisions === 1 ? 'revision' : 'revisions'}, the newest of ${new Date(graph.time * 1000).toLocaleString()}`,
    ...(graph.stale === true ? ['The source has changed since.'] : []),
  ].join('\n');
  item.iconPath =
    graph.stale === true
      ? new vscode.ThemeIcon('warning', new vscode.ThemeColor('list.warningForeground'))
      : new vscode.ThemeIcon('circuit-board');
  item.contextValue = [
    'graph',
    ...(entry === undefined ? [] : ['entry']),
    ...(graph.sources.length === 0 ? [] : ['source']),
  ].join('.');
  item.command = opens(graph.uri);
  return item;
}

function revisionItem(revision: Past): vscode.TreeItem {
  const { uri, time, nodes, madeBy, ordinal, change, compilation, isNewest } = revision;
  const made = new Date(time * 1000).toLocaleString();
  const item = new vscode.TreeItem(madeBy === undefined ? made : passName(madeBy, ordinal));
  item.id = uri;
  const name = path.posix.basename(uri, '.py');
  item.description = joined([
    change,
    counted(nodes),
    compilation,
    madeBy === undefined ? name.slice(name.lastIndexOf('_') + 1) : when(time),
    isNewest ? 'newest' : undefined,
  ]);
  item.tooltip =
    madeBy === undefined
      ? made
      : `The graph as the pass ${passName(madeBy, ordinal)} left it, ${made}`;
  item.accessibilityInformation = { label: `Revision of ${spoken(item)}` };
  item.iconPath = new vscode.ThemeIcon(madeBy === undefined ? 'history' : 'wand');
  item.contextValue = 'revision';
  item.command = opens(uri);
  return item;
}

function opens(uri: string): vscode.Command {
  return { title: 'Open', command: 'vscode.open', arguments: [vscode.Uri.parse(uri)] };
}

function counted(nodes: number | undefined): string | undefined {
  return nodes === undefined ? undefined : `${nodes} nodes`;
}
