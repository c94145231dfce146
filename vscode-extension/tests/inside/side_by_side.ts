// Editors that stand side by side: where they are scrolled to, and what is linked in them.

import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import type { Place } from '../../src/listings/linked.ts';
import { extension, open, place } from './editor.ts';
import { next, until } from './waiting.ts';

/** The editors of a model, of what a pass was given, and of what it made. */
export async function sideBySide(
  model: string,
  made: vscode.Uri,
): Promise<readonly [vscode.TextEditor, vscode.TextEditor, vscode.TextEditor]> {
  await vscode.commands.executeCommand('workbench.action.closeAllEditors');
  await open(model);
  await vscode.commands.executeCommand('fxls.showSideBySide', { uri: made.toString() });
  const columns = [
    vscode.ViewColumn.One,
    vscode.ViewColumn.Two,
    vscode.ViewColumn.Three,
  ].map((column) =>
    vscode.window.visibleTextEditors.find(({ viewColumn }) => viewColumn === column),
  );
  const [one, two, three] = columns;
  assert.ok(one !== undefined && two !== undefined && three !== undefined);
  return [one, two, three];
}

/** Puts the cursor on a text of a listing; what is linked to that. */
export async function linkedFrom(
  editor: vscode.TextEditor,
  text: string,
): Promise<string[]> {
  const at = place(editor.document, text);
  const { onDidLink } = await extension().activate();
  // The cursor may have been somewhere before, which is linked late.
  const link = next(onDidLink, (each) => each.editor === editor && each.at.isEqual(at));
  editor.selection = new vscode.Selection(at, at);
  return (await link).places.map(shown);
}

/** A place as it is linked: its file, and what stands there. */
function shown({ uri, range }: Place): string {
  const document = vscode.workspace.textDocuments.find(
    (each) => each.uri.path === uri.path,
  );
  return `${name(uri)}: ${document?.getText(range) ?? ''}`;
}

/** Waits until an editor shows a place, because something else was done. */
export async function scrolledTo(
  editor: vscode.TextEditor,
  at: vscode.Position,
  begin: () => void,
): Promise<void> {
  begin();
  await seen(editor, at);
}

/** Waits until an editor shows a place. */
export async function seen(editor: vscode.TextEditor, at: vscode.Position): Promise<void> {
  await until(vscode.window.onDidChangeTextEditorVisibleRanges, () =>
    isSeen(editor, at) ? true : undefined,
  );
}

export function isSeen(editor: vscode.TextEditor, at: vscode.Position): boolean {
  return editor.visibleRanges.some((range) => range.contains(at));
}

export function reveal(editor: vscode.TextEditor, at: vscode.Position): void {
  editor.revealRange(new vscode.Range(at, at), vscode.TextEditorRevealType.InCenter);
}

/** The name of its file. */
export function name(uri: vscode.Uri): string {
  return uri.path.split('/').at(-1) ?? '';
}
