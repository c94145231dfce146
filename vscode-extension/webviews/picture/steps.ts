// Where an arrow key leads from a node or group.

import type { GraphItem } from '../../src/server/protocol.ts';
import type { Scene } from './scene.ts';
import type { Group, Member, Tree } from './tree.ts';

export type Arrow = 'ArrowUp' | 'ArrowDown' | 'ArrowLeft' | 'ArrowRight';

export function isArrow(key: string): key is Arrow {
  return /^Arrow(Up|Down|Left|Right)$/.test(key);
}

/**
 * Down to what reads it and up to what it reads; sideways along the order of the graph,
 * out of a group as well as into one that is open.
 */
export function stepped(
  from: Member,
  key: Arrow,
  graph: GraphItem,
  users: readonly (readonly number[])[],
  scene: Scene,
  tree: Tree,
): Member | undefined {
  const shown = scene.blocks.map(({ member }) => member);
  switch (key) {
    case 'ArrowLeft':
      return shown[shown.indexOf(from) - 1];
    case 'ArrowRight':
      return shown[shown.indexOf(from) + 1];
    case 'ArrowDown':
      return neighbour(from, (node) => users[node] ?? [], 'first', scene, tree);
    case 'ArrowUp':
      return neighbour(from, (node) => graph.nodes[node]?.reads ?? [], 'last', scene, tree);
  }
}

function neighbour(
  from: Member,
  next: (node: number) => readonly number[],
  which: 'first' | 'last',
  scene: Scene,
  tree: Tree,
): Member | undefined {
  const [first, last] = typeof from === 'number' ? [from, from] : [from.first, from.last];
  const found: number[] = [];
  for (let node = first; node <= last; node++) {
    found.push(...next(node).filter((other) => other < first || other > last));
  }
  found.sort((one, other) => one - other);
  const node = which === 'first' ? found[0] : found.at(-1);
  if (node !== undefined) return scene.blockWith(node)?.member;
  return typeof from === 'number' ? undefined : outside(from, tree);
}

function outside(group: Group, tree: Tree): Member | undefined {
  return group.parent === tree.groups[0] ? undefined : group.parent;
}
