// What stops a program besides breakpoints: the first node whose value breaks a rule.

import * as vscode from 'vscode';

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

/** The rules that there are, and when a node breaks them. */
const RULES = [
  { rule: 'nan', when: 'A value holds NaN, and no value that went into it does.' },
  {
    rule: 'inf',
    when: 'A value holds an infinite number, and no value that went into it does.',
  },
  { rule: 'grad-nan', when: 'A backward makes NaN of gradients that hold none.' },
  { rule: 'shape', when: 'A value has another shape than the listing records.' },
  { rule: 'dtype-change', when: 'A value has another dtype than the listing records.' },
] as const;

/** The variable of the environment that a program learns rules from. */
const VARIABLE = 'FXLS_BREAK_ON';

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

/** Tells the program of a session; the one of another extension when it is stopped. */
async function tell(rules: readonly string[]): Promise<void> {
  const session = vscode.debug.activeDebugSession;
  const frame = vscode.debug.activeStackItem;
  try {
    if (session?.type === 'fxls') {
      await session.customRequest('fxls/breakOn', { rules });
    } else if (
      frame instanceof vscode.DebugStackFrame &&
      frame.session.type === 'debugpy'
    ) {
      const names = rules.map((rule) => JSON.stringify(rule)).join(', ');
      const expression = `__import__("fxls").break_on(${names})`;
      const asked = { expression, frameId: frame.frameId, context: 'repl' };
      await frame.session.customRequest('evaluate', asked);
    }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    void vscode.window.showWarningMessage(
      `The program does not take the rules: ${message}`,
    );
  }
}
