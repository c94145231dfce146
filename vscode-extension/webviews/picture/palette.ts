// The colours that a picture has, and those between them.

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

/** A colour between two. */
export function mixed(one: string, other: string, share: number): string {
  const [from, to] = [channels(one), channels(other)];
  const parts = from.map((value, index) =>
    Math.round(value + ((to[index] ?? value) - value) * share),
  );
  return `rgb(${parts.join(', ')})`;
}

/** Red, green and blue of a plain colour. */
function channels(colour: string): readonly number[] {
  return colour.startsWith('#')
    ? [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16))
    : (colour.match(/[\d.]+/g) ?? []).slice(0, 3).map(Number);
}
