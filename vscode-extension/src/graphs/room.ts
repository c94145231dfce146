// Where the page of a graph has room: beside one column, and below where there are two.

import * as vscode from 'vscode';

/** A narrower page, in pixels, is a tab among the others; VS Code tells no widths. */
export const NARROW = 480;

/** The column to open a page in; those of the pages that are open are shared. */
export async function roomFor(
  pages: readonly (vscode.ViewColumn | undefined)[],
): Promise<vscode.ViewColumn> {
  const shared = pages.find((column) => column !== undefined);
  if (shared !== undefined) return shared;
  const layout = await vscode.commands.executeCommand<Layout>('vscode.getEditorLayout');
  if (columns(layout) < 2) return vscode.ViewColumn.Beside;
  await vscode.commands.executeCommand('workbench.action.newGroupBelow');
  return vscode.ViewColumn.Active;
}

/** How many groups stand side by side. */
function columns({ orientation, groups }: Layout): number {
  return orientation === 0
    ? groups.length
    : Math.max(1, ...groups.map((row) => row.groups?.length ?? 1));
}

interface Layout {
  /** 0: the groups stand side by side; 1: below each other. */
  readonly orientation: number;
  readonly groups: readonly { readonly groups?: readonly unknown[] }[];
}
