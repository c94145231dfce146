// Two folders in one window: each has its own Python, store and entries.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { inBrowser, PROJECT, remote, SERVER, SHOTS } from './browser.mts';
import { Tree } from './tree.mts';
import { chosen, command, item, lens, plain, row, shot, traced } from './window.mts';

const FIRST = join(PROJECT, 'first');
const SECOND = join(PROJECT, 'second');
const torch = execFileSync(
  join(FIRST, '.venv/bin/python'),
  ['-c', 'from importlib.metadata import version; print(version("torch"))'],
  { encoding: 'utf8' },
).trim();

await inBrowser(async (page) => {
  let step = 'a window with two folders traces the model that is open with its own Python';
  const done = (next: string) => {
    console.log(`ok    ${step}`);
    step = next;
  };
  try {
    const query = new URLSearchParams({
      workspace: join(PROJECT, 'both.code-workspace'),
      payload: JSON.stringify([['openFile', remote(join(FIRST, 'numbered.py'))]]),
    });
    await page.goto(`${SERVER}/?${query.toString()}`);
    await row(page, 'class Numbered').waitFor();
    await traced(page);
    await lens(page, 'Show generated code').click();
    await row(page, '= relu + 1').waitFor();
    assert.deepEqual([listings(FIRST), listings(SECOND)], [1, 0]);

    done('the item says which Python each folder has');
    assert.equal(
      await saidByItem(page),
      `fxls. first: fxls 0.1.0 with ${FIRST}/.venv/bin/python, from .venv ` +
        `second: fxls 0.1.0 with ${SECOND}/.venv/bin/python, from .venv`,
    );

    done(
      "the model of the same name in the other folder has that folder's Python and store",
    );
    await opened(page, 'second/numbered.py');
    await traced(page);
    await lens(page, 'Show generated code').click();
    await row(page, '= relu + 2').waitFor();
    assert.deepEqual([listings(FIRST), listings(SECOND)], [1, 1]);

    done('the view Graphs tells the two apart');
    const graphs = new Tree(page, 'Graphs');
    await graphs.focus();
    await graphs.rows.nth(1).waitFor();
    assert.deepEqual((await graphs.names()).toSorted(), [
      'Numbered, numbered, first, 4 nodes, TIME',
      'Numbered, numbered, second, 4 nodes, TIME',
    ]);
    await shot(page, 'folders');

    done('a Python is chosen for one of them, among all that there are');
    await command(page, 'fxls: Choose a Python');
    await chosen(page, '.quick-input-list', 'first').waitFor();
    await page.locator('.quick-input-widget input').fill('second');
    await chosen(page, '.quick-input-list', 'second').waitFor();
    await page.keyboard.press('Enter');
    await page.locator('.quick-input-title', { hasText: 'fxls 0.1.0 belongs' }).waitFor();
    await chosen(page, '.quick-input-list', 'Python').waitFor();
    const usable = `torch ${torch}, fxls 0.1.0`;
    const home = process.env['HOME'] ?? '';
    const offered = await choices(page);
    await shot(page, 'choose-python');
    assert.deepEqual(offered.slice(0, 3), [
      ['Python 3.11', `${SECOND}/.venv/bin/python`, `${usable}, found by .venv`],
      ['Python 3.11', `${FIRST}/.venv/bin/python`, `${usable}, found by the folder first`],
      [
        'Python 3.11',
        `${join(PROJECT, '../conda')}/bin/python`,
        `${usable}, found by conda`,
      ],
    ]);
    assert.deepEqual(
      offered.filter(([, path]) => path?.startsWith(join(home, '.pyenv'))),
      [
        [
          'Python 3.11',
          `${home}/.pyenv/versions/3.11-empty/bin/python`,
          'no torch, no fxls, found by pyenv',
        ],
      ],
    );
    assert.deepEqual(offered.at(-1), ['Another one …', '', '']);

    done("and is that folder's alone");
    await page.locator('.quick-input-widget input').fill('conda');
    await chosen(page, '.quick-input-list', 'found by conda').waitFor();
    await page.keyboard.press('Enter');
    await item(page).filter({ hasNotText: 'sync' }).waitFor();
    await opened(page, 'second/numbered.py');
    await traced(page);
    await command(page, 'fxls: Trace This File');
    await lens(page, 'Show generated code').click();
    await row(page, '= relu + 3').waitFor();
    assert.equal(
      readFileSync(join(SECOND, '.vscode/settings.json'), 'utf8').replaceAll(/\s+/g, ' '),
      `{ "fxls.python": "${join(PROJECT, '../conda')}/bin/python" }`,
    );
    assert.deepEqual([listings(FIRST), listings(SECOND)], [1, 2]);
    done('');
  } catch (error) {
    process.exitCode = 1;
    console.log(`FAIL  ${step}: ${String(error)}`);
    await page.screenshot({ path: join(SHOTS, 'failed-folders.png') });
  }
});

/** What a screen reader says of the item, on one line. */
async function saidByItem(page: Page): Promise<string> {
  const label = await item(page).getAttribute('aria-label');
  return plain(label ?? '')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

/** Opens a file by its name, and nothing else. */
async function opened(page: Page, name: string): Promise<void> {
  await command(page, 'View: Close All Editors');
  await page.locator('.tab').first().waitFor({ state: 'detached' });
  await page.keyboard.press('Control+P');
  await page.locator('.quick-input-widget input').fill(name);
  const [folder = ''] = name.split('/');
  await chosen(page, '.quick-input-list', folder).waitFor();
  await page.keyboard.press('Enter');
  await page.locator('.monaco-breadcrumbs', { hasText: folder }).first().waitFor();
}

/** What the list offers, in its order: label, description and detail of each. */
async function choices(page: Page): Promise<string[][]> {
  const rows = await page.locator('.quick-input-list .monaco-list-row').all();
  return Promise.all(
    rows.map(async (one) => {
      const parts = ['.label-name', '.label-description', '.quick-input-list-label-meta'];
      const texts = parts.map((part) => one.locator(part).first());
      return Promise.all(
        texts.map(async (part) =>
          (await part.count()) > 0 ? plain(await part.innerText()).trim() : '',
        ),
      );
    }),
  );
}

/** How many listings a folder has. */
function listings(folder: string): number {
  try {
    return readdirSync(join(folder, '.fxls')).filter((name) => name.endsWith('.py')).length;
  } catch {
    return 0;
  }
}
