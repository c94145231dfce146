// Two windows on one folder, and one on none.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { address, inBrowser, PROJECT, remote, SERVER, SHOTS } from './browser.mts';
import { item, lens, row, word } from './window.mts';

await inBrowser(async (page) => {
  page.setDefaultTimeout(180_000);
  let step = 'two windows on one folder both show what is generated';
  const done = (next: string) => {
    console.log(`ok    ${step}`);
    step = next;
  };
  try {
    const other = await page.context().newPage();
    other.setDefaultTimeout(180_000);
    const net = address([['openFile', remote(`${PROJECT}/net.py`)]]);
    await Promise.all([page.goto(net), other.goto(net)]);
    for (const window of [page, other]) {
      await window.bringToFront();
      await lens(window, 'Show generated code').click();
      await row(window, '= torch.relu(linear)').waitFor();
    }

    done('when one is closed, the other one goes on');
    await page.bringToFront();
    await other.close();
    await word(row(page, '= relu + x'), 'add').click();
    await page.keyboard.press('F12');
    await page
      .locator('.editor-group-container.active', { hasText: 'class Net' })
      .waitFor();

    done('a window without a folder works with the file that is open');
    const files = JSON.stringify([['openFile', remote(`${PROJECT}/net.py`)]]);
    await page.goto(`${SERVER}/?ew=true&payload=${encodeURIComponent(files)}`);
    await row(page, 'class Net').waitFor();
    await item(page).waitFor();
    assert.match((await item(page).getAttribute('aria-label')) ?? '', /^fxls/);
    await page.screenshot({ path: join(SHOTS, 'no-folder.png') });
    done('');
  } catch (error) {
    process.exitCode = 1;
    console.log(`FAIL  ${step}: ${String(error)}`);
    await page.screenshot({ path: join(SHOTS, 'failed-windows.png') });
  }
});
