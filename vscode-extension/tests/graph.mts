// The pages that show a graph: its picture and its table, as a person sees them.

import assert from 'node:assert/strict';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Locator } from 'playwright-core';
import { LIMIT, PROJECT } from './browser.mts';
import {
  command,
  lens,
  linked,
  pageOf,
  row,
  shot,
  story,
  traced,
  word,
} from './window.mts';

await theme('Default Light Modern');
await story('graph', 'resnet.py', async (page, done) => {
  await row(page, 'class BasicBlock').click();
  await page.keyboard.press('Control+End');
  await traced(page);
  await lens(page, 'Show generated code').click();
  const model = page.locator('.editor-group-container').nth(0);
  const listing = page.locator('.editor-group-container').nth(1);
  await start(row(listing, 'stem_0: f32'));

  done('the picture of a graph opens below its listing, and is no third column');
  await command(page, 'fxls: Show Graph Picture');
  const picture = pageOf(page, 0);
  const chosen = picture.locator('#chosen');
  await picture.locator('#picture').waitFor();
  const [above, below] = await Promise.all(
    [1, 2].map((place) => page.locator('.editor-group-container').nth(place).boundingBox()),
  );
  assert.equal(below?.x, above?.x);
  assert.ok((below?.width ?? 0) > 480);
  await picture.locator('#legend', { hasText: 'call_module' }).waitFor();
  await picture.locator('#work').waitFor({ state: 'hidden' });
  await shot(page, 'picture');

  done('a click chooses a node, and the editors go there');
  const canvas = picture.locator('#picture');
  const { width = 0, height = 0 } = (await canvas.boundingBox()) ?? {};
  // The first one is somewhere below the middle of the upper edge.
  for (let y = 12; !(await chosen.innerText()).startsWith('images'); y += 12) {
    assert.ok(y < height);
    await canvas.click({ position: { x: width / 2, y } });
  }
  await linked(model).first().waitFor();

  done('a search opens the modules around a node, and the editors go there');
  await picture.locator('#search').fill('stage2 relu');
  await picture.locator('#search').press('Enter');
  await chosen.filter({ hasText: 'relu_4' }).waitFor();
  assert.equal(
    await chosen.innerText(),
    'relu_4 · call_function torch.nn.functional.relu · f32[1, 128, 8, 8] · 32 KiB · cpu · resnet.py:26',
  );
  assert.equal(await picture.locator('#found').innerText(), '1 of 4');
  await row(listing, 'relu_4: f32').waitFor();
  await row(model, 'F.relu(self.norm1').waitFor();
  await shot(page, 'picture-search');

  done('keys walk along the edges');
  await picture.locator('#search').press('Escape');
  await page.keyboard.press('ArrowDown');
  await chosen.filter({ hasText: 'stage2_0_conv2 · call_module' }).waitFor();
  await page.keyboard.press('Enter');
  await row(listing, 'stage2_0_conv2: f32').waitFor();

  await page.keyboard.press('ArrowUp');
  await chosen.filter({ hasText: 'relu_4' }).waitFor();
  // What the keyboard is on was moved into view; Fit shows all with it in the middle.
  await page.keyboard.press('0');
  await shot(page, 'picture-open');

  done('the cursor in the listing is followed');
  await drawnAnew(canvas, async () => {
    await word(row(listing, '= stage2_0_norm2 + '), 'add_2').click();
  });
  // The listing is half as tall as the window, and the next steps begin at its start.
  await page.keyboard.press('Control+Home');

  done('colours tell what takes memory');
  await picture.locator('#colours').selectOption('memory');
  await picture.locator('#legend', { hasText: 'KiB' }).waitFor();
  await shot(page, 'picture-memory');

  done('and what takes time, once that is measured');
  await picture.locator('#colours').selectOption('time');
  await picture.locator('#legend', { hasText: /[mµ]s/ }).waitFor();
  await chosen.filter({ hasText: /^relu_4 · .* · cpu · [\d.]+ [µm]s · resnet/ }).waitFor();
  await shot(page, 'picture-time');

  done('it is saved as SVG');
  await picture.locator('button', { hasText: 'SVG' }).click();
  // The proposed name is written in after the dialog is there.
  await page.waitForFunction(
    `[...document.querySelectorAll('.quick-input-widget input')].some((each) => each.value.endsWith('ResNet18.svg'))`,
  );
  await page.keyboard.press('Enter');
  await page.locator('.explorer-folders-view', { hasText: 'ResNet18.svg' }).waitFor();
  const svg = await readFile(join(PROJECT, 'ResNet18.svg'), 'utf8');
  assert.match(svg, /^<svg xmlns/);
  assert.match(svg, />relu_4<\/text>/);

  done('while it is debugged, the node that runs is marked');
  await start(row(listing, 'relu_1: f32'));
  await page.keyboard.press('Control+b');
  await page.keyboard.press('F9');
  await command(page, 'fxls: Debug Generated Code');
  await picture.locator('#paused', { hasText: 'stopped at stem_0' }).waitFor();
  await page.keyboard.press('F5');
  await picture.locator('#paused', { hasText: 'stopped at relu_1' }).waitFor();
  await shot(page, 'picture-paused');
  await page.keyboard.press('Shift+F5');
  await picture
    .locator('#paused', { hasNotText: 'stopped' })
    .waitFor({ state: 'attached' });

  done('the palette shows the table while the picture has the focus, with a row for each');
  await start(row(listing, 'relu_1: f32'));
  await picture.locator('#picture').focus();
  await command(page, 'fxls: Show Graph Table');
  const table = pageOf(page, 1);
  const first = table.locator('.row').first();
  await first.waitFor();
  assert.equal(await table.locator('#found').innerText(), '71 nodes');
  const images = await cells(first);
  // What the picture was coloured by.
  const [time = ''] = images.splice(9, 1);
  assert.match(time, /^\d+(\.\d)? [nµm]?s$/);
  assert.deepEqual(images, [
    ...['0', 'images', 'placeholder', 'images', '', '(1, 3, 64, 64)', 'float32', 'cpu'],
    ...['49,152', '1', '', 'resnet.py:54'],
  ]);

  done('it is sorted by a click on a head');
  await table.locator('#columns button', { hasText: 'Bytes' }).click();
  await table.locator('#columns button', { hasText: 'Bytes' }).click();
  await first.filter({ hasText: '262,144' }).waitFor();
  await shot(page, 'table');

  done('it is filtered by words, and a click on a row moves the editors');
  await table.locator('#search').fill('stage3 relu');
  await table.locator('#found', { hasText: '4 of 71 nodes' }).waitFor();
  await table.locator('.row', { hasText: 'relu_9' }).click();
  await row(listing, 'relu_9: f32').waitFor();
  await table.locator('.row.chosen', { hasText: 'relu_9' }).waitFor();

  done('and so do keys');
  await page.keyboard.press('Tab');
  await table.locator('#rows').focus();
  await page.keyboard.press('ArrowDown');
  await table.locator('.row.chosen', { hasText: 'relu_10' }).waitFor();
  await row(listing, 'relu_10: f32').waitFor();
  await shot(page, 'table-filtered');

  done('both take the colours of a dark theme');
  await theme('Default Dark Modern');
  await table.locator('body.vscode-dark').waitFor();
  await shot(page, 'table-dark');
  await page.locator('.tab', { hasText: 'Graph: ResNet18' }).click();
  await picture.locator('body.vscode-dark').waitFor();
  await picture.locator('#picture').focus();
  await shot(page, 'picture-dark');
});

