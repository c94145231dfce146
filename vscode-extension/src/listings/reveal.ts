// Shows a node in the editors: in its listing, and where in the source it comes from.

import * as vscode from 'vscode';
import type { GraphItem } from '../server/protocol.ts';

/**
 * Moves the listing and the source to a node where they are open, and else opens the
 * listing; the page in a column stays in front, and keeps the keyboard.
 */
export async function revealNode(
  graph: GraphItem,
  node: number,
  page: vscode.ViewColumn | undefined,
): Promise<void> {
  const item = graph.nodes[node];
  if (item === undefined) return;
  const listing = vscode.Uri.parse(graph.uri);
  const start = new vscode.Position(item.line, item.character);
  const place = graph.places[item.origin ?? -1];
  const source = place === undefined ? undefined : vscode.Uri.parse(place.uri);
  const hasListing = columnOf(listing, page) !== undefined;
  if (place !== undefined && source !== undefined) {
    const from = new vscode.Position(place.line, place.character);
    const column = columnOf(source, page);
    // Linked views highlight the whole expression.
    if (column !== undefined) await show(source, column, from);
    if (column !== undefined && !hasListing) return;
  }
  const free =
    // Where the page is a tab, there is no room beside it.
    vscode.window.tabGroups.all.length === 1 || page !== vscode.ViewColumn.One
      ? vscode.ViewColumn.One
      : vscode.ViewColumn.Two;
  await show(listing, columnOf(listing, page) ?? free, start);
}

async function show(
  uri: vscode.Uri,
  viewColumn: vscode.ViewColumn,
  at: vscode.Position,
): Promise<void> {
  const selection = new vscode.Range(at, at);
  const editor = await vscode.window.showTextDocument(uri, {
    viewColumn,
    selection,
    preserveFocus: true,
    preview: false,
  });
  revealLine(editor, at.line);
}

/** Scrolls to a line that is not seen: to its start, so that nothing moves sideways. */
export function revealLine(editor: vscode.TextEditor, line: number): void {
  const where = vscode.TextEditorRevealType.InCenterIfOutsideViewport;
  editor.revealRange(new vscode.Range(line, 0, line, 0), where);
}

/** The column that a file is open in; that of the page does not count. */
function columnOf(
  uri: vscode.Uri,
  page: vscode.ViewColumn | undefined,
): vscode.ViewColumn | undefined {
  return vscode.window.tabGroups.all.find(
    (group) =>
      group.viewColumn !== page &&
      group.tabs.some(
        (tab) =>
          tab.input instanceof vscode.TabInputText && tab.input.uri.path === uri.path,
      ),
  )?.viewColumn;
}
