// How long a person waits: FXLS_TEST_PARTS=times ./test.sh prints the table of docs/waiting.md.
//
// Nothing is asserted; each row is the median of a few windows that begin with nothing:
// no profile, no store, no server, no worker.

import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { address, inBrowser, PROJECT, remote } from './browser.mts';
import { command, lens, plain, row } from './window.mts';

const WINDOWS = 5;

const taken = new Map<string, number[]>();
// The first one reads from the disk what the others find in memory.
await oneWindow(() => undefined);
for (let count = 0; count < WINDOWS; count++) {
  await oneWindow((what, milliseconds) => {
    taken.set(what, [...(taken.get(what) ?? []), milliseconds]);
  });
}
console.log('| from opening the folder to | median | slowest |\n|---|---:|---:|');
for (const [what, times] of taken) {
  const sorted = times.toSorted((one, other) => one - other);
  const [median = 0, slowest = 0] = [sorted[sorted.length >> 1], sorted.at(-1)];
  console.log(`| ${what} | ${text(median)} | ${text(slowest)} |`);
}

async function oneWindow(note: (what: string, milliseconds: number) => void) {
  await rm(join(PROJECT, '.fxls'), { recursive: true, force: true });
  await inBrowser(async (page) => {
    const began = performance.now();
    const now = (what: string) => {
      note(what, performance.now() - began);
    };
    await page.goto(address([['openFile', remote(`${PROJECT}/resnet.py`)]]));
    await row(page, 'class BasicBlock').waitFor();
    now('the text of the model, by VS Code alone');
    await page.keyboard.press('Control+End');
    await lens(page, 'Show generated code').click();
    now('its first lens, which is clicked');
    await row(page, 'stem_0 = getattr').waitFor();
    now('the listing, traced by a worker that was not there');
    note('activation of the extension, by the account of VS Code', await activation(page));
  });
}

/** What VS Code says of the time that it called the extension for. */
async function activation(page: Page): Promise<number> {
  await command(page, 'Developer: Show Running Extensions');
  const own = page.locator('.runtime-extensions-editor .monaco-list-row', {
    hasText: "fxls: PyTorch's generated code",
  });
  const said = await own.locator('.activation-time').innerText();
  return Number(/(\d+)ms/.exec(plain(said))?.[1]);
}

function text(milliseconds: number): string {
  return milliseconds < 1000
    ? `${Math.round(milliseconds)} ms`
    : `${(milliseconds / 1000).toFixed(1)} s`;
}
