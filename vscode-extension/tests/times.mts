// How long a person waits: FXLS_TEST_PARTS=times ./test.sh prints tables of docs/waiting.md.
//
// Nothing is asserted; each row is the median of a few windows that begin with nothing:
// no profile, no store, no server, no worker.

import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { address, inBrowser, PROJECT, remote } from './browser.mts';
import { command, lens, plain, row, traced } from './window.mts';

const WINDOWS = 5;

const LONG = `import torch


# fxls: Long()(torch.randn(2, 3))
class Long(torch.nn.Module):
    def forward(self, x):
        for _ in range(33_000):
            x = torch.relu(x) + 1 - 2
        return x
`;

type Note = (what: string, milliseconds: number) => void;

await table('from opening the folder to', firstListing);
await table('in a window with a model of 99,002 nodes', longListing);

/** Prints the medians of what several windows note. */
async function table(
  head: string,
  oneWindow: (note: Note) => Promise<void>,
): Promise<void> {
  const taken = new Map<string, number[]>();
  // The first one reads from the disk what the others find in memory.
  await oneWindow(() => undefined);
  for (let count = 0; count < WINDOWS; count++) {
    await oneWindow((what, milliseconds) => {
      taken.set(what, [...(taken.get(what) ?? []), milliseconds]);
    });
  }
  console.log(`| ${head} | median | slowest |\n|---|---:|---:|`);
  for (const [what, times] of taken) {
    const sorted = times.toSorted((one, other) => one - other);
    const [median = 0, slowest = 0] = [sorted[sorted.length >> 1], sorted.at(-1)];
    console.log(`| ${what} | ${text(median)} | ${text(slowest)} |`);
  }
}

async function firstListing(note: Note): Promise<void> {
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

async function longListing(note: Note): Promise<void> {
  await rm(join(PROJECT, '.fxls'), { recursive: true, force: true });
  await writeFile(join(PROJECT, 'long.py'), LONG);
  await inBrowser(async (page) => {
    await page.goto(address([['openFile', remote(`${PROJECT}/long.py`)]]));
    await traced(page);
    let began = performance.now();
    const now = (what: string) => {
      note(what, performance.now() - began);
    };
    await lens(page, 'Show generated code').click();
    const listing = page.locator('.editor-group-container').nth(1);
    await row(listing, 'def forward').waitFor();
    now('from the click on its lens to the text of its listing');
    await page.locator('.monaco-breadcrumb-item', { hasText: 'Long.forward' }).waitFor();
    now('to the outline of it, which the breadcrumbs show');
    await row(listing, 'def forward').click();
    began = performance.now();
    await page.keyboard.press('Control+Shift+O');
    const found = page.locator('.quick-input-list .monaco-list-row');
    await found.first().waitFor();
    now('from the key of Go to Symbol to its list');
    began = performance.now();
    await page.keyboard.type('relu_32999');
    await found.filter({ hasText: 'relu_32999' }).waitFor();
    now('from the name of a node to its row in that list');
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
