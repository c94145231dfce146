// A graph has a newer revision: tabs, breakpoints and pages move to it.

import * as vscode from 'vscode';
import type { Panels } from '../graphs/panels.ts';
import { type Revised, revised } from '../server/protocol.ts';
import type { Server } from '../server/server.ts';

export function followRevisions(server: Server, panels: Panels): vscode.Disposable {
  return server.onDidStart((client) => {
    client.onNotification(revised, (message) => {
      moveBreakpoints(message);
      panels.revise(vscode.Uri.parse(message.old), vscode.Uri.parse(message.new));
      void moveTabs(message);
    });
  });
}

/** Breakpoints in the old listing stand at the same nodes in the new one. */
function moveBreakpoints({ old, new: next, lines }: Revised): void {
  const path = vscode.Uri.parse(old).path;
  const uri = vscode.Uri.parse(next);
  const lineOf = new Map(lines);
  const moved: vscode.SourceBreakpoint[] = [];
  const gone: vscode.SourceBreakpoint[] = [];
  for (const each of vscode.debug.breakpoints) {
    if (!(each instanceof vscode.SourceBreakpoint)) continue;
    const { uri: from, range } = each.location;
    const line = from.path === path ? lineOf.get(range.start.line) : undefined;
    if (line === undefined) continue;
    const at = new vscode.Location(uri, new vscode.Position(line, 0));
    const { enabled, condition, hitCondition, logMessage } = each;
    gone.push(each);
    moved.push(
      new vscode.SourceBreakpoint(at, enabled, condition, hitCondition, logMessage),
    );
  }
  vscode.debug.removeBreakpoints(gone);
  vscode.debug.addBreakpoints(moved);
}

/** Tabs with the old listing show the new one, at the same node. */
async function moveTabs({ old, new: next, lines }: Revised): Promise<void> {
  const path = vscode.Uri.parse(old).path;
  const tabs = vscode.window.tabGroups.all
    .flatMap((group) => group.tabs)
    .filter(({ input }) => input instanceof vscode.TabInputText && input.uri.path === path);
  for (const tab of tabs) {
    const editor = vscode.window.visibleTextEditors.find(
      ({ document, viewColumn }) =>
        document.uri.path === path && viewColumn === tab.group.viewColumn,
    );
    const cursor = editor?.selection.active.line;
    const line = lines.find(([from]) => from === cursor)?.[1];
    const uri = vscode.Uri.parse(next);
    const shown = { viewColumn: tab.group.viewColumn, preview: false, preserveFocus: true };
    if (tab.isActive) {
      // Whoever types in a terminal or in the palette goes on there. Where this editor has
      // the focus itself, VS Code empties it before it shows the other text, and the focus
      // is nowhere; no extension is told which of the two it is.
      const selection =
        line === undefined ? {} : { selection: new vscode.Range(line, 0, line, 0) };
      await vscode.window.showTextDocument(uri, { ...shown, ...selection });
    } else {
      await vscode.commands.executeCommand('vscode.open', uri, {
        ...shown,
        background: true,
      });
    }
    await vscode.window.tabGroups.close(tab, true);
  }
}
