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
 * A group is laid out again only when the size of something inside has changed.
 */
export class Layouts {
  readonly #elk: ELK;
  readonly #edges: (group: Group) => readonly Edge[];
  readonly #measure: (member: Member) => Size;
  readonly #known = new Map<string, Layout>();
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
    const edges = this.#edges(group);
    const isNested = group.parent !== undefined;
    const top = isNested ? HEADER + GAP : MARGIN;
    const children: ElkNode[] = group.members.map((member, index) => {
      const { width, height } = inside.get(member) ?? this.#measure(member);
      return { id: String(index), width, height };
    });
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
    const graph = await this.#elk.layout(drawn);
    const { width = 0, height = 0 } = graph;
    const rooms = group.members.map((member, index): Room => {
      const { x = 0, y = 0, width = 0, height = 0 } = graph.children?.[index] ?? {};
      const layout = inside.get(member);
      const room = { member, x, y, width, height };
      return layout === undefined ? room : { ...room, inside: layout };
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
    this.#serial += 1;
    const least = isNested ? this.#measure(group).width + MARGIN : 0;
    return { serial: this.#serial, width: Math.max(width, least), height, rooms, routes };
  }
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
