// The order of the view Graphs.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byModel, isStale } from '../../src/graphs/order.ts';

interface Graph {
  readonly model: string;
  readonly stage?: string;
  readonly time: number;
  readonly stale?: boolean;
}

void test('what is current stands before what is stale, however new that is', () => {
  assert.deepEqual(
    ordered([
      { model: 'Old', time: 1 },
      { model: 'Stale', time: 9, stale: true },
      { model: 'New', time: 3, stale: false },
      { model: 'Older and stale', time: 4, stale: true },
    ]),
    ['New', 'Old', 'Stale', 'Older and stale'],
  );
});

void test('the stale graphs of a model stand behind the others, and not it behind other models', () => {
  assert.deepEqual(
    ordered([
      { model: 'Net', stage: 'graph 0', time: 5, stale: true },
      { model: 'Net', stage: 'graph 1', time: 5 },
      { model: 'Net', stage: 'graph 2', time: 5, stale: true },
      { model: 'Net', stage: 'graph 3', time: 4 },
      { model: 'Other', time: 1 },
    ]),
    ['Net graph 1', 'Net graph 3', 'Net graph 0', 'Net graph 2', 'Other'],
  );
});

void test('a model is stale when all of its graphs are', () => {
  const [current, stale] = [{ time: 1 }, { time: 1, stale: true }];
  assert.deepEqual([[current], [current, stale], [stale, stale]].map(isStale), [
    false,
    false,
    true,
  ]);
});

function ordered(graphs: readonly Graph[]): string[] {
  return byModel(graphs, ({ model }) => model)
    .flat()
    .map(({ model, stage }) => [model, stage].filter(Boolean).join(' '));
}
