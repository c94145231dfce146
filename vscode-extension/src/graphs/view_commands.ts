// What a person can do with an item of the view "Graphs".

import * as path from 'node:path';
import * as vscode from 'vscode';
import { debugEntry } from '../debugging/configurations.ts';
import { firstPassQuestions } from './first_pass.ts';
import type { Graph, Graphs, Past, Shelf } from './view.ts';
import { showListing } from '../listings/listings.ts';
import { deleted, type FirstPassItem } from '../server/protocol.ts';
import type { Server } from '../server/server.ts';

export function registerGraphCommands(server: Server, graphs: Graphs): vscode.Disposable {
  return vscode.Disposable.from(
    vscode.commands.registerCommand('fxls.debugGraph', debugGraph),
    vscode.commands.registerCommand('fxls.openGraphSource', openSource),
    vscode.commands.registerCommand('fxls.askFirstPass', async (shelf: Graph | Past) =>
      askFirstPass(server, shelf),
    ),
    vscode.commands.registerCommand(
      'fxls.deleteGraph',
      async (shelf: Shelf, selected?: readonly Shelf[]) => {
        await remove(server, selected ?? [shelf]);
        graphs.refresh();
      },
    ),
  );
}

async function debugGraph({ uri, sources, entry }: Graph): Promise<void> {
  const [source] = sources;
  if (source === undefined || entry === undefined) return;
  const listing = vscode.Uri.parse(uri);
  await showListing(listing);
  await debugEntry(vscode.Uri.parse(source), entry, path.dirname(listing.fsPath));
}

async function openSource(shelf: Graph | Past): Promise<void> {
  const [source] = shelf.kind === 'graph' ? shelf.sources : shelf.of.sources;
  if (source !== undefined) {
    await vscode.window.showTextDocument(vscode.Uri.parse(source), {
      viewColumn: vscode.ViewColumn.One,
    });
  }
}

/** Asks what the pass should have done; the server says and shows which was the first. */
async function askFirstPass(
  server: Server,
  { uri }: Graph | Past,
): Promise<readonly FirstPassItem[]> {
  const question = await vscode.window.showQuickPick(firstPassQuestions, {
    title: 'First pass where …',
  });
  if (question === undefined) return [];
  const { asked, wants } = question;
  const what =
    wants === undefined
      ? ''
      : await vscode.window.showInputBox({ title: question.label, prompt: wants });
  const client = await server.client();
  if (what === undefined || client === undefined) return [];
  const answer = await client.sendRequest<{ found?: FirstPassItem[] } | null>(
    'workspace/executeCommand',
    { command: 'fxls.firstPass', arguments: [uri, asked, what.trim()] },
  );
  return answer?.found ?? [];
}

/** Deletes what a person has chosen and confirmed. */
async function remove(server: Server, shelves: readonly Shelf[]): Promise<void> {
  const chosen = shelves.flatMap((shelf): readonly (Graph | Past)[] =>
    shelf.kind === 'model' ? shelf.graphs : [shelf],
  );
  const [first] = chosen;
  if (first === undefined) return;
  const name = first.kind === 'graph' ? first.qualname : path.posix.basename(first.uri);
  const what =
    chosen.length > 1
      ? `these ${chosen.length}`
      : first.kind === 'graph'
        ? `${name} with ${first.revisions === 1 ? 'its listing' : `its ${first.revisions} revisions`}`
        : name;
  const answer = await vscode.window.showWarningMessage(
    `Delete ${what}?`,
    { modal: true, detail: 'A program that runs may have breakpoints there.' },
    'Delete',
  );
  const client = await server.client();
  if (answer !== 'Delete' || client === undefined) return;
  for (const shelf of chosen) {
    const uri = shelf.kind === 'graph' ? shelf.document : shelf.uri;
    const gone = await client.sendRequest(deleted, { uri });
    if (gone?.problem !== undefined) void vscode.window.showWarningMessage(gone.problem);
  }
}
