// The colours of the editor's theme.

export interface Palette {
  readonly background: string;
  readonly surface: string;
  readonly text: string;
  readonly faint: string;
  readonly border: string;
  readonly line: string;
  readonly focus: string;
  readonly match: string;
  readonly paused: string;
  /** Colours that can be told apart. */
  readonly kinds: readonly string[];
  readonly cold: string;
  readonly hot: string;
  readonly font: string;
}

export function paletteOf(styled: Element): Palette {
  const style = getComputedStyle(styled);
  const colour = (...names: string[]): string => {
    for (const name of names) {
      const value = style.getPropertyValue(`--vscode-${name}`).trim();
      if (value !== '') return plain(value);
    }
    return plain(style.color);
  };
  return {
    background: colour('editor-background'),
    surface: colour('editorWidget-background', 'editor-background'),
    text: colour('editor-foreground', 'foreground'),
    faint: colour('descriptionForeground', 'foreground'),
    border: colour('contrastBorder', 'editorWidget-border', 'descriptionForeground'),
    line: colour('contrastBorder', 'editorLineNumber-foreground', 'foreground'),
    focus: colour('focusBorder'),
    match: colour('editorWarning-foreground', 'charts-yellow'),
    paused: colour('debugIcon-breakpointCurrentStackframeForeground', 'charts-yellow'),
    kinds: ['blue', 'green', 'orange', 'purple', 'yellow', 'red'].map((name) =>
      colour(`charts-${name}`, 'foreground'),
    ),
    cold: colour('charts-blue', 'foreground'),
    hot: colour('charts-red', 'foreground'),
    font: style.fontFamily,
  };
}

/** A colour between two. */
export function mixed(one: string, other: string, share: number): string {
  const [from, to] = [channels(one), channels(other)];
  const parts = from.map((value, index) =>
    Math.round(value + ((to[index] ?? value) - value) * share),
  );
  return `rgb(${parts.join(', ')})`;
}

/** Calls when the theme has changed. */
export function onThemeChange(changed: () => void): void {
  new MutationObserver(changed).observe(document.body, {
    attributes: true,
    attributeFilter: ['class', 'data-vscode-theme-id'],
  });
  new MutationObserver(changed).observe(document.documentElement, {
    attributes: true,
    attributeFilter: ['style'],
  });
}

const probe = new OffscreenCanvas(1, 1).getContext('2d');

/** A colour as every reader of SVG knows it: `#rrggbb` or `rgba(...)`. */
function plain(colour: string): string {
  if (probe === null) return colour;
  probe.fillStyle = '#808080';
  probe.fillStyle = colour;
  return probe.fillStyle;
}

/** Red, green and blue of a plain colour. */
function channels(colour: string): readonly number[] {
  return colour.startsWith('#')
    ? [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16))
    : (colour.match(/[\d.]+/g) ?? []).slice(0, 3).map(Number);
}
