// What stands around the picture: search, colours, buttons, and a line on what is chosen.

import { element } from '../host.ts';
import type { GraphItem } from '../../src/server/protocol.ts';
import { type Colouring, sizeText, type Way, WAYS } from './colouring.ts';
import type { Times } from './times.ts';
import type { Member } from './tree.ts';

/** What the buttons ask for. */
export type Wish = 'in' | 'out' | 'fit' | 'open' | 'close' | 'export';

export const page = {
  canvas: element('picture', HTMLCanvasElement),
  search: element('search', HTMLInputElement),
  colours: element('colours', HTMLSelectElement),
};

const found = element('found', HTMLElement);
const legend = element('legend', HTMLElement);
const chosen = element('chosen', HTMLElement);
const paused = element('paused', HTMLElement);
const work = element('work', HTMLElement);

export function onWish(act: (wish: Wish) => void): void {
  for (const button of document.querySelectorAll<HTMLButtonElement>('button[data-wish]')) {
    button.addEventListener('click', () => {
      act(button.dataset['wish'] as Wish);
    });
  }
}

export function onWay(act: (way: Way) => void): void {
  page.colours.addEventListener('change', () => {
    act(way());
  });
}

/** What a person has chosen to see in colours. */
export function way(): Way {
  return WAYS.find((each) => each === page.colours.value) ?? 'opcode';
}

/** Chooses it for a person, who wanted what there is not. */
export function showWay(shown: Way): void {
  page.colours.value = shown;
}

/** Says what goes on: it is laid out, or why there is nothing. */
export function showWork(text: string): void {
  work.textContent = text;
  work.hidden = text === '';
}

export function showFound(place: number, count: number, isSearched: boolean): void {
  found.textContent = isSearched ? `${place} of ${count}` : '';
}

export function showLegend({ legend: rows }: Colouring): void {
  legend.replaceChildren(
    ...rows.map(([meaning, colour]) => {
      const row = document.createElement('span');
      const sample = document.createElement('span');
      sample.className = 'sample';
      // An attribute would be an inline style, which the page forbids.
      sample.style.backgroundColor = colour;
      row.append(sample, meaning);
      return row;
    }),
  );
}

/** Says where a program is stopped. */
export function showPaused(node: number | null, graph: GraphItem): void {
  const name = graph.nodes[node ?? -1]?.name;
  paused.textContent = name === undefined ? '' : `stopped at ${name}`;
}

/** Says what is chosen, also to who cannot see it. */
export function showChosen(
  member: Member | undefined,
  graph: GraphItem,
  isOpen: boolean,
  times: Times | undefined,
): void {
  chosen.textContent = member === undefined ? '' : described(member, graph, isOpen, times);
}

function described(
  member: Member,
  graph: GraphItem,
  isOpen: boolean,
  times: Times | undefined,
): string {
  if (typeof member !== 'number') {
    const { label, type, first, last } = member;
    const parts = [
      ...[label, type, `${last - first + 1} nodes`, isOpen ? 'open' : 'closed'],
      times === undefined ? '' : times.text(first, last),
    ];
    return parts.filter(Boolean).join(' · ');
  }
  const node = graph.nodes[member];
  if (node === undefined) return '';
  const { name, opcode, target, value, bytes, device, origin, error } = node;
  const place = graph.places[origin ?? -1];
  const file = place?.uri.split('/').at(-1) ?? '';
  return [
    name,
    `${opcode} ${target}`,
    value,
    bytes === undefined ? '' : sizeText(bytes),
    device,
    times === undefined ? '' : times.text(member, member),
    error?.text,
    place === undefined ? '' : `${decodeURIComponent(file)}:${place.line + 1}`,
  ]
    .filter((part) => part !== undefined && part !== '')
    .join(' · ');
}
