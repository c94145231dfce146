// Drawing on the screen.

import { arrow, type BoxStyle, type LineStyle, type Pen, type TextStyle } from './pen.ts';
import type { Route } from './layout.ts';
import type { Area } from './scene.ts';

export class CanvasPen implements Pen {
  readonly #on: CanvasRenderingContext2D;
  readonly #font: string;

  constructor(on: CanvasRenderingContext2D, font: string) {
    this.#on = on;
    this.#font = font;
  }

  box({ x, y, width, height }: Area, style: BoxStyle): void {
    const on = this.#on;
    on.beginPath();
    if (style.radius === undefined) on.rect(x, y, width, height);
    else on.roundRect(x, y, width, height, style.radius);
    if (style.fill !== undefined) {
      on.globalAlpha = style.opacity ?? 1;
      on.fillStyle = style.fill;
      on.fill();
      on.globalAlpha = 1;
    }
    if (style.stroke !== undefined) {
      on.strokeStyle = style.stroke;
      on.lineWidth = style.thickness ?? 1;
      on.stroke();
    }
  }

  text(text: string, x: number, y: number, style: TextStyle): void {
    this.#on.font = this.#fontOf(style);
    this.#on.fillStyle = style.colour;
    this.#on.fillText(text, x, y);
  }

  lines(routes: readonly Route[], { colour, thickness, hasArrows }: LineStyle): void {
    const on = this.#on;
    on.beginPath();
    for (const route of routes) {
      trace(on, route);
      if (hasArrows === true) trace(on, arrow(route));
    }
    on.strokeStyle = colour;
    on.lineWidth = thickness;
    on.stroke();
  }

  lengthOf(text: string, style: Omit<TextStyle, 'colour'>): number {
    this.#on.font = this.#fontOf(style);
    return this.#on.measureText(text).width;
  }

  #fontOf({ size, isBold }: Omit<TextStyle, 'colour'>): string {
    return `${isBold === true ? '600 ' : ''}${size}px ${this.#font}`;
  }
}

function trace(on: CanvasRenderingContext2D, route: Route): void {
  for (let at = 0; at < route.length; at += 2) {
    const [x = 0, y = 0] = [route[at], route[at + 1]];
    if (at === 0) on.moveTo(x, y);
    else on.lineTo(x, y);
  }
}
