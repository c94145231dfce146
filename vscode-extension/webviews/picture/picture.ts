// The picture of one graph: what is open, chosen and marked in it, and how it is seen.

import type { ELK } from 'elkjs/lib/elk-api.js';
import type { GraphItem } from '../../src/server/protocol.ts';
import { Camera } from './camera.ts';
import { CanvasPen } from './canvas_pen.ts';
import { type Colouring, colouringOf, type Way } from './colouring.ts';
import { draw, type Marked, measured } from './drawing.ts';
import { HEADER, Layouts } from './layout.ts';
import type { Palette } from './palette.ts';
import type { Pen } from './pen.ts';
import { type Block, Scene } from './scene.ts';
import { Search } from './search.ts';
import { type Arrow, stepped } from './steps.ts';
import { SvgPen } from './svg_pen.ts';
import { ancestors, type Group, type Member, type Tree, treeOf } from './tree.ts';
import { paletteOf } from './theme.ts';
import type { Times } from './times.ts';
import { edgesOf, usersOf } from './wiring.ts';

/** What the picture tells those around it. */
export interface Watcher {
  /** Another node or group is chosen, or the chosen one was opened or closed. */
  changed(picture: Picture): void;
  /** It is laid out; false: it was. */
  working(isWorking: boolean): void;
}

export class Picture {
  readonly graph: GraphItem;
  readonly search: Search;
  readonly camera = new Camera();
  readonly #canvas: HTMLCanvasElement;
  readonly #on: CanvasRenderingContext2D;
  readonly #watcher: Watcher;
  readonly #tree: Tree;
  readonly #users: readonly (readonly number[])[];
  readonly #layouts: Layouts;
  readonly #open = new Set<Group>();
  #palette: Palette;
  #colouring: Colouring;
  #way: Way = 'opcode';
  #times: Times | undefined;
  #scene: Scene | undefined;
  #current: Member | undefined;
  #selected: ReadonlySet<number> = new Set();
  #paused: number | null = null;
  #asked = 0;
  #isDirty = false;

  constructor(canvas: HTMLCanvasElement, graph: GraphItem, elk: ELK, watcher: Watcher) {
    const on = canvas.getContext('2d');
    if (on === null) throw new Error('nothing can be drawn here');
    this.graph = graph;
    this.search = new Search(graph);
    this.#canvas = canvas;
    this.#on = on;
    this.#watcher = watcher;
    this.#tree = treeOf(graph);
    this.#users = usersOf(graph);
    this.#palette = paletteOf(document.body);
    this.#colouring = colouringOf(graph, this.#way, this.#palette, undefined);
    const pen = this.#pen();
    this.#layouts = new Layouts(
      elk,
      (group) => edgesOf(group, graph, this.#users),
      (member) => measured(member, graph, pen),
    );
  }

  get colouring(): Colouring {
    return this.#colouring;
  }

  /** What is chosen, and whether it is a group that is open. */
  get current(): Member | undefined {
    return this.#current;
  }

  isOpen(member: Member): boolean {
    return typeof member !== 'number' && this.#open.has(member);
  }

  /** How long the nodes take; undefined when nobody has asked. */
  get times(): Times | undefined {
    return this.#times;
  }

  set times(times: Times | undefined) {
    this.#times = times;
    this.restyle();
  }

  get way(): Way {
    return this.#way;
  }

  set way(way: Way) {
    this.#way = way;
    this.restyle();
  }

  set selected(nodes: readonly number[]) {
    this.#selected = new Set(nodes);
    const block = this.#scene?.blockWith(nodes[0] ?? -1);
    if (block !== undefined) this.camera.show(block);
    this.redraw();
  }

  /** Marks the node that a program is stopped at, and shows it, wherever it is. */
  async pause(node: number | null): Promise<void> {
    this.#paused = node;
    if (node !== null) {
      await this.#openTo(node);
      const block = this.#scene?.blockOf(node);
      if (block !== undefined) this.camera.show(block);
    }
    this.redraw();
  }

