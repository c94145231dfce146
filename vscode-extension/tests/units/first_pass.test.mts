// What the view of graphs says of passes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { firstPassQuestions, passName } from '../../src/graphs/first_pass.ts';

void test('a pass whose name repeats has its number', () => {
  assert.deepEqual(
    [passName('fuse'), passName('fuse', 1), passName('fuse', 3)],
    ['fuse', 'fuse', 'fuse (3)'],
  );
});

void test('all but the broken graph is asked with a name or a shape', () => {
  const alone = firstPassQuestions.filter(({ wants }) => wants === undefined);
  assert.deepEqual(
    alone.map(({ asked }) => asked),
    ['broken'],
  );
});
