// A source, its listing, and what the listing was before the last pass, side by side.

import * as vscode from 'vscode';
import { isAbout, listingOf } from './choosing.ts';
import type { KnownGraphs } from '../graphs/known_graphs.ts';
import type { Panels } from '../graphs/panels.ts';
import { isListing } from './listings.ts';
import { revisions } from '../server/protocol.ts';
import type { Server } from '../server/server.ts';

export function registerSideBySide(
  server: Server,
  graphs: KnownGraphs,
  panels: Panels,
): vscode.Disposable {
  return vscode.commands.registerCommand('fxls.showSideBySide', (about?: unknown) =>
    showSideBySide(server, graphs, panels, about),
  );
}

async function showSideBySide(
  server: Server,
  graphs: KnownGraphs,
  panels: Panels,
  about: unknown,
): Promise<void> {
  const listing = await listingOf(
    server,
    isAbout(about) ? about : undefined,
    panels.active?.listing,
  );
  if (listing === undefined) return;
  const source = await sourceOf(graphs, listing);
  const earlier = await previous(server, graphs, listing);
  const all = [source, earlier, listing].filter((uri) => uri !== undefined);
  for (const [index, uri] of all.entries()) {
    await vscode.window.showTextDocument(uri, {
      viewColumn: COLUMNS[index] ?? vscode.ViewColumn.Beside,
      preview: false,
      preserveFocus: uri !== listing,
    });
  }
}

/** The source that is open, else the one that most nodes are from. */
async function sourceOf(
  graphs: KnownGraphs,
  listing: vscode.Uri,
): Promise<vscode.Uri | undefined> {
  const active = vscode.window.activeTextEditor?.document;
  if (active?.languageId === 'python' && !isListing(active.uri)) return active.uri;
  const { nodes = [], places = [] } = (await graphs.of(listing)) ?? {};
  const counts = new Map<string, number>();
  for (const { origin } of nodes) {
    const place = places[origin ?? -1];
    if (place !== undefined) counts.set(place.uri, (counts.get(place.uri) ?? 0) + 1);
  }
  const [most] = [...counts].sort(([, one], [, other]) => other - one);
  return most && vscode.Uri.parse(most[0]);
}

/** What the last pass was given, else the listing of the revision before. */
async function previous(
  server: Server,
  graphs: KnownGraphs,
  listing: vscode.Uri,
): Promise<vscode.Uri | undefined> {
  const given = (await graphs.of(listing))?.parent;
  if (given !== undefined) return vscode.Uri.parse(given);
  const client = await server.client();
  if (client === undefined) return undefined;
  const uri = client.code2ProtocolConverter.asUri(listing);
  const own = (await client.sendRequest(revisions, { uri })) ?? [];
  const older = own[own.findIndex((item) => item.uri === uri) + 1];
  return older && vscode.Uri.parse(older.uri);
}

const COLUMNS = [vscode.ViewColumn.One, vscode.ViewColumn.Two, vscode.ViewColumn.Three];
