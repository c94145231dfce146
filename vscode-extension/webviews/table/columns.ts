// The columns of the table: what each shows of a row.

import type { Column, RowItem } from '../../src/server/protocol.ts';
import { timeText } from '../picture/times.ts';

export interface TableColumn {
  readonly title: string;
  /** What the server sorts by; nothing for columns that have no order. */
  readonly sort?: Column;
  readonly width: string;
  readonly isNumber?: boolean;
  text(row: RowItem): string;
}

export const COLUMNS: readonly TableColumn[] = [
  {
    title: '#',
    sort: 'node',
    width: '56px',
    isNumber: true,
    text: ({ node }) => String(node),
  },
  { title: 'Name', sort: 'name', width: '180px', text: ({ name }) => name },
  { title: 'Opcode', sort: 'opcode', width: '110px', text: ({ opcode }) => opcode },
  { title: 'Target', sort: 'target', width: '220px', text: ({ target }) => target },
  {
    title: 'Arguments',
    width: '200px',
    text: ({ args, kwargs }) => [args, kwargs].filter(Boolean).join(', '),
  },
  { title: 'Shape', sort: 'shape', width: '140px', text: ({ shape }) => shape ?? '' },
  { title: 'Dtype', sort: 'dtype', width: '76px', text: ({ dtype }) => dtype ?? '' },
  { title: 'Device', sort: 'device', width: '76px', text: ({ device }) => device ?? '' },
  {
    title: 'Bytes',
    sort: 'bytes',
    width: '96px',
    isNumber: true,
    text: ({ bytes }) => (bytes === undefined ? '' : bytes.toLocaleString('en')),
  },
  {
    title: 'Time',
    sort: 'time',
    width: '120px',
    isNumber: true,
    text: ({ nanoseconds, shared }) =>
      nanoseconds === undefined
        ? ''
        : `${timeText(nanoseconds)}${shared === true ? ', shared' : ''}`,
  },
  {
    title: 'Error',
    sort: 'error',
    width: '180px',
    text: ({ error }) => error?.text ?? '',
  },
  {
    title: 'Users',
    sort: 'users',
    width: '64px',
    isNumber: true,
    text: ({ users }) => String(users),
  },
  { title: 'Module', sort: 'module', width: '160px', text: ({ module }) => module ?? '' },
  { title: 'Source', sort: 'source', width: '140px', text: sourceOf },
];

/** Those that are shown; nobody compared the values of most graphs. */
export function columnsOf(isCompared: boolean): readonly TableColumn[] {
  return isCompared ? COLUMNS : COLUMNS.filter(({ sort }) => sort !== 'error');
}

function sourceOf({ origin }: RowItem): string {
  if (origin === undefined) return '';
  const file = decodeURIComponent(origin.uri.split('/').at(-1) ?? '');
  return `${file}:${origin.line + 1}`;
}
