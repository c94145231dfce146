// Lets a person choose the interpreter among those of the machine.

import * as vscode from 'vscode';
import { findInterpreters, type Interpreter } from './interpreters.ts';
import { type Installed, probe } from './probe.ts';
import { projectFolder } from './project.ts';
import { compare, OLDEST } from './python.ts';

/** An interpreter in the list; without one it leads to a dialog for files. */
interface Choice extends vscode.QuickPickItem {
  readonly interpreter?: Interpreter;
}

/** What is chosen becomes the setting, which starts fxls again. */
export async function choosePython(version: string): Promise<void> {
  if (!vscode.workspace.isTrusted) {
    // To ask an interpreter of the folder what it has is to run it.
    await vscode.commands.executeCommand('workbench.trust.manage');
    return;
  }
  const open = vscode.workspace.workspaceFolders ?? [];
  const which =
    open.length > 1
      ? await vscode.window.showWorkspaceFolderPick({ placeHolder: 'For which folder?' })
      : open[0];
  if (which === undefined && open.length > 1) return;
  const folder = which?.uri ?? (await projectFolder());
  const chosen = await vscode.window.showQuickPick(choices(folder, version), {
    title: `The Python that has your packages; fxls ${version} belongs into it`,
    placeHolder: 'Choose a Python',
    matchOnDescription: true,
    matchOnDetail: true,
  });
  if (chosen === undefined) return;
  const python = chosen.interpreter?.path ?? (await choosePath(folder));
  if (python === undefined) return;
  const { Global, Workspace, WorkspaceFolder } = vscode.ConfigurationTarget;
  const target = open.length > 1 ? WorkspaceFolder : open.length > 0 ? Workspace : Global;
  const settings = vscode.workspace.getConfiguration('fxls', which);
  await settings.update('python', python, target);
}

async function choices(
  folder: vscode.Uri | undefined,
  version: string,
): Promise<readonly Choice[]> {
  const found = await findInterpreters(folder);
  const answers = await Promise.all(found.map((one) => probe(one.path)));
  const rows = found.map((interpreter, index) => {
    const installed = answers[index] ?? '';
    return {
      interpreter,
      rank: rankOf(installed, version),
      label: typeof installed === 'string' ? 'Python' : `Python ${installed.version}`,
      description: interpreter.path,
      detail: `${describe(installed)}, found by ${interpreter.found}`,
    };
  });
  // The order in which they were found is kept among those that have as much.
  rows.sort((one, other) => one.rank - other.rank);
  return [...rows, { label: '$(folder) Another one …', alwaysShow: true }];
}

/** What is in it, in words. */
export function describe(installed: Installed | string): string {
  if (typeof installed === 'string') return `cannot be used: ${installed}`;
  const { version, torch, fxls } = installed;
  if (compare(version, OLDEST) < 0) return `too old: fxls needs Python ${OLDEST}`;
  const has = torch === null ? 'no torch' : `torch ${torch}`.trim();
  return `${has}, ${fxls === null ? 'no fxls' : `fxls ${fxls}`}`;
}

/** The fewer steps it takes until fxls runs with it, the less. */
export function rankOf(installed: Installed | string, wanted: string): number {
  if (typeof installed === 'string') return 4;
  const { version, torch, fxls } = installed;
  if (compare(version, OLDEST) < 0) return 3;
  if (torch === null) return 2;
  return fxls === wanted ? 0 : 1;
}

async function choosePath(folder: vscode.Uri | undefined): Promise<string | undefined> {
  const chosen = await vscode.window.showOpenDialog({
    title: 'The Python that has your packages, as .venv/bin/python',
    openLabel: 'Use this Python',
    ...(folder === undefined ? {} : { defaultUri: folder }),
  });
  return chosen?.[0]?.fsPath;
}
