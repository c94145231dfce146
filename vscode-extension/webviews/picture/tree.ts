// The nodes of a graph by the modules that were being called, in groups that can be drawn.

import type { GraphItem, NodeItem } from '../../src/server/protocol.ts';

/** A node, by its place in the graph, or a group. */
export type Member = number | Group;

/**
 * Nodes that follow each other and were made in one call of a module, or a run of
 * them where there are too many to draw side by side.
 */
export interface Group {
  readonly id: number;
  readonly parent: Group | undefined;
  readonly label: string;
  /** The class of the module. */
  readonly type: string;
  readonly first: number;
  readonly last: number;
  /** In the order of the graph. */
  readonly members: readonly Member[];
}

/** The groups of a graph; the first one has every node. */
export interface Tree {
  readonly groups: readonly Group[];
  /** For each node, the innermost group that it is in. */
  readonly around: readonly Group[];
}

/** So many members are laid out at once: the time grows faster than their number. */
export const WIDEST = 48;

export function treeOf(graph: GraphItem): Tree {
  const groups: Group[] = [];
  const around: Group[] = [];
  const build = (draft: Draft, parent: Group | undefined): Group => {
    const members: Member[] = [];
    const group: Group = {
      id: groups.length,
      parent,
      label: draft.label,
      type: draft.type,
      first: draft.first,
      last: draft.last,
      members,
    };
    groups.push(group);
    for (const member of runs(draft.members, graph.nodes)) {
      if (typeof member === 'number') {
        around[member] = group;
        members.push(member);
      } else {
        members.push(build(member, group));
      }
    }
    return group;
  };
  build(modules(graph), undefined);
  return { groups, around };
}

/** The groups that a node is in, outermost first. */
export function ancestors(tree: Tree, node: number): Group[] {
  const found: Group[] = [];
  for (let group = tree.around[node]; group !== undefined; group = group.parent) {
    found.unshift(group);
  }
  return found;
}

interface Draft {
  readonly label: string;
  readonly type: string;
  readonly first: number;
  readonly last: number;
  readonly members: (number | Draft)[];
}

/** The nodes by calls of modules, however many stand side by side. */
function modules({ qualname, nodes, scopes }: GraphItem): Draft {
  const last = Math.max(nodes.length - 1, 0);
  const root: Draft = { label: qualname, type: '', first: 0, last, members: [] };
  const calls = scopes.map(({ path, type, first, last, parent }): Draft => {
    const outer = scopes[parent ?? -1]?.path ?? '';
    const label = path.startsWith(`${outer}.`) ? path.slice(outer.length + 1) : path;
    return { label, type, first, last, members: [] };
  });
  const isPlaced = new Set<number>();
  for (const [node, { scope }] of nodes.entries()) {
    // A call that begins with this node, and those around it that do too.
    const begun: number[] = [];
    for (
      let call = scope;
      call !== undefined && !isPlaced.has(call);
      call = scopes[call]?.parent
    ) {
      begun.unshift(call);
      isPlaced.add(call);
    }
    for (const call of begun) {
      const draft = calls[call];
      if (draft !== undefined) around(scopes[call]?.parent).members.push(draft);
    }
    around(scope).members.push(node);
  }
  return root;

  function around(call: number | undefined): Draft {
    return (call === undefined ? undefined : calls[call]) ?? root;
  }
}

/** The members, or runs of them where they are too many. */
function runs(
  members: readonly (number | Draft)[],
  nodes: readonly NodeItem[],
): readonly (number | Draft)[] {
  // A frame around one node says nothing.
  const all = members.map((member) =>
    firstOf(member) === lastOf(member) ? firstOf(member) : member,
  );
  if (all.length <= WIDEST) return all;
  const length = Math.ceil(all.length / Math.ceil(all.length / WIDEST));
  const found: Draft[] = [];
  for (let at = 0; at < all.length; at += length) {
    const part = all.slice(at, at + length);
    const first = firstOf(part[0] ?? 0);
    const last = lastOf(part.at(-1) ?? 0);
    const label = `${nodes[first]?.name ?? ''} … ${nodes[last]?.name ?? ''}`;
    found.push({ label, type: '', first, last, members: part });
  }
  return runs(found, nodes);
}

function firstOf(member: number | Draft): number {
  return typeof member === 'number' ? member : member.first;
}

function lastOf(member: number | Draft): number {
  return typeof member === 'number' ? member : member.last;
}
