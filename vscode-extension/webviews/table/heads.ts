// The heads of the columns: a click sorts, another one turns the order around.

import { COLUMNS, type TableColumn } from './columns.ts';
import type { Order } from './window.ts';

export function showHeads(
  within: HTMLElement,
  columns: readonly TableColumn[],
  order: Order,
): void {
  const hadFocus = within.querySelector(':focus')?.getAttribute('data-sort');
  within.replaceChildren(
    ...columns.map(({ title, sort, isNumber }) => {
      const head = document.createElement('button');
      head.setAttribute('role', 'columnheader');
      if (isNumber === true) head.className = 'number';
      const isSorted = sort === order.sort;
      head.textContent = isSorted ? `${title} ${order.descending ? '▾' : '▴'}` : title;
      if (sort === undefined) head.disabled = true;
      else head.dataset['sort'] = sort;
      if (isSorted) {
        head.setAttribute('aria-sort', order.descending ? 'descending' : 'ascending');
      }
      return head;
    }),
  );
  if (typeof hadFocus === 'string') {
    within.querySelector<HTMLElement>(`[data-sort="${hadFocus}"]`)?.focus();
  }
}

/** The order after a click on a head. */
export function turned(order: Order, head: HTMLElement): Order {
  const sort = COLUMNS.find((column) => column.sort === head.dataset['sort'])?.sort;
  if (sort === undefined) return order;
  return { ...order, sort, descending: sort === order.sort && !order.descending };
}
