// The folder that a window is about.

import { access } from 'node:fs/promises';
import * as path from 'node:path';
import * as vscode from 'vscode';

/** The folders that are open, or the one that stands for them; undefined is none. */
export async function projectFolders(): Promise<readonly (vscode.Uri | undefined)[]> {
  const open = vscode.workspace.workspaceFolders ?? [];
  return open.length > 1 ? open.map(({ uri }) => uri) : [await projectFolder()];
}

/**
 * The folder that is open; in a window without one, the project that the Python file
 * in front is part of.
 */
export async function projectFolder(): Promise<vscode.Uri | undefined> {
  const open = vscode.workspace.workspaceFolders?.[0]?.uri;
  if (open !== undefined) return open;
  const files = [
    vscode.window.activeTextEditor?.document,
    ...vscode.workspace.textDocuments,
  ];
  const file = files.find(
    (document) => document?.languageId === 'python' && document.uri.scheme === 'file',
  );
  if (file === undefined) return undefined;
  const start = path.dirname(file.uri.fsPath);
  for (let folder = start; folder !== path.dirname(folder); folder = path.dirname(folder)) {
    for (const name of ['.venv', 'pyproject.toml', '.git']) {
      if (await isThere(path.join(folder, name))) return vscode.Uri.file(folder);
    }
  }
  return vscode.Uri.file(start);
}

async function isThere(file: string): Promise<boolean> {
  try {
    await access(file);
    return true;
  } catch {
    return false;
  }
}