await story(
  'narrow',
  'net.py',
  async (page, done) => {
    await row(page, 'class Net').click();
    await traced(page);
    await lens(page, 'Show generated code').click();
    await page.locator('.tab.active', { hasText: 'Net_' }).waitFor();

    done('in a window below 1,000 pixels a table is a tab');
    await command(page, 'fxls: Show Graph Table');
    await pageOf(page, 0).locator('.row').first().waitFor();
    await page.waitForFunction(
      `document.querySelectorAll('.editor-group-container').length === 2`,
    );
    await page.locator('.tab.active', { hasText: 'Table: Net' }).waitFor();
    await shot(page, 'table-narrow');
  },
  { viewport: { width: 960, height: 720 } },
);

await story('large', 'deep.py', async (page, done) => {
  await row(page, 'class Deep').click();
  await traced(page);
  await lens(page, 'Show generated code').click();
  await page.locator('.tab.active', { hasText: 'Deep_' }).waitFor();

  done('ten thousand nodes are a picture in groups');
  await command(page, 'fxls: Show Graph Picture');
  const picture = pageOf(page, 0);
  await picture.locator('#legend', { hasText: 'call_function' }).waitFor();
  await picture.locator('#work').waitFor({ state: 'hidden' });

  done('any of them is found');
  await picture.locator('#search').fill('add_7777');
  await picture.locator('#search').press('Enter');
  await picture.locator('#chosen', { hasText: 'add_7777 · call_function' }).waitFor();

  done('all of them are opened');
  await picture.locator('button', { hasText: 'Expand' }).click();
  await picture.locator('#search').fill('add_5');
  await picture.locator('#found', { hasText: '0 of 1111' }).waitFor();
  await picture.locator('#work').waitFor({ state: 'hidden', timeout: 300_000 });
  await picture.locator('button', { hasText: 'Fit' }).click();
  await shot(page, 'picture-large');

  done('the table has all of them, and scrolls to the last');
  await row(page, 'def forward').click();
  await command(page, 'fxls: Show Graph Table');
  const table = pageOf(page, 1);
  await table.locator('#found', { hasText: '10000 nodes' }).waitFor();
  await table.locator('#columns button', { hasText: '#' }).click();
  await table.locator('.row', { hasText: 'output' }).first().waitFor();
  await table.locator('#rows').focus();
  await page.keyboard.press('End');
  await table.locator('.row', { hasText: 'placeholder' }).waitFor();
  await shot(page, 'table-large');
});

