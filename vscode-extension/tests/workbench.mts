// The five minutes as a person sees them: VS Code in a browser, an empty profile.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { address, inBrowser, PROJECT, remote, SHOTS } from './browser.mts';

await inBrowser(async (page) => {
  page.setDefaultTimeout(60_000);
  let step = 'VS Code opens the folder';
  const done = (next: string) => {
    console.log(`ok    ${step}`);
    step = next;
  };
  try {
    await page.goto(address([['openFile', remote(`${PROJECT}/resnet.py`)]]));
    await row(page, 'class BasicBlock').click();

    done('the model has lenses');
    await page.locator('.statusbar-item', { hasText: 'fxls' }).waitFor();
    await page.keyboard.press('Control+End');
    await row(page, '# fxls: ResNet18').waitFor();
    await lens(page, 'Debug generated code').waitFor();
    await lens(page, 'Show generated code').waitFor();
    await shot(page, 'lenses');

    done('Show generated code opens the listing beside the model');
    await lens(page, 'Show generated code').click();
    const listing = page.locator('.editor-group-container').nth(1);
    await row(listing, 'stem_0 = getattr').waitFor();
    await page.locator('.tab.active', { hasText: 'ResNet18_' }).waitFor();
    await row(listing, 'f32[1, 3, 64, 64]').waitFor();
    await shot(page, 'beside');

    done('a hover says what a node is');
    await word(row(listing, '= stage1_0_norm2 + stem_3'), 'add').hover();
    const hover = page.locator('.monaco-hover', { hasText: 'call_function' });
    await hover.waitFor();
    await shot(page, 'hover');
    assert.match(plain(await hover.innerText()), /return F\.relu\(out \+ shortcut\)/);

    done('the cursor in the listing is shown in the model');
    await page.keyboard.press('Escape');
    await word(row(listing, '= stage1_0_norm2 + stem_3'), 'add').click();
    const model = page.locator('.editor-group-container').nth(0);
    await row(model, 'return F.relu(out + shortcut)').waitFor();
    await linked(model).first().waitFor();
    await shot(page, 'linked');

    done('the listing cannot be edited');
    await page.keyboard.type('x');
    await page.locator('.monaco-editor-overlaymessage', { hasText: 'read-only' }).waitFor();
    await page.keyboard.press('Escape');

    done('a breakpoint in the listing stops the program');
    await word(row(listing, '= stage1_0_norm2 + stem_3'), 'add').click();
    await page.keyboard.press('F9');
    await page.locator('.codicon-debug-breakpoint').first().waitFor();
    await command(page, 'fxls: Debug Generated Code');
    await stack(page, /forward/).waitFor();
    await page.locator('.debug-top-stack-frame-line').first().waitFor();
    await shot(page, 'stopped');
    await page.keyboard.press('F5');
    await stack(page, /forward.*15:/).waitFor();
    await linked(model).first().waitFor();
    await shot(page, 'breakpoint');

    done('the session ends');
    await page.keyboard.press('Shift+F5');
    await page.locator('.debug-toolbar').waitFor({ state: 'hidden' });

    done('the view Graphs lists what the store holds');
    await command(page, 'Explorer: Focus on Graphs View');
    const graph = page
      .locator('.pane', { hasText: 'Graphs' })
      .locator('.monaco-list-row', { hasText: 'ResNet18' });
    await graph.waitFor();
    assert.match(plain(await graph.innerText()), /^ResNet18\s*resnet · 71 nodes$/);
    await shot(page, 'graphs');
    done('');
  } catch (error) {
    process.exitCode = 1;
    console.log(`FAIL  ${step}: ${String(error)}`);
    await page.screenshot({ path: join(SHOTS, 'failed.png') });
  }
});

/** The first line of an editor that has a text. */
function row(within: Page | Locator, text: string): Locator {
  // The editor shows spaces as no-break spaces; the locator takes both.
  return within.locator('.view-line', { hasText: text }).first();
}

/** The first word of a line that is this one. */
function word(line: Locator, text: string): Locator {
  return line.locator('span > span', { hasText: text }).first();
}

function lens(page: Page, title: string): Locator {
  return page.locator('.codelens-decoration a', { hasText: title }).first();
}

/** What linked views highlight. */
function linked(editor: Locator): Locator {
  return editor.locator('.view-overlays [class*="ced-"], .cdr[class*="ced-"]');
}

/** The innermost frame of the call stack, when it says this. */
function stack(page: Page, pattern: RegExp): Locator {
  return page.locator('.debug-call-stack .monaco-list-row', { hasText: pattern }).first();
}

/** Chooses a command in the palette. */
async function command(page: Page, title: string): Promise<void> {
  await page.keyboard.press('F1');
  const box = page.locator('.quick-input-widget input');
  await box.waitFor();
  await box.fill(`>${title}`);
  await page
    .locator('.quick-input-list .monaco-list-row', { hasText: title })
    .first()
    .click();
}

async function shot(page: Page, name: string): Promise<void> {
  // Where the pointer rests, a tip would stand in the picture.
  if (name !== 'hover') await page.mouse.move(1200, 8);
  await page.screenshot({ path: join(SHOTS, `${name}.png`) });
}

function plain(text: string): string {
  return text.replaceAll('\u00a0', ' ');
}
