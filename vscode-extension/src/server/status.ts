// One item in the status bar: what is going on, and the one action that helps.

import * as vscode from 'vscode';

/** What a click does. */
export interface Action {
  readonly title: string;
  readonly command: string;
  readonly arguments?: readonly unknown[];
}

/** What is shown. */
export interface State {
  readonly kind: 'busy' | 'ready' | 'waiting' | 'problem';
  readonly text: string;
  readonly detail: string;
  readonly action: Action;
}

/** The item; a problem is also said once as a message. */
export class Status implements vscode.Disposable {
  readonly #item: vscode.StatusBarItem;
  readonly #said = new Set<string>();
  readonly #changed = new vscode.EventEmitter<State>();
  #state: State | undefined;

  constructor() {
    this.#item = vscode.window.createStatusBarItem(
      'fxls.status',
      vscode.StatusBarAlignment.Right,
      90,
    );
    this.#item.name = 'fxls';
  }

  /** Comes when something else is shown. */
  get onDidChange(): vscode.Event<State> {
    return this.#changed.event;
  }

  /** What is shown; undefined before anything is. */
  get state(): State | undefined {
    return this.#state;
  }

  show(state: State): void {
    this.#state = state;
    this.#item.text = `${ICONS[state.kind]} ${state.text}`;
    this.#item.tooltip = `${state.detail}\n\nClick: ${state.action.title}`;
    this.#item.accessibilityInformation = { label: `${state.text}. ${state.detail}` };
    this.#item.command = {
      title: state.action.title,
      command: state.action.command,
      arguments: [...(state.action.arguments ?? [])],
    };
    this.#item.backgroundColor =
      state.kind === 'problem'
        ? new vscode.ThemeColor('statusBarItem.warningBackground')
        : undefined;
    this.#item.show();
    this.#changed.fire(state);
    if (state.kind === 'problem' && !this.#said.has(state.detail)) {
      this.#said.add(state.detail);
      void offer(state.detail, state.action);
    }
  }

  dispose(): void {
    this.#item.dispose();
    this.#changed.dispose();
  }
}

/** A message with one action, which is done when it is chosen. */
export async function offer(message: string, action: Action): Promise<void> {
  const chosen = await vscode.window.showWarningMessage(message, action.title);
  if (chosen !== undefined) {
    await vscode.commands.executeCommand(action.command, ...(action.arguments ?? []));
  }
}

const ICONS = {
  busy: '$(sync~spin)',
  ready: '$(circuit-board)',
  waiting: '$(shield)',
  problem: '$(warning)',
} as const;
