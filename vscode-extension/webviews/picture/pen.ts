// What a picture is drawn with, on a screen or into a file.

import type { Route } from './layout.ts';
import type { Area } from './scene.ts';

export interface BoxStyle {
  readonly fill?: string;
  /** How much of what is behind is covered, from 0 to 1. */
  readonly opacity?: number;
  readonly stroke?: string;
  readonly thickness?: number;
  readonly radius?: number;
}

export interface TextStyle {
  readonly colour: string;
  readonly size: number;
  readonly isBold?: boolean;
}

export interface LineStyle {
  readonly colour: string;
  readonly thickness: number;
  /** Whether each line ends with an arrow. */
  readonly hasArrows?: boolean;
}

export interface Pen {
  box(area: Area, style: BoxStyle): void;
  /** Draws text that begins at a place; `y` is the line that letters stand on. */
  text(text: string, x: number, y: number, style: TextStyle): void;
  lines(routes: readonly Route[], style: LineStyle): void;
  /** The length of a text as it is drawn. */
  lengthOf(text: string, style: Omit<TextStyle, 'colour'>): number;
}

/** The three corners of an arrow at the end of a line. */
export function arrow(route: Route): Route {
  const [x0 = 0, y0 = 0, x = 0, y = 0] = route.slice(-4);
  const length = Math.hypot(x - x0, y - y0) || 1;
  const [across, down] = [((x - x0) / length) * ARROW, ((y - y0) / length) * ARROW];
  return [
    x - across - down / 2,
    y - down + across / 2,
    x,
    y,
    x - across + down / 2,
    y - down - across / 2,
  ];
}

const ARROW = 6;
