// The view "Runs": what ran, what torch.compile did in it, and what each leads to.

import * as path from 'node:path';
import * as vscode from 'vscode';
import { passName } from '../graphs/first_pass.ts';
import type { KnownGraphs } from '../graphs/known_graphs.ts';
import { joined, spoken, when } from '../graphs/wording.ts';
import { below, callsOf, type Row, rowsOf } from './rows.ts';
import {
  type CompilationItem,
  type PlaceItem,
  type RankItem,
  type RemarkItem,
  run,
  type RunItem,
  runs,
} from '../server/protocol.ts';
import { type Server, setContext } from '../server/server.ts';

/** The view; it is asked again when the server says that a run says more. */
export class Runs implements vscode.TreeDataProvider<Row>, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<undefined>();
  readonly #server: Server;
  readonly #graphs: KnownGraphs;
  readonly #parts: vscode.Disposable;

  constructor(server: Server, graphs: KnownGraphs) {
    this.#server = server;
    this.#graphs = graphs;
    const refresh = (): void => {
      this.#changed.fire(undefined);
    };
    this.#parts = vscode.Disposable.from(
      vscode.window.createTreeView('fxls.runs', {
        treeDataProvider: this,
        showCollapseAll: true,
      }),
      vscode.commands.registerCommand('fxls.refreshRuns', refresh),
      server.onDidChangeRuns(refresh),
    );
  }

  readonly onDidChangeTreeData = this.#changed.event;

  getTreeItem(row: Row): vscode.TreeItem {
    const item = itemOf(row);
    item.id = row.id;
    item.accessibilityInformation = { label: spoken(item) };
    return item;
  }

  async getChildren(row?: Row): Promise<Row[]> {
    const client = await this.#server.client();
    if (client === undefined) return [];
    if (row === undefined) {
      const found = (await client.sendRequest(runs, {})) ?? [];
      // What is said of an empty view would else take the keyboard while it is filled.
      await setContext('noRuns', found.length === 0);
      return found.map((item) => ({ kind: 'run', item, id: item.id }));
    }
    if (row.kind === 'run') {
      const overview = await client.sendRequest(run, { run: row.item.id });
      return overview === null ? [] : rowsOf(row.item.id, overview);
    }
    if (row.kind !== 'code') return below(row) ?? [];
    const graph = await this.#graphs.of(vscode.Uri.parse(row.item.uri));
    return callsOf(row, graph?.nodes ?? []);
  }

  dispose(): void {
    this.#parts.dispose();
    this.#changed.dispose();
  }
}

function itemOf(row: Row): vscode.TreeItem {
  switch (row.kind) {
    case 'run':
      return runItem(row.item);
    case 'compilation':
      return compilationItem(row.item);
    case 'again':
      return againItem(row.item);
    case 'remark':
      return remarkItem(row.item);
    case 'change': {
      const { name, ordinal, change, stage, raised, uri } = row.item;
      const title = passName(name, ordinal);
      const item = leaf(title, raised === undefined ? 'wand' : 'error');
      // It changed a graph, so it is written in bold.
      item.label = { label: title, highlights: [[0, title.length]] };
      item.description = joined([raised && `raised ${raised}`, change, stage]);
      if (uri !== undefined) item.command = opens(uri);
      return item;
    }
    case 'guards': {
      const item = leaf(counted(row.item.count, 'guard'), 'shield');
      item.command = opens(row.item.document);
      return item;
    }
    case 'patterns': {
      const matched = row.item.reduce((sum, one) => sum + one.matched, 0);
      return branch('Patterns', 'regex', counted(matched, 'match', 'matches'));
    }
    case 'pattern': {
      const { name, ran, matched, of, place } = row.item;
      const item = leaf(name, 'regex');
      const said = `ran ${counted(ran, 'time')} and matched ${matched}`;
      item.description = joined([said, of && `in ${of}`]);
      if (place !== undefined) leads(item, place);
      return item;
    }
    case 'kernels':
      return branch('Kernels', 'chip', counted(row.item.length, 'listing'));
    case 'code': {
      const { qualname, stage, uri } = row.item;
      const item = branch(qualname, 'file-code', stage);
      item.command = opens(uri);
      return item;
    }
    case 'call': {
      const { node, uri } = row.item;
      const item = leaf(node.name, 'symbol-function');
      item.description = (node.computes ?? []).join(', ');
      const { line, character } = node;
      item.command = opens(uri, new vscode.Range(line, character, line, character));
      return item;
    }
    case 'ranks':
      return branch('Ranks', 'server', ranksSaid(row.item));
    case 'rank':
      return rankItem(row.item);
    case 'source': {
      const item = leaf('From the source', 'go-to-file');
      leads(item, row.item);
      return item;
    }
    case 'phases': {
      const [longest] = row.item;
      const said = longest && `${longest.name} ${duration(longest.seconds)}`;
      const item = branch('Time by phase', 'watch', said);
      item.tooltip = 'Phases lie in one another.';
      return item;
    }
    case 'phase': {
      const item = leaf(row.item.name, 'watch');
      item.description = duration(row.item.seconds);
      return item;
    }
    case 'more': {
      const item = leaf(`and ${row.item} more compilations`, 'ellipsis');
      item.description = '`fxls runs` has them all';
      return item;
    }
  }
}

