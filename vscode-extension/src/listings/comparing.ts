// Compares two listings in VS Code's own editor, such that real changes show alone.

import * as path from 'node:path';
import * as vscode from 'vscode';
import { isAbout, listingOf } from './choosing.ts';
import type { Panels } from '../graphs/panels.ts';
import {
  identities,
  normalized,
  type RevisionItem,
  revisions,
} from '../server/protocol.ts';
import type { Server } from '../server/server.ts';

/** Gives the texts that are compared: listings with the names of each other's nodes. */
export class Comparing implements vscode.TextDocumentContentProvider, vscode.Disposable {
  readonly #server: Server;
  readonly #panels: Panels;
  readonly #parts: vscode.Disposable;

  constructor(server: Server, panels: Panels) {
    this.#server = server;
    this.#panels = panels;
    this.#parts = vscode.Disposable.from(
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      vscode.commands.registerCommand(
        'fxls.compareRevisions',
        (about?: unknown, selected?: unknown) => this.#compare(about, selected),
      ),
    );
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const asked = JSON.parse(uri.query) as { uri: string; like?: string };
    const client = await this.#server.client();
    const answer = await client?.sendRequest(normalized, asked);
    if (answer === undefined || answer === null) {
      throw new Error(`${path.posix.basename(uri.path)} is no listing of the store`);
    }
    return answer.text;
  }

  dispose(): void {
    this.#parts.dispose();
  }

  async #compare(about: unknown, selected: unknown): Promise<void> {
    const both = Array.isArray(selected) ? selected.filter(isAbout) : [];
    const [one, other] = both;
    if (both.length === 2 && one !== undefined && other !== undefined) {
      await show(vscode.Uri.parse(other.uri), vscode.Uri.parse(one.uri));
      return;
    }
    const listing = await listingOf(
      this.#server,
      isAbout(about) ? about : undefined,
      this.#panels.active?.listing,
    );
    if (listing === undefined) return;
    const chosen = await this.#choose(listing);
    if (chosen !== undefined) await show(chosen, listing);
  }

  /** Lets a person choose: revisions of the same graph, its other passes, other graphs. */
  async #choose(listing: vscode.Uri): Promise<vscode.Uri | undefined> {
    const client = await this.#server.client();
    if (client === undefined) return undefined;
    const uri = client.code2ProtocolConverter.asUri(listing);
    const own = (await client.sendRequest(revisions, { uri })) ?? [];
    const all = (await client.sendRequest(identities, {})) ?? [];
    const here = all.find(({ document }) => isOf(document, own));
    const rest = all.filter((item) => item !== here);
    const isSame = (item: (typeof all)[number]) =>
      item.module === here?.module && item.qualname === here.qualname;
    const graph = (item: (typeof all)[number]): Choice => ({
      label: item.qualname,
      description: [
        item.module,
        item.producer,
        item.stage,
        item.rank === undefined ? '' : `rank ${item.rank}`,
      ]
        .filter(Boolean)
        .join(' · '),
      uri: vscode.Uri.parse(item.uri),
    });
    const groups: [string, Choice[]][] = [
      ['revisions', own.filter((item) => item.uri !== uri).map(revision)],
      ['passes and producers', rest.filter(isSame).map(graph)],
      ['other graphs', rest.filter((item) => !isSame(item)).map(graph)],
    ];
    const choices = groups.flatMap(([label, found]) =>
      found.length === 0
        ? []
        : [{ label, kind: vscode.QuickPickItemKind.Separator }, ...found],
    );
    if (choices.length === 0) {
      void vscode.window.showInformationMessage(
        'There is no other listing to compare with.',
      );
      return undefined;
    }
    const picked = await vscode.window.showQuickPick<Choice>(choices, {
      title: `Compare ${path.posix.basename(listing.path)} with`,
      matchOnDescription: true,
    });
    return picked?.uri;
  }
}

const SCHEME = 'fxls-normalized';

interface Choice extends vscode.QuickPickItem {
  readonly uri?: vscode.Uri;
}

async function show(before: vscode.Uri, after: vscode.Uri): Promise<void> {
  const [left, right] = [before, after].map((uri) => path.posix.basename(uri.path, '.py'));
  await vscode.commands.executeCommand(
    'vscode.diff',
    written(before),
    written(after, before),
    `${left} ↔ ${right}`,
  );
}

/** The document that shows a listing as it is compared with another one. */
function written(listing: vscode.Uri, like?: vscode.Uri): vscode.Uri {
  const asked = { uri: listing.toString(), ...(like && { like: like.toString() }) };
  return listing.with({ scheme: SCHEME, authority: '', query: JSON.stringify(asked) });
}

function revision({ uri, time, nodes }: RevisionItem): Choice {
  return {
    label: new Date(time * 1000).toLocaleString(),
    description: `${path.posix.basename(uri)}${nodes === undefined ? '' : ` · ${nodes} nodes`}`,
    uri: vscode.Uri.parse(uri),
  };
}

/** Whether revisions are those of an identity; theirs stand beside its document. */
function isOf(document: string, found: readonly RevisionItem[]): boolean {
  return found.some(
    (item) => path.posix.dirname(item.document) === path.posix.dirname(document),
  );
}
