// Saves a picture as a file.

import * as vscode from 'vscode';

/** Asks where to, unless that is given, and writes it there. */
export async function saveSvg(
  svg: string,
  name: string,
  given?: vscode.Uri,
): Promise<vscode.Uri | undefined> {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const where =
    given ??
    (await vscode.window.showSaveDialog({
      filters: { SVG: ['svg'] },
      ...(folder === undefined
        ? {}
        : { defaultUri: vscode.Uri.joinPath(folder, `${name}.svg`) }),
    }));
  if (where === undefined) return undefined;
  await vscode.workspace.fs.writeFile(where, new TextEncoder().encode(svg));
  return where;
}
