// Linked views: what the cursor is on is highlighted in the other texts too.

import * as vscode from 'vscode';
import { alike } from './alike.ts';
import type { KnownGraphs } from '../graphs/known_graphs.ts';
import { isListing } from './listings.ts';
import { revealLine } from './reveal.ts';
import type { NodeItem } from '../server/protocol.ts';

/** A part of a text. */
export interface Place {
  readonly uri: vscode.Uri;
  readonly range: vscode.Range;
}

/** What the cursor of an editor is on, and what belongs to that elsewhere. */
export interface Link {
  readonly editor: vscode.TextEditor;
  readonly at: vscode.Position;
  readonly places: readonly Place[];
}

/** Highlights both ways between the sources and listings that are visible. */
export class LinkedViews implements vscode.Disposable {
  readonly #decoration = vscode.window.createTextEditorDecorationType({
    backgroundColor: new vscode.ThemeColor('editor.wordHighlightBackground'),
    // A theme of high contrast has no background for it.
    border: '1px dashed',
    borderColor: new vscode.ThemeColor('fxls.linkedBorder'),
    overviewRulerColor: new vscode.ThemeColor(
      'editorOverviewRuler.wordHighlightForeground',
    ),
    overviewRulerLane: vscode.OverviewRulerLane.Center,
  });
  readonly #graphs: KnownGraphs;
  readonly #moved = new vscode.EventEmitter<Link>();
  readonly #listener: vscode.Disposable;
  #asked = 0;

  constructor(graphs: KnownGraphs) {
    this.#graphs = graphs;
    this.#listener = vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => {
      void this.follow(textEditor);
    });
  }

  /** Comes when the cursor of an editor is on something else, and views are linked. */
  get onDidMove(): vscode.Event<Link> {
    return this.#moved.event;
  }

  /** Highlights what belongs to the cursor of an editor; later calls win. */
  async follow(editor: vscode.TextEditor): Promise<void> {
    this.#asked += 1;
    const asked = this.#asked;
    if (editor.document.languageId !== 'python') return;
    const at = editor.selection.active;
    const places = areLinked() ? await counterparts(this.#graphs, editor) : [];
    if (asked !== this.#asked) return;
    this.#moved.fire({ editor, at, places });
    editor.setDecorations(this.#decoration, []);
    for (const other of vscode.window.visibleTextEditors) {
      if (other.document.languageId !== 'python' || other === editor) continue;
      const path = other.document.uri.path;
      if (path === editor.document.uri.path) continue;
      const ranges = places
        .filter(({ uri }) => uri.path === path)
        .map(({ range }) => range);
      other.setDecorations(this.#decoration, ranges);
      const [first] = ranges;
      if (first !== undefined) revealLine(other, first.start.line);
    }
  }

  dispose(): void {
    this.#listener.dispose();
    this.#moved.dispose();
    this.#decoration.dispose();
  }
}

/** Turns the links on or off. */
export async function toggleLink(): Promise<void> {
  const settings = vscode.workspace.getConfiguration('fxls');
  await settings.update('linkViews', !areLinked(), vscode.ConfigurationTarget.Global);
}

/** Whether a person wants it. */
export function areLinked(): boolean {
  return vscode.workspace.getConfiguration('fxls').get<boolean>('linkViews', true);
}

/**
 * The source of a node, or the nodes of an expression; with the source, what the node is
 * in the other listings that are visible.
 */
async function counterparts(
  graphs: KnownGraphs,
  editor: vscode.TextEditor,
): Promise<Place[]> {
  const here = editor.document.uri;
  const found = await implementations(here, cursor(editor));
  if (!isListing(here)) return found;
  const others = vscode.window.visibleTextEditors
    .map(({ document }) => document.uri)
    .filter((uri) => isListing(uri) && uri.path !== here.path);
  if (others.length === 0) return found;
  const own = await graphs.of(here);
  const line = editor.selection.active.line;
  const node =
    own?.nodes.findIndex(
      ({ line: first, endLine: last = first }) => first <= line && line <= last,
    ) ?? -1;
  if (own === null || node === -1) return found;
  for (const uri of others) {
    const graph = await graphs.of(uri);
    if (graph === null) continue;
    for (const same of alike(own, node, graph)) {
      const twin = graph.nodes[same];
      if (twin !== undefined) found.push({ uri, range: written(twin) });
    }
  }
  return found;
}

/** Where the name of a node stands; the name of a call has a number besides. */
function written({ line, character, name, opcode, target }: NodeItem): vscode.Range {
  const text = opcode === 'call_kernel' ? target : name;
  return new vscode.Range(line, character, line, character + text.length);
}

/** Where the nodes of an expression are, or what a node comes from. */
export async function implementations(
  uri: vscode.Uri,
  at: vscode.Position,
): Promise<Place[]> {
  const found = await vscode.commands.executeCommand<
    (vscode.Location | vscode.LocationLink)[]
  >('vscode.executeImplementationProvider', uri, at);
  return found.map((place) =>
    place instanceof vscode.Location
      ? { uri: place.uri, range: place.range }
      : { uri: place.targetUri, range: place.targetSelectionRange ?? place.targetRange },
  );
}

/** The cursor; before the first word of a line, where a debugger puts it, that word. */
function cursor({ document, selection }: vscode.TextEditor): vscode.Position {
  const { active } = selection;
  const first = document.lineAt(active.line).firstNonWhitespaceCharacterIndex;
  return active.character < first ? active.with({ character: first }) : active;
}
