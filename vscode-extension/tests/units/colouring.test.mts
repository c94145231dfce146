// What colours mean.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { colouringOf } from '../../webviews/picture/colouring.ts';
import type { Palette } from '../../webviews/picture/palette.ts';
import { Times, timeText } from '../../webviews/picture/times.ts';
import { graphOf } from './pictures.ts';

const PALETTE = { cold: '#000000', hot: '#c8c8c8' } as Palette;

const NET = graphOf(`
  x
  block | a < x
  block | b < a
  c < b
`);

void test('a group takes as long as its nodes do together, and is the hottest', () => {
  const times = new Times([0, 1_000, 99_000, 10_000]);
  const colouring = colouringOf(NET, 'time', PALETTE, times);
  assert.deepEqual(
    NET.nodes.map((_node, index) => colouring.of(index)),
    [undefined, 'rgb(0, 0, 0)', 'rgb(200, 200, 200)', 'rgb(100, 100, 100)'],
  );
  assert.equal(colouring.ofGroup?.(1, 2), 'rgb(200, 200, 200)');
  assert.deepEqual(colouring.legend, [
    ['1.0 µs', 'rgb(0, 0, 0)'],
    ['10 µs', 'rgb(100, 100, 100)'],
    ['100 µs', 'rgb(200, 200, 200)'],
  ]);
});

void test('a kernel that several nodes share counts once, and none has it for itself', () => {
  const times = new Times(
    [0, 3_000, 3_000, 10_000],
    [
      { nanoseconds: 3_000, nodes: [1, 2], sharedBy: 2 },
      { nanoseconds: 10_000, nodes: [3], sharedBy: 1 },
    ],
  );
  assert.deepEqual([times.of(1, 2), times.of(1, 3), times.of(0, 0)], [3_000, 13_000, 0]);
  assert.deepEqual(
    [times.text(1, 1), times.text(1, 2), times.text(2, 3), times.text(3, 3)],
    [
      '3.0 µs, shared by 2 nodes',
      '3.0 µs',
      '13 µs, partly shared with other nodes',
      '10 µs',
    ],
  );
  assert.equal(colouringOf(NET, 'time', PALETTE, times).legend.at(-1)?.[0], '10 µs');
});

void test('what nobody has measured has no colour', () => {
  const colouring = colouringOf(NET, 'time', PALETTE, undefined);
  assert.deepEqual([colouring.of(1), colouring.legend], [undefined, []]);
});

void test('what is wrong is the hottest, and what nobody compared has no colour', () => {
  const errors = [
    undefined,
    { off: 0, explained: 0, text: '' },
    { off: 1e-7, explained: 1e-6, text: '' },
    { off: 0.5, explained: 1e-6, text: '', wrong: true },
  ];
  const nodes = NET.nodes.map((node, index) => {
    const error = errors[index];
    return error === undefined ? node : { ...node, error };
  });
  const colouring = colouringOf({ ...NET, nodes }, 'error', PALETTE, undefined);
  assert.deepEqual(
    nodes.map((_node, index) => colouring.of(index)),
    [undefined, 'rgb(0, 0, 0)', 'rgb(10, 10, 10)', 'rgb(200, 200, 200)'],
  );
  assert.deepEqual(colouring.legend, [
    ['the same in each bit', 'rgb(0, 0, 0)'],
    ['as far off as precision explains', 'rgb(100, 100, 100)'],
    ['wrong', 'rgb(200, 200, 200)'],
  ]);
  const none = colouringOf(NET, 'error', PALETTE, undefined);
  assert.deepEqual([none.of(1), none.legend], [undefined, []]);
});

void test('times are written short', () => {
  assert.deepEqual([0, 950, 1_234, 12_345, 1_234_567, 2_500_000_000, 9e13].map(timeText), [
    '0 ns',
    '950 ns',
    '1.2 µs',
    '12 µs',
    '1.2 ms',
    '2.5 s',
    '90000 s',
  ]);
});
