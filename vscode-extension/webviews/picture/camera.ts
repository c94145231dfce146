// Which part of the picture is seen, and how large.

import type { Area } from './scene.ts';

export class Camera {
  /** The point of the picture in the upper left corner. */
  x = 0;
  y = 0;
  scale = 1;
  /** The size of what it is seen through. */
  width = 1;
  height = 1;

  /** What is seen, in the coordinates of the picture. */
  get area(): Area {
    const { x, y, scale } = this;
    return { x, y, width: this.width / scale, height: this.height / scale };
  }

  /** The point of the picture that is seen at a place. */
  pointAt(left: number, top: number): { readonly x: number; readonly y: number } {
    return { x: this.x + left / this.scale, y: this.y + top / this.scale };
  }

  /** Moves by what a hand moved. */
  drag(left: number, top: number): void {
    this.x -= left / this.scale;
    this.y -= top / this.scale;
  }

  /** Zooms; what is seen at a place stays there. */
  zoom(factor: number, left = this.width / 2, top = this.height / 2): void {
    const before = this.pointAt(left, top);
    this.scale = Math.min(LARGEST, Math.max(SMALLEST, this.scale * factor));
    const after = this.pointAt(left, top);
    this.x += before.x - after.x;
    this.y += before.y - after.y;
  }

  /** Shows an area whole and in the middle, no larger than it is. */
  fit(area: Area): void {
    const scale = Math.min(
      this.width / (area.width + 2 * AROUND),
      this.height / (area.height + 2 * AROUND),
      1,
    );
    this.scale = Math.max(scale, SMALLEST);
    this.#center(area);
  }

  /** Shows the beginning, large enough to be read. */
  begin(area: Area): void {
    this.fit(area);
    if (this.scale >= READABLE) return;
    this.scale = READABLE;
    this.#center(area);
    this.y = area.y - AROUND;
  }

  /** Moves to an area, unless it is seen already. */
  show(area: Area): void {
    const seen = this.area;
    const isSeen =
      area.x >= seen.x &&
      area.y >= seen.y &&
      area.x + Math.min(area.width, seen.width) <= seen.x + seen.width &&
      area.y + Math.min(area.height, seen.height) <= seen.y + seen.height;
    if (isSeen) return;
    if (this.scale < READABLE) this.scale = READABLE;
    this.#center(area);
  }

  /** Comes back so far that a part of an area is seen. */
  keep(area: Area): void {
    const [across, down] = [AROUND / this.scale, AROUND / this.scale];
    const seen = this.area;
    this.x = clamped(this.x, area.x + across - seen.width, area.x + area.width - across);
    this.y = clamped(this.y, area.y + down - seen.height, area.y + area.height - down);
  }

  #center(area: Area): void {
    this.x = area.x + area.width / 2 - this.width / this.scale / 2;
    this.y = area.y + area.height / 2 - this.height / this.scale / 2;
  }
}

const SMALLEST = 0.0005;
const LARGEST = 4;
const AROUND = 16;
/** Text is drawn small below this. */
const READABLE = 0.6;

function clamped(value: number, least: number, most: number): number {
  return Math.max(least, Math.min(value, most));
}
