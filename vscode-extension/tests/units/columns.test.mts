// The table has a column for errors where a comparison judged values.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { columnsOf } from '../../webviews/table/columns.ts';

void test('only a graph that was compared has a column of errors, behind the times', () => {
  const usual = columnsOf(false).map(({ title }) => title);
  const compared = columnsOf(true).map(({ title }) => title);
  const at = compared.indexOf('Error');
  assert.equal(compared[at - 1], 'Time');
  assert.deepEqual(usual, compared.toSpliced(at, 1));
});
