// A folder that nobody trusts: nothing of it runs, and one click says how to go on.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { address, inBrowser, PROJECT, remote, SHOTS } from './browser.mts';

await inBrowser(async (page) => {
  const lens = page.locator('.codelens-decoration a', { hasText: 'Debug generated code' });
  const item = page.locator('.statusbar-item[id="fxls.fxls.fxls.status"]');
  let step = 'a folder that is not trusted is said to be restricted';
  const done = (next: string) => {
    console.log(`ok    ${step}`);
    step = next;
  };
  try {
    await page.goto(address([['openFile', remote(`${PROJECT}/net.py`)]]));
    await page.locator('.view-line', { hasText: 'class Net' }).waitFor();
    await page.locator('.statusbar-item', { hasText: 'fxls: restricted' }).waitFor();
    await page.screenshot({ path: join(SHOTS, 'restricted.png') });

    done('nothing of it runs');
    assert.equal(existsSync(join(PROJECT, '.fxls')), false);
    assert.equal(await lens.count(), 0);

    done('a click leads to where trust is given');
    await page.locator('.statusbar-item', { hasText: 'fxls: restricted' }).click();
    const trust = page.locator('.workspace-trust-editor .monaco-button', {
      hasText: /^Trust$/,
    });
    await trust.first().click();

    done('and with that fxls starts, without a reload');
    await item.filter({ hasNotText: 'restricted' }).waitFor();
    // The model is behind the editor in which trust was given.
    await lens.first().waitFor();
    done('');
  } catch (error) {
    process.exitCode = 1;
    console.log(`FAIL  ${step}: ${String(error)}`);
    await page.screenshot({ path: join(SHOTS, 'failed-trust.png') });
  }
});
