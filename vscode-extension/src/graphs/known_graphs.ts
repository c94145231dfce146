// The graphs of listings that somebody looks at; each is asked for once.

import type * as vscode from 'vscode';
import { graph, type GraphItem } from '../server/protocol.ts';
import type { Server } from '../server/server.ts';

export class KnownGraphs implements vscode.Disposable {
  readonly #server: Server;
  readonly #listener: vscode.Disposable;
  readonly #known = new Map<string, Promise<GraphItem | null>>();

  constructor(server: Server) {
    this.#server = server;
    // The text of a listing never changes, but what is known of its nodes may.
    this.#listener = server.onDidChangeStores(() => {
      this.#known.clear();
    });
  }

  /** Null when there is no such listing, or nobody who knows. */
  of(listing: vscode.Uri): Promise<GraphItem | null> {
    const name = listing.toString();
    const found = this.#known.get(name) ?? this.#ask(listing);
    this.#known.delete(name);
    this.#known.set(name, found);
    const [oldest] = this.#known.keys();
    if (this.#known.size > MOST && oldest !== undefined) this.#known.delete(oldest);
    return found;
  }

  dispose(): void {
    this.#listener.dispose();
  }

  async #ask(listing: vscode.Uri): Promise<GraphItem | null> {
    const client = await this.#server.client();
    if (client === undefined) return null;
    const uri = client.code2ProtocolConverter.asUri(listing);
    // A server that ends while it is asked is said elsewhere.
    return client.sendRequest(graph, { uri }).catch(() => null);
  }
}

/** As many are kept. */
const MOST = 8;
