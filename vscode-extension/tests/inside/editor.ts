// What a person sees of a document, asked of VS Code.

import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import type { Api } from '../../src/extension.ts';
import type { State } from '../../src/server/status.ts';
import { until } from './waiting.ts';

/** A test and what it is called. */
export type Test = readonly [name: string, test: () => Promise<void>];

/** The extension as it is installed. */
export function extension(): vscode.Extension<Api> {
  const found = vscode.extensions.getExtension<Api>('fxls.fxls');
  assert.ok(found, 'the package is installed');
  return found;
}

/** What the status item shows when nothing is being started or traced. */
export async function settled(): Promise<State> {
  const api = await extension().activate();
  return until(api.onDidChangeState, () => {
    const state = api.state();
    return state === undefined || state.kind === 'busy' ? undefined : state;
  });
}

/** A file of the project. */
export function file(name: string): vscode.Uri {
  const folder = vscode.workspace.workspaceFolders?.[0];
  assert.ok(folder, 'a folder is open');
  return vscode.Uri.joinPath(folder.uri, name);
}

export async function open(name: string): Promise<vscode.TextDocument> {
  const document = await vscode.workspace.openTextDocument(file(name));
  await vscode.window.showTextDocument(document, vscode.ViewColumn.One);
  return document;
}

/** The place of a text, which stands in the document once from the start on. */
export function place(document: vscode.TextDocument, text: string): vscode.Position {
  const offset = document.getText().indexOf(text);
  assert.notEqual(offset, -1, `${document.fileName} has ${text}`);
  return document.positionAt(offset);
}

export async function hover(
  document: vscode.TextDocument,
  at: vscode.Position,
): Promise<string> {
  const found = await vscode.commands.executeCommand<vscode.Hover[]>(
    'vscode.executeHoverProvider',
    document.uri,
    at,
  );
  return found
    .flatMap(({ contents }) => contents)
    .map((content) => (content instanceof vscode.MarkdownString ? content.value : ''))
    .join('\n');
}

/** Where a jump leads: the file, the line from one, and the text. */
export async function jump(
  kind: 'Definition' | 'Implementation',
  document: vscode.TextDocument,
  at: vscode.Position,
): Promise<string[]> {
  const found = await vscode.commands.executeCommand<
    (vscode.Location | vscode.LocationLink)[]
  >(`vscode.execute${kind}Provider`, document.uri, at);
  const texts = found.map(async (link) => {
    const [uri, range] =
      'targetUri' in link
        ? [link.targetUri, link.targetSelectionRange ?? link.targetRange]
        : [link.uri, link.range];
    const there = await vscode.workspace.openTextDocument(uri);
    const name = uri.path.split('/').at(-1) ?? '';
    return `${name}:${range.start.line + 1}: ${there.getText(range)}`;
  });
  return Promise.all(texts);
}

/** The code lenses that a command stands behind, by their line from one. */
export async function lenses(document: vscode.TextDocument): Promise<string[]> {
  const found = await vscode.commands.executeCommand<vscode.CodeLens[]>(
    'vscode.executeCodeLensProvider',
    document.uri,
    100,
  );
  return found.map(
    ({ range, command }) => `${range.start.line + 1}: ${command?.title ?? ''}`,
  );
}

export async function hints(document: vscode.TextDocument): Promise<string[]> {
  return (await hintsBehind(document)).map(({ text }) => text);
}

/** What is shown behind the code of each line. */
export async function hintsBehind(
  document: vscode.TextDocument,
): Promise<{ readonly line: number; readonly text: string }[]> {
  const whole = new vscode.Range(0, 0, document.lineCount, 0);
  const found = await vscode.commands.executeCommand<vscode.InlayHint[]>(
    'vscode.executeInlayHintProvider',
    document.uri,
    whole,
  );
  return found.map(({ label, position }) => ({
    line: position.line,
    text: typeof label === 'string' ? label : label.map(({ value }) => value).join(''),
  }));
}
