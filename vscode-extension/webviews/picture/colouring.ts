// Colours of nodes by what is known of them, and what each colour means.

import type { GraphItem, NodeItem } from '../../src/server/protocol.ts';
import { mixed, type Palette } from './palette.ts';
import { Times, timeText } from './times.ts';

/** What nodes can be coloured by. */
export const WAYS = ['opcode', 'dtype', 'memory', 'time', 'error'] as const;
export type Way = (typeof WAYS)[number];

export interface Colouring {
  /** Undefined where nothing is known of a node. */
  of(node: number): string | undefined;
  /** The colour of a closed group, where what its nodes have makes a sum. */
  ofGroup?(first: number, last: number): string | undefined;
  readonly legend: readonly (readonly [meaning: string, colour: string])[];
}

/** `times` is there when the way is `time`. */
export function colouringOf(
  graph: GraphItem,
  way: Way,
  palette: Palette,
  times: Times | undefined,
): Colouring {
  switch (way) {
    case 'opcode':
      return byKind(graph, palette, (node) => node.opcode, OPCODES);
    case 'dtype':
      return byKind(graph, palette, (node) => node.dtype, []);
    case 'memory':
      return byBytes(graph, palette);
    case 'time':
      return byTime(graph, times ?? new Times([]), palette);
    case 'error':
      return byError(graph, palette);
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

/** From cold to hot, in equal steps of magnitude; where there is none, no colour. */
function byAmount(
  amounts: readonly number[],
  { cold, hot }: Palette,
  text: (amount: number) => string,
): Scale {
  const some = amounts.filter((amount) => amount > 0);
  const low = some.reduce((least, amount) => Math.min(least, amount), Infinity);
  const high = some.reduce((most, amount) => Math.max(most, amount), 0);
  const share = (amount: number) =>
    high === low ? 1 : Math.log(amount / low) / Math.log(high / low);
  const colour = (amount: number) => mixed(cold, hot, Math.min(share(amount), 1));
  const middle = Math.round(Math.sqrt(low * high));
  return {
    colour: (amount) => (amount > 0 ? colour(amount) : undefined),
    legend:
      some.length === 0
        ? []
        : [...new Set([low, middle, high])].map((amount) => [text(amount), colour(amount)]),
  };
}

interface Scale extends Pick<Colouring, 'legend'> {
  readonly colour: (amount: number) => string | undefined;
}

function byBytes({ nodes }: GraphItem, palette: Palette): Colouring {
  const amounts = nodes.map(({ bytes = 0 }) => bytes);
  const { colour, legend } = byAmount(amounts, palette, sizeText);
  return { of: (node) => colour(amounts[node] ?? 0), legend };
}

/** A group takes as long as its nodes do together. */
function byTime({ scopes }: GraphItem, times: Times, palette: Palette): Colouring {
  const groups = scopes.map(({ first, last }) => times.of(first, last));
  const nodes = [...times.each];
  const { colour, legend } = byAmount([...nodes, ...groups], palette, timeText);
  return {
    of: (node) => colour(nodes[node] ?? 0),
    ofGroup: (first, last) => colour(times.of(first, last)),
    legend,
  };
}

/** What is wrong is hot; all else is half as hot at most, by how much precision explains. */
function byError({ nodes }: GraphItem, { cold, hot }: Palette): Colouring {
  const shares = nodes.map(({ error }) => {
    if (error === undefined) return undefined;
    return error.wrong === true
      ? 1
      : error.off && Math.min(error.off / error.explained, 1) / 2;
  });
  const highest = shares.reduce<number>((most, share) => Math.max(most, share ?? -1), -1);
  const meanings = [
    ['the same in each bit', 0],
    ['as far off as precision explains', 0.5],
    ['wrong', 1],
  ] as const;
  return {
    of: (node) => {
      const share = shares[node];
      return share === undefined ? undefined : mixed(cold, hot, share);
    },
    legend: meanings
      .filter(([, share]) => (share === 0 ? highest >= 0 : highest > share - 0.5))
      .map(([meaning, share]) => [meaning, mixed(cold, hot, share)]),
  };
}
