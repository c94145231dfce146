// The view Runs by keys alone: what each row says, and where it leads.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PROJECT } from './browser.mts';
import { Tree } from './tree.mts';
import { chosen, command, fold, row, shot, story, traced } from './window.mts';

// What torch has in its cache, it does not make again.
const env = { ...process.env, TORCHINDUCTOR_FORCE_DISABLE_CACHES: '1' };
await promisify(execFile)(
  join(PROJECT, '.venv/bin/python'),
  ['-m', 'fxls', 'run', 'recompiled.py'],
  { cwd: PROJECT, env },
);

/** By itself a job takes one port of the machine, which another may have. */
const JOB = ['--standalone', '--nproc-per-node', '2'];

await story('runs', 'net.py', async (page, done) => {
  await row(page, 'class Net').click();
  await traced(page);
  const runs = new Tree(page, 'Runs');

  done('the view Runs says what ran, also to who cannot see it');
  await fold(page);
  await runs.focus();
  await runs.rows.filter({ hasText: 'recompiled.py' }).waitFor();
  assert.deepEqual(await runs.names(), [
    'recompiled.py, 7 compilations, 3 recompilations, 1 graph break, SECONDS, TIME',
  ]);

  done(
    'arrows open it: each compilation, and many recompilations of a function in one row',
  );
  await runs.open('recompiled.py', 'Time by phase');
  const first = 'guard failed: 0/0: times == 1.0';
  const overview = await runs.names();
  const found = overview.at(-1)?.replace(/, \S+ SECONDS$/, '');
  assert.deepEqual(
    [...overview.slice(0, -1), found],
    [
      'recompiled.py, 7 compilations, 3 recompilations, 1 graph break, SECONDS, TIME',
      '0/0 scaled, ok, 3 nodes, SECONDS, recompiled.py:6',
      `0/1 to 0/3 scaled, 3 recompilations, ${first}, SECONDS, recompiled.py:7`,
      '1/0 halved, break, attempt 2, 3 nodes, SECONDS, recompiled.py:11',
      '2/0 halved, ok, continuation, 3 nodes, SECONDS, recompiled.py:14',
      '3/0 shown, ok, 4 nodes, SECONDS, recompiled.py:18',
      'Time by phase',
    ],
  );

  done('the row of recompilations opens, and Enter leads to the line of the guard');
  await runs.open('0/1 to 0/3', '0/2 scaled');
  await page.keyboard.press('Enter');
  await page.locator('.tab.active', { hasText: 'recompiled.py' }).waitFor();
  await page.locator('.statusbar-item', { hasText: 'Ln 7' }).waitFor();

  done('a graph break leads to its line');
  await runs.focus();
  await runs.open('1/0 halved', 'graph break GB');
  await runs.walk('graph break GB');
  await page.keyboard.press('Enter');
  await page.locator('.statusbar-item', { hasText: 'Ln 14' }).waitFor();

  done('a kernel leads to its call');
  await runs.focus();
  await runs.open('3/0 shown', 'graph 0, forward');
  await runs.open('graph 0, forward, kernels', 'cpp_fused');
  await runs.walk('cpp_fused');
  await page.keyboard.press('Enter');
  await page.locator('.tab.active', { hasText: 'shown_' }).waitFor();
  await row(page, 'cpp_fused_add_relu_0(arg0_1').waitFor();
  await shot(page, 'runs');

  done('guards open as a document');
  await runs.focus();
  await runs.open('0/0 scaled', 'guards');
  // Those of the graph break are there already.
  await runs.rows.filter({ hasText: 'guards' }).nth(1).waitFor();
  await runs.walk('guards');
  await page.keyboard.press('Enter');
  await page.locator('.tab.active', { hasText: 'guards.txt' }).waitFor();
  await row(page, "L['times'] == 1.0").waitFor();

  done('and from the palette, those of the file in front first');
  await page.keyboard.press('Control+w');
  await command(page, 'fxls: Show Guards of a Compilation');
  await chosen(page, '.quick-input-list', '0/0 scaled').waitFor();
  await page.keyboard.press('ArrowDown');
  await chosen(page, '.quick-input-list', '0/1 scaled').waitFor();
  await page.keyboard.press('Enter');
  await page.locator('.tab.active', { hasText: 'guards.txt' }).waitFor();
  await row(page, "L['times'] == 2.0").waitFor();

  done('ranks stand side by side, and one that differs leads to the first node');
  await promisify(execFile)(
    join(PROJECT, '.venv/bin/python'),
    ['-m', 'fxls', 'run', '-m', 'torch.distributed.run', ...JOB, 'ranks.py'],
    { cwd: PROJECT, env },
  );
  await page.keyboard.press('Control+w');
  await runs.focus();
  await runs.open('ranks.py', 'differs from rank 0');
  await runs.open('differs from rank 0', 'first at');
  const ranks = (await runs.names()).filter((name) => /^rank/i.test(name));
  assert.deepEqual(ranks.slice(1, 4), [
    'Ranks, 2, rank 1 differs from rank 0',
    'rank 0, 1 compilation, SECONDS',
    'rank 1, differs in Gated, graph 0: +1 ~1 nodes, first at x_1, 1 compilation, SECONDS',
  ]);
  await runs.walk('first at');
  await page.keyboard.press('Enter');
  await page.locator('.tab.active', { hasText: 'Gated_' }).waitFor();
  await row(page, 'torch.sigmoid(x)').waitFor();
  await page.locator('.statusbar-item', { hasText: 'Ln 9' }).waitFor();

  done('and to its line in the source');
  await runs.focus();
  await runs.open('first at', 'From the source');
  await runs.walk('From the source');
  await page.keyboard.press('Enter');
  await page.locator('.tab.active', { hasText: 'ranks.py' }).waitFor();
  await page.locator('.statusbar-item', { hasText: 'Ln 15' }).waitFor();
});
