// The guards of a compilation as a document, chosen in the palette.

import * as vscode from 'vscode';
import { type CompilationItem, run, runs } from '../server/protocol.ts';
import type { Server } from '../server/server.ts';

export function registerGuards(server: Server): vscode.Disposable {
  return vscode.commands.registerCommand('fxls.showGuards', () => showGuards(server));
}

async function showGuards(server: Server): Promise<void> {
  const found = await newestGuards(server);
  if (found.length === 0) {
    void vscode.window.showInformationMessage(
      'The newest runs have no guards: run a program that calls torch.compile with `fxls run`.',
    );
    return;
  }
  const picked = await vscode.window.showQuickPick(
    found.map(({ id, function: name, cause, outcome, guards = 0, document = '' }) => ({
      label: `${id} ${name}`,
      description: `${guards} ${guards === 1 ? 'guard' : 'guards'}`,
      detail: cause === 'first' ? outcome : `${outcome}, ${cause}`,
      document,
    })),
    { title: 'What has to hold so that this compilation is used again' },
  );
  if (picked === undefined) return;
  await vscode.window.showTextDocument(vscode.Uri.parse(picked.document), {
    preview: false,
  });
}

/** The compilations with guards of the newest run that has some; of the open file first. */
async function newestGuards(server: Server): Promise<readonly CompilationItem[]> {
  const client = await server.client();
  if (client === undefined) return [];
  const all = (await client.sendRequest(runs, {})) ?? [];
  for (const { id } of all.slice(0, MOST)) {
    const overview = await client.sendRequest(run, { run: id });
    const found = (overview?.rows ?? [])
      .flat()
      .filter(({ document }) => document !== undefined);
    if (found.length > 0) return [...found].sort((a, b) => away(a) - away(b));
  }
  return [];
}

/** 0 for a function of the file in front. */
function away({ place }: CompilationItem): number {
  const open = vscode.window.activeTextEditor?.document.uri.path;
  return place !== undefined && vscode.Uri.parse(place.uri).path === open ? 0 : 1;
}

/** So many runs are asked. */
const MOST = 4;
