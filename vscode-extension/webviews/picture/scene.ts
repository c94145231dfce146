// What there is to draw: every room and line, in the coordinates of the whole picture.

import type { Layout, Route } from './layout.ts';
import type { Group, Member, Tree } from './tree.ts';

export interface Area {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** A node, or a group that is open or closed. */
export interface Block extends Area {
  readonly member: Member;
  readonly isOpen: boolean;
  readonly depth: number;
}

/** The line of an edge, and what it fits into. */
export interface Line extends Area {
  readonly corners: Route;
}

export class Scene {
  /** An open group comes before what is inside. */
  readonly blocks: readonly Block[];
  readonly lines: readonly Line[];
  readonly area: Area;
  readonly #tree: Tree;
  readonly #rooms = new Map<Member, Block>();

  constructor(layout: Layout, tree: Tree) {
    const blocks: Block[] = [];
    const lines: Line[] = [];
    const place = (inside: Layout, left: number, top: number, depth: number) => {
      for (const route of inside.routes) {
        if (route.length > 0) lines.push(lineOf(route, left, top));
      }
      for (const { member, x, y, width, height, inside: inner } of inside.rooms) {
        const at = { x: left + x, y: top + y };
        blocks.push({ member, ...at, width, height, isOpen: inner !== undefined, depth });
        if (inner !== undefined) place(inner, at.x, at.y, depth + 1);
      }
    };
    place(layout, 0, 0, 0);
    for (const block of blocks) this.#rooms.set(block.member, block);
    this.blocks = blocks;
    this.lines = lines;
    this.area = { x: 0, y: 0, width: layout.width, height: layout.height };
    this.#tree = tree;
  }

  blockOf(member: Member): Block | undefined {
    return this.#rooms.get(member);
  }

  /** The block that shows a node: its own, or the closed group that it is in. */
  blockWith(node: number): Block | undefined {
    let block = this.#rooms.get(node);
    let group: Group | undefined = this.#tree.around[node];
    while (block === undefined && group !== undefined) {
      block = this.#rooms.get(group);
      group = group.parent;
    }
    return block;
  }

  /** The innermost block at a point. */
  blockAt(x: number, y: number): Block | undefined {
    return this.blocks.findLast((block) => contains(block, x, y));
  }
}

/** Whether two areas have a point in common. */
export function meet(one: Area, other: Area): boolean {
  return (
    one.x <= other.x + other.width &&
    other.x <= one.x + one.width &&
    one.y <= other.y + other.height &&
    other.y <= one.y + one.height
  );
}

function contains(area: Area, x: number, y: number): boolean {
  return meet(area, { x, y, width: 0, height: 0 });
}

function lineOf(route: Route, left: number, top: number): Line {
  const corners = route.map((value, index) => value + (index % 2 === 0 ? left : top));
  const across = corners.filter((_value, index) => index % 2 === 0);
  const down = corners.filter((_value, index) => index % 2 === 1);
  const [x, y] = [Math.min(...across), Math.min(...down)];
  return {
    corners,
    x,
    y,
    width: Math.max(...across) - x,
    height: Math.max(...down) - y,
  };
}
