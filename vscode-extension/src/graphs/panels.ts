// The pages that are open: each shows one graph, and stays with what happens to it.

import * as vscode from 'vscode';
import type { FromPage, ToPage } from '../../webviews/messages.ts';
import type { Link, LinkedViews } from '../listings/linked.ts';
import { isListing } from '../listings/listings.ts';
import { saveSvg } from './export.ts';
import { toggleBreak } from '../debugging/node_breakpoints.ts';
import { html, type PageKind } from './pages.ts';
import { graph, type GraphItem, type KernelItem, rows, times } from '../server/protocol.ts';
import { revealNode } from '../listings/reveal.ts';
import { NARROW, roomFor } from './room.ts';
import type { Server } from '../server/server.ts';
import type { Stopped } from '../debugging/stopped.ts';

/** Opens pages, one for each listing and kind. */
export class Panels implements vscode.Disposable {
  readonly #extension: vscode.Uri;
  readonly #server: Server;
  readonly #linked: LinkedViews;
  readonly #stopped: Stopped;
  readonly #listener: vscode.Disposable;
  readonly #open = new Set<Panel>();

  constructor(
    extension: vscode.Uri,
    server: Server,
    linked: LinkedViews,
    stopped: Stopped,
  ) {
    this.#extension = extension;
    this.#server = server;
    this.#linked = linked;
    this.#stopped = stopped;
    this.#listener = server.onDidStart(() => {
      this.resume();
    });
  }

  /** Shows a page of a listing, once it has what to show. */
  async show(kind: PageKind, listing: vscode.Uri): Promise<void> {
    const open = this.#find(kind, listing);
    if (open !== undefined) {
      open.reveal();
      await open.ready;
      return;
    }
    const home = vscode.window.tabGroups.activeTabGroup.viewColumn;
    const column = await roomFor([...this.#open].map((panel) => panel.column));
    const panel = new Panel(
      kind,
      listing,
      this.#extension,
      this.#server,
      this.#stopped,
      column,
      home,
    );
    this.#open.add(panel);
    const parts = vscode.Disposable.from(
      this.#linked.onDidMove((link) => {
        panel.follow(link);
      }),
      this.#stopped.onDidChange(() => {
        panel.pause();
      }),
    );
    panel.onDidClose(() => {
      parts.dispose();
      this.#open.delete(panel);
    });
    await panel.ready;
  }

  /** The page that is in front, when one is. */
  get active(): Panel | undefined {
    return [...this.#open].find((panel) => panel.isActive);
  }

  /** A listing has a newer revision: its pages show that. */
  revise(old: vscode.Uri, next: vscode.Uri): void {
    for (const panel of this.#open) {
      if (panel.listing.path === old.path) void panel.load(next);
    }
  }

  /** The server is another one: what the one before did not answer is asked again. */
  resume(): void {
    for (const panel of this.#open) panel.resume();
  }

  dispose(): void {
    this.#listener.dispose();
    for (const panel of this.#open) panel.close();
  }

  #find(kind: PageKind, listing: vscode.Uri): Panel | undefined {
    return [...this.#open].find(
      (panel) => panel.kind === kind && panel.listing.path === listing.path,
    );
  }
}

/** One page. */
export class Panel {
  readonly kind: PageKind;
  /** Settles when the page has a graph, or says why it has none. */
  readonly ready: Promise<void>;
  readonly #server: Server;
  readonly #stopped: Stopped;
  readonly #panel: vscode.WebviewPanel;
  readonly #svg = new vscode.EventEmitter<string>();
  /** Where it goes when it has no room. */
  #home: vscode.ViewColumn | undefined;
  #listing: vscode.Uri;
  #graph: GraphItem | undefined;
  #loaded: () => void = noop;

  constructor(
    kind: PageKind,
    listing: vscode.Uri,
    extension: vscode.Uri,
    server: Server,
    stopped: Stopped,
    column: vscode.ViewColumn,
    home: vscode.ViewColumn,
  ) {
    this.kind = kind;
    this.#home = home;
    this.ready = new Promise((resolve) => {
      this.#loaded = resolve;
    });
    this.#listing = listing;
    this.#server = server;
    this.#stopped = stopped;
    this.#panel = vscode.window.createWebviewPanel(
      `fxls.${kind}`,
      TITLES[kind],
      { viewColumn: column },
      {
        enableScripts: true,
        // What was opened and found in a picture is still there behind another tab.
        retainContextWhenHidden: true,
        localResourceRoots: [
          vscode.Uri.joinPath(extension, 'dist'),
          vscode.Uri.joinPath(extension, 'media'),
        ],
      },
    );
    const { webview } = this.#panel;
    this.#panel.iconPath = vscode.Uri.joinPath(extension, 'media', `${kind}.svg`);
    webview.onDidReceiveMessage((message: FromPage) => {
      void this.#hear(message);
    });
    webview.html = html(kind, webview, extension);
  }

  get listing(): vscode.Uri {
    return this.#listing;
  }

  /** What is drawn. */
  get name(): string {
    return this.#graph?.qualname ?? 'graph';
  }

  get column(): vscode.ViewColumn | undefined {
    return this.#panel.viewColumn;
  }

  get isActive(): boolean {
    return this.#panel.active;
  }

  get onDidClose(): vscode.Event<void> {
    return this.#panel.onDidDispose;
  }

  reveal(): void {
    this.#panel.reveal();
  }

  close(): void {
    this.#panel.dispose();
  }

  /** Shows a listing, which may be another revision of the one before. */
  async load(listing: vscode.Uri): Promise<void> {
    this.#listing = listing;
    const client = await this.#server.client();
    const answer = await client
      ?.sendRequest(graph, { uri: client.code2ProtocolConverter.asUri(listing) })
      // A server that ends while it is asked is said elsewhere.
      .catch(() => null);
    if (answer === undefined || answer === null) {
      this.#tell({ kind: 'failed', message: 'The graph of this listing cannot be read.' });
      this.#loaded();
      return;
    }
    this.#graph = answer;
    const stage = answer.stage === undefined ? '' : ` · ${answer.stage}`;
    this.#panel.title = `${TITLES[this.kind]}: ${answer.qualname}${stage}`;
    this.#tell({ kind: 'graph', graph: answer });
    this.pause();
    this.#loaded();
  }

  /** Asks again for what is not there; what a person did in a picture stays. */
  resume(): void {
    if (this.#graph === undefined || this.kind === 'table') void this.load(this.#listing);
  }

  /** The picture as SVG, once the page has drawn it. */
  svg(): Promise<string> {
    return new Promise((resolve) => {
      const listener = this.#svg.event((text) => {
        listener.dispose();
        resolve(text);
      });
      this.#tell({ kind: 'export' });
    });
  }

  /** Marks what the cursor of an editor is on. */
  follow({ editor, places }: Link): void {
    const { nodes } = this.#graph ?? { nodes: [] };
    const lines = new Set<number>();
    if (editor.document.uri.path === this.#listing.path) {
      lines.add(editor.selection.active.line);
    } else {
      for (const { uri, range } of places) {
        if (uri.path === this.#listing.path) lines.add(range.start.line);
      }
      if (lines.size === 0 && isListing(editor.document.uri)) return;
    }
    const on = [...nodes.keys()].filter((node) => lines.has(nodes[node]?.line ?? -1));
    this.#tell({ kind: 'selected', nodes: on });
  }

  /** Marks the node that the program is stopped at. */
  pause(): void {
    const { nodes } = this.#graph ?? { nodes: [] };
    const here = this.#stopped.frames.find(({ path }) => path === this.#listing.path);
    const node = nodes.findIndex(({ line }) => line === here?.line);
    this.#tell({ kind: 'paused', node: node === -1 ? null : node });
  }

  async #hear(message: FromPage): Promise<void> {
    switch (message.kind) {
      case 'ready':
        // Once: a person may move it wherever they like.
        if (message.width < NARROW && this.#home !== undefined) {
          this.#panel.reveal(this.#home);
        }
        this.#home = undefined;
        await this.load(this.#listing);
        break;
      case 'chosen':
        if (this.#graph !== undefined) {
          await revealNode(this.#graph, message.node, this.#panel.viewColumn);
        }
        break;
      case 'break':
        if (this.#graph !== undefined) toggleBreak(this.#graph, message.node);
        break;
      case 'rows': {
        const client = await this.#server.client();
        if (client === undefined) return;
        const uri = client.code2ProtocolConverter.asUri(this.#listing);
        const answer = await client
          .sendRequest(rows, { uri, ...message.asked })
          .catch(() => null);
        if (answer !== null) this.#tell({ kind: 'rows', asked: message.asked, answer });
        break;
      }
      case 'times':
        this.#tell({ kind: 'times', ...(await this.#measure()) });
        break;
      case 'export':
        await saveSvg(await this.svg(), this.name);
        break;
      case 'svg':
        this.#svg.fire(message.text);
        break;
    }
  }

  /** The times of the nodes; it is said why there are none. */
  async #measure(): Promise<Measured> {
    const client = await this.#server.client();
    const uri = client?.code2ProtocolConverter.asUri(this.#listing);
    const answer =
      uri === undefined
        ? undefined
        : await client?.sendRequest(times, { uri }).catch(() => null);
    if (answer?.nanoseconds !== undefined) {
      const { nanoseconds, kernels } = answer;
      return { nanoseconds, ...(kernels === undefined ? {} : { kernels }) };
    }
    void vscode.window.showWarningMessage(
      answer?.problem ?? 'The server does not answer how long the nodes take.',
    );
    return { nanoseconds: null };
  }

  #tell(message: ToPage): void {
    void this.#panel.webview.postMessage(message);
  }
}

interface Measured {
  readonly nanoseconds: readonly number[] | null;
  readonly kernels?: readonly KernelItem[];
}

const TITLES = { picture: 'Graph', table: 'Table' } as const;

function noop(): void {
  // Replaced by what settles a promise.
}
