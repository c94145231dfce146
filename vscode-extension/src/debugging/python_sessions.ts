// Sessions of the Python extension: other people's, and left alone unless asked for.

import { readFile } from 'node:fs/promises';
import * as vscode from 'vscode';
import { importsTorch } from './imports_torch.ts';

/** Whether sessions of type `debugpy` are to be as those of type `fxls`. */
export function isWanted(folder: vscode.WorkspaceFolder | undefined): boolean {
  return settings(folder).get<boolean>(SETTING, false);
}

/** Asks once, ever, when a program that imports torch starts in such a session. */
export async function offerOnce(
  memory: vscode.Memento,
  folder: vscode.WorkspaceFolder | undefined,
  configuration: vscode.DebugConfiguration,
): Promise<void> {
  const program: unknown = configuration['program'];
  if (typeof program !== 'string' || configuration.request !== 'launch') return;
  const said = settings(folder).inspect<boolean>(SETTING);
  const values = [said?.globalValue, said?.workspaceValue, said?.workspaceFolderValue];
  if (values.some((value) => value !== undefined) || memory.get(OFFERED) === true) return;
  const source = await readFile(program, 'utf8').catch(() => '');
  if (!importsTorch(source)) return;
  await memory.update(OFFERED, true);
  const chosen = await vscode.window.showInformationMessage(
    'This program imports torch. Should sessions of the Python debugger step from ' +
      "generated code into torch's modules, and stop for the rules of fxls?",
    TURN_ON,
    LEAVE,
  );
  if (chosen === TURN_ON) {
    await settings(folder).update(SETTING, true, vscode.ConfigurationTarget.Global);
  }
}

function settings(
  folder: vscode.WorkspaceFolder | undefined,
): vscode.WorkspaceConfiguration {
  return vscode.workspace.getConfiguration('fxls', folder);
}

const SETTING = 'debugPythonSessions';
const OFFERED = 'fxls.offeredPythonSessions';
const TURN_ON = 'Turn On';
const LEAVE = 'Leave Them Alone';
