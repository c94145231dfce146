// What stops a program besides breakpoints: the first node whose value breaks a rule.

import * as vscode from 'vscode';
import { breaksOn, RULES, VARIABLE } from './rule_filters.ts';

/** Lets a person choose, for the sessions to come and the one that is stopped. */
export function registerBreakOn(): vscode.Disposable {
  return vscode.Disposable.from(
    vscode.commands.registerCommand('fxls.breakOn', chooseRules),
    vscode.workspace.onDidChangeConfiguration(async (change) => {
      if (change.affectsConfiguration('fxls.breakOn')) await tell(rulesOf(undefined));
    }),
  );
}

/** The rules of the settings of a folder. */
export function rulesOf(folder: vscode.WorkspaceFolder | undefined): readonly string[] {
  const settings = vscode.workspace.getConfiguration('fxls', folder);
  return settings.get<string[]>('breakOn', []);
}

/** The environment that tells a program of rules. */
export function asEnvironment(rules: readonly string[]): Record<string, string> {
  return rules.length === 0 ? {} : { [VARIABLE]: rules.join(',') };
}

async function chooseRules(): Promise<void> {
  const chosen = new Set(rulesOf(undefined));
  const picked = await vscode.window.showQuickPick(
    RULES.map(({ rule: label, when: detail }) => ({
      ...{ label, detail, picked: chosen.has(label) },
    })),
    { title: 'Stop at the first node when', canPickMany: true },
  );
  if (picked === undefined) return;
  const target =
    vscode.workspace.workspaceFolders === undefined
      ? vscode.ConfigurationTarget.Global
      : vscode.ConfigurationTarget.Workspace;
  await vscode.workspace.getConfiguration('fxls').update(
    'breakOn',
    picked.map(({ label }) => label),
    target,
  );
}

/** Tells the program that is stopped, when there is one. */
async function tell(rules: readonly string[]): Promise<void> {
  const frame = vscode.debug.activeStackItem;
  if (!(frame instanceof vscode.DebugStackFrame)) return;
  const { session, frameId } = frame;
  if (session.type !== 'fxls' && session.type !== 'debugpy') return;
  try {
    await session.customRequest('evaluate', breaksOn(rules, frameId));
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    void vscode.window.showWarningMessage(
      `The program does not take the rules: ${message}`,
    );
  }
}
