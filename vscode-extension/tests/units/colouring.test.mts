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

void test('what nobody has measured has no colour', () => {
  const colouring = colouringOf(NET, 'time', PALETTE, undefined);
  assert.deepEqual([colouring.of(1), colouring.legend], [undefined, []]);
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