await theme('Default High Contrast');
await story('contrast', 'resnet.py', async (page, done) => {
  await row(page, 'class BasicBlock').click();
  await page.keyboard.press('Control+End');
  await traced(page);

  done('a listing and its picture are opened by keys');
  await command(page, 'fxls: Show Generated Code');
  const listing = page.locator('.editor-group-container').nth(1);
  await row(listing, 'stem_0: f32').waitFor();
  await command(page, 'fxls: Show Graph Picture');
  const picture = pageOf(page, 0);
  const chosen = picture.locator('#chosen');
  await picture.locator('#legend', { hasText: 'call_module' }).waitFor();
  await picture.locator('#work').waitFor({ state: 'hidden' });
  await picture.locator('#picture:focus').waitFor();

  done('keys choose, open and close, search and go to a node');
  await page.keyboard.press('ArrowDown');
  await chosen.filter({ hasText: /^images · placeholder/ }).waitFor();
  await page.keyboard.press('ArrowDown');
  await chosen.filter({ hasText: /^stem · .* · closed/ }).waitFor();
  await page.keyboard.press('Enter');
  await chosen.filter({ hasText: /^stem · .* · open/ }).waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('stage2 relu');
  await page.keyboard.press('Enter');
  await chosen.filter({ hasText: 'relu_4' }).waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await row(listing, 'stage2_0_conv2: f32').waitFor();
  await page.keyboard.press('0');
  await shot(page, 'contrast-picture');

  done('so they do in the table');
  await page.keyboard.press('Control+2');
  await listing.locator('.monaco-editor.focused').waitFor();
  await command(page, 'fxls: Show Graph Table');
  const table = pageOf(page, 1);
  await table.locator('.row').first().waitFor();
  await table.locator('#rows:focus').waitFor();
  await page.keyboard.press('ArrowDown');
  await table.locator('.row.chosen', { hasText: 'images' }).waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('stage3 relu');
  await table.locator('#found', { hasText: '4 of 71 nodes' }).waitFor();
  // Over the rows and the first head.
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await table.locator('[aria-sort="ascending"]', { hasText: 'Name' }).waitFor();
  await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('ArrowDown');
  await table.locator('.row.chosen', { hasText: 'relu_8' }).waitFor();
  await row(listing, 'relu_8: f32').waitFor();
  await shot(page, 'contrast-table');

  done('a light theme of high contrast colours both');
  await theme('Default High Contrast Light');
  await table.locator('body.vscode-high-contrast-light').waitFor();
  await shot(page, 'contrast-light-table');
  await page.locator('.tab', { hasText: 'Graph: ResNet18' }).click();
  await picture.locator('body.vscode-high-contrast-light').waitFor();
  await shot(page, 'contrast-light-picture');
});
// The windows that come after this are as they would be without it.
await rm(join(PROJECT, '.vscode/settings.json'), { force: true });

/** Chooses the colours of VS Code, as the settings of the folder have them. */
async function theme(name: string): Promise<void> {
  await mkdir(join(PROJECT, '.vscode'), { recursive: true });
  const settings = JSON.stringify({ 'workbench.colorTheme': name });
  await writeFile(join(PROJECT, '.vscode/settings.json'), settings);
}

/** Puts the cursor at the start of a line, which may be wider than the editor. */
async function start(line: Locator): Promise<void> {
  await line.click({ position: { x: 40, y: 8 } });
}

/** Waits until something else is drawn, because something was done. */
async function drawnAnew(canvas: Locator, act: () => Promise<void>): Promise<void> {
  const frame = await (await canvas.elementHandle()).ownerFrame();
  assert.ok(frame);
  // Each look is one at what the next frame shows.
  const look = () =>
    frame.evaluate<string>(
      `new Promise((resolve) => requestAnimationFrame(() => {
        resolve(document.getElementById('picture').toDataURL());
      }))`,
    );
  const before = await look();
  await act();
  const late = performance.now() + LIMIT;
  while ((await look()) === before) assert.ok(performance.now() < late);
}

/** What stands in a row of the table. */
async function cells(found: Locator): Promise<string[]> {
  return found.locator('span').allInnerTexts();
}
