// What a person sees of VS Code's window, and does in it.

import { join } from 'node:path';
import type { FrameLocator, Locator, Page } from 'playwright-core';
import {
  address,
  inBrowser,
  LIMIT,
  remote,
  PROJECT,
  SHOTS,
  type Size,
} from './browser.mts';

/** One thing after the other in one window; each has a name, and a failure ends it. */
export async function story(
  name: string,
  file: string,
  tell: (page: Page, done: (next: string) => void) => Promise<void>,
  size?: Size,
): Promise<void> {
  await inBrowser(async (page) => {
    let step = 'VS Code opens the folder';
    try {
      await page.goto(address([['openFile', remote(`${PROJECT}/${file}`)]]));
      await tell(page, (next) => {
        console.log(`ok    ${step}`);
        step = next;
      });
      console.log(`ok    ${step}`);
    } catch (error) {
      process.exitCode = 1;
      console.log(`FAIL  ${step}: ${String(error)}`);
      await page.screenshot({ path: join(SHOTS, `failed-${name}.png`) });
    }
  }, size);
}

/** The page that an extension draws by itself; they stand in the order of their making. */
export function pageOf(page: Page, place: number): FrameLocator {
  return page.frameLocator(`iframe.webview >> nth=${place}`).frameLocator('#active-frame');
}

/** The first line of an editor that has a text. */
export function row(within: Page | Locator, text: string): Locator {
  // The editor shows spaces as no-break spaces; the locator takes both.
  return within.locator('.view-line', { hasText: text }).first();
}

/** The first word of a line that is this one, once the server has told it from others. */
export function word(line: Locator, text: string): Locator {
  return line.locator('span > span', { hasText: new RegExp(`^${text}$`) }).first();
}

/** Closes the first part of the side bar: the files of the folder leave little room. */
export async function fold(page: Page): Promise<void> {
  // In the middle, where the bar is narrow, are the buttons of the head.
  await page
    .locator('.pane-header')
    .first()
    .click({ position: { x: 10, y: 10 } });
}

/** The item of the status bar. */
export function item(page: Page): Locator {
  return page.locator('.statusbar-item[id="fxls.fxls.fxls.status"]');
}

/** The first lens with a title that can be seen; the editor has others ready, further off. */
export function lens(page: Page, title: string): Locator {
  const all = page.locator('.codelens-decoration a', { hasText: title });
  return all.filter({ visible: true }).first();
}

/** Waits until an entry is traced: from then on its lenses, and the lines, stay. */
export async function traced(page: Page): Promise<void> {
  await lens(page, 'nodes)').waitFor();
}

/** What linked views highlight. */
export function linked(editor: Locator): Locator {
  return editor.locator('.view-overlays [class*="ced-"], .cdr[class*="ced-"]');
}

/** The innermost frame of the call stack, when it says this. */
export function stack(page: Page, pattern: RegExp): Locator {
  return page.locator('.debug-call-stack .monaco-list-row', { hasText: pattern }).first();
}

/**
 * Chooses a command in the palette. The palette has what there is when it is opened, so a
 * command that is there a moment later is looked for again.
 */
export async function command(page: Page, title: string): Promise<void> {
  const box = page.locator('.quick-input-widget input');
  const limit = Date.now() + LIMIT;
  while (Date.now() < limit) {
    await page.keyboard.press('F1');
    await box.waitFor();
    await box.fill(`>${title}`);
    if (
      (await appears(chosen(page, '.quick-input-list', title), 10_000)) &&
      // An editor that is opened late takes the keyboard, and closes the palette.
      (await page.locator('.quick-input-widget input:focus').count()) > 0
    ) {
      await page.keyboard.press('Enter');
      return;
    }
    await page.keyboard.press('Escape');
    await box.waitFor({ state: 'hidden' });
  }
  throw new Error(`the palette has no command "${title}"`);
}

/** Whether something comes to be seen in a time, in milliseconds. */
export async function appears(what: Locator, timeout: number): Promise<boolean> {
  return await what.waitFor({ timeout }).then(
    () => true,
    () => false,
  );
}

/**
 * What the keyboard is on in a list, when it has this text. A key does what is chosen
 * when it comes; a click may meet what the list has moved there meanwhile.
 */
export function chosen(page: Page, list: string, text: string): Locator {
  return page.locator(`${list} .monaco-list-row.focused`, { hasText: text }).first();
}

export async function shot(page: Page, name: string): Promise<void> {
  // Where the pointer rests, a tip would stand in the picture.
  if (name !== 'hover') await page.mouse.move(1200, 8);
  await page.screenshot({ path: join(SHOTS, `${name}.png`) });
}

export function plain(text: string): string {
  return text.replaceAll('\u00a0', ' ');
}
