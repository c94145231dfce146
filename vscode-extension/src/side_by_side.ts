// A source, its listing, and what the listing was before the last pass, side by side.

import * as vscode from 'vscode';
import { isAbout, listingOf } from './choosing.ts';
import type { KnownGraphs } from './known_graphs.ts';
import { isListing } from './listings.ts';
import { identities, type IdentityItem, revisions } from './protocol.ts';
import type { Server } from './server.ts';

export function registerSideBySide(server: Server, graphs: KnownGraphs): vscode.Disposable {
  return vscode.commands.registerCommand('fxls.showSideBySide', (about?: unknown) =>
    showSideBySide(server, graphs, about),
  );
}

async function showSideBySide(
  server: Server,
  graphs: KnownGraphs,
  about: unknown,
): Promise<void> {
  const listing = await listingOf(server, isAbout(about) ? about : undefined);
  if (listing === undefined) return;
  const source = await sourceOf(graphs, listing);
  const earlier = await previous(server, listing);
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

/** The listing of the pass before, else of the revision before. */
async function previous(
  server: Server,
  listing: vscode.Uri,
): Promise<vscode.Uri | undefined> {
  const client = await server.client();
  if (client === undefined) return undefined;
  const uri = client.code2ProtocolConverter.asUri(listing);
  const all = (await client.sendRequest(identities, {})) ?? [];
  const at = all.findIndex((item) => item.uri === uri);
  const pass = before(all, at);
  if (pass !== undefined) return vscode.Uri.parse(pass.uri);
  const own = (await client.sendRequest(revisions, { uri })) ?? [];
  const older = own[own.findIndex((item) => item.uri === uri) + 1];
  return older && vscode.Uri.parse(older.uri);
}

/** What a pass was given: the graph that it is called behind. */
function before(all: readonly IdentityItem[], at: number): IdentityItem | undefined {
  const here = all[at];
  if (here?.stage === undefined) return undefined;
  for (const given of givenTo(here.stage)) {
    const found = all.find(
      ({ module, qualname, producer, rank, stage = '' }) =>
        module === here.module &&
        qualname === here.qualname &&
        producer === here.producer &&
        rank === here.rank &&
        stage === given,
    );
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The stages that the graph of a stage may have been made from, the last one first. */
function givenTo(stage: string): string[] {
  const end = Math.max(stage.lastIndexOf(', '), 0);
  const outer = stage.slice(0, end);
  const earlier = EARLIER[stage.slice(end).replace(', ', '')] ?? [];
  return [...earlier.map((last) => `${outer}, ${last}`), outer];
}

/** What torch.compile does with a graph, one after the other, where it does it at all. */
const EARLIER: Readonly<Record<string, readonly string[]>> = {
  joint: ['pre-grad'],
  forward: ['joint', 'pre-grad'],
  backward: ['joint', 'pre-grad'],
};

const COLUMNS = [vscode.ViewColumn.One, vscode.ViewColumn.Two, vscode.ViewColumn.Three];
