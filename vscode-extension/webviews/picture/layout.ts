// Where the members of a group stand, and the groups that are open inside it.

import type { ELK, ElkNode } from 'elkjs/lib/elk-api.js';
import type { Group, Member } from './tree.ts';
import type { Edge, End } from './wiring.ts';

/** The room of a member, in the coordinates of its group. */
export interface Room {
  readonly member: Member;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  /** What is inside, for a group that is open. */
  readonly inside?: Layout;
}

/** A line of an edge: x and y of each corner in turn. */
export type Route = readonly number[];

export interface Layout {
  readonly serial: number;
  readonly width: number;
  readonly height: number;
  readonly rooms: readonly Room[];
  readonly routes: readonly Route[];
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** The height of what stands above the members of an open group. */
export const HEADER = 26;

/**
 * Lays groups out, each by itself, from the inside to the outside.
 *
 * A group is laid out again only when the size of something inside has changed, and
 * groups that are alike, as the layers of a deep model are, only once for all of them.
 */
export class Layouts {
  readonly #elk: ELK;
  readonly #edges: (group: Group) => readonly Edge[];
  readonly #measure: (member: Member) => Size;
  readonly #known = new Map<string, Layout>();
  readonly #shapes = new Map<string, Promise<Shape>>();
  #serial = 0;

  constructor(
    elk: ELK,
    edges: (group: Group) => readonly Edge[],
    measure: (member: Member) => Size,
  ) {
    this.#elk = elk;
    this.#edges = edges;
    this.#measure = measure;
  }

  async of(group: Group, isOpen: (group: Group) => boolean): Promise<Layout> {
    const inside = new Map<Member, Layout>();
    for (const member of group.members) {
      if (typeof member !== 'number' && isOpen(member)) {
        inside.set(member, await this.of(member, isOpen));
      }
    }
    const serials = [...inside.values()].map(({ serial }) => serial);
    const key = [group.id, ...serials].join(' ');
    let layout = this.#known.get(key);
    if (layout === undefined) {
      layout = await this.#layOut(group, inside);
      this.#known.set(key, layout);
    }
    return layout;
  }

  async #layOut(group: Group, inside: ReadonlyMap<Member, Layout>): Promise<Layout> {
    const isNested = group.parent !== undefined;
    const sizes = group.members.map((member) => {
      const { width, height } = inside.get(member) ?? this.#measure(member);
      return { width, height };
    });
    const { width, height, boxes, routes } = await this.#shape(
      sizes,
      this.#edges(group),
      isNested,
    );
    const rooms = group.members.map((member, index): Room => {
      const box = boxes[index] ?? { x: 0, y: 0, width: 0, height: 0 };
      const layout = inside.get(member);
      return { member, ...box, ...(layout === undefined ? {} : { inside: layout }) };
    });
    this.#serial += 1;
    const least = isNested ? this.#measure(group).width + MARGIN : 0;
    return { serial: this.#serial, width: Math.max(width, least), height, rooms, routes };
  }

  #shape(
    sizes: readonly Size[],
    edges: readonly Edge[],
    isNested: boolean,
  ): Promise<Shape> {
    const key = JSON.stringify([sizes, edges, isNested]);
    let shape = this.#shapes.get(key);
    if (shape === undefined) {
      shape = shapeOf(this.#elk, sizes, edges, isNested);
      this.#shapes.set(key, shape);
    }
    return shape;
  }
}

/** How members of some sizes stand, whatever they are. */
interface Shape extends Size {
  readonly boxes: readonly Box[];
  readonly routes: readonly Route[];
}

interface Box extends Size {
  readonly x: number;
  readonly y: number;
}

async function shapeOf(
  elk: ELK,
  sizes: readonly Size[],
  edges: readonly Edge[],
  isNested: boolean,
): Promise<Shape> {
  const top = isNested ? HEADER + GAP : MARGIN;
  const children: ElkNode[] = sizes.map((size, index) => ({ id: String(index), ...size }));
  if (edges.some(({ from }) => from === 'outside')) children.push(border('in', 'FIRST'));
  if (edges.some(({ to }) => to === 'outside')) children.push(border('out', 'LAST'));
  const drawn: ElkNode = {
    id: 'group',
    layoutOptions: {
      ...OPTIONS,
      'elk.padding': `[top=${top},left=${MARGIN},bottom=${MARGIN},right=${MARGIN}]`,
    },
    children,
    edges: edges.map(({ from, to }, index) => ({
      id: `e${index}`,
      sources: [name(from, 'in')],
      targets: [name(to, 'out')],
    })),
  };
  const graph = await elk.layout(drawn);
  const { width = 0, height = 0 } = graph;
  const boxes = sizes.map((size, index): Box => {
    const { x = 0, y = 0 } = graph.children?.[index] ?? {};
    return { x, y, ...size };
  });
  const routes = (graph.edges ?? []).map((edge, index): Route => {
    const [section] = edge.sections ?? [];
    if (section === undefined) return [];
    const { startPoint, bendPoints = [], endPoint } = section;
    const corners = [startPoint, ...bendPoints, endPoint];
    const { from, to } = edges[index] ?? {};
    // Lines from the outside come out of the header, and leave through the border.
    if (from === 'outside') corners.unshift({ x: startPoint.x, y: HEADER });
    if (to === 'outside') corners.push({ x: endPoint.x, y: height });
    return corners.flatMap(({ x, y }) => [x, y]);
  });
  return { width, height, boxes, routes };
}

const MARGIN = 14;
const GAP = 10;

const OPTIONS = {
  'elk.algorithm': 'layered',
  'elk.direction': 'DOWN',
  'elk.spacing.nodeNode': '18',
  'elk.spacing.edgeNode': '10',
  'elk.layered.spacing.nodeNodeBetweenLayers': '28',
  'elk.layered.spacing.edgeNodeBetweenLayers': '10',
  'elk.layered.mergeEdges': 'true',
  'elk.layered.considerModelOrder.strategy': 'NODES_AND_EDGES',
};

/** A point where lines to the outside meet. */
function border(id: string, layer: 'FIRST' | 'LAST'): ElkNode {
  const layoutOptions = { 'elk.layered.layering.layerConstraint': layer };
  return { id, width: 1, height: 1, layoutOptions };
}

function name(end: End, outside: string): string {
  return end === 'outside' ? outside : String(end);
}
