// What the server writes into the files of a person, who asked for it by a click.

import * as vscode from 'vscode';
import type { ApplyWorkspaceEditParams } from 'vscode-languageclient/node';

/**
 * Do an edit, and save each file that has no other change: a trace imports what is saved,
 * and its shapes are what the click was for.
 */
export async function writtenAndSaved<T>(
  { edit }: ApplyWorkspaceEditParams,
  write: () => PromiseLike<T> | T,
): Promise<T> {
  const uris = [
    ...Object.keys(edit.changes ?? {}),
    ...(edit.documentChanges ?? []).flatMap((change) =>
      'textDocument' in change ? [change.textDocument.uri] : [],
    ),
  ].map((uri) => vscode.Uri.parse(uri).toString());
  const unsaved = (): vscode.TextDocument[] =>
    vscode.workspace.textDocuments.filter(
      ({ uri, isDirty }) => isDirty && uris.includes(uri.toString()),
    );
  const before = unsaved();
  const result = await write();
  const written = unsaved().filter((document) => !before.includes(document));
  await Promise.all(written.map((document) => document.save()));
  return result;
}
