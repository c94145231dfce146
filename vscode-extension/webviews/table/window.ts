// The rows that are seen, of as many as there are.

import type { RowItem, RowsAnswer, RowsAsked } from '../../src/server/protocol.ts';
import type { TableColumn } from './columns.ts';

/** The height of a row, as the style sheet has it. */
export const HEIGHT = 22;

/** The order and the words that rows are asked for by. */
export type Order = Pick<RowsAsked, 'sort' | 'descending' | 'search'>;

/** Which rows to ask for, such that those in view are there before it is scrolled far. */
export function wanted(order: Order, top: number, height: number): RowsAsked {
  const seen = Math.ceil(height / HEIGHT) + 1;
  const first = Math.max(Math.floor(top / HEIGHT) - seen, 0);
  // An even one keeps the stripes where they are.
  return { ...order, first: first - (first % 2), count: seen * 3 };
}

/** Whether an answer has the rows that are in view. */
export function covers(
  asked: RowsAsked,
  { found }: RowsAnswer,
  top: number,
  height: number,
): boolean {
  const first = Math.floor(top / HEIGHT);
  const last = Math.min(Math.ceil((top + height) / HEIGHT), found);
  return asked.first <= first && last <= asked.first + asked.count;
}

/** A row of the page. */
export function rowOf(
  row: RowItem,
  columns: readonly TableColumn[],
  isChosen: boolean,
  isPaused: boolean,
): HTMLElement {
  const drawn = document.createElement('div');
  drawn.className = `row${isChosen ? ' chosen' : ''}${isPaused ? ' paused' : ''}`;
  drawn.id = `row-${row.node}`;
  drawn.setAttribute('role', 'row');
  drawn.setAttribute('aria-selected', String(isChosen));
  drawn.dataset['node'] = String(row.node);
  for (const column of columns) {
    const cell = document.createElement('span');
    cell.setAttribute('role', 'gridcell');
    if (column.isNumber === true) cell.className = 'number';
    cell.textContent = column.text(row);
    cell.title = cell.textContent;
    drawn.append(cell);
  }
  return drawn;
}
