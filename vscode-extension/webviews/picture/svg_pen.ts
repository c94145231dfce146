// Drawing into a file.

import { arrow, type BoxStyle, type LineStyle, type Pen, type TextStyle } from './pen.ts';
import type { Route } from './layout.ts';
import type { Area } from './scene.ts';

export class SvgPen implements Pen {
  readonly #parts: string[] = [];
  readonly #font: string;
  readonly #lengthOf: Pen['lengthOf'];

  /** How long texts are is asked of another pen. */
  constructor(font: string, lengthOf: Pen['lengthOf']) {
    this.#font = font;
    this.#lengthOf = lengthOf;
  }

  box({ x, y, width, height }: Area, style: BoxStyle): void {
    this.#element('rect', {
      ...{ x, y, width, height },
      ...(style.radius === undefined ? {} : { rx: style.radius }),
      fill: style.fill ?? 'none',
      ...(style.opacity === undefined ? {} : { 'fill-opacity': style.opacity }),
      ...(style.stroke === undefined
        ? {}
        : { stroke: style.stroke, 'stroke-width': style.thickness ?? 1 }),
    });
  }

  text(text: string, x: number, y: number, { colour, size, isBold }: TextStyle): void {
    const weight = isBold === true ? { 'font-weight': 600 } : {};
    this.#element('text', { x, y, fill: colour, 'font-size': size, ...weight }, text);
  }

  lines(routes: readonly Route[], { colour, thickness, hasArrows }: LineStyle): void {
    const all = routes.flatMap((route) =>
      hasArrows === true ? [route, arrow(route)] : [route],
    );
    if (all.length === 0) return;
    this.#element('path', {
      d: all.map(pathOf).join(''),
      fill: 'none',
      stroke: colour,
      'stroke-width': thickness,
    });
  }

  lengthOf(text: string, style: Omit<TextStyle, 'colour'>): number {
    return this.#lengthOf(text, style);
  }

  /** The whole file. */
  file({ x, y, width, height }: Area, background: string): string {
    const box = [x, y, width, height].map(short).join(' ');
    const size = `width="${short(width)}" height="${short(height)}"`;
    return [
      `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${box}" ${size} font-family="${escaped(this.#font)}">`,
      `<rect x="${short(x)}" y="${short(y)}" ${size} fill="${escaped(background)}"/>`,
      ...this.#parts,
      '</svg>\n',
    ].join('\n');
  }

  #element(name: string, values: Record<string, string | number>, text?: string): void {
    const written = Object.entries(values).map(
      ([key, value]) =>
        `${key}="${typeof value === 'number' ? short(value) : escaped(value)}"`,
    );
    const start = `<${name} ${written.join(' ')}`;
    this.#parts.push(
      text === undefined ? `${start}/>` : `${start}>${escaped(text)}</${name}>`,
    );
  }
}

function pathOf(route: Route): string {
  return route
    .map((value, index) =>
      index % 2 === 0 ? `${index === 0 ? 'M' : 'L'}${short(value)}` : ` ${short(value)}`,
    )
    .join('');
}

function short(value: number): string {
  return String(Math.round(value * 10) / 10);
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
