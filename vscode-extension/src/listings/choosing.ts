// Which listing a command is about: the one given, the one in front, or one of a source.

import * as vscode from 'vscode';
import { isListing } from './listings.ts';
import { type ListingItem, listings } from '../server/protocol.ts';
import type { Server } from '../server/server.ts';

/** What commands of views and lenses give. */
export interface About {
  readonly uri: string;
}

/** Whether it is; a menu of an editor gives the URI of the editor instead. */
export function isAbout(value: unknown): value is About {
  return (
    typeof value === 'object' &&
    value !== null &&
    'uri' in value &&
    typeof value.uri === 'string'
  );
}

/**
 * The listing that a command is about, also while the page of one is in front; undefined
 * when there is none or none is chosen.
 */
export async function listingOf(
  server: Server,
  given: About | undefined,
  page: vscode.Uri | undefined,
): Promise<vscode.Uri | undefined> {
  if (given !== undefined) return vscode.Uri.parse(given.uri);
  if (page !== undefined) return page;
  const document = vscode.window.activeTextEditor?.document;
  if (document === undefined) return undefined;
  if (isListing(document.uri)) return document.uri;
  const found = await listingsOf(server, document.uri);
  const chosen = found.length < 2 ? found[0] : await choose(found);
  return chosen === undefined ? undefined : vscode.Uri.parse(chosen.uri);
}

/** The listings that have nodes from a source, newest of each identity. */
export async function listingsOf(
  server: Server,
  source: vscode.Uri,
): Promise<ListingItem[]> {
  const client = await server.client();
  if (client === undefined) return [];
  const uri = client.code2ProtocolConverter.asUri(source);
  return (await client.sendRequest(listings, { textDocument: { uri } })) ?? [];
}

/** Lets a person choose. */
export async function choose(
  found: readonly ListingItem[],
): Promise<ListingItem | undefined> {
  const picked = await vscode.window.showQuickPick(
    found.map((item) => ({
      label: item.qualname,
      description: [item.producer, item.stage].filter(Boolean).join(' '),
      detail: `${item.nodes} nodes${item.entry === undefined ? '' : `, ${item.entry}`}`,
      item,
    })),
    { title: 'Generated code of' },
  );
  return picked?.item;
}