function runItem(item: RunItem): vscode.TreeItem {
  const { rank, state, start } = item;
  const program = item.program === undefined ? item.id : path.basename(item.program);
  const found = branch([program, ...(item.arguments ?? [])].join(' '), STATES[state]);
  found.description = joined([
    rank === undefined ? undefined : `rank ${rank}`,
    ...outcomesOf(item),
    when(start),
  ]);
  found.tooltip = joined([item.program, `run ${item.id}`]);
  found.contextValue = 'run';
  return found;
}

/** How a run ended, and what is counted of it. */
function outcomesOf(item: RunItem): (string | undefined)[] {
  const { compilations = 0, recompilations = 0, breaks = 0, limits = 0 } = item;
  const { errors = 0, skipped = 0, raised, state, seconds = 0 } = item;
  return [
    raised === undefined ? (state === 'ended' ? undefined : state) : `raised ${raised}`,
    counted(compilations, 'compilation'),
    some(recompilations, 'recompilation'),
    some(breaks, 'graph break'),
    some(limits, 'limit'),
    some(errors, 'error'),
    skipped === 0 ? undefined : `${skipped} skipped`,
    duration(seconds),
  ];
}

function ranksSaid(ranks: readonly RankItem[]): string {
  const other = ranks.filter(({ graph }) => graph !== undefined);
  const [first] = other;
  if (first === undefined) return `${ranks.length} with the same graphs`;
  const low = `from rank ${ranks[0]?.rank ?? 0}`;
  const differ = other.length === 1 ? 'differs' : `and ${other.length - 1} more differ`;
  return `${ranks.length}, rank ${first.rank} ${differ} ${low}`;
}

/** A rank; it leads to the first node that the lowest one has otherwise. */
function rankItem(item: RankItem): vscode.TreeItem {
  const { rank, run, graph, summary, node, uri, line = 0, place } = item;
  const found =
    place === undefined
      ? leaf(`rank ${rank}`, STATES[run.state])
      : branch(`rank ${rank}`, STATES[run.state]);
  found.description = joined([
    graph === undefined ? undefined : `differs in ${graph}: ${summary ?? ''}`,
    node === undefined ? undefined : `first at ${node}`,
    ...outcomesOf(run),
  ]);
  found.tooltip = `run ${run.id}`;
  if (uri !== undefined) found.command = opens(uri, new vscode.Range(line, 0, line, 0));
  return found;
}

