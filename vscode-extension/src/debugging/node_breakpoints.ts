// Breakpoints on nodes: wherever a node of this name runs, in this revision or another.

import * as vscode from 'vscode';
import type { KnownGraphs } from '../graphs/known_graphs.ts';
import { isListing } from '../listings/listings.ts';
import { implementations } from '../listings/linked.ts';
import type { GraphItem } from '../server/protocol.ts';

export function registerNodeBreakpoints(graphs: KnownGraphs): vscode.Disposable {
  return vscode.commands.registerCommand('fxls.breakOnNode', async (given?: unknown) => {
    const name = typeof given === 'string' ? given : await nodeAtCursor(graphs);
    if (name !== undefined) toggle(name);
  });
}

/** Sets a breakpoint on a node, or removes the one that is there. */
export function toggleBreak(graph: GraphItem, node: number): void {
  const item = graph.nodes[node];
  if (item !== undefined) toggle(named(graph, item.name));
}

function toggle(node: string): void {
  const name = `node:${node}`;
  const there = vscode.debug.breakpoints.filter(
    (each) => each instanceof vscode.FunctionBreakpoint && each.functionName === name,
  );
  if (there.length > 0) vscode.debug.removeBreakpoints(there);
  else vscode.debug.addBreakpoints([new vscode.FunctionBreakpoint(name)]);
}

/** `Net.relu`, as breakpoints name nodes. */
function named({ qualname }: GraphItem, node: string): string {
  return `${qualname.split('.').at(-1) ?? ''}.${node}`;
}

/** The node that the cursor is on, in a listing; in a source, one that was made there. */
async function nodeAtCursor(graphs: KnownGraphs): Promise<string | undefined> {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined) return undefined;
  const { document, selection } = editor;
  if (isListing(document.uri)) {
    return nodesOn(graphs, document.uri, selection.active.line).then(([first]) => first);
  }
  const found = await implementations(document.uri, selection.active);
  const names = new Set<string>();
  for (const { uri, range } of found) {
    if (!isListing(uri)) continue;
    for (const name of await nodesOn(graphs, uri, range.start.line)) names.add(name);
  }
  if (names.size < 2) return [...names][0];
  return vscode.window.showQuickPick([...names], { title: 'Break on the node' });
}

async function nodesOn(
  graphs: KnownGraphs,
  listing: vscode.Uri,
  line: number,
): Promise<string[]> {
  const graph = await graphs.of(listing);
  if (graph === null) return [];
  const nodes = graph.nodes.filter((node) => node.line === line);
  return nodes.map(({ name }) => named(graph, name));
}
