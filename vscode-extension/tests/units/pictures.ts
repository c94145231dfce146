// Graphs written as text, and pictures of them read as text.

import type { GraphItem, NodeItem, ScopeItem } from '../../src/server/protocol.ts';
import type { Group } from '../../webviews/picture/tree.ts';

/**
 * A graph of lines like `block.0 | relu < linear add`: the module that is being called,
 * the name of the node, and what it reads.
 */
export function graphOf(text: string): GraphItem {
  const nodes: NodeItem[] = [];
  const scopes: ScopeItem[] = [];
  const place = new Map<string, number>();
  let open: number[] = [];
  for (const [number, line] of text.trim().split('\n').entries()) {
    const [, path = '', name = '', read = ''] =
      /^\s*(?:(\S+) \| )?(\w+)(?: < (.*))?$/.exec(line) ?? [];
    const parts = path === '' ? [] : path.split('.');
    const paths = parts.map((_part, depth) => parts.slice(0, depth + 1).join('.'));
    const same = paths.findIndex((each, depth) => scopes[open[depth] ?? -1]?.path !== each);
    open = open.slice(0, same === -1 ? paths.length : same);
    for (const each of paths.slice(open.length)) {
      const parent = open.at(-1);
      open.push(scopes.length);
      scopes.push({
        ...{ path: each, type: `nn.${each.toUpperCase()}`, first: number, last: number },
        ...(parent === undefined ? {} : { parent }),
      });
    }
    for (const call of open) {
      const scope = scopes[call];
      if (scope !== undefined) scopes[call] = { ...scope, last: number };
    }
    const scope = open.at(-1);
    nodes.push({
      ...{ name, opcode: 'call_function', target: `torch.${name}`, line: number + 4 },
      character: 4,
      reads: read.split(' ').flatMap((each) => place.get(each) ?? []),
      ...(scope === undefined ? {} : { scope }),
    });
    place.set(name, number);
  }
  return {
    ...{ uri: 'file:///Net_0.py', document: 'fxls:/net/forward.py', module: 'net' },
    ...{ qualname: 'Net', producer: 'engine', nodes, scopes, places: [] },
  };
}

/** The groups of a tree, each inside of its parentheses. */
export function written(group: Group, { nodes }: GraphItem): string {
  const members = group.members.map((member) =>
    typeof member === 'number'
      ? (nodes[member]?.name ?? '')
      : written(member, { nodes } as GraphItem),
  );
  return `${group.label}(${members.join(' ')})`;
}