function compilationItem(item: CompilationItem): vscode.TreeItem {
  const { outcome, cause, attempts = 1, nodes, seconds, cached = [], place } = item;
  const found = branch(`${item.id} ${item.function}`, OUTCOMES[outcome] ?? 'question');
  if (below({ kind: 'compilation', item, id: '' })?.length === 0) {
    found.collapsibleState = vscode.TreeItemCollapsibleState.None;
  }
  if (outcome !== 'ok' && outcome !== 'running') {
    found.iconPath = new vscode.ThemeIcon(
      OUTCOMES[outcome] ?? 'question',
      new vscode.ThemeColor('list.warningForeground'),
    );
  }
  const changes = item.changes?.length ?? 0;
  found.description = joined([
    outcome,
    cause === 'first' ? undefined : cause,
    attempts > 1 ? `attempt ${attempts}` : undefined,
    nodes === undefined ? undefined : counted(nodes, 'node'),
    changes === 0 ? undefined : `${counted(changes, 'pass', 'passes')} changed a graph`,
    seconds === undefined ? undefined : duration(seconds),
    cached.length === 0 ? undefined : `cached: ${cached.join(', ')}`,
  ]);
  if (place !== undefined) leads(found, place);
  return found;
}

/** Many recompilations in one row, with the first guard that failed. */
function againItem(all: readonly CompilationItem[]): vscode.TreeItem {
  const [first] = all;
  const names = `${first?.id ?? ''} to ${all.at(-1)?.id ?? ''}`;
  const failed = all.flatMap(({ remarks = [] }) => remarks).find(isFailedGuard);
  const seconds = all.reduce((sum, one) => sum + (one.seconds ?? 0), 0);
  const found = branch(`${names} ${first?.function ?? ''}`, 'layers');
  found.description = joined([
    counted(all.length, 'recompilation'),
    failed && `${failed.title}: ${failed.reason}`,
    duration(seconds),
  ]);
  if (failed?.place !== undefined) leads(found, failed.place);
  return found;
}

function remarkItem(item: RemarkItem): vscode.TreeItem {
  const { title, number, reason, hints = [], place } = item;
  const found = leaf([title, number].filter(Boolean).join(' '), 'comment');
  found.description = reason;
  if (place !== undefined) leads(found, place);
  found.tooltip = [reason, ...hints.map((hint) => `help: ${hint}`)].join('\n');
  return found;
}

function isFailedGuard({ subject }: RemarkItem): boolean {
  return subject === 'recompilation';
}

function branch(label: string, icon: string, description?: string): vscode.TreeItem {
  const item = new vscode.TreeItem(label, vscode.TreeItemCollapsibleState.Collapsed);
  item.iconPath = new vscode.ThemeIcon(icon);
  if (description !== undefined) item.description = description;
  return item;
}

function leaf(label: string, icon: string): vscode.TreeItem {
  const item = new vscode.TreeItem(label);
  item.iconPath = new vscode.ThemeIcon(icon);
  return item;
}

/** Lets an item lead to its line. */
function leads(item: vscode.TreeItem, { uri, line, character }: PlaceItem): void {
  const source = vscode.Uri.parse(uri);
  const at = `${path.posix.basename(source.path)}:${line + 1}`;
  item.description = joined([
    typeof item.description === 'string' ? item.description : undefined,
    at,
  ]);
  item.command = opens(uri, new vscode.Range(line, character, line, character));
}

function opens(uri: string, selection?: vscode.Range): vscode.Command {
  return {
    title: 'Open',
    command: 'vscode.open',
    arguments: [vscode.Uri.parse(uri), ...(selection === undefined ? [] : [{ selection }])],
  };
}

function duration(seconds: number): string {
  return `${seconds.toFixed(2)} s`;
}

function some(count: number, one: string): string | undefined {
  return count === 0 ? undefined : counted(count, one);
}

function counted(count: number, one: string, several = `${one}s`): string {
  return `${count} ${count === 1 ? one : several}`;
}

const STATES: Readonly<Record<RunItem['state'], string>> = {
  running: 'run',
  ended: 'check',
  raised: 'error',
  killed: 'circle-slash',
  unknown: 'question',
};

const OUTCOMES: Readonly<Record<string, string>> = {
  running: 'run',
  ok: 'check',
  break: 'debug-disconnect',
  skipped: 'circle-slash',
  limit: 'warning',
  error: 'error',
};
