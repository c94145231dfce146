// A machine without Python and without a network, from there to the first listing.

import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { chosen, command, item, lens, row, shot, story, traced } from './window.mts';

const PYTHON = process.env['FXLS_TEST_BASE_PYTHON'] ?? '';
const HOME = process.env['FXLS_TEST_HOME'] ?? '';
const prefix = execFileSync(PYTHON, ['-c', 'import sys; print(sys.prefix)'], {
  encoding: 'utf8',
}).trim();

await story('machine', 'net.py', async (page, done) => {
  await row(page, 'class Net').click();

  done('a machine without Python is said to have none');
  await item(page).filter({ hasText: 'fxls: no Python' }).waitFor();
  await shot(page, 'no-python');

  done('a click lets a person name one, and takes no for an answer');
  await item(page).click();
  await chosen(page, '.quick-input-list', 'Another one').waitFor();
  await page.keyboard.press('Escape');
  await page.locator('.quick-input-widget').waitFor({ state: 'hidden' });

  done('an environment that is made in the terminal is found, without a reload');
  await command(page, 'Terminal: Create New Terminal');
  await page.locator('.terminal-wrapper.active .xterm-helper-textarea').focus();
  await page.keyboard.type(`'${PYTHON}' -m venv --without-pip .venv`);
  await page.keyboard.press('Enter');
  await item(page).filter({ hasText: 'fxls: no fxls' }).waitFor();

  done('a click installs fxls from the extension, without pip and without a network');
  await item(page).click();
  await item(page).filter({ hasText: 'fxls: no torch' }).waitFor();
  await shot(page, 'no-torch');

  done('torch comes from an index, and it is said that none can be reached');
  await item(page).click();
  await page.locator('.xterm-rows', { hasText: 'Install torch: failed' }).waitFor();
  // A message that nobody looks at goes where the others are.
  await command(page, 'Notifications: Show Notifications');
  const failed = message(page, 'torch was not installed');
  await failed.filter({ hasText: 'the package index cannot be reached' }).waitFor();
  await shot(page, 'offline');

  done('the way out is another Python, which is offered with what it has');
  mkdirSync(join(HOME, '.conda'));
  writeFileSync(join(HOME, '.conda/environments.txt'), `${prefix}\n`);
  await failed.locator('.monaco-button', { hasText: 'Choose a Python' }).click();
  await chosen(page, '.quick-input-list', 'fxls 0.1.0, found by conda').waitFor();
  await shot(page, 'choose-another');
  await page.keyboard.press('Enter');

  done('and with that the model has its generated code');
  await traced(page);
  await lens(page, 'Show generated code').click();
  await row(page, '= torch.relu(linear)').waitFor();
  await shot(page, 'machine');
});

/** A message among those that came. */
function message(page: Page, text: string): Locator {
  const list = page.locator('.notifications-center.visible');
  return list.locator('.notification-list-item', { hasText: text }).first();
}
