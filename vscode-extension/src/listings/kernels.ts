// From an expression of the model to the kernels that compute it, side by side.

import * as vscode from 'vscode';
import { listingsOf } from './choosing.ts';
import type { KnownGraphs } from '../graphs/known_graphs.ts';
import { implementations } from './linked.ts';
import { isListing, showListing } from './listings.ts';
import type { ListingItem } from '../server/protocol.ts';
import type { Server } from '../server/server.ts';

export function registerKernels(server: Server, graphs: KnownGraphs): vscode.Disposable {
  return vscode.commands.registerCommand('fxls.showKernels', () =>
    showKernels(server, graphs),
  );
}

/** A place in the code that a compiler wrote, as a person chooses it. */
interface Kernel extends vscode.QuickPickItem {
  readonly uri: vscode.Uri;
  readonly range?: vscode.Range;
}

async function showKernels(server: Server, graphs: KnownGraphs): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (editor?.document.languageId !== 'python' || isListing(editor.document.uri)) return;
  const { uri } = editor.document;
  const code = (await listingsOf(server, uri)).filter(isCode);
  if (code.length === 0) {
    void vscode.window.showInformationMessage(
      `The store has no kernels of ${vscode.workspace.asRelativePath(uri)}: run a program that calls torch.compile with \`fxls run\`.`,
    );
    return;
  }
  const called = await calls(graphs, code, uri, editor.selection.active);
  const chosen =
    called.length === 1
      ? called[0]
      : await vscode.window.showQuickPick(called.length === 0 ? wholes(code) : called, {
          title:
            called.length === 0
              ? 'No kernel computes what the cursor is on; the code of'
              : 'Kernels of what the cursor is on',
          matchOnDescription: true,
        });
  if (chosen === undefined) return;
  await showListing(chosen.uri, chosen.range);
}

/** The calls of kernels that compute the expression at a place of the model. */
async function calls(
  graphs: KnownGraphs,
  code: readonly ListingItem[],
  source: vscode.Uri,
  at: vscode.Position,
): Promise<Kernel[]> {
  const found: Kernel[] = [];
  const places = await implementations(source, at);
  for (const listing of code) {
    const uri = vscode.Uri.parse(listing.uri);
    for (const { range } of places.filter((each) => each.uri.path === uri.path)) {
      const { line, character } = range.start;
      const node = (await graphs.of(uri))?.nodes.find(
        (each) => each.line === line && each.character === character,
      );
      found.push({
        label: node?.name ?? listing.qualname,
        description: [listing.qualname, listing.stage].join(' '),
        ...(node?.computes === undefined
          ? {}
          : { detail: `computes ${node.computes.join(', ')}` }),
        uri,
        range: new vscode.Range(range.start, range.start),
      });
    }
  }
  return found;
}

function wholes(code: readonly ListingItem[]): Kernel[] {
  return code.map((listing) => ({
    label: [listing.qualname, listing.stage].join(' '),
    uri: vscode.Uri.parse(listing.uri),
  }));
}

/** Whether a listing is code with kernels, which the last part of its stage says. */
function isCode({ stage = '' }: ListingItem): boolean {
  return stage.split(', ').at(-1) === 'kernels';
}
