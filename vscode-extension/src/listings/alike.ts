// Which nodes of one graph are those of another: what a pass was given, and what it made.

import type { GraphItem } from '../server/protocol.ts';

/**
 * The nodes of a graph that a node of another one became, or was made from.
 *
 * A pass renames nodes, replaces one by several and several by one; what stays is the
 * expression of the source. An expression that ran more than once, in a loop or a module
 * that is called twice, is the same one where it ran as often before. Of the code that was
 * written for a graph, what each kernel computes is known.
 */
export function alike(from: GraphItem, node: number, to: GraphItem): readonly number[] {
  const computed = from.nodes[node]?.computes;
  if (computed !== undefined && from.parent === to.uri) {
    const names = indexOf(to).named;
    return computed.flatMap((name) => names.get(name) ?? []).sort((a, b) => a - b);
  }
  if (to.parent === from.uri) {
    const calls = indexOf(to).calls.get(from.nodes[node]?.name ?? '');
    if (calls !== undefined) return calls;
  }
  const [here, there] = [indexOf(from), indexOf(to)];
  const named = there.named.get(from.nodes[node]?.name ?? '');
  const run = here.runs[node];
  if (run === undefined) return named === undefined ? [] : [named];
  const [ours, theirs] = [here.made.get(run.key) ?? [], there.made.get(run.key) ?? []];
  const isTwin = named !== undefined && there.runs[named]?.key === run.key;
  if (isTwin && ours.length !== theirs.length) return [named];
  const last = theirs.length - 1;
  const place = Math.min(run.place, last);
  const same = theirs[isBackward(from) === isBackward(to) ? place : last - place];
  if (same === undefined) return named === undefined ? [] : [named];
  return named !== undefined && same.includes(named) ? [named] : same;
}

interface Index {
  readonly named: ReadonlyMap<string, number>;
  /** For each node, the expression that made it, and how often that ran before. */
  readonly runs: readonly (Run | undefined)[];
  /** For each expression, the nodes of each time that it ran. */
  readonly made: ReadonlyMap<string, readonly (readonly number[])[]>;
  /** By the name of a node of the graph before, the calls of kernels that compute it. */
  readonly calls: ReadonlyMap<string, readonly number[]>;
}

interface Run {
  readonly key: string;
  readonly place: number;
}

const known = new WeakMap<GraphItem, Index>();

/** Made once for a graph: it is asked with each line that is scrolled. */
function indexOf(graph: GraphItem): Index {
  const found = known.get(graph);
  if (found !== undefined) return found;
  const { nodes, places } = graph;
  const keys = places.map((place) => JSON.stringify(place));
  const runs: (Run | undefined)[] = nodes.map(() => undefined);
  const made = new Map<string, number[][]>();
  let before: string | undefined;
  for (const [node, { opcode, origin }] of nodes.entries()) {
    const key = keys[origin ?? -1];
    // An input stands where it is first read, which is not where it was made.
    if (key === undefined || opcode === 'placeholder') continue;
    const times = made.get(key) ?? [];
    if (key !== before) times.push([]);
    times.at(-1)?.push(node);
    made.set(key, times);
    runs[node] = { key, place: times.length - 1 };
    before = key;
  }
  const named = new Map(nodes.map(({ name }, node) => [name, node]));
  const calls = new Map<string, number[]>();
  for (const [node, { opcode, computes = [] }] of nodes.entries()) {
    if (opcode !== 'call_kernel') continue;
    for (const name of computes) calls.set(name, [...(calls.get(name) ?? []), node]);
  }
  const index = { named, runs, made, calls };
  known.set(graph, index);
  return index;
}

/** What torch.compile makes for gradients begins with what ran last. */
function isBackward({ computesGradients = false }: GraphItem): boolean {
  return computesGradients;
}
