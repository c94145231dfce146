// Draws a scene: groups, lines, nodes, and what is marked among them.

import type { GraphItem } from '../../src/server/protocol.ts';
import type { Colouring } from './colouring.ts';
import { HEADER, type Route, type Size } from './layout.ts';
import type { Palette } from './palette.ts';
import type { Pen } from './pen.ts';
import { type Area, type Block, meet, type Scene } from './scene.ts';
import type { Group, Member } from './tree.ts';

/** What is drawn beside the graph itself. */
export interface Marked {
  /** What the keyboard is on. */
  readonly current: Member | undefined;
  /** What the cursor of an editor is on. */
  readonly selected: ReadonlySet<number>;
  readonly paused: number | null;
  readonly matches: ReadonlySet<number>;
}

export interface Look {
  readonly graph: GraphItem;
  readonly users: readonly (readonly number[])[];
  readonly palette: Palette;
  readonly colouring: Colouring;
}

/** How large a node or a closed group is drawn. */
export function measured(member: Member, graph: GraphItem, pen: Pen): Size {
  const [title, detail] = labels(member, graph);
  const chevron = typeof member === 'number' ? 0 : CHEVRON;
  const length = Math.max(pen.lengthOf(title, TITLE), pen.lengthOf(detail, DETAIL));
  const width = Math.min(length + chevron, WIDEST) + 2 * SIDE;
  return { width: Math.ceil(width / STEP) * STEP, height: 38 };
}

/** Draws what is within an area, at a scale. */
export function draw(
  pen: Pen,
  scene: Scene,
  { graph, users, palette, colouring }: Look,
  marked: Marked,
  seen: Area,
  scale: number,
): void {
  const isSeen = (area: Area) => meet(area, seen);
  // What is smaller than a point is not drawn, and texts only where they can be read.
  const blocks = scene.blocks.filter(
    (block) => block.height * scale >= LEAST && isSeen(block),
  );
  const hasText = scale >= LEGIBLE;
  for (const block of blocks) {
    if (typeof block.member !== 'number' && block.isOpen) {
      drawFrame(pen, block, block.member, palette, hasText);
    }
  }
  if (scale >= LINES) {
    const routes = scene.lines.filter(isSeen).map(({ corners }) => corners);
    pen.lines(routes, { colour: palette.line, thickness: 1, hasArrows: hasText });
  }
  const paused = marked.paused === null ? undefined : scene.blockWith(marked.paused);
  for (const block of blocks) {
    if (block.isOpen) continue;
    const isPaused = block === paused;
    // A ring that is seen from far.
    const ring = grown(block, Math.max(5, 4 / scale));
    if (isPaused) pen.box(ring, { fill: palette.paused, radius: 8 });
    const colour = isPaused
      ? palette.paused
      : typeof block.member === 'number'
        ? colouring.of(block.member)
        : colouring.ofGroup?.(block.member.first, block.member.last);
    drawBlock(pen, block, labels(block.member, graph), colour, palette, hasText);
  }
  const thickness = Math.max(2, 1.5 / scale);
  pen.lines(around(scene, marked, graph, users), { colour: palette.focus, thickness });
  const outline = (block: Block | undefined, stroke: string, distance: number) => {
    if (block !== undefined && isSeen(block)) {
      pen.box(grown(block, distance), { stroke, thickness, radius: 6 });
    }
  };
  for (const node of marked.matches) outline(scene.blockWith(node), palette.match, 2);
  for (const node of marked.selected) outline(scene.blockWith(node), palette.focus, 2);
  if (marked.current !== undefined) {
    outline(scene.blockOf(marked.current), palette.focus, 4);
  }
}

const WIDEST = 240;
/** Widths are multiples of it, so that groups are alike whose nodes have other numbers. */
const STEP = 24;
const SIDE = 12;
const CHEVRON = 18;
const TITLE = { size: 12, isBold: true } as const;
const DETAIL = { size: 11 } as const;
/** Blocks less high than this on the screen are left out. */
const LEAST = 0.7;
/** The scale from which on texts are drawn, and lines. */
const LEGIBLE = 0.35;
const LINES = 0.04;

/** What is written in a node or group: a name, and what is known of it. */
function labels(
  member: Member,
  graph: GraphItem,
): readonly [title: string, detail: string] {
  if (typeof member !== 'number') {
    const type = member.type.split('.').at(-1) ?? '';
    const count = member.last - member.first + 1;
    return [member.label, `${type === '' ? '' : `${type} · `}${count} nodes`];
  }
  const { name = '', target = '', value } = graph.nodes[member] ?? {};
  return [name, value ?? target.split('.').at(-1) ?? ''];
}

