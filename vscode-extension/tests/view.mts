// The view Graphs by keys alone, and what it says to who cannot see it.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PROJECT } from './browser.mts';
import { Tree } from './tree.mts';
import { appears, chosen, pageOf, row, shot, stack, story, traced } from './window.mts';

// Two revisions of one graph.
await promisify(execFile)(join(PROJECT, '.venv/bin/python'), ['rewritten.py'], {
  cwd: PROJECT,
});

await story('view', 'net.py', async (page, done) => {
  const graphs = new Tree(page, 'Graphs');
  await row(page, 'class Net').click();
  await traced(page);

  done('the view Graphs says what the store holds, also to who cannot see it');
  await graphs.focus();
  await graphs.rows.filter({ hasText: 'Net' }).waitFor();
  await graphs.rows.filter({ hasText: 'Rewritten' }).waitFor();
  assert.deepEqual(await graphs.names(), [
    'Net, net, 5 nodes, TIME',
    'Rewritten, rewritten, 5 nodes, TIME, 2 revisions',
  ]);

  done('Enter opens a graph');
  await graphs.walk('Net');
  await page.keyboard.press('Enter');
  await page.locator('.tab.active', { hasText: 'Net_' }).waitFor();

  done('arrows open its revisions, and Enter one of them');
  await graphs.focus();
  await graphs.walk('Rewritten');
  await page.keyboard.press('ArrowRight');
  await graphs.rows.filter({ hasText: 'newest' }).waitFor();
  assert.deepEqual(await graphs.names(), [
    'Net, net, 5 nodes, TIME',
    'Rewritten, rewritten, 5 nodes, TIME, 2 revisions',
    'Revision of rewritten.py:28, +1 -1 ~1, 5 nodes, TIME, newest',
    'Revision of DAY TIME, 5 nodes, 0012d6f6f750',
  ]);
  await graphs.walk('0012d6f6f750');
  await page.keyboard.press('Enter');
  await page.locator('.tab.active', { hasText: 'Rewritten_0012d6f6f750' }).waitFor();

  done('two revisions are compared');
  await graphs.focus();
  await graphs.menu('rewritten.py:28', 'Compare Generated Code with …');
  await chosen(page, '.quick-input-list', 'Rewritten_0012d6f6f750.py').waitFor();
  await page.keyboard.press('Enter');
  const compared = page.locator('.monaco-diff-editor .modified').first();
  await row(compared, 'tanh').waitFor();
  await shot(page, 'view-compare');

  done('the menu of a graph shows its picture');
  await graphs.focus();
  await graphs.menu('Net', 'Show Graph Picture');
  await pageOf(page, 0).locator('#legend', { hasText: 'call_module' }).waitFor();

  done('and its table');
  await graphs.focus();
  await graphs.menu('Net', 'Show Graph Table');
  await pageOf(page, 1).locator('#found', { hasText: '5 nodes' }).waitFor();

  done('and leads to its source');
  await graphs.focus();
  await graphs.menu('Net', 'Go to Source');
  await page.locator('.tab.active', { hasText: 'net.py' }).waitFor();

  done('and debugs it');
  await graphs.focus();
  await graphs.menu('Net', 'Debug Generated Code');
  await stack(page, /forward.*Net_/).waitFor();
  await page.keyboard.press('Shift+F5');
  await page.locator('.debug-toolbar').waitFor({ state: 'hidden' });

  done('and deletes it when that is confirmed');
  await graphs.focus();
  await graphs.menu('Net', 'Delete from the Store');
  await page.locator('.monaco-dialog-box', { hasText: 'Delete Net' }).waitFor();
  await page.keyboard.press('Enter');
  await graphs.rows.filter({ hasText: 'Net' }).waitFor({ state: 'detached' });
  await shot(page, 'view');

  done('and so does the mouse');
  const deletes = await graphs.menuItem('rewritten', 'Delete from');
  // A menu takes no click right after it has opened, but keys at once.
  await deletes.hover();
  await page.keyboard.press('Enter');
  await page
    .locator('.monaco-dialog-box', { hasText: 'Delete Rewritten with its 2 revisions' })
    .locator('.monaco-button', { hasText: 'Delete' })
    .click();
  await page.locator('.pane', { hasText: 'No generated code yet' }).waitFor();

  done('a checkout that gives a class another name takes its row along');
  const net = join(PROJECT, 'net.py');
  const text = await readFile(net, 'utf8');
  await git('init', '--quiet', '--initial-branch=main');
  await git('add', 'net.py');
  await git('commit', '--quiet', '--message=Net');
  await git('checkout', '--quiet', '-b', 'other');
  await writeFile(net, text.replaceAll('Net', 'Other'));
  await graphs.rows.filter({ hasText: 'Other' }).waitFor();
  await git('commit', '--quiet', '--all', '--message=Other');
  assert.deepEqual(await graphs.names(), ['Other, net, 5 nodes, TIME']);

  done('and the one back brings it back');
  await git('checkout', '--quiet', 'main');
  await graphs.rows.filter({ hasText: 'Other' }).waitFor({ state: 'detached' });
  await graphs.rows.filter({ hasText: 'Net' }).waitFor();

  done('a listing that moves to its newest revision takes the keyboard from nobody');
  const listing = page.locator('.monaco-editor.focused', { hasText: 'torch.relu(linear)' });
  do {
    // The view may be filled again right then, as the checkout was traced.
    await graphs.focus();
    await graphs.walk('Net');
    await page.keyboard.press('Enter');
  } while (!(await appears(listing, 10_000)));
  await page.keyboard.press('F1');
  const palette = page.locator('.quick-input-widget input.input');
  await palette.waitFor();
  await palette.fill('>fxls');
  await writeFile(net, text.replace('torch.relu(', 'torch.tanh('));
  await row(page.locator('.editor-instance'), 'torch.tanh(linear)').waitFor();
  assert.equal(await palette.inputValue(), '>fxls');
  await palette.and(page.locator(':focus')).waitFor();
});

async function git(...words: string[]): Promise<void> {
  const who = ['-c', 'user.name=somebody', '-c', 'user.email=somebody@nowhere'];
  await promisify(execFile)('git', [...who, ...words], { cwd: PROJECT });
}
