// Sources and listings that are side by side scroll together.

import * as vscode from 'vscode';
import { alike } from './alike.ts';
import type { KnownGraphs } from '../graphs/known_graphs.ts';
import { isListing } from './listings.ts';
import { areLinked } from './linked.ts';
import type { GraphItem, NodeItem } from '../server/protocol.ts';

/** Where an editor scrolls, the others show the same nodes. */
export class LinkedScrolling implements vscode.Disposable {
  readonly #graphs: KnownGraphs;
  readonly #listener: vscode.Disposable;
  #asked = 0;

  constructor(graphs: KnownGraphs) {
    this.#graphs = graphs;
    this.#listener = vscode.window.onDidChangeTextEditorVisibleRanges(({ textEditor }) => {
      // The others scroll because this one did.
      if (textEditor === vscode.window.activeTextEditor) void this.#follow(textEditor);
    });
  }

  dispose(): void {
    this.#listener.dispose();
  }

  async #follow(editor: vscode.TextEditor): Promise<void> {
    this.#asked += 1;
    const asked = this.#asked;
    const [seen] = editor.visibleRanges;
    if (!areLinked() || seen === undefined) return;
    const shown = vscode.window.visibleTextEditors.filter(
      (other) => other === editor || other.document.languageId === 'python',
    );
    const listings = shown.filter(({ document }) => isListing(document.uri));
    if (listings.length === 0 || shown.length < 2) return;
    const graphs = new Map<vscode.TextEditor, GraphItem>();
    for (const each of listings) {
      const graph = await this.#graphs.of(each.document.uri);
      if (graph !== null) graphs.set(each, graph);
    }
    if (asked !== this.#asked) return;
    const middle = (seen.start.line + seen.end.line) >> 1;
    const from = graphs.get(editor);
    for (const other of shown) {
      if (other === editor) continue;
      const to = graphs.get(other);
      const line =
        from === undefined
          ? to && nodeLine(to, editor.document.uri, middle)
          : to === undefined
            ? sourceLine(from, middle, other.document.uri)
            : sameNode(from, middle, to);
      if (line === undefined) continue;
      const range = new vscode.Range(line, 0, line, 0);
      other.revealRange(range, vscode.TextEditorRevealType.InCenter);
    }
  }
}

/** The line of a listing with the node that comes from about a line of a source. */
function nodeLine(graph: GraphItem, source: vscode.Uri, line: number): number | undefined {
  const lines = linesIn(graph, source);
  let [best, distance]: [number | undefined, number] = [undefined, Infinity];
  for (const { line: at, origin } of graph.nodes) {
    const from = lines[origin ?? -1];
    if (from === undefined) continue;
    const away = Math.abs(from - line);
    if (away < distance) [best, distance] = [at, away];
  }
  return best;
}

/** The line of a source that the node at about a line of a listing comes from. */
function sourceLine(
  graph: GraphItem,
  line: number,
  source: vscode.Uri,
): number | undefined {
  const lines = linesIn(graph, source);
  const from = graph.nodes.flatMap((node) => {
    const found = lines[node.origin ?? -1];
    // All of the text of a kernel is the kernel.
    return found === undefined ? [] : [{ at: closest(node, line), line: found }];
  });
  return nearest(from, line)?.line;
}

/** For each place its line; nothing for those in other sources. */
function linesIn({ places }: GraphItem, source: vscode.Uri): (number | undefined)[] {
  // Places are many and their sources few, and it is asked with each line scrolled.
  const isThere = new Map<string, boolean>();
  return places.map(({ uri, line }) => {
    const known = isThere.get(uri) ?? vscode.Uri.parse(uri).path === source.path;
    isThere.set(uri, known);
    return known ? line : undefined;
  });
}

/** The line of another listing with what the node at about a line is there. */
function sameNode(from: GraphItem, line: number, to: GraphItem): number | undefined {
  const [first] = from.nodes;
  if (first === undefined) return undefined;
  const at = from.nodes.reduce(
    (best, node, index) =>
      Math.abs(closest(node, line) - line) <
      Math.abs(closest(from.nodes[best] ?? first, line) - line)
        ? index
        : best,
    0,
  );
  for (let away = 0; away < from.nodes.length; away++) {
    for (const node of [at - away, at + away]) {
      const [found] = from.nodes[node] === undefined ? [] : alike(from, node, to);
      if (found !== undefined) return to.nodes[found]?.line;
    }
  }
  return undefined;
}

/** Of the lines of a node the one that is nearest to a line. */
function closest({ line: first, endLine: last = first }: NodeItem, line: number): number {
  return Math.min(Math.max(line, first), last);
}

function nearest<T extends { readonly at: number }>(
  all: readonly T[],
  line: number,
): T | undefined {
  let best: T | undefined;
  for (const each of all) {
    if (best === undefined || Math.abs(each.at - line) < Math.abs(best.at - line)) {
      best = each;
    }
  }
  return best;
}
