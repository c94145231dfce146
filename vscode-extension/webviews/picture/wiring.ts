// Which members of a group read which: the edges of nodes, as far as a group shows them.

import type { GraphItem } from '../../src/server/protocol.ts';
import type { Group } from './tree.ts';

/** Where an edge of a group starts or ends: a member by its number, or the outside. */
export type End = number | 'outside';

export interface Edge {
  readonly from: End;
  readonly to: End;
}

/** For each node, the nodes that read it. */
export function usersOf(graph: GraphItem): readonly (readonly number[])[] {
  const users: number[][] = graph.nodes.map(() => []);
  for (const [node, { reads }] of graph.nodes.entries()) {
    for (const read of new Set(reads)) users[read]?.push(node);
  }
  return users;
}

/** The edges between the members of a group, and between them and the outside, once each. */
export function edgesOf(
  group: Group,
  graph: GraphItem,
  users: readonly (readonly number[])[],
): Edge[] {
  // The nodes of a group follow each other, and so do those of each member.
  const member = new Int32Array(group.last - group.first + 1);
  for (const [index, each] of group.members.entries()) {
    const [first, last] = typeof each === 'number' ? [each, each] : [each.first, each.last];
    member.fill(index, first - group.first, last - group.first + 1);
  }
  const end = (node: number): End =>
    node < group.first || node > group.last
      ? 'outside'
      : (member[node - group.first] ?? 'outside');
  const found = new Map<string, Edge>();
  const add = (from: End, to: End) => {
    if (from !== to) found.set(`${from} ${to}`, { from, to });
  };
  for (let node = group.first; node <= group.last; node++) {
    for (const read of graph.nodes[node]?.reads ?? []) add(end(read), end(node));
    for (const user of users[node] ?? []) {
      if (end(user) === 'outside') add(end(node), 'outside');
    }
  }
  return [...found.values()];
}
