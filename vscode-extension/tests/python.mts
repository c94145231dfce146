// The Python extension's choice of an environment is used, listed and followed.

import assert from 'node:assert/strict';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { address, inBrowser, PROJECT, remote, SHOTS } from './browser.mts';
import { chosen, command, item, lens, plain, row, traced } from './window.mts';

const standIn = join(dirname(fileURLToPath(import.meta.url)), 'python-extension');

await inBrowser(async (page) => {
  let step = 'a model is traced with the environment that the Python extension names';
  const done = (next: string) => {
    console.log(`ok    ${step}`);
    step = next;
  };
  /** The item, when it says that something was found there. */
  const found = (where: string) =>
    item(page)
      .and(page.locator(`[aria-label*="${where}"]`))
      .waitFor();
  try {
    await page.goto(
      address([
        ['openFile', remote(join(PROJECT, 'numbered.py'))],
        ['extensionDevelopmentPath', remote(standIn)],
      ]),
    );
    await row(page, 'class Numbered').waitFor();
    await traced(page);
    await lens(page, 'Show generated code').click();
    await row(page, '= relu + 2').waitFor();
    await found(`${join(PROJECT, '../chosen')}/bin/python, from the Python extension`);

    done('it stands first where a Python is chosen');
    await command(page, 'fxls: Choose a Python');
    const first = chosen(page, '.quick-input-list', 'found by');
    await first.waitFor();
    assert.match(
      plain(await first.innerText()),
      /\/chosen\/bin\/python[^]*torch \S+, fxls 0\.1\.0, found by the Python extension/,
    );
    await page.keyboard.press('Escape');

    done('another choice there is followed at once');
    await command(page, 'Python: Use the Own Environment');
    await found(`${PROJECT}/.venv/bin/python, from the Python extension`);
    await row(page, '= relu + 1').waitFor();

    done('sessions of its debugger are left alone, and a program with torch offers more');
    await command(page, 'View: Close All Editors');
    await page.keyboard.press('Control+P');
    await page.locator('.quick-input-widget input').fill('plain.py');
    await chosen(page, '.quick-input-list', 'plain.py').waitFor();
    await page.keyboard.press('Enter');
    await row(page, 'class Plain').click();
    await page.keyboard.press('F5');
    // A session that is still to begin has no toolbar either.
    await page.locator('.repl', { hasText: 'ran tensor([nan, nan])' }).waitFor();
    await page.locator('.debug-toolbar').waitFor({ state: 'hidden' });
    await page.locator('.statusbar:not(.debugging)').waitFor();
    // A window that tests drive shows no message by itself.
    await command(page, 'Notifications: Show Notifications');
    const offer = page.locator('.notification-list-item', { hasText: 'imports torch' });
    await offer.waitFor();
    await page.screenshot({ path: join(SHOTS, 'debugpy-offer.png') });
    // Another Python is another server, and what the first one was asked has no answer.
    assert.deepEqual(
      await page.locator('.notification-list-item', { hasText: 'failed' }).allInnerTexts(),
      [],
    );
    await offer.locator('.monaco-button', { hasText: 'Turn On' }).click();

    done('its next session stops in generated code of a program without a word of fxls');
    await row(page, 'class Plain').click();
    await page.keyboard.press('F5');
    await page.locator('.tab.active', { hasText: 'Plain_' }).waitFor();
    await page.locator('.exception-widget', { hasText: 'node log of Plain' }).waitFor();
    await page.screenshot({ path: join(SHOTS, 'debugpy-on.png') });
    done('');
  } catch (error) {
    process.exitCode = 1;
    console.log(`FAIL  ${step}: ${String(error)}`);
    await page.screenshot({ path: join(SHOTS, 'failed-python.png') });
  }
});
