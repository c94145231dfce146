// The colours of the editor's theme.

import type { Palette } from './palette.ts';

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
