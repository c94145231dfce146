// The page of the table: it holds the rows in view, the server has all of them.

import { element, listen, takeKeys, tell } from '../host.ts';
import type { ToPage } from '../messages.ts';
import type { RowsAnswer, RowsAsked } from '../../src/server/protocol.ts';
import { columnsOf } from './columns.ts';
import { showHeads, turned } from './heads.ts';
import { covers, HEIGHT, type Order, rowOf, wanted } from './window.ts';

const scroll = element('rows', HTMLElement);
const heads = element('columns', HTMLElement);
const room = element('room', HTMLElement);
const shown = element('window', HTMLElement);
const search = element('search', HTMLInputElement);
const found = element('found', HTMLElement);
const work = element('work', HTMLElement);

let order: Order = { sort: 'node', descending: false, search: '' };
let asked: RowsAsked | undefined;
let answer: RowsAnswer | undefined;
let answered: RowsAsked | undefined;
let selected: readonly number[] = [];
let paused: number | null = null;
/** The step that was asked for while the rows of another order were on their way. */
let delayed: number | undefined;

let isCompared = false;
let columns = columnsOf(isCompared);
showColumns();

heads.addEventListener('click', ({ target }) => {
  if (!(target instanceof HTMLElement)) return;
  order = turned(order, target);
  showHeads(heads, columns, order);
  begin();
});
search.addEventListener('input', () => {
  order = { ...order, search: search.value };
  begin();
});
scroll.addEventListener('scroll', ask);
new ResizeObserver(ask).observe(scroll);
shown.addEventListener('click', ({ target }) => {
  const row = target instanceof Element ? target.closest<HTMLElement>('.row') : null;
  if (row !== null) choose(Number(row.dataset['node']));
});
scroll.addEventListener('keydown', (event) => {
  if (event.target === scroll && press(event.key)) event.preventDefault();
});
takeKeys(scroll);
listen(hear);

function hear(message: ToPage): void {
  switch (message.kind) {
    case 'graph':
      work.hidden = true;
      begin();
      break;
    case 'rows':
      if (message.asked.sort !== order.sort || message.asked.search !== order.search)
        return;
      if (message.asked.descending !== order.descending) return;
      answer = message.answer;
      answered = message.asked;
      if (isCompared !== (answer.compared === true)) {
        isCompared = !isCompared;
        columns = columnsOf(isCompared);
        showColumns();
      }
      show();
      ask();
      if (delayed !== undefined) step(delayed);
      break;
    case 'selected':
      selected = message.nodes;
      show();
      break;
    case 'paused':
      paused = message.node;
      show();
      break;
    case 'failed':
      work.textContent = message.message;
      work.hidden = false;
      break;
    case 'export':
      break;
  }
}

function showColumns(): void {
  const widths = columns.map(({ width }) => width).join(' ');
  document.documentElement.style.setProperty('--columns', widths);
  showHeads(heads, columns, order);
}

/** Shows the beginning of another order. */
function begin(): void {
  asked = undefined;
  answered = undefined;
  scroll.scrollTop = 0;
  ask();
}

/** Asks for what is in view, unless it is there or was asked for. */
function ask(): void {
  const { scrollTop, clientHeight } = scroll;
  if (
    answered !== undefined &&
    answer !== undefined &&
    covers(answered, answer, scrollTop, clientHeight)
  ) {
    return;
  }
  const next = wanted(order, scrollTop, clientHeight);
  if (asked !== undefined && JSON.stringify(asked) === JSON.stringify(next)) return;
  asked = next;
  tell({ kind: 'rows', asked: next });
}

function show(): void {
  if (answer === undefined || answered === undefined) return;
  room.style.height = `${answer.found * HEIGHT}px`;
  shown.style.transform = `translateY(${answered.first * HEIGHT}px)`;
  shown.replaceChildren(
    ...answer.rows.map((row) =>
      rowOf(row, columns, selected.includes(row.node), row.node === paused),
    ),
  );
  scroll.setAttribute('aria-rowcount', String(answer.found));
  const all = `${answer.nodes} nodes`;
  found.textContent = answer.found === answer.nodes ? all : `${answer.found} of ${all}`;
}

function choose(node: number): void {
  selected = [node];
  show();
  scroll.setAttribute('aria-activedescendant', `row-${node}`);
  tell({ kind: 'chosen', node });
}

/** Whether a key means something here. */
function press(key: string): boolean {
  const by = { ArrowDown: 1, ArrowUp: -1 }[key];
  if (by !== undefined) step(by);
  else if (key === '/') search.select();
  else return false;
  return true;
}

/** Chooses the next row, or the one before. */
function step(by: number): void {
  delayed = answered === undefined ? by : undefined;
  if (answer === undefined || answered === undefined) return;
  const at = answer.rows.findIndex(({ node }) => node === selected[0]);
  const row = at === -1 ? answer.rows[0] : answer.rows[at + by];
  if (row === undefined) return;
  choose(row.node);
  const top = (answered.first + answer.rows.indexOf(row)) * HEIGHT;
  const room = scroll.clientHeight - 2 * HEIGHT;
  if (top < scroll.scrollTop) scroll.scrollTop = top;
  else if (top > scroll.scrollTop + room) scroll.scrollTop = top - room;
}
