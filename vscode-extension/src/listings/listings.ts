// Generated code in the editor: what is a listing, and where it is shown.

import * as vscode from 'vscode';

/** Whether a document is a listing: the store alone gives names like these. */
export function isListing(uri: vscode.Uri): boolean {
  if (uri.scheme === 'fxls') return uri.path.endsWith('.py');
  return uri.scheme !== 'fxls-normalized' && NAME.test(uri.path);
}

/** Shows a listing beside the source, or where listings are shown. */
export async function showListing(
  uri: vscode.Uri,
  selection?: vscode.Range,
): Promise<vscode.TextEditor> {
  const editor = await vscode.window.showTextDocument(uri, {
    viewColumn: column(),
    preview: false,
    ...(selection === undefined ? {} : { selection }),
  });
  if (!editor.document.uri.path.includes('/.fxls/')) {
    // `files.readonlyInclude` knows the folder that the store has by default.
    await vscode.commands.executeCommand(READ_ONLY);
  }
  return editor;
}

const NAME = /\/[A-Za-z0-9_]+_[0-9a-f]{12}\.py$/;
const READ_ONLY = 'workbench.action.files.setActiveEditorReadonlyInSession';

/** Where listings are, else beside the active editor. */
function column(): vscode.ViewColumn {
  for (const group of vscode.window.tabGroups.all) {
    const listing = group.tabs.find(
      (tab) => tab.input instanceof vscode.TabInputText && isListing(tab.input.uri),
    );
    if (listing !== undefined) return group.viewColumn;
  }
  return vscode.ViewColumn.Beside;
}