function drawFrame(
  pen: Pen,
  block: Block,
  group: Group,
  palette: Palette,
  hasText: boolean,
): void {
  pen.box(block, { fill: palette.background, radius: 6 });
  pen.box(block, {
    fill: palette.surface,
    opacity: block.depth % 2 === 0 ? 0.55 : 0.2,
    stroke: palette.line,
    radius: 6,
  });
  const header = { ...block, height: HEADER };
  pen.box(header, { fill: palette.line, opacity: 0.25, radius: 6 });
  if (!hasText) return;
  drawChevron(pen, block.x + 14, block.y + HEADER / 2, 'down', palette.faint);
  const room = block.width - 2 * SIDE - CHEVRON;
  const style = { ...TITLE, colour: palette.text };
  const title = cut(pen, group.label, room, TITLE);
  pen.text(title, block.x + SIDE + CHEVRON - 4, block.y + 17, style);
  const type = group.type.split('.').at(-1) ?? '';
  const used = pen.lengthOf(title, TITLE) + 10;
  if (type !== '' && used + pen.lengthOf(type, DETAIL) < room) {
    const left = block.x + SIDE + CHEVRON - 4 + used;
    pen.text(type, left, block.y + 17, { ...DETAIL, colour: palette.faint });
  }
}

function drawBlock(
  pen: Pen,
  block: Block,
  [title, detail]: readonly [string, string],
  colour: string | undefined,
  palette: Palette,
  hasText: boolean,
): void {
  const isGroup = typeof block.member !== 'number';
  if (isGroup) {
    // A second sheet behind it: there is more inside.
    const behind = { ...block, x: block.x + 3, y: block.y + 3 };
    pen.box(behind, { fill: palette.surface, stroke: palette.line, radius: 5 });
  }
  pen.box(block, { fill: palette.surface, radius: 5 });
  if (colour !== undefined) {
    pen.box(block, { fill: colour, opacity: hasText ? 0.22 : 0.7, radius: 5 });
  }
  pen.box(block, { stroke: colour ?? palette.line, radius: 5 });
  if (!hasText) return;
  const left = block.x + SIDE + (isGroup ? CHEVRON - 4 : 0);
  const room = block.x + block.width - SIDE + 2 - left;
  if (isGroup) drawChevron(pen, block.x + 14, block.y + 13, 'right', palette.faint);
  const name = { ...TITLE, colour: palette.text };
  pen.text(cut(pen, title, room, TITLE), left, block.y + 16, name);
  const more = { ...DETAIL, colour: palette.faint };
  pen.text(cut(pen, detail, room, DETAIL), left, block.y + 31, more);
}

function drawChevron(
  pen: Pen,
  x: number,
  y: number,
  to: 'right' | 'down',
  colour: string,
): void {
  const route =
    to === 'right'
      ? [x - 2, y - 4, x + 2, y, x - 2, y + 4]
      : [x - 4, y - 2, x, y + 2, x + 4, y - 2];
  pen.lines([route], { colour, thickness: 1.5 });
}

/** Straight lines from what the current node reads, and to what reads it. */
function around(
  scene: Scene,
  { current }: Marked,
  graph: GraphItem,
  users: readonly (readonly number[])[],
): Route[] {
  if (typeof current !== 'number') return [];
  const here = scene.blockOf(current);
  if (here === undefined) return [];
  const routes: Route[] = [];
  const join = (from: Block | undefined, to: Block | undefined) => {
    if (from === undefined || to === undefined || from === to) return;
    routes.push([
      ...[from.x + from.width / 2, from.y + from.height],
      ...[to.x + to.width / 2, to.y],
    ]);
  };
  for (const read of graph.nodes[current]?.reads ?? []) join(scene.blockWith(read), here);
  for (const user of users[current] ?? []) join(here, scene.blockWith(user));
  return routes;
}

function grown({ x, y, width, height }: Area, by: number): Area {
  return { x: x - by, y: y - by, width: width + 2 * by, height: height + 2 * by };
}

/** A text with as many of its letters as there is room for. */
function cut(
  pen: Pen,
  text: string,
  room: number,
  style: { readonly size: number; readonly isBold?: boolean },
): string {
  if (pen.lengthOf(text, style) <= room) return text;
  let [fits, long] = [0, text.length];
  while (long - fits > 1) {
    const middle = (fits + long) >> 1;
    if (pen.lengthOf(`${text.slice(0, middle)}…`, style) <= room) fits = middle;
    else long = middle;
  }
  return `${text.slice(0, fits)}…`;
}
