// Colours of nodes by what is known of them, and what each colour means.

import type { GraphItem, NodeItem } from '../../src/protocol.ts';
import { mixed, type Palette } from './palette.ts';

/** What nodes can be coloured by. */
export const WAYS = ['opcode', 'dtype', 'memory'] as const;
export type Way = (typeof WAYS)[number];

export interface Colouring {
  /** Undefined where nothing is known of a node. */
  of(node: number): string | undefined;
  readonly legend: readonly (readonly [meaning: string, colour: string])[];
}

export function colouringOf(graph: GraphItem, way: Way, palette: Palette): Colouring {
  switch (way) {
    case 'opcode':
      return byKind(graph, palette, (node) => node.opcode, OPCODES);
    case 'dtype':
      return byKind(graph, palette, (node) => node.dtype, []);
    case 'memory':
      return byBytes(graph, palette);
  }
}

/** `262144` as `256 KiB`. */
export function sizeText(bytes: number): string {
  const step = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), UNITS.length - 1);
  const value = bytes / 1024 ** step;
  return `${Number.isInteger(value) ? value : value.toFixed(1)} ${UNITS[step] ?? ''}`;
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

/** An opcode has the same colour in every graph. */
const OPCODES = [
  'call_function',
  'placeholder',
  'call_module',
  'get_attr',
  'call_method',
  'output',
];

/** One colour for each kind, the most frequent ones first; the rarest share the last. */
function byKind(
  { nodes }: GraphItem,
  { kinds }: Palette,
  kind: (node: NodeItem) => string | undefined,
  fixed: readonly string[],
): Colouring {
  const counts = new Map<string, number>();
  for (const node of nodes) {
    const name = kind(node);
    if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const frequent = [...counts.keys()].sort(
    (one, other) =>
      (counts.get(other) ?? 0) - (counts.get(one) ?? 0) || one.localeCompare(other),
  );
  const names = new Set([...fixed, ...frequent]);
  const colours = new Map<string, string>();
  for (const [index, name] of [...names].entries()) {
    colours.set(name, kinds[Math.min(index, kinds.length - 1)] ?? '');
  }
  return {
    of: (index) => {
      const node = nodes[index];
      return node === undefined ? undefined : colours.get(kind(node) ?? '');
    },
    legend: [...colours].filter(([name]) => counts.has(name)),
  };
}

/** From cold to hot, in equal steps of magnitude. */
function byBytes({ nodes }: GraphItem, { cold, hot }: Palette): Colouring {
  const sizes = nodes.flatMap(({ bytes }) =>
    bytes === undefined || bytes === 0 ? [] : [bytes],
  );
  const low = sizes.reduce((least, size) => Math.min(least, size), Infinity);
  const high = sizes.reduce((most, size) => Math.max(most, size), 0);
  const share = (bytes: number) =>
    high === low ? 1 : Math.log(bytes / low) / Math.log(high / low);
  const colour = (part: number) => mixed(cold, hot, part);
  const middle = Math.round(Math.sqrt(low * high));
  return {
    of: (index) => {
      const bytes = nodes[index]?.bytes;
      return bytes === undefined || bytes === 0 ? undefined : colour(share(bytes));
    },
    legend:
      sizes.length === 0
        ? []
        : [...new Set([low, middle, high])].map((bytes) => [
            sizeText(bytes),
            colour(share(bytes)),
          ]),
  };
}
