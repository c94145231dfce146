// What a person sees in windows of several widths, in light, dark and high contrast.
// FXLS_TEST_PARTS=looks ./test.sh puts a picture of each into FXLS_TEST_SHOTS; look at them.

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { inBrowser, PROJECT, SHOTS, address, remote } from './browser.mts';
import { Tree } from './tree.mts';
import {
  appears,
  chosen,
  command,
  fold,
  lens,
  pageOf,
  row,
  traced,
  word,
} from './window.mts';

const SIZES = [
  { width: 800, height: 600 },
  { width: 1280, height: 720 },
  { width: 1920, height: 1080 },
  { width: 2560, height: 1440 },
];

/** What VS Code calls each, and the class that its window then has. */
const THEMES = [
  ['light', 'Light 2026', 'vs'],
  ['dark', 'Dark 2026', 'vs-dark'],
  ['contrast', 'Dark High Contrast', 'hc-black'],
] as const;

const only = (process.env['FXLS_TEST_ONLY'] ?? '').split(' ');

await ran('recompiled.py');
for (const viewport of SIZES) {
  if (!only.some((each) => String(viewport.width).includes(each))) continue;
  await inBrowser(
    async (page) => {
      let view = 'source';
      page.setDefaultTimeout(90_000);
      try {
        await page.goto(address([['openFile', remote(`${PROJECT}/resnet.py`)]]));
        await row(page, 'class BasicBlock').click();
        await page.keyboard.press('Control+End');
        await traced(page);
        await row(page, 'x: f32[1, 64, 16, 16]').waitFor();
        await looks(page, viewport.width, view);

        view = 'listing';
        await lens(page, 'Show generated code').click();
        await row(page, 'stem_0 = getattr').waitFor();
        await looks(page, viewport.width, view);

        view = 'hover';
        await word(row(page, 'stem_3: f32'), 'stem_3').hover();
        const hover = page.locator('.monaco-hover:visible', { hasText: 'call_' });
        // A change of the theme takes the hover away.
        await looks(page, viewport.width, view, async () => {
          await page.mouse.move(4, 4);
          await word(row(page, 'stem_3: f32'), 'stem_3').hover();
          await hover.first().waitFor();
        });

        view = 'picture';
        await word(row(page, 'stem_3: f32'), 'stem_3').click();
        await command(page, 'fxls: Show Graph Picture');
        await pageOf(page, 0).locator('#legend', { hasText: 'call_module' }).waitFor();
        await looks(page, viewport.width, view);

        view = 'table';
        await page.keyboard.press('Control+w');
        await row(page, 'stem_3: f32').waitFor();
        await command(page, 'fxls: Show Graph Table');
        await pageOf(page, 0).locator('.row').first().waitFor();
        await looks(page, viewport.width, view);

        view = 'runs';
        await page.keyboard.press('Control+w');
        await row(page, 'stem_3: f32').waitFor();
        await fold(page);
        const runs = new Tree(page, 'Runs');
        await runs.focus();
        await runs.open('recompiled.py', 'Time by phase');
        await runs.open('1/0 halved', 'graph break GB');
        await looks(page, viewport.width, view);
      } catch (error) {
        process.exitCode = 1;
        console.log(`FAIL  ${viewport.width} ${view}: ${String(error)}`);
        await page.screenshot({ path: join(SHOTS, 'failed-looks.png') });
      }
    },
    { viewport },
  );
}

/** A picture in each theme. */
async function looks(
  page: Page,
  width: number,
  view: string,
  again: () => Promise<void> = () => page.mouse.move(width - 4, 4),
): Promise<void> {
  for (const [name, theme, mark] of THEMES) {
    await page.keyboard.press('Control+k');
    await page.keyboard.press('Control+t');
    await page.locator('.quick-input-widget input').fill(theme);
    await chosen(page, '.quick-input-list', theme).waitFor();
    await page.keyboard.press('Enter');
    await page.locator('.quick-input-widget').waitFor({ state: 'hidden' });
    await page.locator(`.monaco-workbench.${mark}`).first().waitFor();
    await again();
    await appears(page.locator('.never'), 500);
    await page.screenshot({ path: join(SHOTS, `looks-${view}-${width}-${name}.png`) });
  }
  console.log(`ok    ${view} at ${width}`);
}

async function ran(program: string): Promise<void> {
  const env = { ...process.env, TORCHINDUCTOR_FORCE_DISABLE_CACHES: '1' };
  const python = join(PROJECT, '.venv/bin/python');
  await promisify(execFile)(python, ['-m', 'fxls', 'run', program], { cwd: PROJECT, env });
}