  /** Lays it out from the start, everything closed. */
  async begin(): Promise<void> {
    await this.#layOut();
    this.#measure();
    if (this.#scene !== undefined) this.camera.begin(this.#scene.area);
    this.redraw();
  }

  /** The theme is another one, or the way to colour. */
  restyle(): void {
    this.#palette = paletteOf(document.body);
    this.#colouring = colouringOf(this.graph, this.#way, this.#palette, this.#times);
    this.redraw();
  }

  fit(): void {
    if (this.#scene !== undefined) this.camera.fit(this.#scene.area);
    this.redraw();
  }

  async openAll(): Promise<void> {
    for (const group of this.#tree.groups.slice(1)) this.#open.add(group);
    await this.#layOut();
  }

  async closeAll(): Promise<void> {
    this.#open.clear();
    if (typeof this.#current === 'number') {
      this.#current = ancestors(this.#tree, this.#current)[1] ?? this.#current;
    }
    await this.begin();
  }

  /** Opens or closes a group, which stays where it is seen. */
  async toggle(group: Group): Promise<void> {
    if (!this.#open.delete(group)) this.#open.add(group);
    const before = this.#scene?.blockOf(group);
    await this.#layOut();
    const after = this.#scene?.blockOf(group);
    if (before !== undefined && after !== undefined) {
      this.camera.x += after.x - before.x;
      this.camera.y += after.y - before.y;
    }
    this.choose(group);
  }

  /** Chooses what an arrow key leads to. */
  step(key: Arrow): void {
    const from = this.#current;
    if (this.#scene === undefined) return;
    const to =
      from === undefined
        ? this.#scene.blocks[0]?.member
        : stepped(from, key, this.graph, this.#users, this.#scene, this.#tree);
    if (to !== undefined) this.choose(to);
  }

  choose(member: Member): void {
    this.#current = member;
    const block = this.#scene?.blockOf(member);
    if (block !== undefined) this.camera.show(block);
    this.#watcher.changed(this);
    this.redraw();
  }

  /** Shows a node, wherever it is. */
  async find(node: number): Promise<void> {
    await this.#openTo(node);
    this.choose(node);
  }

  /** What is at a place of the canvas, and whether that is where it is opened. */
  at(
    left: number,
    top: number,
  ): { readonly block: Block; readonly isHandle: boolean } | undefined {
    const { x, y } = this.camera.pointAt(left, top);
    const block = this.#scene?.blockAt(x, y);
    if (block === undefined) return undefined;
    const isHandle =
      typeof block.member !== 'number' && y < block.y + HEADER && x < block.x + HEADER;
    return { block, isHandle };
  }

  /** Draws soon; several calls draw once. */
  redraw(): void {
    if (this.#isDirty) return;
    this.#isDirty = true;
    requestAnimationFrame(() => {
      this.#isDirty = false;
      this.#paint();
    });
  }

  /** All of it, as it is coloured here. */
  svg(): string {
    if (this.#scene === undefined) return '';
    const screen = this.#pen();
    const pen = new SvgPen(this.#palette.font, screen.lengthOf.bind(screen));
    draw(
      pen,
      this.#scene,
      this.#look(),
      { ...UNMARKED, paused: this.#paused },
      this.#scene.area,
      1,
    );
    return pen.file(this.#scene.area, this.#palette.background);
  }

  async #openTo(node: number): Promise<void> {
    const around = ancestors(this.#tree, node).slice(1);
    if (around.every((group) => this.#open.has(group))) return;
    for (const group of around) this.#open.add(group);
    await this.#layOut();
  }

  async #layOut(): Promise<void> {
    const [root] = this.#tree.groups;
    if (root === undefined) return;
    this.#asked += 1;
    const asked = this.#asked;
    this.#watcher.working(true);
    const layout = await this.#layouts.of(root, (group) => this.#open.has(group));
    // Who asked later sees what was opened before as well.
    if (asked !== this.#asked) return;
    this.#scene = new Scene(layout, this.#tree);
    this.#watcher.working(false);
    this.redraw();
  }

  #paint(): void {
    const { camera } = this;
    this.#measure();
    const dots = window.devicePixelRatio;
    const width = Math.round(camera.width * dots);
    const height = Math.round(camera.height * dots);
    if (this.#canvas.width !== width) this.#canvas.width = width;
    if (this.#canvas.height !== height) this.#canvas.height = height;
    this.#on.setTransform(1, 0, 0, 1, 0, 0);
    this.#on.clearRect(0, 0, width, height);
    if (this.#scene === undefined) return;
    camera.keep(this.#scene.area);
    const scale = camera.scale * dots;
    this.#on.setTransform(scale, 0, 0, scale, -camera.x * scale, -camera.y * scale);
    draw(this.#pen(), this.#scene, this.#look(), this.#marked(), camera.area, camera.scale);
  }

  #measure(): void {
    this.camera.width = this.#canvas.clientWidth;
    this.camera.height = this.#canvas.clientHeight;
  }

  #marked(): Marked {
    return {
      current: this.#current,
      selected: this.#selected,
      paused: this.#paused,
      matches: new Set(this.search.found),
    };
  }

  #look() {
    return {
      graph: this.graph,
      users: this.#users,
      palette: this.#palette,
      colouring: this.#colouring,
    };
  }

  #pen(): Pen {
    return new CanvasPen(this.#on, this.#palette.font);
  }
}

const UNMARKED: Marked = {
  current: undefined,
  selected: new Set(),
  paused: null,
  matches: new Set(),
};
