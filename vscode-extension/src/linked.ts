// Linked views: what the cursor is on is highlighted in the other text too.

import * as vscode from 'vscode';
import { isListing } from './listings.ts';

/** Highlights both ways between the sources and listings that are visible. */
export class LinkedViews implements vscode.Disposable {
  readonly #decoration = vscode.window.createTextEditorDecorationType({
    backgroundColor: new vscode.ThemeColor('editor.wordHighlightBackground'),
    borderColor: new vscode.ThemeColor('editor.wordHighlightBorder'),
    overviewRulerColor: new vscode.ThemeColor(
      'editorOverviewRuler.wordHighlightForeground',
    ),
    overviewRulerLane: vscode.OverviewRulerLane.Center,
  });
  readonly #listener: vscode.Disposable;
  #asked = 0;

  constructor() {
    this.#listener = vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => {
      void this.follow(textEditor);
    });
  }

  /** Highlights what belongs to the cursor of an editor; later calls win. */
  async follow(editor: vscode.TextEditor): Promise<void> {
    this.#asked += 1;
    const asked = this.#asked;
    const others = vscode.window.visibleTextEditors.filter(
      (other) =>
        other.document.languageId === 'python' &&
        isListing(other.document.uri) !== isListing(editor.document.uri),
    );
    if (others.length === 0 || editor.document.languageId !== 'python') return;
    const places = isEnabled() ? await counterparts(editor) : [];
    if (asked !== this.#asked) return;
    editor.setDecorations(this.#decoration, []);
    for (const other of others) {
      const path = other.document.uri.path;
      const ranges = places
        .filter(({ uri }) => uri.path === path)
        .map(({ range }) => range);
      other.setDecorations(this.#decoration, ranges);
      const [first] = ranges;
      if (first !== undefined) {
        const where = vscode.TextEditorRevealType.InCenterIfOutsideViewport;
        other.revealRange(first, where);
      }
    }
  }

  dispose(): void {
    this.#listener.dispose();
    this.#decoration.dispose();
  }
}

/** Turns the highlighting on or off. */
export async function toggleLink(): Promise<void> {
  const settings = vscode.workspace.getConfiguration('fxls');
  await settings.update('linkViews', !isEnabled(), vscode.ConfigurationTarget.Global);
}

function isEnabled(): boolean {
  return vscode.workspace.getConfiguration('fxls').get<boolean>('linkViews', true);
}

interface Place {
  readonly uri: vscode.Uri;
  readonly range: vscode.Range;
}

/** The source of a node, or the nodes of an expression. */
async function counterparts(editor: vscode.TextEditor): Promise<Place[]> {
  const found = await vscode.commands.executeCommand<
    (vscode.Location | vscode.LocationLink)[]
  >('vscode.executeImplementationProvider', editor.document.uri, asked(editor));
  return found.map((place) =>
    place instanceof vscode.Location
      ? { uri: place.uri, range: place.range }
      : { uri: place.targetUri, range: place.targetSelectionRange ?? place.targetRange },
  );
}

/** The cursor; before the first word of a line, where a debugger puts it, that word. */
function asked({ document, selection }: vscode.TextEditor): vscode.Position {
  const { active } = selection;
  const first = document.lineAt(active.line).firstNonWhitespaceCharacterIndex;
  return active.character < first ? active.with({ character: first }) : active;
}
